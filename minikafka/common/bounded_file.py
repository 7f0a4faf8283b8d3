"""Reading files that are small unless they are damaged: a sparse one can claim any size."""

import os
from pathlib import Path

MAX_ARRAY_SIZE = 2**31 - 9
"""Bytes of the largest file that Java reads as a whole."""

MAX_TEXT_SIZE = 64 * 1024 * 1024
"""Bytes of a checkpoint of 600,000 partitions; Kafka reads longer texts, until its memory ends."""


def read_text_file(file: Path) -> bytes:
    """The bytes of a text file. Raises OSError, and MemoryError, which names the file, beyond `MAX_TEXT_SIZE`."""
    with open(file, "rb") as opened:
        require_size(file, os.fstat(opened.fileno()).st_size, MAX_TEXT_SIZE)
        return opened.read(MAX_TEXT_SIZE)


def require_size(file: Path, size: int, largest: int) -> None:
    """Raises MemoryError, which names the file, if it has more than `largest` bytes.

    Kafka, too, dies there: of `java.lang.OutOfMemoryError`, which is no exception that a loader catches.
    """
    if size > largest:
        error = MemoryError(f"{size} bytes are more than the {largest} that are read as a whole")
        error.filename = str(file)
        raise error
