"""Calls the tools as their users do, within limits, and sees how they end and what they leave of a directory."""

import io
import logging
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from crc32c import crc32c

from minikafka.cli import main as minikafka
from minikafka.common import errors

CPU_SECONDS = 10
"""What one run of a tool may take, of a directory of a few kilobytes."""
SECONDS = 120
MEMORY_MB = 300
"""By how much one run may let this process grow; index files of 10 MiB are mapped meanwhile."""

# Names that a line may begin with: Kafka's, those of Java's that Kafka lets escape, and those of Java's file errors.
_NAMES = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)} | {
    "IOException",
    "NoSuchFileException",
    "OutOfMemoryError",
    "ArithmeticException",
    "ClassCastException",
}
FOREIGN = re.compile(
    r"Traceback|(?:^|: )error: |(?<![A-Za-z])(?:IndexError|KeyError|ValueError|TypeError|AttributeError|MemoryError|"
    r"OverflowError|ZeroDivisionError|AssertionError|RecursionError|RuntimeError|StopIteration|BufferError|EOFError|"
    r"OSError|FileNotFoundError|FileExistsError|IsADirectoryError|NotADirectoryError|PermissionError|zlib\.error|"
    r"Unicode\w*Error|JSONDecodeError|BadZipFile|ZstdError|LZ4\w*Error|DecompressionError|Logging error)(?=: |$)",
    re.MULTILINE,
)
_NOTE = re.compile(r"Warning: .*\n|.*: Kafka passes over it\n|.*; the broker does not start\n")
"""What a tool tells besides an error; the last two are of `ls`."""
_ONE_ERROR = re.compile(r"(?:\S.*: )?(?P<name>[A-Z]\w*(?:Exception|Error)): .*\n")


class Fault(Exception):
    """A tool did what it must not do."""


class TookTooLong(BaseException):
    """No tool's handler of exceptions may catch it."""


@dataclass(frozen=True)
class Run:
    """What one call of a tool printed, its exit code, and the warnings that were logged meanwhile."""

    arguments: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    warnings: str = ""

    def said(self, *places: Path) -> tuple[int, str, str]:
        """Exit code and output, with the names of the directories that differ from run to run left out."""
        out, err = self.stdout, self.stderr
        for place in places:
            out, err = out.replace(str(place), "DIR"), err.replace(str(place), "DIR")
        return self.exit_code, out, err


class _Warnings(logging.Handler):
    """Collects what Python prints on stderr when nobody has set up logging: warnings, with their tracebacks."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


_warnings = _Warnings()


@contextmanager
def warnings_collected() -> Iterator[None]:
    """What is logged inside belongs to the runs that `call` makes, and goes nowhere else."""
    logger = logging.getLogger("minikafka")
    before = logger.handlers, logger.propagate
    logger.handlers, logger.propagate = [_warnings], False
    try:
        yield
    finally:
        logger.handlers, logger.propagate = before


def call(*arguments: str) -> Run:
    """Run `minikafka` with these arguments in this process. Raises Fault when it ends as no tool may."""
    _warnings.lines.clear()
    out, err = _stream(), _stream()
    with _limited(arguments), redirect_stdout(out), redirect_stderr(err):
        try:
            code = minikafka(list(arguments), prog_name="minikafka")
        except SystemExit as end:
            code = end.code
        except Exception:
            raise Fault(f"{' '.join(arguments)} raised\n{traceback.format_exc()}") from None
    return Run(arguments, code or 0, _text(out), _text(err), "\n".join(_warnings.lines))


def _stream() -> io.TextIOWrapper:
    """A stream as the command sets up its own."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", newline="\n")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "surrogateescape")


def call_in_a_process(*arguments: str, locale: str = "C.UTF-8") -> Run:
    """Run `minikafka` as a command under this locale."""
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", "from minikafka.cli import main; main(prog_name='minikafka')", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, env=environment, stdin=subprocess.DEVNULL)
    out, err = (stream.decode("utf-8", "surrogateescape") for stream in (done.stdout, done.stderr))
    return Run(arguments, done.returncode, out, err)


@contextmanager
def _limited(arguments: tuple[str, ...]) -> Iterator[None]:
    """Raises Fault for a run that takes too long or grows too large."""

    began = time.thread_time()

    def stop(number, frame):
        nonlocal began
        if _compiles(frame):  # once on a machine: the tool's time begins after it
            began = time.thread_time()
        # The timer counts what other threads of a test process do, too, and goes on for as long as it was theirs.
        if number == signal.SIGALRM or time.thread_time() - began >= CPU_SECONDS:
            raise TookTooLong

    before = _memory("VmRSS")
    _reset_peak()
    handlers = [(number, signal.signal(number, stop)) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS, 1)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    except TookTooLong:
        raise Fault(f"{' '.join(arguments)} took more than {CPU_SECONDS} s\n{traceback.format_exc()}") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers:
            signal.signal(number, handler)
    grown = (_memory("VmHWM") - before) // 1024
    if grown > MEMORY_MB:
        raise Fault(f"{' '.join(arguments)} took {grown} MiB")


def _compiles(frame: FrameType | None) -> bool:
    """Whether numba is at work in the frame or in a caller of it."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("numba."):
            return True
        frame = frame.f_back
    return False


def _memory(name: str) -> int:
    """Memory of this process in KiB; 0 where the system does not tell."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(re.search(rf"{name}:\s+(\d+) kB", text)[1])


def _reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass  # then the peak is that of the whole run, and the limit is for all of it


def well_said(run: Run, codes: Collection[int], lines_at: int = 1) -> Run:
    """Demand a promised exit code and errors in one line, by names of Kafka's; `lines_at` is the code of an error."""
    what = f"{' '.join(run.arguments)} (exit code {run.exit_code})"
    if run.exit_code not in codes:
        raise Fault(f"{what}: one of {codes} was promised\n{run.stderr}")
    for text in (run.stderr, run.warnings):
        if FOREIGN.search(text):
            raise Fault(f"{what} says\n{text}")
    if run.exit_code >= lines_at and not run.stderr:
        raise Fault(f"{what} says nothing")
    told = [line for line in run.stderr.splitlines(keepends=True) if not _NOTE.fullmatch(line)]
    for line in told if run.exit_code >= lines_at else ():
        match = _ONE_ERROR.fullmatch(line)
        if match is None or match["name"] not in _NAMES:
            raise Fault(f"{what}: no name of Kafka's in\n{run.stderr}")
    return run


Tree = dict[str, tuple]


def tree(directory: Path, times: bool = False) -> Tree:
    """Each path below `directory`: its kind, size, content; with `times` also when it was changed, and its inode."""
    found = {}
    for path in sorted(directory.rglob("*")):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else crc32c(path.read_bytes()) if path.is_file() else None
        facts = status.st_mode, status.st_size if path.is_file() else 0, content
        found[str(path.relative_to(directory))] = (*facts, status.st_mtime_ns, status.st_ino) if times else facts
    if times:
        found["."] = (directory.stat().st_mtime_ns,)
    return found


def difference(before: Tree, after: Tree) -> list[str]:
    """A line for each path that differs."""
    names = sorted(before.keys() | after.keys())
    return [f"{n!r}: {before.get(n)} → {after.get(n)}" for n in names if before.get(n) != after.get(n)]
