"""A learner's log in a process of its own, so that the exam can say in a line whatever that log does to its process.

The exam uses LearnersProcess; what runs on the other side is `python -m …learners_process FILE DESCRIPTOR SECONDS`.
Both talk in JSON: a call with its arguments, then its result, or what went wrong in words.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import click

from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.rebuild import own_process
from minikafka.lab.rebuild.exam.learners_log import LearnersLog, load
from minikafka.lab.rebuild.learners_code import LearnersError

_START_S, _LOAD_S, _PATIENCE_S = 120.0, 10.0, 5.0
_MEMORY_MB = 1024
_MOST_PRINTED = 100_000  # bytes
_LARGEST_ANSWER = 16 << 20  # bytes


class LearnersProcess:
    """A learner's log, with the methods of LearnersLog, whose code runs in a process of its own.

    That process has limits of memory, of open files and of the size of files, and a current directory of its own. A
    context manager: at its end all that the process has started is killed, and that directory is gone. What the log
    prints goes to stderr, up to 100 kB. Entering raises IllegalArgumentException in one line for a file that is no log.
    """

    def __init__(self, file: Path, guard_s: float):
        self._file, self._guard_s = file, guard_s
        self.method = ""

    def __enter__(self) -> "LearnersProcess":
        self._desk = tempfile.TemporaryDirectory(prefix="minikafka-exam-", ignore_cleanup_errors=True)
        self._here, there = Pipe()
        with there:
            self._process = own_process.started(
                __name__,
                *(str(self._file.absolute()), str(there.fileno()), str(self._guard_s)),
                directory=self._desk.name,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[there.fileno()],
            )
        self._printing = threading.Thread(target=self._print, daemon=True)
        self._printing.start()
        try:
            self._answer(_START_S)
            if why := self._answer(_LOAD_S):
                raise IllegalArgumentException(why.replace(str(self._file.absolute()), str(self._file)))
        except LearnersError as error:
            self.__exit__()
            raise IllegalArgumentException(
                f"{self._file} cannot be imported: {' '.join(error.words.split())}"
            ) from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        own_process.end(self._process)
        self._here.close()
        self._printing.join(timeout=1)
        self._desk.cleanup()

    def open(self, directory: Path, settings: dict[str, int], *, clean: bool) -> None:
        """As LearnersLog.open."""
        self._called("open", str(directory), settings, clean, method="__init__")

    def append(self, batch: bytes, leader_epoch: int) -> int:
        """As LearnersLog.append."""
        return self._called("append", _packed(batch), leader_epoch)

    def roll(self) -> None:
        """As LearnersLog.roll."""
        self._called("roll")

    def read(self, offset: int, max_bytes: int) -> bytes:
        """As LearnersLog.read."""
        return base64.b64decode(self._called("read", offset, max_bytes))

    def close(self) -> None:
        """As LearnersLog.close."""
        self._called("close")

    def kill(self) -> None:
        """As LearnersLog.kill: the process goes on, and with it what Python holds in the buffers of open files."""
        self._called("kill")

    def _called(self, name: str, *arguments: Any, method: str = "") -> Any:
        self.method = f"MyLog.{method or name}"
        with suppress(OSError):  # of a process that has ended: the answer that it cannot give says so
            self._here.send_bytes(json.dumps([name, arguments]).encode())
        return self._answer(self._guard_s)

    def _answer(self, limit_s: float) -> Any:
        """The result of a call. Raises LearnersError for what went wrong in it, and in place of an answer."""
        deadline = time.monotonic() + limit_s + _PATIENCE_S
        while not self._here.poll(0.05):
            if time.monotonic() > deadline:
                raise LearnersError(f"It has not ended after {limit_s:g} seconds.")
            if self._process.poll() is not None and not self._here.poll():
                break
        try:
            told = json.loads(self._here.recv_bytes(_LARGEST_ANSWER))
            if "wrong" in told:
                raise LearnersError(str(told["wrong"]))
            return told["result"]
        except (OSError, EOFError, ValueError, TypeError, KeyError):
            raise LearnersError(f"It ended the process in which it runs ({self._ending()}).") from None

    def _ending(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(timeout=1)
            return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        return "it no longer answers"

    def _print(self) -> None:
        """Pass on what the log prints, up to a limit; the rest is read, so that it does not wait, and dropped."""
        assert self._process.stdout is not None
        printed = 0
        with self._process.stdout as pipe:
            while data := os.read(pipe.fileno(), 1 << 16):
                if printed < _MOST_PRINTED:
                    click.echo(data[: _MOST_PRINTED - printed].decode(errors="replace"), err=True, nl=False)
                    if printed + len(data) >= _MOST_PRINTED:
                        click.echo(f"\nWhat your log prints after {_MOST_PRINTED} bytes is not shown.", err=True)
                printed += len(data)


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _serve(file: Path, there: Connection, guard_s: float) -> None:
    """Say that all is ready, then whether the file is a log, then answer each call, until the exam is over."""
    process = os.getpid()

    def tell(**answer: Any) -> None:
        if os.getpid() != process:  # a copy that the learner's code has forked has nothing to say here
            os._exit(0)
        there.send_bytes(json.dumps(answer).encode())

    own_process.limit(_MEMORY_MB)
    tell(result="")
    try:
        log = LearnersLog(load(file), guard_s)
    except (IllegalArgumentException, OSError) as failure:
        return tell(result=str(failure))
    except BaseException as error:
        return tell(wrong=f"{type(error).__name__}: {error}")
    tell(result="")
    while True:
        name, arguments = json.loads(there.recv_bytes())
        try:
            tell(result=_done(log, name, arguments))
        except LearnersError as error:
            tell(wrong=str(error))
        except BaseException as error:  # such as a result that JSON cannot say
            tell(wrong=f"{type(error).__name__}: {error}")


def _done(log: LearnersLog, name: str, arguments: list[Any]) -> Any:
    if name == "open":
        directory, settings, clean = arguments
        return log.open(Path(directory), settings, clean=clean)
    if name == "append":
        return log.append(base64.b64decode(arguments[0]), arguments[1])
    result = getattr(log, name)(*arguments)
    return _packed(result) if name == "read" else result


if __name__ == "__main__":
    _there = Connection(int(sys.argv[2]))
    with suppress(EOFError, OSError):
        _serve(Path(sys.argv[1]), _there, float(sys.argv[3]))
    os._exit(0)
