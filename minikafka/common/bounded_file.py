"""Reading files that are small unless they are damaged: a damaged one can claim any size."""

import os
from pathlib import Path

from minikafka.common.errors import OutOfMemoryError
from minikafka.common.java.java_numbers import INT_MAX

MAX_ARRAY_SIZE = INT_MAX - 8
"""The size of the largest file that Java reads as a whole."""

MAX_TEXT_SIZE = 64 * 1024 * 1024
"""The size of a checkpoint of 600,000 partitions. Kafka reads longer texts, until it runs out of memory."""


def read_text_file(file: Path) -> bytes:
    """The bytes of a text file. Raises OSError, and OutOfMemoryError beyond `MAX_TEXT_SIZE`."""
    with open(file, "rb") as opened:
        require_size(file, os.fstat(opened.fileno()).st_size, MAX_TEXT_SIZE)
        return opened.read(MAX_TEXT_SIZE)


def require_size(file: Path, size: int, largest: int) -> None:
    """Raise OutOfMemoryError when `file` has more than `largest` bytes."""
    if size > largest:
        raise OutOfMemoryError(f"{size} bytes are more than the {largest} that are read as a whole", file)
