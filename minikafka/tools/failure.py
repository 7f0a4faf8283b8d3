"""How the tools report an error: in one line, with the name of Kafka's exception."""

import difflib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minikafka.common.errors import KafkaException

TOLD = (RuntimeError, ValueError, IndexError, OSError, MemoryError)
"""What a tool reports in one line: Kafka's exceptions and the machine's. Anything else is a bug and keeps its
traceback.
"""


def describe(error: BaseException) -> str:
    """`Name: message` on one line. The machine's own errors get their names in Java, and name their file."""
    if isinstance(error, shutil.Error):  # copytree's: a list of (from, to, why)
        source, _, why = error.args[0][0]
        return one_line(f"IOException: {why}: {source}")
    if isinstance(error, MemoryError):
        return one_line(f"OutOfMemoryError: {str(error) or 'there is not enough memory'}{_files_of(error)}")
    if isinstance(error, OSError) and error.errno is not None:
        if isinstance(error, FileNotFoundError):
            return one_line(f"NoSuchFileException{_files_of(error)}")
        return one_line(f"IOException: {error.strerror}{_files_of(error)}")
    cause = error.__cause__
    while cause is not None and not (isinstance(cause, OSError) and cause.errno):
        cause = cause.__cause__
    is_new = cause is not None and str(cause.strerror) not in str(error)
    return one_line(f"{type(error).__name__}: {error}" + (f": {cause.strerror}{_files_of(cause)}" if is_new else ""))


@contextmanager
def naming(file: Path | str) -> Iterator[None]:
    """Give this file's name to an error of the machine that names none (an error of a read from a descriptor, say, or
    of memory).

    It belongs around the work on one file, so that `describe` can say which one failed. It also names the file in a
    machine's error that is the cause of one of Kafka's.
    """
    try:
        yield
    except (OSError, MemoryError, KafkaException) as error:
        failed: Any = error.__cause__ if isinstance(error, KafkaException) else error
        of_the_machine = isinstance(failed, MemoryError) or getattr(failed, "errno", None) is not None
        if of_the_machine and getattr(failed, "filename", None) is None:
            failed.filename = str(file)
        raise


def _files_of(error: BaseException) -> str:
    names = [name for name in (getattr(error, "filename", None), getattr(error, "filename2", None)) if name is not None]
    return ": " + " -> ".join(map(str, names)) if names else ""


def one_line(text: str) -> str:
    """`text` without its line breaks, since even a file's name may contain some."""
    return " ".join(text.splitlines())


def nearest(name: str, known: Iterable[str]) -> str:
    """What a message about an unknown name says behind it: the known one that looks most like it; "" if none does."""
    found = difflib.get_close_matches(name, known, n=1)
    return f"; the nearest is {found[0]}" if found else ""
