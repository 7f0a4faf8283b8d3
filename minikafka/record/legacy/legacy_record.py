"""A message of the old formats, magic 0 and 1."""

import struct
import zlib

from minikafka.common.errors import (
    CorruptRecordException,
    IllegalArgumentException,
    IndexOutOfBoundsException,
)
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.batch_header import COMPRESSION_CODEC_MASK, TIMESTAMP_TYPE_MASK
from minikafka.record.format.timestamp_type import TimestampType

MAGIC_OFFSET = 4
ATTRIBUTES_OFFSET = 5
TIMESTAMP_OFFSET = 6  # magic 1 only
HEADER_SIZE_V0 = 6
HEADER_SIZE_V1 = 14
RECORD_OVERHEAD_V0 = 14  # header, size of the key, size of the value

_INT = struct.Struct(">i")
_UNSIGNED_INT = struct.Struct(">I")
_LONG = struct.Struct(">q")
_SIGNED_BYTE = struct.Struct("b")
_NULL = struct.pack(">i", -1)


class LegacyRecord:
    """A view on one message: CRC-32, magic, attributes, timestamp (magic 1), key, value; 14 or 22 bytes at least.

    Inside a compressed wrapper, the wrapper decides about timestamps: `wrapper_timestamp_type` is its type (None
    without a wrapper), and with LogAppendTime `wrapper_timestamp` is the timestamp of every message in it.
    A field beyond the end raises IndexOutOfBoundsException; a key or value beyond it, IllegalArgumentException.

    Kafka: `LegacyRecord`.
    """

    __slots__ = ("buffer", "wrapper_timestamp", "wrapper_timestamp_type")

    def __init__(
        self,
        buffer: memoryview,
        wrapper_timestamp: int | None = None,
        wrapper_timestamp_type: TimestampType | None = None,
    ):
        self.buffer = buffer
        self.wrapper_timestamp = wrapper_timestamp
        self.wrapper_timestamp_type = wrapper_timestamp_type

    def compute_checksum(self) -> int:
        """The CRC-32 of all that follows the CRC field. Kafka: `LegacyRecord.computeChecksum`."""
        return zlib.crc32(self.buffer[MAGIC_OFFSET:])

    @property
    def checksum(self) -> int:
        """The CRC-32 as stored. Kafka: `LegacyRecord.checksum`."""
        return self._read(_UNSIGNED_INT, 0)

    def is_valid(self) -> bool:
        """True when size and CRC are right. Kafka: `LegacyRecord.isValid`."""
        return self.size_in_bytes >= RECORD_OVERHEAD_V0 and self.checksum == self.compute_checksum()

    def ensure_valid(self) -> None:
        """Raise CorruptRecordException unless size and CRC are right. Kafka: `LegacyRecord.ensureValid`."""
        if self.size_in_bytes < RECORD_OVERHEAD_V0:
            raise CorruptRecordException(
                "Record is corrupt (crc could not be retrieved as the record is too small, "
                f"size = {self.size_in_bytes})"
            )
        if not self.is_valid():
            raise CorruptRecordException(
                f"Record is corrupt (stored crc = {self.checksum}, computed crc = {self.compute_checksum()})"
            )

    @property
    def size_in_bytes(self) -> int:
        """Bytes of the message, without offset and size. Kafka: `LegacyRecord.sizeInBytes`."""
        return len(self.buffer)

    @property
    def magic(self) -> int:
        """The version of the format: 0 or 1. Kafka: `LegacyRecord.magic`."""
        return self._read(_SIGNED_BYTE, MAGIC_OFFSET)

    @property
    def attributes(self) -> int:
        """Bits 0–2: codec; bit 3: timestamp type (magic 1). Kafka: `LegacyRecord.attributes`."""
        return self._read(_SIGNED_BYTE, ATTRIBUTES_OFFSET)

    @property
    def timestamp(self) -> int:
        """The timestamp in ms; -1 for magic 0. Kafka: `LegacyRecord.timestamp`."""
        if self.magic == 0:
            return -1
        if self.wrapper_timestamp_type is TimestampType.LOG_APPEND_TIME and self.wrapper_timestamp is not None:
            return self.wrapper_timestamp
        return self._read(_LONG, TIMESTAMP_OFFSET)

    @property
    def timestamp_type(self) -> TimestampType:
        """NO_TIMESTAMP_TYPE for magic 0; the wrapper's inside a wrapper. Kafka: `LegacyRecord.timestampType`."""
        if self.magic == 0:
            return TimestampType.NO_TIMESTAMP_TYPE
        if self.wrapper_timestamp_type is not None:
            return self.wrapper_timestamp_type
        log_append_time = self.attributes & TIMESTAMP_TYPE_MASK
        return TimestampType.LOG_APPEND_TIME if log_append_time else TimestampType.CREATE_TIME

    @property
    def compression_type(self) -> CompressionType:
        """The codec; IllegalArgumentException for an unknown one. Kafka: `LegacyRecord.compressionType`."""
        return CompressionType.for_id(self.attributes & COMPRESSION_CODEC_MASK)

    @property
    def key_size(self) -> int:
        """Bytes of the key, negative when it is null. Kafka: `LegacyRecord.keySize`."""
        return self._read(_INT, self._key_size_offset)

    @property
    def value_size(self) -> int:
        """Bytes of the value, negative when it is null. Kafka: `LegacyRecord.valueSize`."""
        return self._read(_INT, self._value_size_offset)

    @property
    def key_range(self) -> tuple[int, int]:
        """Start and end of the key in `buffer`; the end is -1 for null. Kafka: `Utils.sizeDelimited`."""
        return self._size_delimited(self._key_size_offset)

    @property
    def value_range(self) -> tuple[int, int]:
        """Start and end of the value in `buffer`; the end is -1 for null. Kafka: `Utils.sizeDelimited`."""
        return self._size_delimited(self._value_size_offset)

    @property
    def key(self) -> bytes | None:
        """The key, None when it is null. Kafka: `LegacyRecord.key`."""
        start, end = self.key_range
        return None if end < 0 else bytes(self.buffer[start:end])

    @property
    def value(self) -> bytes | None:
        """The value, None when it is null. Kafka: `LegacyRecord.value`."""
        start, end = self.value_range
        return None if end < 0 else bytes(self.buffer[start:end])

    @property
    def _key_size_offset(self) -> int:
        return HEADER_SIZE_V0 if self.magic == 0 else HEADER_SIZE_V1

    @property
    def _value_size_offset(self) -> int:
        return self._key_size_offset + 4 + max(0, self.key_size)

    def _size_delimited(self, start: int) -> tuple[int, int]:
        size = self._read(_INT, start)
        if size < 0:
            return start + 4, -1
        if size > len(self.buffer) - start - 4:
            raise IllegalArgumentException(f"newLimit > capacity: ({size} > {len(self.buffer) - start - 4})")
        return start + 4, start + 4 + size

    def _read(self, field: struct.Struct, position: int) -> int:
        if position + field.size > len(self.buffer):
            raise IndexOutOfBoundsException(
                f"a message of {len(self.buffer)} bytes ends before byte {position + field.size}"
            )
        value: int = field.unpack_from(self.buffer, position)[0]
        return value

    def __repr__(self) -> str:
        stamp = f", {self.timestamp_type}={self.timestamp}" if self.magic > 0 else ""
        return (
            f"Record(magic={self.magic}, attributes={self.attributes}, compression={self.compression_type}, "
            f"crc={self.checksum}{stamp}, key={len(self.key or b'')} bytes, value={len(self.value or b'')} bytes)"
        )


def record_overhead(magic: int) -> int:
    """Bytes of a message without key and value. Kafka: `LegacyRecord.recordOverhead`."""
    return header_size(magic) + 8


def header_size(magic: int) -> int:
    """Bytes of a message up to the size of its key; IllegalArgumentException for a magic other than 0 and 1.

    Kafka: `LegacyRecord.headerSize`.
    """
    if magic not in (0, 1):
        raise IllegalArgumentException(f"Invalid magic used in LegacyRecord: {magic}")
    return HEADER_SIZE_V0 if magic == 0 else HEADER_SIZE_V1


def compute_attributes(magic: int, compression_type: CompressionType, timestamp_type: TimestampType) -> int:
    """The attribute byte; IllegalArgumentException for magic 1 without a timestamp type.

    Kafka: `LegacyRecord.computeAttributes`.
    """
    attributes = compression_type.id
    if magic > 0:
        if timestamp_type is TimestampType.NO_TIMESTAMP_TYPE:
            raise IllegalArgumentException(
                "Timestamp type must be provided to compute attributes for message format v1"
            )
        if timestamp_type is TimestampType.LOG_APPEND_TIME:
            attributes |= TIMESTAMP_TYPE_MASK
    return attributes


def message_bytes(
    magic: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    compression_type: CompressionType = CompressionType.NONE,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
) -> bytes:
    """The bytes of a message, CRC included; `timestamp` in ms is left out of magic 0. Kafka: `LegacyRecord.write`.

    Raises IllegalArgumentException for a magic other than 0 and 1, or a negative timestamp other than -1.
    """
    if magic not in (0, 1):
        raise IllegalArgumentException(f"Invalid magic value {magic}")
    if timestamp < 0 and timestamp != -1:
        raise IllegalArgumentException(f"Invalid message timestamp {timestamp}")
    parts = [bytes([magic, compute_attributes(magic, compression_type, timestamp_type)])]
    if magic > 0:
        parts.append(_LONG.pack(timestamp))
    for field in (key, value):
        parts += [_NULL] if field is None else [_INT.pack(len(field)), field]
    body = b"".join(parts)
    return _UNSIGNED_INT.pack(zlib.crc32(body)) + body
