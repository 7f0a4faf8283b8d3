"""The entries of index files, read without mapping or locking them: a broker may be writing beside us."""

from typing import TYPE_CHECKING

import numpy as np

from minikafka.common.errors import IOException
from minikafka.log.log_file_utils import INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX
from minikafka.spark.source.log_segments_on_disk import DiskSegment
from minikafka.spark.source.storage import beside

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OFFSET_ENTRY = np.dtype([("offset", ">i4"), ("position", ">i4")])
_TIME_ENTRY = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])
_LARGEST = 1 << 30  # bytes; Kafka's default is 10 MiB


def offset_entries(segment: DiskSegment) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """The last offsets of some batches, and where those batches begin (bytes).

    Both ascend. Entries from the first that does not on are left out, with the zeros that fill an index in use. A
    missing index has none.
    """
    entries = _entries(segment, INDEX_FILE_SUFFIX, _OFFSET_ENTRY)
    offsets, positions = entries["offset"].astype(np.int64), entries["position"].astype(np.int64)
    count = min(_ascending(offsets, strictly=True), _ascending(positions, strictly=True))
    return offsets[:count] + segment.base_offset, positions[:count]


def time_entries(segment: DiskSegment) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Timestamps (ms), and the offsets of the first records that have them.

    No record up to an entry's offset has a larger timestamp. The rest is as in `offset_entries`.
    """
    entries = _entries(segment, TIME_INDEX_FILE_SUFFIX, _TIME_ENTRY)
    timestamps, offsets = entries["timestamp"].astype(np.int64), entries["offset"].astype(np.int64)
    count = min(_ascending(timestamps, strictly=False), _ascending(offsets, strictly=False))
    return timestamps[:count], offsets[:count] + segment.base_offset


def _entries(segment: DiskSegment, suffix: str, entry: "np.dtype[np.void]") -> "NDArray[np.void]":
    """All entries up to the first that is all zeros."""
    try:
        opened, size = segment.storage.open_now(beside(segment.path, suffix))
    except (FileNotFoundError, IOException):  # there is none, or it is no file
        return np.empty(0, entry)
    try:
        data = opened.read(0, size) if size <= _LARGEST else b""
    finally:
        opened.close()
    entries = np.frombuffer(data, entry, len(data) // entry.itemsize)
    # An index in use has 10 MB, nearly all of them zeros: word by word that is seen in milliseconds.
    words = np.frombuffer(data, np.int32, len(entries) * entry.itemsize // 4).reshape(-1, entry.itemsize // 4)
    is_zero = np.ones(len(entries) + 1, bool)
    for word in words.T:
        is_zero[:-1] &= word == 0
    return entries[: is_zero.argmax()]


def _ascending(numbers: "NDArray[np.int64]", *, strictly: bool) -> int:
    """How many numbers from the first on ascend, none of them negative."""
    if not len(numbers) or numbers[0] < 0:
        return 0
    steps = np.diff(numbers)
    falls = np.flatnonzero(steps <= 0 if strictly else steps < 0)
    return int(falls[0]) + 1 if len(falls) else len(numbers)
