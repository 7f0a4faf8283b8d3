"""What every batch of records can be asked, whatever its format and wherever it lies."""

from collections.abc import Iterator
from typing import Protocol

from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.stream_window import MAX_DECOMPRESSED_BYTES
from minikafka.record.format.record import AnyRecord
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.kernels.record_columns import RecordColumns


class Batch(Protocol):
    """A batch of any magic, in memory or in a file. Kafka: `RecordBatch`.

    The classes behind it are `RecordBatch` and `LegacyRecordBatch` (in memory, magic 2 and magic 0–1), and
    `DefaultFileChannelRecordBatch` and `LegacyFileChannelRecordBatch` (the same two in a file).
    """

    @property
    def magic(self) -> int:
        """The version of the format: 0, 1 or 2. Kafka: `RecordBatch.magic`."""

    @property
    def base_offset(self) -> int:
        """The first offset. Kafka: `RecordBatch.baseOffset`.

        In magic 2 it stays when compaction removes that record; in magic 0 and 1 a compressed batch must be
        decompressed to find it.
        """

    @property
    def last_offset(self) -> int:
        """The last offset, inclusive. Kafka: `RecordBatch.lastOffset`."""

    @property
    def next_offset(self) -> int:
        """The last offset + 1. Kafka: `RecordBatch.nextOffset`."""

    @property
    def size_in_bytes(self) -> int:
        """Bytes of the batch as it declares them, offset and size included. Kafka: `RecordBatch.sizeInBytes`."""

    @property
    def partition_leader_epoch(self) -> int:
        """Epoch of the leader that appended the batch, -1 when unknown. Kafka: `RecordBatch.partitionLeaderEpoch`."""

    @property
    def checksum(self) -> int:
        """The CRC as stored, unsigned: CRC-32C in magic 2, CRC-32 before. Kafka: `RecordBatch.checksum`."""

    @property
    def attributes(self) -> int:
        """The attribute bits. Kafka: `DefaultRecordBatch.attributes`, `LegacyRecord.attributes`."""

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp, or the log append time, in ms; -1 for none. Kafka: `RecordBatch.maxTimestamp`."""

    @property
    def timestamp_type(self) -> TimestampType:
        """Who set the timestamps; NO_TIMESTAMP_TYPE for magic 0. Kafka: `RecordBatch.timestampType`."""

    @property
    def compression_type(self) -> CompressionType:
        """The codec; IllegalArgumentException for an unknown one. Kafka: `RecordBatch.compressionType`."""

    @property
    def is_compressed(self) -> bool:
        """True for every codec but NONE; IllegalArgumentException for an unknown one.

        Kafka: `RecordBatch.isCompressed`.
        """

    @property
    def producer_id(self) -> int:
        """-1 when the producer is neither idempotent nor transactional. Kafka: `RecordBatch.producerId`."""

    @property
    def has_producer_id(self) -> bool:
        """True when `producer_id` is not negative. Kafka: `RecordBatch.hasProducerId`."""

    @property
    def producer_epoch(self) -> int:
        """-1 without a producer id. Kafka: `RecordBatch.producerEpoch`."""

    @property
    def base_sequence(self) -> int:
        """Sequence number of the first record, -1 for none. Kafka: `RecordBatch.baseSequence`."""

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record, -1 for none. Kafka: `RecordBatch.lastSequence`."""

    @property
    def count_or_none(self) -> int | None:
        """The number of records; None where the format has no such field. Kafka: `RecordBatch.countOrNull`."""

    @property
    def is_transactional(self) -> bool:
        """True for a batch of a transaction. Kafka: `RecordBatch.isTransactional`."""

    @property
    def is_control_batch(self) -> bool:
        """True when the batch holds a control record instead of data. Kafka: `RecordBatch.isControlBatch`."""

    @property
    def has_delete_horizon(self) -> bool:
        """True when `delete_horizon_ms` is set. Kafka: `DefaultRecordBatch.hasDeleteHorizonMs`."""

    @property
    def delete_horizon_ms(self) -> int | None:
        """When compaction may drop the batch's tombstones and markers, in ms since 1970; None when it was not decided.

        Kafka: `RecordBatch.deleteHorizonMs`.
        """

    @property
    def buffer(self) -> memoryview:
        """The bytes of the batch."""

    def is_valid(self) -> bool:
        """True when the size and the CRC are right. Kafka: `RecordBatch.isValid`."""

    def ensure_valid(self) -> None:
        """Raise CorruptRecordException unless the size and the CRC are right. Kafka: `RecordBatch.ensureValid`."""

    def __iter__(self) -> Iterator[AnyRecord]:
        """The records, limited to `MAX_DECOMPRESSED_BYTES`. Kafka: `RecordBatch.iterator`."""

    def records(self, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[AnyRecord]:
        """The records; RecordTooLargeException for more bytes than the limit. Kafka: `RecordBatch.iterator`."""

    def streaming_iterator(self) -> Iterator[AnyRecord]:
        """The records; a damaged batch gives those before the damage. Kafka: `RecordBatch.streamingIterator`."""

    def columns(self, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> RecordColumns:
        """All records as columns; raises what `records` raises. Kafka: `RecordBatch.iterator`."""

    def check_records(self) -> None:
        """Look at all records and keep none; raises what iteration raises."""

    def write_to(self, buffer: bytearray) -> None:
        """Append the bytes of the batch to `buffer`. Kafka: `RecordBatch.writeTo`."""
