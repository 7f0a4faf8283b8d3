"""Bounds for the files beside the segments: they are read whole, and a damaged one may have any length."""

from pathlib import Path

from minikafka.common.errors import IOException
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.log.log_file_utils import INDEX_FILE_SUFFIX, LOG_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX
from minikafka.tools.failure import naming

MAX_BYTES = 32 << 20
"""The limit for a file that is held in memory: room for a snapshot of 700,000 producers or a million aborted
transactions.
"""
MAX_INDEX_BYTES = 1 << 30
"""The limit for an index, which is read piece by piece; Kafka's default size is 10 MiB."""


def require_bounded(file: Path) -> Path:
    """The file, if it is no larger than a genuine one of its kind can be; otherwise raises IOException."""
    if LOG_FILE_SUFFIX in file.name:
        limit = INT_MAX
    elif INDEX_FILE_SUFFIX in file.name or TIME_INDEX_FILE_SUFFIX in file.name:
        limit = MAX_INDEX_BYTES
    else:
        limit = MAX_BYTES
    size = file.stat().st_size
    if size > limit:
        raise IOException(f"{file} is not read: it has {size} bytes, and no more than {limit} are looked at")
    return file


def read_bounded(file: Path) -> bytes:
    """The bytes of the file. Raises OSError, IOException for too many."""
    with naming(file):
        return require_bounded(file).read_bytes()


def of_the_machine(error: BaseException) -> bool:
    """True for an error that says nothing about the bytes: no permission to read, a failing device, no memory."""
    cause = error.__cause__ or error
    return isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno is not None)


def raise_of_the_machine(error: BaseException, file: Path) -> None:
    """Raise the cause of `error` if it says nothing about the file's bytes."""
    if of_the_machine(error):
        cause = error.__cause__ or error
        with naming(file):
            raise cause
