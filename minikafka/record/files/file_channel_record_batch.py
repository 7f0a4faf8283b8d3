"""Batches of a log file, read only as far as a caller asks."""

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from minikafka.common.errors import CorruptRecordException, KafkaException, OutOfMemoryError, RecordTooLargeException
from minikafka.common.java.java_numbers import to_long
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_channel import FileChannel
from minikafka.record.files.stream_window import MAX_DECOMPRESSED_BYTES
from minikafka.record.format.record import AnyRecord
from minikafka.record.format.record_batch import (
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_VALUE_V0,
    MAGIC_VALUE_V2,
    RECORD_BATCH_OVERHEAD,
    RecordBatch,
)
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.kernels.record_columns import RecordColumns
from minikafka.record.legacy.legacy_record import RECORD_OVERHEAD_V0, header_size
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch

_UP_TO_MAGIC = struct.Struct(">qiib")
_WINDOW_SIZE = 1 << 16


class BatchFile(Protocol):
    """What a batch must know of the `FileRecords` that it lies in."""

    file: Path
    channel: FileChannel


def file_batches(file_records: BatchFile, start: int, end: int) -> Iterator["FileChannelRecordBatch"]:
    """The batches between bytes `start` and `end` (exclusive) of the file; an incomplete one ends the iteration.

    Raises CorruptRecordException at a size below 14 or when the file ends before `end`, KafkaException when it cannot
    be read, and OutOfMemoryError. Kafka: `FileLogInputStream.nextBatch`, `RecordBatchIterator`.
    """
    position = start
    while position < end - HEADER_SIZE_UP_TO_MAGIC:
        # The first bytes tell size and magic; the rest of a header comes along at no cost.
        head = _read_from(file_records, position, RECORD_BATCH_OVERHEAD)
        offset, size, _, magic = _UP_TO_MAGIC.unpack_from(head)
        if size < RECORD_OVERHEAD_V0:
            raise _too_small(size, file_records)
        if position > end - LOG_OVERHEAD - size:
            return
        kind = DefaultFileChannelRecordBatch if magic >= MAGIC_VALUE_V2 else LegacyFileChannelRecordBatch
        yield kind(offset, magic, file_records, position, size, head)
        position += LOG_OVERHEAD + size


def whole_batches(file_records: BatchFile, start: int, end: int) -> Iterator[RecordBatch | LegacyRecordBatch]:
    """The batches between bytes `start` and `end` (exclusive) in memory, for callers that look at every byte.

    The file is read 64 KiB at a time. An incomplete batch ends the iteration. Raises what `file_batches` and
    `FileChannelRecordBatch.load_full_batch` raise.
    """
    window, window_start = memoryview(b""), start
    position = start
    while position < end - HEADER_SIZE_UP_TO_MAGIC:
        # 1. Move the window if it does not reach over the batch's header.
        at = position - window_start
        if at + HEADER_SIZE_UP_TO_MAGIC > len(window):
            window, window_start, at = _read_from(file_records, position, _WINDOW_SIZE), position, 0
        _, size, _, magic = _UP_TO_MAGIC.unpack_from(window, at)
        if size < RECORD_OVERHEAD_V0:
            raise _too_small(size, file_records)
        if position > end - LOG_OVERHEAD - size:
            return
        size += LOG_OVERHEAD
        # 2. Move it if it does not reach over the whole batch.
        if at + size > len(window):
            window, window_start, at = _read_from(file_records, position, max(size, _WINDOW_SIZE)), position, 0
            if len(window) < size:
                raise _cut_off(size, "full record batch", position, file_records, len(window))
        batch = window[at : at + size]
        yield RecordBatch(batch) if magic >= MAGIC_VALUE_V2 else LegacyRecordBatch(batch)
        position += size


def _read_from(file_records: BatchFile, position: int, size: int) -> memoryview:
    """At most `size` bytes from `position` on; what lies there must reach over a batch's magic."""
    try:
        data = file_records.channel.read(position, size)
    except OSError as error:
        raise KafkaException(f"Failed to read the batch at position {position} of {file_records}: {error}") from error
    except MemoryError as error:
        raise OutOfMemoryError(str(error), file_records.file) from None
    if len(data) < HEADER_SIZE_UP_TO_MAGIC:
        raise CorruptRecordException(
            f"Unexpected EOF while attempting to read the next batch at position {position} of {file_records}"
        )
    return memoryview(data)


def _too_small(size: int, file_records: BatchFile) -> CorruptRecordException:
    return CorruptRecordException(
        f"Found record size {size} smaller than minimum record overhead ({RECORD_OVERHEAD_V0}) "
        f"in file {file_records.file}."
    )


def _cut_off(size: int, description: str, position: int, file_records: BatchFile, count: int) -> KafkaException:
    return KafkaException(
        f"Failed to read `{description}` at position {position} from {file_records}. "
        f"Expected to read {size} bytes, but reached end of file after reading {count} bytes."
    )


class FileChannelRecordBatch(ABC):
    """A batch in a file. Offset, magic, position and size are known; the rest is read when it is first needed.

    What has been read is kept. Reading raises KafkaException when the file ends before the batch does, or cannot be
    read.

    Kafka: `FileLogInputStream.FileChannelRecordBatch`.
    """

    __slots__ = ("_offset", "magic", "file_records", "position", "size_in_bytes", "_head", "_header", "_full")

    def __init__(
        self, offset: int, magic: int, file_records: BatchFile, position: int, batch_size: int, head: memoryview
    ):
        """`position` is that of the batch in the file, `batch_size` the bytes after the size field.

        `head` holds the batch's first bytes: as many as were read to find it, which may be more than its header.
        """
        self._offset = offset
        self.magic = magic
        self.file_records = file_records
        self.position = position
        self.size_in_bytes = LOG_OVERHEAD + batch_size
        self._head = head
        self._header: RecordBatch | LegacyRecordBatch | None = None
        self._full: RecordBatch | LegacyRecordBatch | None = None

    @abstractmethod
    def _to_memory_record_batch(self, data: bytearray | memoryview) -> RecordBatch | LegacyRecordBatch:
        """The view on `data`. Kafka: `FileChannelRecordBatch.toMemoryRecordBatch`."""

    @abstractmethod
    def _header_size(self) -> int:
        """Bytes of the header, offset and size included. Kafka: `FileChannelRecordBatch.headerSize`."""

    @property
    @abstractmethod
    def base_offset(self) -> int:
        """The first offset. Kafka: `RecordBatch.baseOffset`."""

    @property
    @abstractmethod
    def last_offset(self) -> int:
        """The last offset, inclusive. Kafka: `RecordBatch.lastOffset`."""

    def load_full_batch(self) -> RecordBatch | LegacyRecordBatch:
        """The batch in memory, writable. Kafka: `FileChannelRecordBatch.loadFullBatch`."""
        if self._full is None:
            self._full = self._to_memory_record_batch(self._read(self.size_in_bytes, "full record batch"))
        return self._full

    def load_batch_header(self) -> RecordBatch | LegacyRecordBatch:
        """The batch with at least its header in memory. Kafka: `FileChannelRecordBatch.loadBatchHeader`."""
        if self._full is not None:
            return self._full
        if self._header is None:
            size = self._header_size()
            head = self._head[:size] if len(self._head) >= size else self._read(size, "record batch header")
            self._header = self._to_memory_record_batch(head)
        return self._header

    def _read(self, size: int, description: str) -> bytearray:
        data = bytearray(size)
        try:
            count = self.file_records.channel.read_into(data, self.position)
        except OSError as error:
            raise KafkaException(
                f"Failed to load record batch at position {self.position} from {self.file_records}"
            ) from error
        if count < size:
            raise _cut_off(size, description, self.position, self.file_records, count)
        return data

    @property
    def next_offset(self) -> int:
        """The last offset + 1. Kafka: `RecordBatch.nextOffset`."""
        return to_long(self.last_offset + 1)

    @property
    def compression_type(self) -> CompressionType:
        """The codec; IllegalArgumentException for an unknown one. Kafka: `RecordBatch.compressionType`."""
        return self.load_batch_header().compression_type

    @property
    def is_compressed(self) -> bool:
        """True for every codec but NONE; IllegalArgumentException for an unknown one.

        Kafka: `RecordBatch.isCompressed`.
        """
        return self.load_batch_header().is_compressed

    @property
    def timestamp_type(self) -> TimestampType:
        """Who set the timestamps; NO_TIMESTAMP_TYPE for magic 0. Kafka: `RecordBatch.timestampType`."""
        return self.load_batch_header().timestamp_type

    @property
    def checksum(self) -> int:
        """The CRC as stored, unsigned. Kafka: `RecordBatch.checksum`."""
        return self.load_batch_header().checksum

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp, or the log append time, in ms; -1 for none. Kafka: `RecordBatch.maxTimestamp`."""
        return self.load_batch_header().max_timestamp

    @property
    def partition_leader_epoch(self) -> int:
        """Epoch of the leader that appended the batch, -1 when unknown. Kafka: `RecordBatch.partitionLeaderEpoch`."""
        return self.load_batch_header().partition_leader_epoch

    @property
    def attributes(self) -> int:
        """The attribute bits 0 … 7. Kafka: `DefaultRecordBatch.attributes`."""
        return self.load_batch_header().attributes

    @property
    def producer_id(self) -> int:
        """The producer id, -1 for none. Kafka: `RecordBatch.producerId`."""
        return self.load_batch_header().producer_id

    @property
    def has_producer_id(self) -> bool:
        """True when the producer is idempotent or transactional. Kafka: `RecordBatch.hasProducerId`."""
        return self.load_batch_header().has_producer_id

    @property
    def producer_epoch(self) -> int:
        """The epoch of the producer id, -1 without one. Kafka: `RecordBatch.producerEpoch`."""
        return self.load_batch_header().producer_epoch

    @property
    def base_sequence(self) -> int:
        """Sequence number of the first record, -1 for none. Kafka: `RecordBatch.baseSequence`."""
        return self.load_batch_header().base_sequence

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record, -1 for none. Kafka: `RecordBatch.lastSequence`."""
        return self.load_batch_header().last_sequence

    @property
    def count_or_none(self) -> int | None:
        """The number of records; None where the format has no such field. Kafka: `RecordBatch.countOrNull`."""
        return self.load_batch_header().count_or_none

    @property
    def is_transactional(self) -> bool:
        """True for a batch of a transaction. Kafka: `RecordBatch.isTransactional`."""
        return self.load_batch_header().is_transactional

    @property
    def is_control_batch(self) -> bool:
        """True when the batch holds a control record instead of data. Kafka: `RecordBatch.isControlBatch`."""
        return self.load_batch_header().is_control_batch

    @property
    def has_delete_horizon(self) -> bool:
        """True when the base timestamp is a delete horizon. Kafka: `DefaultRecordBatch.hasDeleteHorizonMs`."""
        return self.load_batch_header().has_delete_horizon

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the batch's tombstones and markers may go, in ms; None when it was not decided.

        Kafka: `RecordBatch.deleteHorizonMs`.
        """
        return self.load_batch_header().delete_horizon_ms

    @property
    def buffer(self) -> memoryview:
        """The bytes of the batch."""
        return self.load_full_batch().buffer

    def is_valid(self) -> bool:
        """True when the size and the CRC are right. Kafka: `RecordBatch.isValid`."""
        return self.load_full_batch().is_valid()

    def ensure_valid(self) -> None:
        """Raise CorruptRecordException unless the size and the CRC are right. Kafka: `RecordBatch.ensureValid`."""
        self.load_full_batch().ensure_valid()

    def __iter__(self) -> Iterator[AnyRecord]:
        """The records, limited to `MAX_DECOMPRESSED_BYTES`. Kafka: `RecordBatch.iterator`."""
        return self.records()

    def records(self, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[AnyRecord]:
        """The records; RecordTooLargeException, which names the place, for more decompressed bytes than the limit.

        Kafka: `RecordBatch.iterator`.
        """
        with self._place_told():
            return self.load_full_batch().records(max_decompressed_bytes)

    def streaming_iterator(self) -> Iterator[AnyRecord]:
        """The records; a damaged compressed batch also gives those before the damage.

        Kafka: `RecordBatch.streamingIterator`.
        """
        return self.load_full_batch().streaming_iterator()

    def offset_of_max_timestamp(self) -> int | None:
        """The first offset with the batch's max timestamp; None for magic 0.

        Kafka: `RecordBatch.offsetOfMaxTimestamp`.
        """
        if self.magic == MAGIC_VALUE_V0:
            return None
        newest = self.max_timestamp
        return next((record.offset for record in self.streaming_iterator() if record.timestamp == newest), None)

    def check_records(self) -> None:
        """Look at all records and keep none; raises what iteration raises for the first bad one."""
        self.load_full_batch().check_records()

    def columns(self, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> RecordColumns:
        """All records as columns; raises what `records` raises. Kafka: `RecordBatch.iterator`."""
        with self._place_told():
            return self.load_full_batch().columns(max_decompressed_bytes)

    @contextmanager
    def _place_told(self) -> Iterator[None]:
        """Add the file and position to the error for a batch that is too large to be handed out."""
        try:
            yield
        except RecordTooLargeException as error:
            raise RecordTooLargeException(
                f"{error}: the batch at position {self.position} of {self.file_records.file}, offset {self._offset}"
            ) from None

    def write_to(self, buffer: bytearray) -> None:
        """Append the batch to `buffer`. Kafka: `RecordBatch.writeTo`."""
        buffer += self._read(self.size_in_bytes, "full record batch")

    def __repr__(self) -> str:
        return (
            f"FileChannelRecordBatch(magic: {self.magic}, offset: {self._offset}, "
            f"size: {self.size_in_bytes - LOG_OVERHEAD})"
        )


class DefaultFileChannelRecordBatch(FileChannelRecordBatch):
    """A batch of magic 2 in a file. Kafka: `DefaultRecordBatch.DefaultFileChannelRecordBatch`."""

    __slots__ = ()

    def _to_memory_record_batch(self, data: bytearray | memoryview) -> RecordBatch:
        return RecordBatch(data)

    def _header_size(self) -> int:
        return RECORD_BATCH_OVERHEAD

    @property
    def base_offset(self) -> int:
        """The first offset. Kafka: `RecordBatch.baseOffset`."""
        return self._offset

    @property
    def last_offset(self) -> int:
        """The last offset, inclusive. Kafka: `RecordBatch.lastOffset`."""
        return self.load_batch_header().last_offset


class LegacyFileChannelRecordBatch(FileChannelRecordBatch):
    """A batch of magic 0 or 1 in a file. Kafka: `AbstractLegacyRecordBatch.LegacyFileChannelRecordBatch`."""

    __slots__ = ()

    producer_id = -1
    producer_epoch = -1
    base_sequence = -1
    last_sequence = -1
    partition_leader_epoch = -1
    has_producer_id = False
    is_transactional = False
    is_control_batch = False
    has_delete_horizon = False
    delete_horizon_ms = None
    count_or_none = None

    def _to_memory_record_batch(self, data: bytearray | memoryview) -> LegacyRecordBatch:
        return LegacyRecordBatch(data)

    def _header_size(self) -> int:
        return LOG_OVERHEAD + header_size(self.magic)

    @property
    def base_offset(self) -> int:
        """Offset of the first message; the whole batch is read for it. Kafka: `RecordBatch.baseOffset`."""
        return self.load_full_batch().base_offset

    @property
    def last_offset(self) -> int:
        """The last offset, inclusive. Kafka: `RecordBatch.lastOffset`."""
        return self._offset
