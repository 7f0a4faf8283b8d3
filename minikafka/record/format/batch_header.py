"""The header of a magic-2 batch: its fields, its attribute bits, and the numbers that mean "none"."""

import struct

from minikafka.common.at_hand import crc32c
from minikafka.common.errors import IllegalArgumentException, IndexOutOfBoundsException
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.timestamp_type import TimestampType

MAGIC_VALUE_V0 = 0
MAGIC_VALUE_V1 = 1
MAGIC_VALUE_V2 = 2
CURRENT_MAGIC_VALUE = MAGIC_VALUE_V2

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_PARTITION_LEADER_EPOCH = -1

LOG_OVERHEAD = 12  # bytes of offset and size, which open a batch of any magic
HEADER_SIZE_UP_TO_MAGIC = 17
MAGIC_OFFSET = 16
RECORD_BATCH_OVERHEAD = 61

COMPRESSION_CODEC_MASK = 0x07
TIMESTAMP_TYPE_MASK = 0x08
TRANSACTIONAL_FLAG_MASK = 0x10
CONTROL_FLAG_MASK = 0x20
DELETE_HORIZON_FLAG_MASK = 0x40

# The fields of the header, in order, with the numbers by which `RecordBatch` reads them.
HEADER = struct.Struct(
    ">q"  # 0 base offset
    "i"  # 1 length of what follows
    "i"  # 2 partition leader epoch
    "b"  # 3 magic
    "I"  # 4 CRC
    "h"  # 5 attributes
    "i"  # 6 last offset delta
    "q"  # 7 base timestamp, or delete horizon
    "q"  # 8 max timestamp
    "q"  # 9 producer id
    "h"  # 10 producer epoch
    "i"  # 11 base sequence
    "i"  # 12 number of records
)
CRC_OFFSET = 17
ATTRIBUTES_OFFSET = 21

_UNSIGNED_INT = struct.Struct(">I")


def write_header(
    buffer: bytearray | memoryview,
    position: int,
    *,
    base_offset: int,
    last_offset_delta: int,
    size_in_bytes: int,
    magic: int,
    compression_type: CompressionType,
    timestamp_type: TimestampType,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    is_transactional: bool,
    is_control_batch: bool,
    is_delete_horizon_set: bool,
    partition_leader_epoch: int,
    num_records: int,
) -> None:
    """Write a batch's header, CRC included, at `position`; the records already follow it.

    Raises IllegalArgumentException for a magic below 2 or a negative base timestamp other than -1.
    Kafka: `DefaultRecordBatch.writeHeader`.
    """
    if magic < CURRENT_MAGIC_VALUE:
        raise IllegalArgumentException(f"Invalid magic value {magic}")
    if base_timestamp < 0 and base_timestamp != NO_TIMESTAMP:
        raise IllegalArgumentException(f"Invalid message timestamp {base_timestamp}")
    attributes = compute_attributes(
        compression_type,
        timestamp_type,
        is_transactional=is_transactional,
        is_control=is_control_batch,
        is_delete_horizon_set=is_delete_horizon_set,
    )
    HEADER.pack_into(
        buffer, position, base_offset, size_in_bytes - LOG_OVERHEAD, partition_leader_epoch, magic, 0, attributes,
        last_offset_delta, base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, num_records,
    )  # fmt: skip
    with memoryview(buffer) as view:
        crc = crc32c(view[position + ATTRIBUTES_OFFSET : position + size_in_bytes])
    _UNSIGNED_INT.pack_into(buffer, position + CRC_OFFSET, crc)


def compute_attributes(
    compression_type: CompressionType,
    timestamp_type: TimestampType,
    *,
    is_transactional: bool,
    is_control: bool,
    is_delete_horizon_set: bool,
) -> int:
    """The attribute bits; IllegalArgumentException for NO_TIMESTAMP_TYPE.

    Kafka: `DefaultRecordBatch.computeAttributes`.
    """
    if timestamp_type is TimestampType.NO_TIMESTAMP_TYPE:
        raise IllegalArgumentException(
            "Timestamp type must be provided to compute attributes for message format v2 and above"
        )
    attributes = compression_type.id
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= TIMESTAMP_TYPE_MASK
    if is_transactional:
        attributes |= TRANSACTIONAL_FLAG_MASK
    if is_control:
        attributes |= CONTROL_FLAG_MASK
    if is_delete_horizon_set:
        attributes |= DELETE_HORIZON_FLAG_MASK
    return attributes


def write_empty_header(
    buffer: bytearray | memoryview,
    position: int,
    *,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    base_offset: int,
    last_offset: int,
    partition_leader_epoch: int,
    timestamp_type: TimestampType,
    timestamp: int,
    is_transactional: bool,
    is_control_batch: bool,
) -> None:
    """Write a batch without records, which keeps what compaction must not lose: the producer's last sequence.

    Kafka: `DefaultRecordBatch.writeEmptyHeader`.
    """
    write_header(
        buffer,
        position,
        base_offset=base_offset,
        last_offset_delta=last_offset - base_offset,
        size_in_bytes=RECORD_BATCH_OVERHEAD,
        magic=CURRENT_MAGIC_VALUE,
        compression_type=CompressionType.NONE,
        timestamp_type=timestamp_type,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        is_control_batch=is_control_batch,
        is_delete_horizon_set=False,
        partition_leader_epoch=partition_leader_epoch,
        num_records=0,
    )


class ShortHeader:
    """The fields of a batch that is too short for a header; a field beyond its end raises IndexOutOfBoundsException."""

    _ENDS = (8, 12, 16, 17, 21, 23, 27, 35, 43, 51, 53, 57, 61)

    def __init__(self, buffer: memoryview):
        self._size = len(buffer)
        self._fields: tuple[int, ...] = HEADER.unpack(bytes(buffer).ljust(RECORD_BATCH_OVERHEAD, b"\0"))

    def __getitem__(self, field: int) -> int:
        if self._ENDS[field] > self._size:
            raise IndexOutOfBoundsException(f"a batch of {self._size} bytes ends before byte {self._ENDS[field]}")
        return self._fields[field]
