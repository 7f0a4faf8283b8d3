"""How the tools tell an error: one line, with the name that Kafka's exception has."""

import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minikafka.common.errors import IOException

TOLD = (RuntimeError, ValueError, IndexError, OSError, MemoryError)
"""What a tool tells in one line: Kafka's exceptions and the machine's. Anything else is a bug, and keeps its traceback."""


def describe(error: BaseException) -> str:
    """`Name: message`, on one line; the machine's own errors get the names they have in Java, and name their file."""
    if isinstance(error, shutil.Error):  # of copytree: a list of (from, to, why)
        source, _, why = error.args[0][0]
        return _one_line(f"IOException: {why}: {source}")
    if isinstance(error, MemoryError):
        return _one_line(f"OutOfMemoryError: {str(error) or 'there is not enough memory'}{_files_of(error)}")
    if isinstance(error, OSError) and error.errno is not None:
        if isinstance(error, FileNotFoundError):
            return _one_line(f"NoSuchFileException{_files_of(error)}")
        return _one_line(f"IOException: {error.strerror}{_files_of(error)}")
    return _one_line(f"{type(error).__name__}: {error}")


@contextmanager
def naming(file: Path | str) -> Iterator[None]:
    """An error of the machine that names no file (of a read from a descriptor, say, or of memory) gets this one's name.

    The place for it is around the work on one file: `describe` then tells which one failed.
    """
    try:
        yield
    except (OSError, MemoryError) as error:
        of_the_machine = isinstance(error, MemoryError) or error.errno is not None
        if of_the_machine and getattr(error, "filename", None) is None:
            error.filename = str(file)
        raise


def require_regular_file(file: Path) -> None:
    """Raises IOException for a pipe, a device or a directory under a file's name: reading one may never end.

    A link counts as what it leads to. Nothing is said about a file that is not there: its reader will.
    """
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise IOException(f"{file} is not a regular file")


def _files_of(error: BaseException) -> str:
    names = [name for name in (getattr(error, "filename", None), getattr(error, "filename2", None)) if name is not None]
    return ": " + " -> ".join(map(str, names)) if names else ""


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
