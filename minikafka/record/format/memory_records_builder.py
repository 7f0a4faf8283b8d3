"""Writes one batch: records in, bytes out."""

import operator
import struct
from typing import TYPE_CHECKING, NamedTuple

from minikafka.common.bytes_like import plain_bytes
from minikafka.common.errors import IllegalArgumentException, IllegalStateException, NullPointerException
from minikafka.common.java.java_numbers import INT_MAX, to_long
from minikafka.record.codecs.compression import Compression, CompressionType
from minikafka.record.format.batch_header import write_header
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.record import AnyRecord, Header, SimpleRecord
from minikafka.record.format.record_batch import (
    CURRENT_MAGIC_VALUE,
    LOG_OVERHEAD,
    MAGIC_VALUE_V0,
    MAGIC_VALUE_V1,
    MAGIC_VALUE_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
)
from minikafka.record.format.record_writer import record_size_in_bytes, write_record
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.kernels.column import Column
from minikafka.record.kernels.record_columns import RecordColumns, encode, filter_functions
from minikafka.record.legacy.legacy_record import message_bytes, record_overhead

if TYPE_CHECKING:
    from minikafka.record.format.memory_records import MemoryRecords

_OFFSET_AND_SIZE = struct.Struct(">qi")


class RecordsInfo(NamedTuple):
    """The largest timestamp (ms), and the offset under which a time index files it.

    Kafka: `MemoryRecordsBuilder.RecordsInfo`.
    """

    max_timestamp: int
    shallow_offset_of_max_timestamp: int


class MemoryRecordsBuilder:
    """Collects records and writes them as one batch (magic 0 and 1 without codec: as one message each).

    - Offsets grow. Timestamps are not negative, except -1, which means none.
    - The base timestamp is the delete horizon, if there is one, else the timestamp of the first record.
    - The `append` methods add records. `build` compresses them and writes the header; nothing can be appended after it.

    Simpler than Kafka: the buffer grows by itself, and records are compressed only when the batch is built, because
    nothing here is short of memory. Whether a record still fits is decided as in Kafka, by an estimate: `write_limit`
    is compared with the bytes before compression times `estimated_compression_ratio`.

    Kafka: `MemoryRecordsBuilder`.
    """

    def __init__(
        self,
        compression: Compression | CompressionType = Compression.NONE,
        *,
        magic: int = CURRENT_MAGIC_VALUE,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        base_offset: int = 0,
        log_append_time: int = NO_TIMESTAMP,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control_batch: bool = False,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        write_limit: int = INT_MAX,
        delete_horizon_ms: int | None = None,
    ):
        """An empty batch; times in ms, `write_limit` in bytes.

        Raises IllegalArgumentException for what the magic cannot express.
        """
        compression = Compression.of(compression)
        delete_horizon_ms = NO_TIMESTAMP if delete_horizon_ms is None else delete_horizon_ms
        _check_magic(
            magic,
            compression,
            timestamp_type,
            delete_horizon_ms,
            is_transactional=is_transactional,
            is_control_batch=is_control_batch,
        )
        # What the header will say; producers are none (-1) unless they are idempotent or transactional.
        self.compression = compression
        self.magic = magic
        self.timestamp_type = timestamp_type
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional
        self.is_control_batch = is_control_batch
        self.partition_leader_epoch = partition_leader_epoch
        self.delete_horizon_ms = delete_horizon_ms
        self.write_limit = write_limit  # bytes of the batch from which on no further record is taken
        self.estimated_compression_ratio = 1.0  # compressed bytes for each byte of records
        self.num_records = 0
        self._records = bytearray()  # before compression
        self._header_size = _header_size(magic, compression)
        self._base_timestamp: int | None = delete_horizon_ms if self.has_delete_horizon else None
        self._last_offset: int | None = None  # inclusive
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = -1
        self._closed_for_appends = False
        self._built: MemoryRecords | None = None

    @property
    def has_delete_horizon(self) -> bool:
        """True when the base timestamp is a delete horizon. Kafka: `MemoryRecordsBuilder.hasDeleteHorizonMs`."""
        return self.magic >= MAGIC_VALUE_V2 and self.delete_horizon_ms >= 0

    # Adding records

    def append(self, timestamp: int, key: bytes | None, value: bytes | None, headers: tuple[Header, ...] = ()) -> None:
        """Add a record at the next offset. Kafka: `MemoryRecordsBuilder.append`."""
        self._append(self._next_sequential_offset(), timestamp, key, value, headers, is_control_record=False)

    def append_with_offset(
        self, offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: tuple[Header, ...] = ()
    ) -> None:
        """Add a record at `offset`, which must be above the last. Kafka: `MemoryRecordsBuilder.appendWithOffset`."""
        self._append(offset, timestamp, key, value, headers, is_control_record=False)

    def append_record(self, record: AnyRecord) -> None:
        """Add a `Record` at its own offset, as a control record in a control batch.

        Kafka: `MemoryRecordsBuilder.append(Record)`.
        """
        self._append(
            record.offset,
            record.timestamp,
            record.key,
            record.value,
            record.headers,
            is_control_record=self.is_control_batch,
        )

    def append_columns(self, columns: RecordColumns, places: Column) -> None:
        """Add the records at `places` (ascending) of `columns`, each at its own offset.

        Does what `append_record` does with each, but makes no object for a record unless one is out of the ordinary.
        """
        if not len(places):
            return
        offsets, timestamps = columns.offsets, columns.timestamps
        base_timestamp = int(timestamps[places[0]]) if self._base_timestamp is None else self._base_timestamp
        last_offset = -1 if self._last_offset is None else self._last_offset
        encoded = None
        if self.magic >= MAGIC_VALUE_V2 and not self._closed_for_appends:
            encoded = encode(columns, places, self.base_offset, base_timestamp, last_offset)
        if encoded is None:
            chosen = set(places.tolist())
            for place, record in enumerate(columns.records(self.base_offset)):
                if place in chosen:
                    self.append_record(record)
            return
        self._records += encoded
        self._base_timestamp = base_timestamp
        self.num_records += len(places)
        self._last_offset = int(offsets[places[-1]])
        place_of_max = filter_functions().place_of_largest(timestamps, places)
        if timestamps[place_of_max] > self._max_timestamp:
            self._max_timestamp = int(timestamps[place_of_max])
            self._offset_of_max_timestamp = int(offsets[place_of_max])

    def append_control_record(self, timestamp: int, control_type: ControlRecordType, value: bytes) -> None:
        """Add a control record at the next offset. Kafka: `MemoryRecordsBuilder.appendControlRecord`."""
        offset = self._next_sequential_offset()
        self._append(offset, timestamp, control_type.record_key(), value, (), is_control_record=True)

    def append_end_txn_marker(self, timestamp: int, marker: EndTransactionMarker) -> None:
        """Add the end of a transaction; the batch must be transactional.

        Kafka: `MemoryRecordsBuilder.appendEndTxnMarker`.
        """
        if self.producer_id == NO_PRODUCER_ID:
            raise IllegalArgumentException("End transaction marker requires a valid producerId")
        if not self.is_transactional:
            raise IllegalArgumentException("End transaction marker depends on batch transactional flag being enabled")
        self.append_control_record(timestamp, marker.control_type, marker.serialize_value())

    def append_unchecked_with_offset(self, offset: int, record: SimpleRecord) -> None:
        """Add a record at any offset, for tests. Kafka: `MemoryRecordsBuilder.appendUncheckedWithOffset`."""
        self._write(offset, record.timestamp, record.key, record.value, record.headers)

    def _append(
        self,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[Header, ...],
        *,
        is_control_record: bool,
    ) -> None:
        if is_control_record != self.is_control_batch:
            raise IllegalArgumentException("Control records can only be appended to control batches")
        if self._last_offset is not None and offset <= self._last_offset:
            raise IllegalArgumentException(
                f"Illegal offset {offset} following previous offset {self._last_offset} "
                "(Offsets must increase monotonically)."
            )
        if timestamp < 0 and timestamp != NO_TIMESTAMP:
            raise IllegalArgumentException(f"Invalid negative timestamp {timestamp}")
        if self.magic < MAGIC_VALUE_V2 and headers:
            raise IllegalArgumentException(f"Magic v{self.magic} does not support record headers")
        self._write(offset, timestamp, key, value, headers)

    def _write(
        self, offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: tuple[Header, ...]
    ) -> None:
        if self._closed_for_appends:
            raise IllegalStateException(
                "Tried to append a record, but MemoryRecordsBuilder is closed for record appends"
            )
        offset = operator.index(offset)
        timestamp, key, value, headers = _plain(timestamp, key, value, headers)
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        if self.magic >= MAGIC_VALUE_V2:
            timestamp_delta = to_long(timestamp - self._base_timestamp)
            write_record(self._records, offset - self.base_offset, timestamp_delta, key, value, headers)
        else:
            if self.timestamp_type is TimestampType.LOG_APPEND_TIME:
                timestamp = self.log_append_time
            message = message_bytes(self.magic, timestamp, key, value, CompressionType.NONE, self.timestamp_type)
            self._records += _OFFSET_AND_SIZE.pack(self._to_inner_offset(offset), len(message))
            self._records += message
        self._record_written(offset, timestamp)

    def _record_written(self, offset: int, timestamp: int) -> None:
        if offset - self.base_offset > INT_MAX:
            raise IllegalArgumentException(
                f"Maximum offset delta exceeded, base offset: {self.base_offset}, last offset: {offset}"
            )
        self.num_records += 1
        self._last_offset = offset
        if self.magic > MAGIC_VALUE_V0 and timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
            self._offset_of_max_timestamp = offset

    def _to_inner_offset(self, offset: int) -> int:
        """`offset` as the message stores it: inside a wrapper of magic 1, offsets count from the first."""
        relative = self.magic > MAGIC_VALUE_V0 and self.compression.type is not CompressionType.NONE
        return offset - self.base_offset if relative else offset

    def _next_sequential_offset(self) -> int:
        return self.base_offset if self._last_offset is None else self._last_offset + 1

    # Building

    def override_last_offset(self, last_offset: int) -> None:
        """Let the batch end at `last_offset`, inclusive. Kafka: `MemoryRecordsBuilder.overrideLastOffset`."""
        if self._built is not None:
            raise IllegalStateException("Cannot override the last offset after the records have been built")
        self._last_offset = last_offset

    def close_for_record_appends(self) -> None:
        """Refuse further records. Kafka: `MemoryRecordsBuilder.closeForRecordAppends`."""
        self._closed_for_appends = True

    def build(self) -> "MemoryRecords":
        """The batch as `MemoryRecords`, EMPTY without records; the same object each time.

        Raises IllegalArgumentException for a producer id without epoch or sequence, and the like.
        Kafka: `MemoryRecordsBuilder.build`.
        """
        from minikafka.record.format.memory_records import MemoryRecords

        if self._built is None:
            self._validate_producer_state()
            self.close_for_record_appends()
            self._built = MemoryRecords(self._bytes()) if self.num_records else MemoryRecords.EMPTY
        return self._built

    close = build

    def _bytes(self) -> bytearray:
        if self.magic >= MAGIC_VALUE_V2:
            return self._default_batch()
        if self.compression.type is not CompressionType.NONE:
            return self._legacy_wrapper()
        return self._records

    def _default_batch(self) -> bytearray:
        out = bytearray(RECORD_BATCH_OVERHEAD)
        out += self._payload()
        write_header(
            out,
            0,
            base_offset=self.base_offset,
            last_offset_delta=_known(self._last_offset) - self.base_offset,
            size_in_bytes=len(out),
            magic=self.magic,
            compression_type=self.compression.type,
            timestamp_type=self.timestamp_type,
            base_timestamp=_known(self._base_timestamp),
            max_timestamp=self._reported_max_timestamp(),
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            is_transactional=self.is_transactional,
            is_control_batch=self.is_control_batch,
            is_delete_horizon_set=self.has_delete_horizon,
            partition_leader_epoch=self.partition_leader_epoch,
            num_records=self.num_records,
        )
        return out

    def _legacy_wrapper(self) -> bytearray:
        message = message_bytes(
            self.magic,
            self._reported_max_timestamp(),
            None,
            bytes(self._payload()),
            self.compression.type,
            self.timestamp_type,
        )
        return bytearray(_OFFSET_AND_SIZE.pack(_known(self._last_offset), len(message)) + message)

    def _payload(self) -> bytes | bytearray:
        if self.compression.type is CompressionType.NONE:
            return self._records
        return self.compression.compress(self._records, self.magic)

    def _reported_max_timestamp(self) -> int:
        log_append_time = self.timestamp_type is TimestampType.LOG_APPEND_TIME
        return self.log_append_time if log_append_time else self._max_timestamp

    def _validate_producer_state(self) -> None:
        if self.is_transactional and self.producer_id == NO_PRODUCER_ID:
            raise IllegalArgumentException("Cannot write transactional messages without a valid producer ID")
        if self.producer_id != NO_PRODUCER_ID:
            if self.producer_epoch == NO_PRODUCER_EPOCH:
                raise IllegalArgumentException("Invalid negative producer epoch")
            if self.base_sequence < 0 and not self.is_control_batch:
                raise IllegalArgumentException("Invalid negative sequence number used")
            if self.magic < MAGIC_VALUE_V2:
                raise IllegalArgumentException(f"Idempotent messages are not supported for magic {self.magic}")

    # What is known so far

    def info(self) -> RecordsInfo:
        """Largest timestamp and its shallow offset. Kafka: `MemoryRecordsBuilder.info`."""
        shallow = self.compression.type is not CompressionType.NONE or self.magic >= MAGIC_VALUE_V2
        if self.timestamp_type is TimestampType.LOG_APPEND_TIME:
            return RecordsInfo(self.log_append_time, _known(self._last_offset) if shallow else self.base_offset)
        if self._max_timestamp == NO_TIMESTAMP:
            return RecordsInfo(NO_TIMESTAMP, -1)
        last_offset = _known(self._last_offset)
        return RecordsInfo(self._max_timestamp, last_offset if shallow else self._offset_of_max_timestamp)

    @property
    def estimated_size_in_bytes(self) -> int:
        """Bytes of the batch, an estimate until it is built. Kafka: `MemoryRecordsBuilder.estimatedSizeInBytes`."""
        return self._estimated_bytes_written() if self._built is None else self._built.size_in_bytes

    @property
    def is_full(self) -> bool:
        """True when no further record fits; the first always fits. Kafka: `MemoryRecordsBuilder.isFull`."""
        full = self.num_records > 0 and self.write_limit <= self._estimated_bytes_written()
        return self._closed_for_appends or full

    def has_room_for(
        self, timestamp: int, key: bytes | None, value: bytes | None, headers: tuple[Header, ...] = ()
    ) -> bool:
        """True when the record keeps within `write_limit`. Kafka: `MemoryRecordsBuilder.hasRoomFor`."""
        if self.is_full:
            return False
        if self.num_records == 0:
            return True
        timestamp, key, value, headers = _plain(timestamp, key, value, headers)
        if self.magic < MAGIC_VALUE_V2:
            size = LOG_OVERHEAD + record_overhead(self.magic) + len(key or b"") + len(value or b"")
        else:
            offset_delta = _known(self._last_offset) - self.base_offset + 1
            timestamp_delta = to_long(timestamp - _known(self._base_timestamp))
            size = record_size_in_bytes(offset_delta, timestamp_delta, key, value, headers)
        return self.write_limit >= self._estimated_bytes_written() + size

    def _estimated_bytes_written(self) -> int:
        if self.compression.type is CompressionType.NONE:
            return self._header_size + len(self._records)
        return self._header_size + int(len(self._records) * self.estimated_compression_ratio * 1.05)


def _plain(
    timestamp: int, key: bytes | None, value: bytes | None, headers: tuple[Header, ...]
) -> tuple[int, bytes | None, bytes | None, tuple[Header, ...]]:
    """The same in Python's own numbers and bytes: numpy's numbers overflow, and `len` of an array counts no bytes.

    Raises TypeError for what is no whole number or no bytes.
    """
    headers = tuple(Header(name, plain_bytes(data)) for name, data in headers)
    return operator.index(timestamp), plain_bytes(key), plain_bytes(value), headers


def _known(number: int | None) -> int:
    """`number`, which the first record has set; for a batch without records raises what Java's unboxing raises."""
    if number is None:
        raise NullPointerException("the batch has no record yet")
    return number


def _header_size(magic: int, compression: Compression) -> int:
    """Bytes before the records. Kafka: `AbstractRecords.recordBatchHeaderSizeInBytes`."""
    if magic > MAGIC_VALUE_V1:
        return RECORD_BATCH_OVERHEAD
    return 0 if compression.type is CompressionType.NONE else LOG_OVERHEAD + record_overhead(magic)


def _check_magic(
    magic: int,
    compression: Compression,
    timestamp_type: TimestampType,
    delete_horizon_ms: int,
    *,
    is_transactional: bool,
    is_control_batch: bool,
) -> None:
    if magic > MAGIC_VALUE_V0 and timestamp_type is TimestampType.NO_TIMESTAMP_TYPE:
        raise IllegalArgumentException("TimestampType must be set for magic >= 0")
    if magic >= MAGIC_VALUE_V2:
        return
    if is_transactional:
        raise IllegalArgumentException(f"Transactional records are not supported for magic {magic}")
    if is_control_batch:
        raise IllegalArgumentException(f"Control records are not supported for magic {magic}")
    if compression.type is CompressionType.ZSTD:
        raise IllegalArgumentException(f"ZStandard compression is not supported for magic {magic}")
    if delete_horizon_ms != NO_TIMESTAMP:
        raise IllegalArgumentException(f"Delete horizon timestamp is not supported for magic {magic}")
