"""Record batches in memory."""

from collections.abc import Iterator
from typing import ClassVar

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import IllegalArgumentException
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.control_record import EndTransactionMarker
from minikafka.record.format.log_input_stream import next_batch, next_batch_size
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import AnyRecord, SimpleRecord
from minikafka.record.format.record_batch import (
    CURRENT_MAGIC_VALUE,
    HEADER_SIZE_UP_TO_MAGIC,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RecordBatch,
)
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch


class MemoryRecords:
    """A sequence of batches in one piece of memory, which may end with an incomplete batch.

    - `buffer` is writable, because a broker sets offsets and epochs in place. Read-only bytes (`bytes`, a read-only
      map) are therefore copied. `log_input_stream.batches` reads such bytes without a copy.
    - Nothing is read before a caller asks for it. A walk that meets the last batch remembers them all, and later walks
      yield the same objects, with what their setters have changed. So no caller may change the bytes except by those
      setters.

    Kafka: `MemoryRecords`.
    """

    __slots__ = ("buffer", "size_in_bytes", "_batches")

    EMPTY: ClassVar["MemoryRecords"]

    def __init__(self, buffer: BytesLike):
        view = buffer if type(buffer) is memoryview else memoryview(buffer)
        if view.itemsize != 1 or view.ndim != 1:
            view = view.cast("B")
        # The bytes of all batches, and of an incomplete one at the end.
        self.buffer = memoryview(bytearray(view)) if view.readonly else view
        self.size_in_bytes = len(view)
        """All bytes, those of an incomplete last batch included. Kafka: `MemoryRecords.sizeInBytes`."""
        self._batches: list[RecordBatch | LegacyRecordBatch] | None = None  # known once the first walk is over

    @staticmethod
    def readable_records(buffer: BytesLike) -> "MemoryRecords":
        """The batches in `buffer` (bytes-like). Kafka: `MemoryRecords.readableRecords`."""
        return MemoryRecords(buffer)

    def valid_bytes(self) -> int:
        """Bytes of the complete batches; raises what `batches` raises. Kafka: `MemoryRecords.validBytes`."""
        return sum(batch.size_in_bytes for batch in self.batches())

    def batches(self) -> Iterator[RecordBatch | LegacyRecordBatch]:
        """The complete batches. Raises CorruptRecordException at an impossible size or magic.

        Kafka: `MemoryRecords.batches`.
        """
        return self._walk() if self._batches is None else iter(self._batches)

    def _walk(self) -> Iterator[RecordBatch | LegacyRecordBatch]:
        walked, position = [], 0
        while (batch := next_batch(self.buffer, position)) is not None:
            walked.append(batch)
            position += len(batch.buffer)
            if position == self.size_in_bytes:  # the last one
                self._batches = walked
            yield batch
        self._batches = walked

    def records(self) -> Iterator[AnyRecord]:
        """The records of all batches; raises what the batches' iteration raises. Kafka: `AbstractRecords.records`."""
        for batch in self.batches():
            yield from batch

    def first_batch(self) -> RecordBatch | LegacyRecordBatch | None:
        """The first batch, None when there is no complete one. Kafka: `AbstractRecords.firstBatch`."""
        return next(self.batches(), None)

    def last_batch(self) -> RecordBatch | LegacyRecordBatch | None:
        """The last complete batch, None when there is none. Kafka: `AbstractRecords.lastBatch`."""
        last = None
        for last in self.batches():
            pass
        return last

    def first_batch_size(self) -> int | None:
        """The declared size of the first batch, None below 17 bytes. Kafka: `MemoryRecords.firstBatchSize`."""
        return None if len(self.buffer) < HEADER_SIZE_UP_TO_MAGIC else next_batch_size(self.buffer)

    def slice(self, position: int, size: int) -> "MemoryRecords":
        """A view on at most `size` bytes from byte `position` on. Kafka: `MemoryRecords.slice`.

        Raises IllegalArgumentException for negative arguments or a position beyond the end.
        """
        if position < 0:
            raise IllegalArgumentException(f"Invalid position: {position} in read from {self}")
        if position > len(self.buffer):
            raise IllegalArgumentException(f"Slice from position {position} exceeds end position of {self}")
        if size < 0:
            raise IllegalArgumentException(f"Invalid size: {size} in read from {self}")
        return MemoryRecords(self.buffer[position : position + size])

    def __eq__(self, other: object) -> bool:
        return self.buffer == other.buffer if isinstance(other, MemoryRecords) else NotImplemented

    def __repr__(self) -> str:
        return f"MemoryRecords(size={self.size_in_bytes})"

    # Making records

    @staticmethod
    def with_records(
        compression: Compression | CompressionType,
        *records: SimpleRecord,
        magic: int = CURRENT_MAGIC_VALUE,
        initial_offset: int = 0,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        log_append_time: int = NO_TIMESTAMP,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        is_transactional: bool = False,
    ) -> "MemoryRecords":
        """One batch of `records` with consecutive offsets from `initial_offset` on; EMPTY without records.

        The log append time (ms) is given. Kafka takes it from the clock, with which no run could be repeated.
        Kafka: `MemoryRecords.withRecords`.
        """
        builder = MemoryRecordsBuilder(
            compression,
            magic=magic,
            timestamp_type=timestamp_type,
            base_offset=initial_offset,
            log_append_time=log_append_time,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            is_transactional=is_transactional,
            partition_leader_epoch=partition_leader_epoch,
        )
        for record in records:
            builder.append(*record)
        return builder.build() if records else MemoryRecords.EMPTY

    @staticmethod
    def with_idempotent_records(
        compression: Compression | CompressionType,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        *records: SimpleRecord,
        initial_offset: int = 0,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    ) -> "MemoryRecords":
        """One batch of an idempotent producer. Kafka: `MemoryRecords.withIdempotentRecords`."""
        return MemoryRecords.with_records(
            compression,
            *records,
            initial_offset=initial_offset,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            partition_leader_epoch=partition_leader_epoch,
        )

    @staticmethod
    def with_transactional_records(
        compression: Compression | CompressionType,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        *records: SimpleRecord,
        initial_offset: int = 0,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    ) -> "MemoryRecords":
        """One batch of a transaction. Kafka: `MemoryRecords.withTransactionalRecords`."""
        return MemoryRecords.with_records(
            compression,
            *records,
            initial_offset=initial_offset,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            partition_leader_epoch=partition_leader_epoch,
            is_transactional=True,
        )

    @staticmethod
    def with_end_transaction_marker(
        timestamp: int,
        producer_id: int,
        producer_epoch: int,
        marker: EndTransactionMarker,
        initial_offset: int = 0,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    ) -> "MemoryRecords":
        """The control batch (78 bytes) that ends a transaction. Kafka: `MemoryRecords.withEndTransactionMarker`."""
        builder = MemoryRecordsBuilder(
            Compression.NONE,
            base_offset=initial_offset,
            log_append_time=timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=True,
            is_control_batch=True,
            partition_leader_epoch=partition_leader_epoch,
        )
        builder.append_end_txn_marker(timestamp, marker)
        return builder.build()


MemoryRecords.EMPTY = MemoryRecords(bytearray())
