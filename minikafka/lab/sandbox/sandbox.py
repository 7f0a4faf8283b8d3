"""A sandbox: a Python program whose code is foreign, asked and answering in plain values. The interface:

    with Sandbox(program, setup, Sees(packages=("crc32c",)), Limits(memory_mb=1024)) as sandbox:
        answer = sandbox.ask(request, seconds=5)

`program` is the path of a module, shown inside alone (of its directory nothing is seen). It has `answer(request)`, and
may have `begin(setup)`, which runs before the limits and may start Java. `setup`, requests and answers are plain values
(see `plain`). `ask` raises

- ChildRaisedError (`kind`, `words`): `answer` raised; the program goes on and may be asked again;
- ChildEndedError: it ended its process, or answered with what is no plain value or too large; OutOfTimeError: it took
  too long. After these two the sandbox is closed, and every further `ask` raises ChildEndedError: start another one.

Entering raises the same for `begin`, and NoSandboxError where this system has none (`why_there_is_no_sandbox()` says so
in one line) and `is_trusted` is false. All these are SandboxErrors, whose text is one line for people.

Inside, SCRATCH (/tmp; current directory, HOME and TMPDIR) is the only place that can be written: memory, which goes
with the sandbox. Nothing else of the machine's files is there but Python, what `Sees` names, and the system's
libraries, all read-only; the network is closed; the environment is empty; when the sandbox ends, so do all its
processes, and when this process ends, or the thread that entered, so does the sandbox. What the program prints is
dropped, unless `printed` is a file or a descriptor, or `subprocess.PIPE` (then read `sandbox.process.stdout`, all the
time).

With `is_trusted` the same program runs as a process of this user, in a directory that is removed at the end: with the
limits of time, of memory (on Linux), and of the size and number of files, with the packages that `Sees` names for
`import`. It ends with this process, what it has started itself may not; nothing else of the above holds.

What lies outside, a directory and a control group, goes when the sandbox is closed; what a process that was killed has
left, the next one removes that opens a sandbox.
"""

import functools
import glob
import importlib.metadata
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import psutil

from minikafka.common.own_directory import own_directory
from minikafka.lab.sandbox import inside, plain
from minikafka.lab.sandbox.control_group import ControlGroup

SCRATCH = "/tmp"
"""The current directory of a program inside, the one place that it can write; Java insists on this one."""
_LENGTH = struct.Struct(">Q")
_START_S = 120.0
_NOT_PLAIN = "its process answered with what is no plain value"
_PACKAGE = Path(__file__).parents[2]
_SYSTEMS = (Path("/usr"), Path("/usr/local"))
_OTHER_PACKAGES = ("lib/python3*/*-packages", "lib64/python3*/*-packages", "envs", "pkgs")
"""Below the directory of a Python: its packages, and where pyenv and conda lay the environments made of it."""
_INSIDE, _PROGRAMS, _PACKAGES = "/sandbox", "/sandbox/program", "/sandbox/packages"


class SandboxError(Exception):
    """Something went wrong in a sandbox, or with it; one line for people."""


class NoSandboxError(SandboxError):
    """This system has no sandbox."""


class OutOfTimeError(SandboxError):
    """The program took longer than it may."""


class ChildEndedError(SandboxError):
    """The program's process has ended, or it answered with what is no plain value or too large."""


class ChildRaisedError(SandboxError):
    """The program raised an exception: the name of its type is `kind`, its text `words`."""

    def __init__(self, kind: str, words: str):
        super().__init__(f"{kind}: {words}")
        self.kind, self.words = kind, words


@dataclass(frozen=True)
class Sees:
    """What a program sees beside Python's standard library and the system's libraries.

    - `packages`: installed packages by their names, without what they need in turn; None: all of the environment;
    - `minikafka`: whether minikafka itself is among them; `hides`: paths below what is seen that are not;
    - `java`: whether Java is there, and what minikafka has fetched for it.
    """

    packages: tuple[str, ...] | None = ()
    minikafka: bool = False
    hides: tuple[Path, ...] = ()
    java: bool = False


@dataclass(frozen=True)
class Limits:
    """- `memory_mb`: MiB that the program's process gets beyond what it has after `begin`;
    - `all_memory_mb`: MiB of all processes and the scratch together, where a control group can be made;
    - `scratch_mb`, `file_mb`: MiB, the whole scratch and one file; `open_files`: of one process;
    - `processes`: that may be there at once, threads counted; where no control group can be made, or with 0, the
      program can start none after `begin`;
    - `answer_mb`, `answer_values`: MiB and values of an answer, so that this process can take whatever comes.
    """

    memory_mb: int = 1024
    all_memory_mb: int = 4096
    scratch_mb: int = 256
    file_mb: int = 256
    open_files: int = 1024
    processes: int = 0
    answer_mb: int = 64
    answer_values: int = 100_000


class Sandbox:
    """A program in a sandbox; a context manager. What it is and what it raises stands at the top of this module."""

    def __init__(
        self,
        program: Path,
        setup: Any = None,
        sees: Sees = Sees(),  # noqa: B008  a frozen value
        limits: Limits = Limits(),  # noqa: B008
        *,
        is_trusted: bool = False,
        printed: int | IO[bytes] = subprocess.DEVNULL,
    ):
        self._program, self._setup, self._sees, self._limits = Path(program).resolve(), setup, sees, limits
        self._is_trusted, self._printed = is_trusted, printed
        self._ending = ""

    def __enter__(self) -> "Sandbox":
        if not self._is_trusted and (why := why_there_is_no_sandbox()):
            raise NoSandboxError(why)
        self._ending = ""
        self._outside = tempfile.TemporaryDirectory(prefix="sandbox-", dir=own_directory(), ignore_cleanup_errors=True)
        self._group = ControlGroup(self._limits.all_memory_mb, self._limits.processes or _MOST_THREADS)
        self._border, there = socket.socketpair()
        try:
            with there:
                self._start(there.fileno())
            self._answer(self._setup, _START_S)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all that runs inside; nothing of it is left. A second call does nothing."""
        if self._ending:
            return
        self._ending = "its process has been ended"
        if hasattr(self, "process"):
            _kill_session(self.process)
        self._border.close()
        self._group.close()
        self._outside.cleanup()

    def ask(self, request: Any, seconds: float) -> Any:
        """The program's answer to `request`, a plain value, within `seconds`. Raises SandboxError."""
        if self._ending:
            raise ChildEndedError(self._ending)
        return self._answer(request, seconds)

    def _answer(self, message: Any, seconds: float) -> Any:
        deadline = time.monotonic() + seconds
        try:
            data = plain.encoded(message)
            self._border.settimeout(seconds)
            self._border.sendall(_LENGTH.pack(len(data)) + data)
            told = plain.decoded(self._received(deadline), self._limits.answer_values)
        except TimeoutError:
            raise self._closed(OutOfTimeError(f"it has not ended after {seconds:g} seconds")) from None
        except (OSError, EOFError):
            raise self._closed(ChildEndedError(f"it ended its process ({self._how_it_ended()})")) from None
        except plain.TooManyValuesError as error:
            raise self._closed(ChildEndedError(f"its process answered with {error}")) from None
        except plain.NotPlainError:
            raise self._closed(ChildEndedError(_NOT_PLAIN)) from None
        match told:
            case ["is", value]:
                return value
            case ["raised", str(kind), str(words)]:
                raise ChildRaisedError(kind, words)
            case _:
                raise self._closed(ChildEndedError(_NOT_PLAIN))

    def _received(self, deadline: float) -> bytes:
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline))
        if length > self._limits.answer_mb << 20:
            raise self._closed(ChildEndedError(f"its process answered with more than {self._limits.answer_mb} MB"))
        return self._exactly(length, deadline)

    def _exactly(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._border.settimeout(max(deadline - time.monotonic(), 1e-3))
            more = self._border.recv(min(size - len(data), 1 << 20))
            if not more:
                raise EOFError
            data += more
        return bytes(data)

    def _closed(self, error: SandboxError) -> SandboxError:
        self.close()
        return error

    def _how_it_ended(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            code = self.process.wait(timeout=1)
            code = 128 - code if code < 0 else code
            names = {128 + each: each.name for each in signal.Signals}
            return names.get(code, f"exit code {code}")
        return "it no longer answers"

    def _start(self, descriptor: int) -> None:
        may_start_processes = self._is_trusted or (self._limits.processes > 0 and bool(self._group.files))
        told = {"is_trusted": self._is_trusted, "may_start_processes": may_start_processes}
        limits = json.dumps(asdict(self._limits) | told)
        paths = [str(_PACKAGE.parent)] if self._sees.minikafka else [_PACKAGES]
        is_bare = self._is_python_bare()
        python = [_bare_python() if is_bare else sys.executable, "-u", "-I", *(["-S"] if is_bare else [])]
        if self._is_trusted:
            if is_bare:
                paths = [str(self._linked_packages())]
            scratch = Path(self._outside.name, "scratch")
            scratch.mkdir()
            start = [*python, inside.__file__, str(self._program), str(descriptor), limits, *paths]
            environment = dict(os.environ, TMPDIR=str(scratch))
        else:
            scratch = Path("/")
            program = f"{_PROGRAMS}/{self._program.name}"
            start = [*self._walls(), "--", *python, f"{_INSIDE}/inside.py", program, str(descriptor), limits, *paths]
            environment = {"PATH": os.defpath}
        join = 'for group in $1; do echo $$ > $group || exit 1; done; shift; exec "$@"'
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", join, "sh", " ".join(self._group.files), *start],
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._printed,
            stderr=self._printed if self._printed == subprocess.DEVNULL else subprocess.STDOUT,
            pass_fds=[descriptor],
            start_new_session=True,
        )

    def _is_python_bare(self) -> bool:
        """Whether the program gets Python without what is installed in its environment."""
        return self._sees.packages is not None and not self._sees.minikafka

    def _linked_packages(self) -> Path:
        """A directory with links to the packages that the program sees, for one that is trusted."""
        links = Path(self._outside.name, "packages")
        links.mkdir()
        for place in (place for name in self._sees.packages or () for place in _places_of(name)):
            (links / place.name).symlink_to(place)
        return links

    def _walls(self) -> Iterator[str]:
        """Bubblewrap's command. What is mounted last hides what was mounted there before."""
        yield from (
            _bubblewrap() or "bwrap",
            "--unshare-all",
            "--unshare-user-try",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
        )
        yield from ("--uid", "1000", "--gid", "1000", "--hostname", "localhost", "--cap-drop", "ALL")
        for name, value in self._environment().items():
            yield from ("--setenv", name, value)
        yield from _system()
        yield from ("--proc", "/proc", "--dev", "/dev")
        for listed in filter(os.path.exists, ("/proc/keys", "/proc/key-users")):
            yield from ("--ro-bind", os.devnull, listed)
        yield from ("--size", str(self._limits.scratch_mb << 20), "--tmpfs", SCRATCH, "--chdir", SCRATCH)
        yield from self._python()
        yield from self._own_files()
        # Linux lets the host's root write below /proc/sys, whatever its number is inside.
        for path in ("/proc", "/dev", "/"):
            yield from ("--remount-ro", path)

    def _environment(self) -> dict[str, str]:
        chosen = {"HOME": SCRATCH, "TMPDIR": SCRATCH, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        if self._sees.java:
            from minikafka.jvm.cache import cache_dir
            from minikafka.jvm.java_home import java_home

            chosen |= {"JAVA_HOME": str(java_home()), "MINIKAFKA_CACHE": str(cache_dir())}
        return chosen

    def _python(self) -> Iterator[str]:
        seen = {Path(sys.base_prefix), Path(sys.base_prefix).resolve(), Path(_bare_python()).parents[1]}
        hides = list(self._sees.hides)
        if self._is_python_bare():  # what is installed there could be minikafka, too
            hides += [path for root in (*seen, *_SYSTEMS) for place in _OTHER_PACKAGES for path in root.glob(place)]
        if self._sees.packages is None or self._sees.minikafka:
            seen.add(Path(sys.prefix))
            if not self._sees.minikafka:
                hides.append(_PACKAGE)
            else:
                seen.add(_PACKAGE)
        if self._sees.java:
            from minikafka.jvm.cache import cache_dir
            from minikafka.jvm.java_home import java_home
            from minikafka.jvm.kafka_jars import cached_classpath

            seen |= {java_home(), cache_dir(), *map(Path, cached_classpath("storage") or ())}
        seen = {part for path in seen for part in _without_the_home(path) if part.exists()}
        for path in sorted(seen):
            if not any(path.is_relative_to(other) for other in ("/usr", *(seen - {path}))):
                yield from ("--ro-bind", str(path), str(path))
        for name in self._sees.packages or ():
            for place in _places_of(name):
                yield from ("--ro-bind", str(place), f"{_PACKAGES}/{place.name}")
        nothing = Path(self._outside.name, "nothing")
        nothing.mkdir()
        for path in hides:
            for place in _shown_at(path, {*seen, *_SYSTEMS}):
                yield from ("--ro-bind", str(nothing) if path.is_dir() else os.devnull, str(place))

    def _own_files(self) -> Iterator[str]:
        # Java asks for the user's name and for the host's address.
        told = {"passwd": f"learner:x:1000:1000::{SCRATCH}:/bin/sh\n", "hosts": "127.0.0.1 localhost\n"}
        for name, text in told.items():
            file = Path(self._outside.name, name)
            file.write_text(text)
            yield from ("--ro-bind", str(file), f"/etc/{name}")
        for module in (inside, plain):
            yield from ("--ro-bind", str(module.__file__), f"{_INSIDE}/{Path(str(module.__file__)).name}")
        yield from ("--ro-bind", str(self._program), f"{_PROGRAMS}/{self._program.name}")


_MOST_THREADS = 1024


def _bubblewrap() -> str | None:
    """Where it is in this process's PATH. The sandbox itself is started with another one."""
    found = shutil.which("bwrap")
    return found and os.path.abspath(found)


@functools.cache
def why_there_is_no_sandbox() -> str:
    """Why this system has none, in one line; "" where it has one. Bubblewrap is tried, once."""
    if not sys.platform.startswith("linux"):
        return "only Linux has the sandbox in which foreign code runs (bubblewrap)"
    if (bubblewrap := _bubblewrap()) is None:
        return "the sandbox in which foreign code runs is missing: install the package bubblewrap (the command bwrap)"
    command = [bubblewrap, "--unshare-all", *_system(), "--proc", "/proc", "--dev", "/dev", "--", "/bin/true"]
    try:
        tried = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return f"the sandbox in which foreign code runs does not start: {failure}"
    said = " ".join(tried.stderr.split()) or f"exit code {tried.returncode}"
    return f"the sandbox in which foreign code runs does not start: {said}" if tried.returncode else ""


def limits_that_hold(limits: Limits) -> str:
    """In words, what a program that is trusted is held to all the same."""
    memory = f"{limits.memory_mb} MiB of memory, " if sys.platform == "linux" else ""
    return (
        f"it gets {memory}files of {limits.file_mb} MiB, and its time; but it can read, "
        "change and delete whatever you can, use the network, and start processes that go on"
    )


def _system() -> Iterator[str]:
    """The system's libraries and commands, and what of its configuration they need."""
    yield from ("--ro-bind", "/usr", "/usr")
    for path in map(Path, ("/bin", "/sbin", "/lib", "/lib32", "/lib64")):
        if path.is_symlink():
            yield from ("--symlink", os.readlink(path), str(path))
        elif path.exists():
            yield from ("--ro-bind", str(path), str(path))
    for name in ("ld.so.cache", "alternatives", "localtime", *map(os.path.basename, glob.glob("/etc/java*"))):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _without_the_home(path: Path) -> list[Path]:
    """What is shown of a directory: all of it, or where the user's home is it or lies in it, what is Python's."""
    if not any(home.is_relative_to(path) for home in (Path.home(), Path.home().resolve())):
        return [path]
    return [path / name for name in ("bin", "lib", "lib64", "pyvenv.cfg")]


def _shown_at(path: Path, shown: set[Path]) -> list[Path]:
    """Where a path is seen below the directories that are shown: also through those that are links, `lib64` say."""
    real = path.resolve()
    tops = sorted(top for top in shown if real.is_relative_to(top.resolve()))
    return [top / real.relative_to(top.resolve()) for top in tops]


def _bare_python() -> str:
    """The Python of which the environment was made."""
    return os.path.realpath(sys.executable)


def _places_of(package: str) -> list[Path]:
    """The directories and files of an installed package, side by side with those of others."""
    distribution = importlib.metadata.distribution(package)
    roots = {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}
    places = [Path(str(distribution.locate_file(root))) for root in sorted(roots)]
    return [place for place in places if place.exists() and place.name != "__pycache__"]


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    """End the process and all others of its session; those of a sandbox end with its first one."""
    process.kill()
    for pid in psutil.pids():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == process.pid:
                os.kill(pid, signal.SIGKILL)
    process.wait()
