"""One record, as read (`Record`) and as given to a builder (`SimpleRecord`), and its headers."""

from dataclasses import dataclass
from typing import NamedTuple


class Header(NamedTuple):
    """A record header; the key is never None. Kafka: `RecordHeader`."""

    key: str
    value: bytes | None


@dataclass(slots=True)
class Record:
    """A record of a magic-2 batch with its absolute offset; made from a batch's columns only when asked for.

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
        """Kafka: `Record.hasKey`."""
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
        """Nothing to check: the batch's CRC covers the record. Kafka: `DefaultRecord.ensureValid`."""

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
