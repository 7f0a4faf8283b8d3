"""Which segments of tiered storage count where two leaders have copied the same records.

A name says where a segment begins. Where it ends, its last batch says, which is looked for in the last bytes of the
file: the batch that ends with the file.
"""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np

from minikafka.record.format.batch_header import LOG_OVERHEAD
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.spark.source.damage import DAMAGE, is_refused
from minikafka.spark.source.partition_names import is_tiered_segment
from minikafka.spark.source.storage import Storage, StoredFile

_WINDOWS = (64 << 10, 2 << 20, 64 << 20)
"""Bytes at the end of a file in which its last batch is looked for; a larger batch is not found."""
_AT_ONCE = 16
_CHUNK = 1 << 20


def without_those_within_others(storage: Storage, found: Mapping[int, StoredFile]) -> Mapping[int, StoredFile]:
    """`found`, files by base offset, without the segments of tiered storage all of whose offsets an earlier one has.

    One whose end is not found stays. Raises nothing: what cannot be read is found when it is read.
    """
    if len(found) < 2 or not all(is_tiered_segment(os.path.basename(file.path)) for file in found.values()):
        return found
    base_offsets = sorted(found)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        ends = pool.map(lambda base_offset: _last_offset(storage, found[base_offset]), base_offsets)
        counting: dict[int, StoredFile] = {}
        reached = -1
        for base_offset, last_offset in zip(base_offsets, ends, strict=True):
            if last_offset is None or last_offset > reached:
                counting[base_offset] = found[base_offset]
                reached = max(reached, base_offset if last_offset is None else last_offset)
    return counting


@lru_cache(maxsize=100_000)
def _last_offset(storage: Storage, file: StoredFile) -> int | None:
    """The offset of the file's last record, None where it is not found. A stream asks again for each micro-batch.

    Raises OSError where the storage refuses: of segments within others, records would count twice.
    """
    try:
        opened = storage.open(file)
    except DAMAGE as error:
        if is_refused(error):
            raise
        return None
    try:
        for window in _WINDOWS:
            tail = opened.read(max(file.size - window, 0), min(window, file.size))
            for at in _may_begin_the_last_batch(tail):
                if (last_offset := _last_offset_of(tail[at:])) is not None:
                    return last_offset
            if window >= file.size:
                return None
    except DAMAGE as error:
        if is_refused(error):
            raise
        return None
    finally:
        opened.close()
    return None


def _may_begin_the_last_batch(tail: bytes) -> Iterator[int]:
    """The places in `tail` from which on a batch would end with it, by the length that stands there."""
    places = len(tail) - LOG_OVERHEAD + 1
    data = np.frombuffer(tail, np.uint8)
    for begin in range(0, places, _CHUNK):
        count = min(_CHUNK, places - begin)
        part = data[begin + 8 : begin + 8 + count + 3].astype(np.int64)
        lengths = sum(part[byte : byte + count] << (24 - 8 * byte) for byte in range(4))
        wanted = len(tail) - LOG_OVERHEAD - np.arange(begin, begin + count)
        yield from (begin + np.flatnonzero(lengths == wanted)).tolist()


def _last_offset_of(data: bytes) -> int | None:
    """The last offset of the batch that `data` are; None where they are none."""
    try:
        (batch,) = MemoryRecords(bytearray(data)).batches()
        batch.ensure_valid()
        return batch.last_offset
    except DAMAGE:
        return None
