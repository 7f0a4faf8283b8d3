"""A batch of records as it lies in memory and on disk, magic 2."""

import struct
from collections.abc import Iterator
from itertools import chain

from minikafka.common.at_hand import crc32c
from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import (
    CorruptRecordException,
    InvalidRecordException,
)
from minikafka.common.java.java_numbers import LONG_MAX, to_long
from minikafka.record.codecs.compression import CompressionType, pieces
from minikafka.record.files.stream_window import MAX_DECOMPRESSED_BYTES, StreamWindow
from minikafka.record.format.batch_header import (
    ATTRIBUTES_OFFSET,
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG_MASK,
    CRC_OFFSET,
    CURRENT_MAGIC_VALUE,
    DELETE_HORIZON_FLAG_MASK,
    HEADER,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_VALUE_V0,
    MAGIC_VALUE_V1,
    MAGIC_VALUE_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_FLAG_MASK,
    ShortHeader,
    compute_attributes,
)
from minikafka.record.format.record import Record
from minikafka.record.format.sequence import decrement_sequence, increment_sequence
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.kernels import kernel
from minikafka.record.kernels.record_columns import RecordColumns
from minikafka.record.kernels.record_walk import RecordsSummary, RecordWalk

__all__ = [
    "ATTRIBUTES_OFFSET",
    "COMPRESSION_CODEC_MASK",
    "CONTROL_FLAG_MASK",
    "CRC_OFFSET",
    "CURRENT_MAGIC_VALUE",
    "DELETE_HORIZON_FLAG_MASK",
    "HEADER_SIZE_UP_TO_MAGIC",
    "LOG_OVERHEAD",
    "MAGIC_OFFSET",
    "MAGIC_VALUE_V0",
    "MAGIC_VALUE_V1",
    "MAGIC_VALUE_V2",
    "NO_PARTITION_LEADER_EPOCH",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "RECORD_BATCH_OVERHEAD",
    "TIMESTAMP_TYPE_MASK",
    "TRANSACTIONAL_FLAG_MASK",
    "RecordBatch",
    "decrement_sequence",
    "increment_sequence",
]

_LONG = struct.Struct(">q")
_INT = struct.Struct(">i")
_UNSIGNED_INT = struct.Struct(">I")
_SHORT = struct.Struct(">h")
_MAX_TIMESTAMP_OFFSET = 35

# Looked up once: before Python 3.12, `TimestampType.CREATE_TIME` takes longer than a call.
_CREATE_TIME = TimestampType.CREATE_TIME
_LOG_APPEND_TIME = TimestampType.LOG_APPEND_TIME


class RecordBatch:
    """A view on the bytes of one batch: a header of 61 bytes, then the records, which may be compressed as one stream.

    All fields of the header are big-endian:

    ========  =====  ======  ======================  ==============================================================
    Position  Bytes  Type    Field                   Meaning
    ========  =====  ======  ======================  ==============================================================
     0        8      int64   base offset             of the first record; stays when that record is compacted away
     8        4      int32   length                  bytes that follow this field: the size of the batch less 12
    12        4      int32   partition leader epoch  of the leader that appended the batch, -1 unknown
    16        1      int8    magic                   2
    17        4      uint32  CRC                     CRC-32C of everything from the attributes on
    21        2      int16   attributes              bits 0–2 codec, 3 log append time, 4 transactional,
                                                     5 control batch, 6 delete horizon; the rest is 0
    23        4      int32   last offset delta       last offset - base offset
    27        8      int64   base timestamp          what timestamp deltas count from (ms), or the delete horizon
    35        8      int64   max timestamp           the largest timestamp, or the log append time (ms); -1 none
    43        8      int64   producer id             -1 none
    51        2      int16   producer epoch          -1 none
    53        4      int32   base sequence           sequence number of the first record, -1 none
    57        4      int32   records                 how many there are
    61                       records                 one after another, or the compressed stream of them
    ========  =====  ======  ======================  ==============================================================

    - `buffer` holds exactly the batch. A setter changes the bytes, and so whatever else shares them.
    - The CRC does not cover base offset, length and leader epoch, so a broker sets them without computing a new one.
    - Last offset and last sequence are those the batch was written with, even after compaction removed records.
    - With LogAppendTime, each record has the batch's max timestamp as its own.
    - A field beyond the end of a batch that is too short raises IndexOutOfBoundsException. `ensure_valid` finds such a
      batch first.

    The whole header is unpacked at the first look and kept until a setter of *this* object changes it.

    Simpler than Kafka: there are no buffer suppliers, and iterators are not closed, because a decompressor here holds
    nothing but memory, which Python frees by itself.

    Kafka: `DefaultRecordBatch`.
    """

    __slots__ = ("buffer", "_header")

    def __init__(self, buffer: BytesLike):
        """A view on `buffer` (bytes-like), which holds the batch and nothing else."""
        self.buffer = buffer if type(buffer) is memoryview else memoryview(buffer)
        """The bytes of the batch."""
        self._header: tuple[int, ...] | None = None  # numbered as in `HEADER`

    def _load(self) -> tuple[int, ...] | ShortHeader:
        if len(self.buffer) >= RECORD_BATCH_OVERHEAD:
            header: tuple[int, ...] = HEADER.unpack_from(self.buffer)
            self._header = header
            return header
        return ShortHeader(self.buffer)

    @property
    def base_offset(self) -> int:
        """The first offset, even when that record was compacted away. Kafka: `RecordBatch.baseOffset`."""
        return (self._header or self._load())[0]

    @property
    def last_offset(self) -> int:
        """The last offset, inclusive. Kafka: `RecordBatch.lastOffset`."""
        header = self._header or self._load()
        offset = header[0] + header[6]
        return offset if offset <= LONG_MAX else to_long(offset)

    @property
    def next_offset(self) -> int:
        """The last offset + 1. Kafka: `RecordBatch.nextOffset`."""
        return to_long(self.last_offset + 1)

    @property
    def last_offset_delta(self) -> int:
        """Last offset - base offset. Kafka: `DefaultRecordBatch.lastOffsetDelta`."""
        return (self._header or self._load())[6]

    @property
    def size_in_bytes(self) -> int:
        """Bytes of the batch as it declares them, header included. Kafka: `RecordBatch.sizeInBytes`."""
        return LOG_OVERHEAD + (self._header or self._load())[1]

    @property
    def partition_leader_epoch(self) -> int:
        """Epoch of the leader that appended the batch, -1 when unknown. Kafka: `RecordBatch.partitionLeaderEpoch`."""
        return (self._header or self._load())[2]

    @property
    def magic(self) -> int:
        """The version of the format: 2. Kafka: `RecordBatch.magic`."""
        return (self._header or self._load())[3]

    @property
    def checksum(self) -> int:
        """The CRC-32C as stored, unsigned. Kafka: `RecordBatch.checksum`."""
        return (self._header or self._load())[4]

    @property
    def attributes(self) -> int:
        """The attribute bits 0 … 7; the high byte is unused. Kafka: `DefaultRecordBatch.attributes`."""
        return (self._header or self._load())[5] & 0xFF

    @property
    def base_timestamp(self) -> int:
        """The time from which timestamp deltas count, in ms. Kafka: `DefaultRecordBatch.baseTimestamp`."""
        return (self._header or self._load())[7]

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp, or the log append time, in ms; -1: none. Kafka: `RecordBatch.maxTimestamp`."""
        return (self._header or self._load())[8]

    @property
    def timestamp_type(self) -> TimestampType:
        """CREATE_TIME or LOG_APPEND_TIME. Kafka: `RecordBatch.timestampType`."""
        log_append_time = (self._header or self._load())[5] & TIMESTAMP_TYPE_MASK
        return _LOG_APPEND_TIME if log_append_time else _CREATE_TIME

    @property
    def producer_id(self) -> int:
        """The producer id, -1 when the producer is neither idempotent nor transactional.

        Kafka: `RecordBatch.producerId`.
        """
        return (self._header or self._load())[9]

    @property
    def has_producer_id(self) -> bool:
        """True when the producer is idempotent or transactional. Kafka: `RecordBatch.hasProducerId`."""
        return (self._header or self._load())[9] > NO_PRODUCER_ID

    @property
    def producer_epoch(self) -> int:
        """The epoch of the producer id, -1 without one. Kafka: `RecordBatch.producerEpoch`."""
        return (self._header or self._load())[10]

    @property
    def base_sequence(self) -> int:
        """Sequence number of the first record, -1: none. Kafka: `RecordBatch.baseSequence`."""
        return (self._header or self._load())[11]

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record, -1: none; 0 follows 2147483647. Kafka: `RecordBatch.lastSequence`."""
        header = self._header or self._load()
        if header[11] == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(header[11], header[6])

    @property
    def count(self) -> int:
        """The number of records, as declared. Kafka: `DefaultRecordBatch.count`."""
        return (self._header or self._load())[12]

    @property
    def count_or_none(self) -> int | None:
        """The number of records; None where the format has no such field. Kafka: `RecordBatch.countOrNull`."""
        return (self._header or self._load())[12]

    @property
    def is_transactional(self) -> bool:
        """True for a batch of a transaction. Kafka: `RecordBatch.isTransactional`."""
        return (self._header or self._load())[5] & TRANSACTIONAL_FLAG_MASK > 0

    @property
    def is_control_batch(self) -> bool:
        """True when the batch holds a control record instead of data. Kafka: `RecordBatch.isControlBatch`."""
        return (self._header or self._load())[5] & CONTROL_FLAG_MASK > 0

    @property
    def has_delete_horizon(self) -> bool:
        """True when the base timestamp is a delete horizon. Kafka: `DefaultRecordBatch.hasDeleteHorizonMs`."""
        return (self._header or self._load())[5] & DELETE_HORIZON_FLAG_MASK > 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers of the batch may go, in ms. Kafka: `RecordBatch.deleteHorizonMs`."""
        return self.base_timestamp if self.has_delete_horizon else None

    @property
    def compression_type(self) -> CompressionType:
        """The codec; IllegalArgumentException for an unknown one. Kafka: `RecordBatch.compressionType`."""
        return CompressionType.for_id((self._header or self._load())[5] & COMPRESSION_CODEC_MASK)

    @property
    def is_compressed(self) -> bool:
        """True for every codec but NONE; IllegalArgumentException for an unknown one.

        Kafka: `RecordBatch.isCompressed`.
        """
        codec = (self._header or self._load())[5] & COMPRESSION_CODEC_MASK
        return codec != 0 and CompressionType.for_id(codec) is not CompressionType.NONE

    # Validity

    def compute_checksum(self) -> int:
        """The CRC-32C of everything from the attributes on. Kafka: `DefaultRecordBatch.computeChecksum`."""
        return crc32c(self.buffer[ATTRIBUTES_OFFSET:])

    def is_valid(self) -> bool:
        """True when the size and the CRC are right. Kafka: `RecordBatch.isValid`."""
        header = self._header or self._load()
        return LOG_OVERHEAD + header[1] >= RECORD_BATCH_OVERHEAD and header[4] == self.compute_checksum()

    def ensure_valid(self) -> None:
        """Raise CorruptRecordException unless size and CRC are right. Kafka: `RecordBatch.ensureValid`."""
        header = self._header or self._load()
        size = LOG_OVERHEAD + header[1]
        if size < RECORD_BATCH_OVERHEAD:
            raise CorruptRecordException(
                f"Record batch is corrupt (the size {size} "
                f"is smaller than the minimum allowed overhead {RECORD_BATCH_OVERHEAD})"
            )
        stored, computed = header[4], self.compute_checksum()
        if stored != computed:
            raise CorruptRecordException(f"Record is corrupt (stored crc = {stored}, computed crc = {computed})")

    # What a broker changes in place

    def set_last_offset(self, offset: int) -> None:
        """Move the batch so that it ends at `offset`, inclusive. Kafka: `MutableRecordBatch.setLastOffset`."""
        last_offset_delta = (self._header or self._load())[6]
        _LONG.pack_into(self.buffer, 0, to_long(offset - last_offset_delta))
        self._header = None

    def set_partition_leader_epoch(self, epoch: int) -> None:
        """Set the leader epoch, which the CRC does not cover. Kafka: `MutableRecordBatch.setPartitionLeaderEpoch`."""
        _INT.pack_into(self.buffer, LOG_OVERHEAD, epoch)
        self._header = None

    def set_max_timestamp(self, timestamp_type: TimestampType, max_timestamp: int) -> None:
        """Set the timestamp type and the max timestamp (ms), and the CRC if one of them changed.

        Kafka: `MutableRecordBatch.setMaxTimestamp`.
        """
        if self.timestamp_type is timestamp_type and self.max_timestamp == max_timestamp:
            return
        attributes = compute_attributes(
            self.compression_type,
            timestamp_type,
            is_transactional=self.is_transactional,
            is_control=self.is_control_batch,
            is_delete_horizon_set=self.has_delete_horizon,
        )
        _SHORT.pack_into(self.buffer, ATTRIBUTES_OFFSET, attributes)
        _LONG.pack_into(self.buffer, _MAX_TIMESTAMP_OFFSET, max_timestamp)
        _UNSIGNED_INT.pack_into(self.buffer, CRC_OFFSET, self.compute_checksum())
        self._header = None

    # Records

    def __iter__(self) -> Iterator[Record]:
        """The records, limited to `MAX_DECOMPRESSED_BYTES`. Kafka: `DefaultRecordBatch.iterator`."""
        return self.records()

    def records(self, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
        """The records. A damaged batch that is not compressed gives those before the damage, then raises.

        Raises InvalidRecordException for malformed records, a wrong count or bytes left over, KafkaException for a
        damaged compressed stream, IllegalArgumentException for an unknown codec or a record size of more than 5 bytes,
        and RecordTooLargeException where Kafka would run out of memory: for a batch that decompresses to more than
        `max_decompressed_bytes`. Kafka: `DefaultRecordBatch.iterator`.
        """
        if self.count == 0:
            return iter(())
        walk = self._walk()
        if not self.is_compressed:
            return walk.records(max_decompressed_bytes)
        pages = walk.pages(max_decompressed_bytes)
        first = next(pages)
        if first.error is not None:
            raise first.error
        if first.count == self.count:
            return first.records(self.base_offset)
        # Kafka reads all records before it hands out the first; here damage behind the first page is looked for.
        walk.summary(max_decompressed_bytes)
        return chain.from_iterable(page.records(self.base_offset) for page in chain((first,), pages))

    def streaming_iterator(self) -> Iterator[Record]:
        """The records, one at a time: a damaged batch, compressed or not, gives those before the damage, then raises.

        Kafka: `RecordBatch.streamingIterator`.
        """
        return self._walk().records(MAX_DECOMPRESSED_BYTES)

    def skip_key_value_iterator(self) -> Iterator[Record]:
        """The records, one at a time, without a look at the declared size of each record in a compressed batch.

        Unlike Kafka's, these records have keys and values, because the columns hold them anyway.
        Kafka: `DefaultRecordBatch.skipKeyValueIterator`.
        """
        return self._walk(skip_key_value=True).records(MAX_DECOMPRESSED_BYTES)

    def columns(self, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> RecordColumns:
        """All records, decoded and checked; raises what `records` raises. Kafka: `DefaultRecordBatch.iterator`."""
        columns = self._walk().columns(max_decompressed_bytes)
        if columns.error is not None:
            raise columns.error
        return columns

    def streaming_columns(self) -> RecordColumns:
        """The records as columns. A damaged batch gives those before the damage; `error` is what a reader meets next.

        Kafka: `RecordBatch.streamingIterator`.
        """
        return self._walk().columns(MAX_DECOMPRESSED_BYTES)

    def check_records(self) -> None:
        """Look at all records and keep none; raises what iteration raises for the first bad one.

        Memory stays bounded, however much the batch decompresses to.
        """
        if self.count:
            self.summary()

    def summary(self, *, skip_key_value: bool = False) -> RecordsSummary:
        """Check all records and return what a validator needs to know of them, without an object for each.

        With `skip_key_value`, the declared size of each record in a compressed batch is not checked, as in Kafka's
        `skipKeyValueIterator`. Raises what iteration raises, in bounded memory.
        Kafka: `DefaultRecordBatch.skipKeyValueIterator`, `streamingIterator`.
        """
        return self._walk(skip_key_value=skip_key_value).summary()

    def _walk(self, *, skip_key_value: bool = False) -> RecordWalk:
        header = self._header or self._load()
        if header[5] & COMPRESSION_CODEC_MASK == 0:
            mode = kernel.BUFFER
        else:
            mode = kernel.PARTIAL if skip_key_value else kernel.STREAM
            _ = self.compression_type  # raises for an unknown codec, which Kafka reports before a wrong count
        count = _checked_count(header)
        append_time = header[8] if header[5] & TIMESTAMP_TYPE_MASK else None
        return RecordWalk(self._open_window, count, header[0], header[7], append_time, header[11], mode)

    def _open_window(self, max_bytes: int | None) -> StreamWindow:
        """The bytes of the records. Those of an uncompressed batch are all at hand; a stream is opened."""
        header = self._header or self._load()
        if header[5] & COMPRESSION_CODEC_MASK == 0:
            return StreamWindow(None, None, self.buffer, RECORD_BATCH_OVERHEAD)
        compression_type = self.compression_type
        if header[12] == 0:
            return StreamWindow(None)
        return StreamWindow(pieces(compression_type, self.buffer[RECORD_BATCH_OVERHEAD:], MAGIC_VALUE_V2), max_bytes)

    # Bytes and text

    def write_to(self, buffer: bytearray) -> None:
        """Append the batch to `buffer`. Kafka: `RecordBatch.writeTo`."""
        buffer += self.buffer

    def __eq__(self, other: object) -> bool:
        return self.buffer == other.buffer if isinstance(other, RecordBatch) else NotImplemented

    def __repr__(self) -> str:
        return (
            f"RecordBatch(magic={self.magic}, offsets=[{self.base_offset}, {self.last_offset}],"
            f" sequence=[{self.base_sequence}, {self.last_sequence}],"
            f" partitionLeaderEpoch={self.partition_leader_epoch},"
            f" isTransactional={str(self.is_transactional).lower()},"
            f" isControlBatch={str(self.is_control_batch).lower()}, compression={self.compression_type},"
            f" timestampType={self.timestamp_type}, crc={self.checksum})"
        )


def _checked_count(header: tuple[int, ...] | ShortHeader) -> int:
    count = header[12]
    if count < 0:
        raise InvalidRecordException(f"Found invalid record count {count} in magic v{header[3]} batch")
    return count
