"""A learner's log: its code runs in a sandbox, and here are its methods, whose errors are told as the learner's."""

import os
import subprocess
import threading
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import click

from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.rebuild.exam import log_in_sandbox
from minikafka.lab.rebuild.exam.log_in_sandbox import MOST_BYTES, PARAMETERS
from minikafka.lab.rebuild.learners_code import LearnersError
from minikafka.lab.sandbox.sandbox import ChildRaisedError, Limits, OutOfTimeError, Sandbox, SandboxError, Sees
from minikafka.lab.stepper.stepper import in_words, without_directories
from minikafka.tools.printable import printable
from minikafka.witness.spoken import say

LIMITS = Limits(memory_mb=1024, all_memory_mb=2048, scratch_mb=256)
SEES = Sees(packages=("crc32c",))
PATIENCE_S = 5.0
_LOAD_S, _FILES_S = 10.0, 10.0
_MOST_PRINTED = 100_000  # bytes


class LearnersLog:
    """The log of a learner's file, beside which a directory lies that only it can see.

    A context manager. Its methods are those of `MyLog`; each raises LearnersError for whatever the learner's code
    raises, for a result of another type, after `guard_s` seconds, and when the process has ended. `method` names the
    one that was called last. What the log prints goes to stderr, up to 100 kB.

    `is_trusted` as for a Sandbox. Entering raises IllegalArgumentException in one line for a `source` that is no log;
    there the file is called `name`.
    """

    def __init__(self, source: bytes, name: str, guard_s: float, *, is_trusted: bool = False):
        self._source, self._name, self._guard_s, self._is_trusted = source, name, guard_s, is_trusted
        self._printed = 0
        self.method = ""

    def __enter__(self) -> "LearnersLog":
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._sandbox.close()
        self._printing.join(timeout=1)

    def lay(self, files: Mapping[str, bytes]) -> None:
        """Give it a new directory, with these files."""
        self._asked(("lay", dict(files)), _FILES_S)

    def open(self, settings: dict[str, int], *, clean: bool) -> None:
        """Open the log, or open it again; `clean`: whether it was closed before."""
        self._call("__init__", (settings, clean))

    def append(self, batch: bytes, leader_epoch: int) -> int:
        """Append a batch as a producer sent it; the offset of its first record."""
        return self._call("append", (batch, leader_epoch), int)

    def roll(self) -> None:
        """Begin a new segment."""
        self._call("roll")

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Bytes from the batch that holds `offset` on."""
        return self._call("read", (offset, max_bytes), bytes)

    def close(self) -> None:
        """Close the log."""
        self._call("close")

    def kill(self) -> dict[str, bytes]:
        """End the process, and with it whatever Python still holds in the buffers of files, and start another one.

        Returns the files that are left; the new process has none.
        """
        left = self.files()
        self.__exit__()
        self._start()
        return left

    def files(self, suffixes: Sequence[str] = ("",)) -> dict[str, bytes]:
        """The files in the directory whose names end with one of `suffixes`, by name.

        Raises LearnersError where anything lies there, of whatever name, but regular files and directories.
        """
        match self._asked(("left", tuple(suffixes)), _FILES_S):
            case {"refused": words}:
                raise LearnersError(say("In the directory of your log {what}.", what=_on_a_line(words)))
            case {"files": dict(files)}:
                return _unpacked(files)
            case _:
                raise _no_answer()

    def _start(self) -> None:
        self._sandbox = Sandbox(
            Path(log_in_sandbox.__file__),
            sees=SEES,
            limits=LIMITS,
            is_trusted=self._is_trusted,
            printed=subprocess.PIPE,
        )
        try:
            self._sandbox.__enter__()
        except SandboxError as error:
            raise RuntimeError(f"{self._name} is not run: {error}") from None
        self._printing = threading.Thread(target=self._print, args=(self._sandbox.process.stdout,), daemon=True)
        self._printing.start()
        try:
            refused = self._asked(("load", self._source), _LOAD_S).get("refused")
        except LearnersError as error:
            refused = f"cannot be imported: {error.words}"
        if refused:
            self.__exit__()
            raise IllegalArgumentException(f"{self._name} {_on_a_line(refused)}")

    def _call(self, name: str, arguments: tuple[Any, ...] = (), returns: type | None = None) -> Any:
        self.method = f"MyLog.{name}"
        called = say("Called with {arguments}", arguments=_in_words(name, arguments)) if arguments else ""
        told = self._asked((name, arguments, self._guard_s), self._guard_s)
        match told:
            case {"returned": value} if returns is None or type(value) is returns:
                return value
            case {"returned": value}:
                raise LearnersError(_wrong_type(in_words(value), type(value).__name__, returns), arguments=called)
            case {"type": str(kind)} if returns is None:
                return None
            case {"type": str(kind)}:
                raise LearnersError(_wrong_type(_on_a_line(kind), _on_a_line(kind), returns), arguments=called)
            case {"raised": [str(error), str(message), line]}:
                message = without_directories(_on_a_line(message))
                words = say("Your function raised {error}: {message}", error=_on_a_line(error), message=message)
                raise LearnersError(words.rstrip(": "), self._line(line), called)
            case {"late": line}:
                raise LearnersError(
                    say(
                        "Your function has not ended after {seconds:g} seconds. Is there a loop whose end never comes?",
                        seconds=self._guard_s,
                    ),
                    self._line(line),
                )
            case _:
                raise _no_answer()

    def _asked(self, request: tuple[Any, ...], seconds: float) -> dict[str, Any]:
        try:
            told = self._sandbox.ask(request, seconds + PATIENCE_S)
        except OutOfTimeError:
            raise LearnersError(say("It has not ended after {seconds:g} seconds.", seconds=seconds)) from None
        except ChildRaisedError as error:
            raise LearnersError(_on_a_line(str(error))) from None
        except SandboxError as error:
            words = str(error)
            raise LearnersError(f"{words[:1].upper()}{words[1:]}.") from None
        if not isinstance(told, dict):
            raise _no_answer()
        return told

    def _line(self, number: object) -> str:
        """The learner's line of that number, in words; "" for none."""
        lines = self._source.decode(errors="replace").splitlines()
        if not isinstance(number, int) or not 0 < number <= len(lines):
            return ""
        return say("Line {number}: {line}", number=number, line=_on_a_line(lines[number - 1].strip()))

    def _print(self, pipe: IO[bytes]) -> None:
        """Pass on what the log prints, up to a limit; the rest is read, so that it does not wait, and dropped."""
        with pipe, suppress(OSError):
            while data := os.read(pipe.fileno(), 1 << 16):
                if self._printed < _MOST_PRINTED:
                    text = data[: _MOST_PRINTED - self._printed].decode(errors="replace")
                    click.echo(printable(text, keep="\n\t"), err=True, nl=False)
                    if self._printed + len(data) >= _MOST_PRINTED:
                        click.echo(f"\nWhat your log prints after {_MOST_PRINTED} bytes is not shown.", err=True)
                self._printed += len(data)


def _unpacked(packed: Mapping[Any, Any]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    left = MOST_BYTES
    for name, data in packed.items():
        try:
            content = zlib.decompressobj().decompress(data, left + 1)
        except (TypeError, zlib.error):
            raise _no_answer() from None
        left -= len(content)
        # A name is judged as it is used, below a directory: made printable, it could lead elsewhere.
        if left < 0 or not isinstance(name, str) or name != _on_a_line(name) or {"", ".", ".."} & {*name.split("/")}:
            raise _no_answer()
        files[name] = content
    return files


def _no_answer() -> LearnersError:
    return LearnersError(say("Its process answers what no log answers."))


def _wrong_type(result: str, kind: str, wanted: type) -> str:
    return say(
        "Your function returned {result}, of the type {type}; the method returns {wanted}.",
        result=result,
        type=kind,
        wanted=wanted.__name__,
    )


def _in_words(name: str, arguments: tuple[Any, ...]) -> str:
    names = PARAMETERS[name][-len(arguments) :]
    return ", ".join(f"{each} = {in_words(value)}" for each, value in zip(names, arguments, strict=True))


def _on_a_line(words: object) -> str:
    """Words that come from the learner's side: on one line, without what could move the cursor."""
    return printable(" ".join(str(words).split()))
