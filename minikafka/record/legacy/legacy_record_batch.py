"""Batches of the old formats, magic 0 and 1: one message, or a compressed message that wraps others."""

import struct
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TypeAlias

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import (
    CorruptRecordException,
    IllegalArgumentException,
    InvalidRecordException,
    UnsupportedOperationException,
)
from minikafka.common.java.java_numbers import to_long
from minikafka.record.codecs.compression import CompressionType, pieces
from minikafka.record.files.stream_window import MAX_DECOMPRESSED_BYTES, WINDOW_SIZE, StreamWindow
from minikafka.record.format.batch_header import LOG_OVERHEAD
from minikafka.record.format.record import Header
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.kernels import kernel
from minikafka.record.kernels.record_columns import RecordColumns
from minikafka.record.legacy.legacy_record import (
    ATTRIBUTES_OFFSET,
    RECORD_OVERHEAD_V0,
    TIMESTAMP_OFFSET,
    LegacyRecord,
    compute_attributes,
)

_OFFSET_AND_SIZE = struct.Struct(">qi")
_LONG = struct.Struct(">q")
_UNSIGNED_INT = struct.Struct(">I")


class BasicLegacyRecordBatch:
    """A message with its offset, which is both a batch and a record, as in Kafka.

    - Every message that is not compressed counts as a batch of one.
    - A compressed message has no key; its value holds messages, which must not be compressed again. Its offset is that
      of the last of them. Inner offsets are absolute in magic 0; in magic 1 they count from the first.
    - There are no producer ids, transactions, leader epochs, headers or control batches.

    Kafka: `AbstractLegacyRecordBatch`, `BasicLegacyRecordBatch`.
    """

    __slots__ = ("_offset", "outer_record")

    producer_id = -1
    producer_epoch = -1
    base_sequence = -1
    last_sequence = -1
    sequence = -1
    partition_leader_epoch = -1
    has_producer_id = False
    is_transactional = False
    is_control_batch = False
    has_delete_horizon = False
    delete_horizon_ms = None
    count_or_none = None
    headers: tuple[Header, ...] = ()

    def __init__(self, offset: int, record: LegacyRecord):
        self._offset = offset
        self.outer_record = record

    # As a record

    @property
    def offset(self) -> int:
        """The message's offset; a wrapper has that of its last message. Kafka: `Record.offset`."""
        return self._offset

    @property
    def timestamp(self) -> int:
        """The timestamp in ms; -1 for magic 0. Kafka: `Record.timestamp`."""
        return self.outer_record.timestamp

    @property
    def key(self) -> bytes | None:
        """The key, None when it is null. Kafka: `Record.key`."""
        return self.outer_record.key

    @property
    def value(self) -> bytes | None:
        """The value, None when it is null. Kafka: `Record.value`."""
        return self.outer_record.value

    @property
    def key_size(self) -> int:
        """Bytes of the key, negative when it is null. Kafka: `Record.keySize`."""
        return self.outer_record.key_size

    @property
    def value_size(self) -> int:
        """Bytes of the value, negative when it is null. Kafka: `Record.valueSize`."""
        return self.outer_record.value_size

    @property
    def has_key(self) -> bool:
        """True when the key is not null. Kafka: `Record.hasKey`."""
        return self.outer_record.key_size >= 0

    @property
    def has_value(self) -> bool:
        """False for a tombstone, whose value is null. Kafka: `Record.hasValue`."""
        return self.outer_record.value_size >= 0

    def has_magic(self, magic: int) -> bool:
        """True when `magic` is that of the message. Kafka: `Record.hasMagic`."""
        return magic == self.outer_record.magic

    # As a batch

    @property
    def magic(self) -> int:
        """The version of the format: 0 or 1. Kafka: `RecordBatch.magic`."""
        return self.outer_record.magic

    @property
    def base_offset(self) -> int:
        """Offset of the first message; a wrapper is decompressed for it. Kafka: `RecordBatch.baseOffset`."""
        if not self.is_compressed:
            return self.offset
        # Kafka holds all messages to tell the first one's offset; here they pass by.
        entries = self._entries(self._open_window(None), kept=False)
        first = list(islice(entries, 1))
        last = self._last(chain(first, entries))
        return next(_with_absolute_offsets(first, self._absolute_base_offset(last))).offset

    @property
    def last_offset(self) -> int:
        """The last offset, inclusive. Kafka: `RecordBatch.lastOffset`."""
        return self.offset

    @property
    def next_offset(self) -> int:
        """The last offset + 1. Kafka: `RecordBatch.nextOffset`."""
        return to_long(self.offset + 1)

    @property
    def size_in_bytes(self) -> int:
        """Bytes of offset, size and message. Kafka: `RecordBatch.sizeInBytes`."""
        return LOG_OVERHEAD + self.outer_record.size_in_bytes

    @property
    def checksum(self) -> int:
        """The CRC-32 as stored. Kafka: `RecordBatch.checksum`."""
        return self.outer_record.checksum

    @property
    def attributes(self) -> int:
        """The attribute byte. Kafka: `LegacyRecord.attributes`."""
        return self.outer_record.attributes

    @property
    def max_timestamp(self) -> int:
        """The message's timestamp in ms. Kafka: `RecordBatch.maxTimestamp`."""
        return self.outer_record.timestamp

    @property
    def timestamp_type(self) -> TimestampType:
        """Who set the timestamps; NO_TIMESTAMP_TYPE for magic 0. Kafka: `RecordBatch.timestampType`."""
        return self.outer_record.timestamp_type

    @property
    def compression_type(self) -> CompressionType:
        """The codec; IllegalArgumentException for an unknown one. Kafka: `RecordBatch.compressionType`."""
        return self.outer_record.compression_type

    @property
    def is_compressed(self) -> bool:
        """True for every codec but NONE; IllegalArgumentException for an unknown one.

        Kafka: `RecordBatch.isCompressed`.
        """
        return self.outer_record.compression_type is not CompressionType.NONE

    def is_valid(self) -> bool:
        """True when the size and the CRC are right. Kafka: `RecordBatch.isValid`."""
        return self.outer_record.is_valid()

    def ensure_valid(self) -> None:
        """Raises CorruptRecordException. Kafka: `RecordBatch.ensureValid`."""
        self.outer_record.ensure_valid()

    def __iter__(self) -> Iterator["BasicLegacyRecordBatch"]:
        """The messages, limited to `MAX_DECOMPRESSED_BYTES`. Kafka: `AbstractLegacyRecordBatch.iterator`."""
        return self.records()

    def records(self, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator["BasicLegacyRecordBatch"]:
        """The messages with their absolute offsets: this one, or those it wraps.

        Raises InvalidRecordException for a wrapper without messages or value, with zstd, or whose offset does not fit;
        CorruptRecordException for an inner size below 14; KafkaException for a damaged stream;
        RecordTooLargeException for one that decompresses to more than `max_decompressed_bytes`.
        Kafka: `AbstractLegacyRecordBatch.iterator`, `DeepRecordsIterator`.
        """
        if not self.is_compressed:
            return iter((self,))
        window = self._open_window(max_decompressed_bytes)
        window.fill(WINDOW_SIZE)
        entries: Iterable[_Entry]
        if window.ended:
            entries = list(self._entries(window))
            last = self._last(entries)
        else:
            # Kafka holds all messages before it hands out the first; these are walked twice instead.
            last = self._last(self._entries(window, kept=False))
            entries = self._entries(self._open_window(max_decompressed_bytes))
        return _with_absolute_offsets(entries, self._absolute_base_offset(last))

    def streaming_iterator(self) -> Iterator["BasicLegacyRecordBatch"]:
        """The messages; these formats are read no other way than by iteration.

        Kafka: `RecordBatch.streamingIterator`.
        """
        return iter(self)

    def check_records(self) -> None:
        """Look at all messages and keep none; raises what iteration raises for the first bad one.

        Memory stays bounded, however much the batch decompresses to.
        """
        if not self.is_compressed:
            return
        # Iteration checks the wrapper first and raises for an inner message only when it comes to it.
        first_refused: list[_Entry] = []

        def looked_at(entries: Iterable[_Entry]) -> Iterator[_Entry]:
            for start, entry in entries:
                if not first_refused and _is_refused(entry):
                    first_refused.append((start, entry))
                yield start, entry

        self._absolute_base_offset(self._last(looked_at(self._entries(self._open_window(None), kept=False))))
        for _ in _with_absolute_offsets(first_refused, None):
            pass

    def columns(self, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> RecordColumns:
        """All messages as columns; raises what `records` raises, also what it raises late."""
        if self.is_compressed:
            window = self._open_window(max_decompressed_bytes)
            window.fill(max_decompressed_bytes + 1)
            data = window.data
            entries = list(self._entries(window))
            records = list(_with_absolute_offsets(entries, self._absolute_base_offset(self._last(entries))))
        else:
            data, entries, records = self.outer_record.buffer, [(0, self)], [self]
        rows = [_row(start, record) for (start, _), record in zip(entries, records, strict=True)]
        out = array("q", bytes(8 * kernel.SUMMARY_SIZE))
        for column in zip(*rows, strict=True):
            out.extend(column)
        return RecordColumns(data, len(rows), -1, None, memoryview(out), len(rows))

    def streaming_columns(self) -> RecordColumns:
        """All messages as columns; raises what `columns` raises. Kafka: `RecordBatch.streamingIterator`."""
        return self.columns()

    def _open_window(self, max_bytes: int | None) -> StreamWindow:
        """The decompressed value of a wrapper."""
        record = self.outer_record
        magic = record.magic
        if magic not in (0, 1):
            raise InvalidRecordException(f"Invalid wrapper magic found in legacy deep record iterator {magic}")
        if record.compression_type is CompressionType.ZSTD:
            raise InvalidRecordException(
                f"Invalid wrapper compressionType found in legacy deep record iterator {magic}"
            )
        start, end = record.value_range
        if end < 0:
            raise InvalidRecordException(f"Found invalid compressed record set with null value (magic = {magic})")
        return StreamWindow(pieces(record.compression_type, record.buffer[start:end], magic), max_bytes)

    def _entries(self, window: StreamWindow, *, kept: bool = True) -> Iterator["_Entry"]:
        """The messages in the stream, each with its position in the window's data and its relative offset.

        An incomplete one ends the iteration, or raises what the stream ends with. A message longer than the window is
        cut off after its beginning, unless it is to be `kept`. Kafka: `DataLogInputStream`.
        """
        wrapper = self.outer_record
        timestamp = wrapper.timestamp
        while True:
            if window.available < LOG_OVERHEAD:
                window.fill(WINDOW_SIZE)
                if window.available < LOG_OVERHEAD:
                    break
            offset, size = _OFFSET_AND_SIZE.unpack_from(window.data, window.position)
            if size < RECORD_OVERHEAD_V0:
                raise CorruptRecordException(
                    f"Record size is less than the minimum record overhead ({RECORD_OVERHEAD_V0})"
                )
            window.fill(min(LOG_OVERHEAD + size, WINDOW_SIZE) if not kept else LOG_OVERHEAD + size)
            start = window.position + LOG_OVERHEAD
            record = LegacyRecord(memoryview(window.data)[start : start + size])
            if window.skip(LOG_OVERHEAD + size) < LOG_OVERHEAD + size:
                break
            if record.magic == 1:
                record = LegacyRecord(record.buffer, timestamp, wrapper.timestamp_type)
            yield start, BasicLegacyRecordBatch(offset, record)
        if window.error is not None:
            raise window.error

    def _last(self, entries: Iterable["_Entry"]) -> "BasicLegacyRecordBatch":
        last = None
        for _, last in entries:
            pass
        if last is None:
            raise InvalidRecordException("Found invalid compressed record set with no inner records")
        return last

    def _absolute_base_offset(self, last: "BasicLegacyRecordBatch") -> int | None:
        """The offset from which inner offsets count, found by the last inner message; None where they are absolute."""
        if self.magic != 1:
            return None
        # Some versions of librdkafka left the wrapper's offset at 0.
        if self.offset == 0:
            return 0
        if self.offset < last.offset:
            raise InvalidRecordException(
                "Found invalid wrapper offset in compressed v1 message set, "
                f"wrapper offset '{self.offset}' is less than the last inner message "
                f"offset '{last.offset}' and it is not zero."
            )
        return self.offset - last.offset

    def __repr__(self) -> str:
        return f"LegacyRecordBatch(offset={self.offset}, {self.outer_record})"


_Entry: TypeAlias = tuple[int, BasicLegacyRecordBatch]
"""Where an inner message begins in its window's data, and the message with its offset as it is stored."""


class LegacyRecordBatch(BasicLegacyRecordBatch):
    """A view on offset, size and message, whose offset and timestamp can be set in place.

    Kafka: `ByteBufferLegacyRecordBatch`.
    """

    __slots__ = ("buffer",)

    def __init__(self, buffer: BytesLike):
        """A view on `buffer`, which holds offset, size and message, and nothing else."""
        self.buffer = memoryview(buffer)
        self.outer_record = LegacyRecord(self.buffer[LOG_OVERHEAD:])

    @property
    def offset(self) -> int:
        offset: int = _LONG.unpack_from(self.buffer, 0)[0]
        return offset

    def set_last_offset(self, offset: int) -> None:
        """Set the offset, which is that of the last message. Kafka: `MutableRecordBatch.setLastOffset`."""
        _LONG.pack_into(self.buffer, 0, offset)

    def set_max_timestamp(self, timestamp_type: TimestampType, timestamp: int) -> None:
        """Set the timestamp type and the timestamp (ms), and the CRC if one of them changed.

        Raises UnsupportedOperationException for magic 0. Kafka: `MutableRecordBatch.setMaxTimestamp`.
        """
        record = self.outer_record
        if record.magic == 0:
            raise UnsupportedOperationException("Cannot set timestamp for a record with magic = 0")
        if record.timestamp_type is timestamp_type and record.timestamp == timestamp:
            return
        attributes = compute_attributes(record.magic, record.compression_type, timestamp_type)
        self.buffer[LOG_OVERHEAD + ATTRIBUTES_OFFSET] = attributes
        _LONG.pack_into(self.buffer, LOG_OVERHEAD + TIMESTAMP_OFFSET, timestamp)
        _UNSIGNED_INT.pack_into(self.buffer, LOG_OVERHEAD, record.compute_checksum())

    def set_partition_leader_epoch(self, epoch: int) -> None:
        """Raise UnsupportedOperationException: these formats have no epoch.

        Kafka: `MutableRecordBatch.setPartitionLeaderEpoch`.
        """
        raise UnsupportedOperationException("Magic versions prior to 2 do not support partition leader epoch")

    def write_to(self, buffer: bytearray) -> None:
        """Append the batch to `buffer`. Kafka: `RecordBatch.writeTo`."""
        buffer += self.buffer

    def __eq__(self, other: object) -> bool:
        return self.buffer == other.buffer if isinstance(other, LegacyRecordBatch) else NotImplemented


def _with_absolute_offsets(entries: Iterable[_Entry], base_offset: int | None) -> Iterator[BasicLegacyRecordBatch]:
    for _, entry in entries:
        if base_offset is not None:
            entry = BasicLegacyRecordBatch(to_long(base_offset + entry.offset), entry.outer_record)
        if entry.is_compressed:
            raise InvalidRecordException("Inner messages must not be compressed")
        yield entry


def _is_refused(entry: BasicLegacyRecordBatch) -> bool:
    """True where iteration stops at this inner message."""
    try:
        return entry.is_compressed
    except IllegalArgumentException:
        return True


def _row(start: int, entry: BasicLegacyRecordBatch) -> tuple[int, ...]:
    """One record of `RecordColumns`; `start` is where the message begins in the data."""
    record = entry.outer_record
    key_start, key_end = record.key_range
    value_start, value_end = record.value_range
    return (
        entry.offset,
        record.timestamp,
        start + key_start,
        start + key_end if key_end >= 0 else -1,
        start + value_start,
        start + value_end if value_end >= 0 else -1,
        start + record.size_in_bytes,
        0,
        start,
        start + record.size_in_bytes,
    )
