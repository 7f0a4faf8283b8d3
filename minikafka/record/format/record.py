"""One record, as read (`Record`) and as given to a builder (`SimpleRecord`), and its headers."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Header(NamedTuple):
    """A record header; the key is never None. Kafka: `RecordHeader`."""

    key: str
    value: bytes | None


class AnyRecord(Protocol):
    """A record of any magic: a `Record` or a `BasicLegacyRecordBatch`. Kafka: `Record`."""

    @property
    def offset(self) -> int:
        """The record's offset in the log. Kafka: `Record.offset`."""

    @property
    def timestamp(self) -> int:
        """The timestamp in ms since 1970, -1 for none. Kafka: `Record.timestamp`."""

    @property
    def key(self) -> bytes | None:
        """The key, or None. Kafka: `Record.key`."""

    @property
    def value(self) -> bytes | None:
        """The value; None makes the record a tombstone. Kafka: `Record.value`."""

    @property
    def headers(self) -> tuple[Header, ...]:
        """The headers, in order; magic 0 and 1 have none. Kafka: `Record.headers`."""

    @property
    def sequence(self) -> int:
        """The producer's sequence number, -1 without a producer id. Kafka: `Record.sequence`."""

    @property
    def size_in_bytes(self) -> int:
        """Bytes of the record where it is stored, its size field included. Kafka: `Record.sizeInBytes`."""

    @property
    def has_key(self) -> bool:
        """True when the key is not null. Kafka: `Record.hasKey`."""

    @property
    def has_value(self) -> bool:
        """False for a tombstone. Kafka: `Record.hasValue`."""

    @property
    def key_size(self) -> int:
        """Bytes of the key, -1 when it is null. Kafka: `Record.keySize`."""

    @property
    def value_size(self) -> int:
        """Bytes of the value, -1 when it is null. Kafka: `Record.valueSize`."""

    @property
    def is_compressed(self) -> bool:
        """True for a message of magic 0 or 1 that wraps others. Kafka: `Record.isCompressed`."""

    def ensure_valid(self) -> None:
        """Raise CorruptRecordException when the record has a CRC and it is wrong. Kafka: `Record.ensureValid`."""

    def has_magic(self, magic: int) -> bool:
        """True when the record's format is that of `magic`. Kafka: `Record.hasMagic`."""


@dataclass(slots=True)
class Record:
    """A record of a magic-2 batch with its absolute offset, made from the batch's columns when a caller asks for it.

    `timestamp` in ms (-1: none), `sequence` -1 without a producer id, `size_in_bytes` with the length prefix.
    Kafka: `DefaultRecord`.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    sequence: int = -1
    size_in_bytes: int = 0

    @property
    def has_key(self) -> bool:
        """True when the key is not null. Kafka: `Record.hasKey`."""
        return self.key is not None

    @property
    def has_value(self) -> bool:
        """False for a tombstone. Kafka: `Record.hasValue`."""
        return self.value is not None

    @property
    def key_size(self) -> int:
        """Bytes of the key, -1 when it is null. Kafka: `Record.keySize`."""
        return -1 if self.key is None else len(self.key)

    @property
    def value_size(self) -> int:
        """Bytes of the value, -1 when it is null. Kafka: `Record.valueSize`."""
        return -1 if self.value is None else len(self.value)

    def ensure_valid(self) -> None:
        """Do nothing: the CRC of the batch covers the record. Kafka: `DefaultRecord.ensureValid`."""

    def has_magic(self, magic: int) -> bool:
        """True for magic 2 and above. Kafka: `DefaultRecord.hasMagic`."""
        return magic >= 2

    @property
    def is_compressed(self) -> bool:
        """False: from magic 2 on the batch is compressed, not a record. Kafka: `DefaultRecord.isCompressed`."""
        return False


class SimpleRecord(NamedTuple):
    """A record to be appended: `timestamp` in ms (-1: none), key and value or None. Kafka: `SimpleRecord`."""

    timestamp: int = -1
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[Header, ...] = ()
