"""Batches in memory, one after another, of whatever magic."""

import struct
from collections.abc import Iterator

from minikafka.common.errors import CorruptRecordException
from minikafka.record.legacy_record import RECORD_OVERHEAD_V0
from minikafka.record.legacy_record_batch import LegacyRecordBatch
from minikafka.record.record_batch import (
    CURRENT_MAGIC_VALUE,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    RecordBatch,
)

_SIZE = struct.Struct(">i")


def batches(buffer, start: int = 0, end: int | None = None) -> Iterator[RecordBatch | LegacyRecordBatch]:
    """The batches between bytes `start` and `end` (exclusive) of `buffer`; an incomplete one ends the iteration.

    Raises CorruptRecordException at a size below 14 or a magic outside 0 … 2. Views on a bytearray (or other writable
    bytes) can be changed in place. Kafka: `ByteBufferLogInputStream.nextBatch`, `RecordBatchIterator`.
    """
    view = memoryview(buffer)[start:end]
    position = 0
    while True:
        size = next_batch_size(view, position)
        if size is None or len(view) - position < size:
            return
        batch = view[position : position + size]
        yield RecordBatch(batch) if batch[MAGIC_OFFSET] == CURRENT_MAGIC_VALUE else LegacyRecordBatch(batch)
        position += size


def batch_at(buffer, position: int = 0) -> RecordBatch | LegacyRecordBatch | None:
    """The batch that begins at byte `position`, None when `buffer` ends before it does; raises as `batches` does."""
    return next(batches(buffer, position), None)


def next_batch_size(view: memoryview, position: int = 0) -> int | None:
    """The declared size of the batch at `position`, None when fewer than 17 bytes are left to tell.

    Raises as `batches` does. Kafka: `ByteBufferLogInputStream.nextBatchSize`.
    """
    remaining = len(view) - position
    if remaining < LOG_OVERHEAD:
        return None
    size = _SIZE.unpack_from(view, position + 8)[0]
    if size < RECORD_OVERHEAD_V0:
        raise CorruptRecordException(
            f"Record size {size} is less than the minimum record overhead ({RECORD_OVERHEAD_V0})"
        )
    if remaining < HEADER_SIZE_UP_TO_MAGIC:
        return None
    magic = view[position + MAGIC_OFFSET]
    if magic > CURRENT_MAGIC_VALUE:
        raise CorruptRecordException(f"Invalid magic found in record: {magic - 256 if magic > 127 else magic}")
    return size + LOG_OVERHEAD
