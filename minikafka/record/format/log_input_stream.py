"""Batches of any magic in memory, one after another."""

import struct
from collections.abc import Iterator

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import CorruptRecordException
from minikafka.record.format.record_batch import (
    CURRENT_MAGIC_VALUE,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    RecordBatch,
)
from minikafka.record.legacy.legacy_record import RECORD_OVERHEAD_V0
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch

_SIZE = struct.Struct(">i")
_SIZE_AND_MAGIC = struct.Struct(">8xi4xb")


def batches(buffer: BytesLike, start: int = 0, end: int | None = None) -> Iterator[RecordBatch | LegacyRecordBatch]:
    """The batches between bytes `start` and `end` (exclusive) of `buffer`; an incomplete one ends the iteration.

    Raises CorruptRecordException at a size below 14 or a magic outside 0 … 2. Views on a bytearray (or other writable
    bytes) can be changed in place. Kafka: `RecordBatchIterator`.
    """
    view = memoryview(buffer)[start:end]
    position = 0
    while (batch := next_batch(view, position)) is not None:
        yield batch
        position += len(batch.buffer)


def next_batch(view: memoryview, position: int) -> RecordBatch | LegacyRecordBatch | None:
    """The batch at `position`, None when there is no whole one.

    Raises what `batches` raises. Kafka: `ByteBufferLogInputStream.nextBatch`.
    """
    size = next_batch_size(view, position)
    if size is None or size > len(view) - position:
        return None
    batch = view[position : position + size]
    return RecordBatch(batch) if batch[MAGIC_OFFSET] == CURRENT_MAGIC_VALUE else LegacyRecordBatch(batch)


def next_batch_size(view: memoryview, position: int = 0) -> int | None:
    """The declared size of the batch at `position`, None when fewer than 17 bytes are left.

    Raises what `batches` raises. Kafka: `ByteBufferLogInputStream.nextBatchSize`.
    """
    remaining = len(view) - position
    if remaining < HEADER_SIZE_UP_TO_MAGIC:
        if remaining >= LOG_OVERHEAD:
            _check_size(_SIZE.unpack_from(view, position + 8)[0])
        return None
    size: int
    size, magic = _SIZE_AND_MAGIC.unpack_from(view, position)
    if size < RECORD_OVERHEAD_V0:
        _check_size(size)
    if not 0 <= magic <= CURRENT_MAGIC_VALUE:
        raise CorruptRecordException(f"Invalid magic found in record: {magic}")
    return size + LOG_OVERHEAD


def _check_size(size: int) -> None:
    if size < RECORD_OVERHEAD_V0:
        raise CorruptRecordException(
            f"Record size {size} is less than the minimum record overhead ({RECORD_OVERHEAD_V0})"
        )
