"""Control records, which carry no user data but a decision, such as the end of a transaction.

Key: int16 version, int16 type. Value of an end marker: int16 version, int32 coordinator epoch. Higher versions are read
as version 0.
"""

import enum
import struct
from dataclasses import dataclass

from minikafka.common.errors import (
    BufferUnderflowException,
    IllegalArgumentException,
    InvalidRecordException,
    NullPointerException,
)
from minikafka.record.format.record import AnyRecord

_KEY = struct.Struct(">hh")
_END_TXN_VALUE = struct.Struct(">hi")


class ControlRecordType(enum.Enum):
    """What a control record says; types 2 … 6 only occur in the metadata log. Kafka: `ControlRecordType`."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    UNKNOWN = -1

    @property
    def type(self) -> int:
        """The int16 of the key. Kafka: `ControlRecordType.type`."""
        number: int = self.value
        return number

    def record_key(self) -> bytes:
        """The four bytes of the key; IllegalArgumentException for UNKNOWN. Kafka: `ControlRecordType.recordKey`."""
        if self is ControlRecordType.UNKNOWN:
            raise IllegalArgumentException("Cannot serialize UNKNOWN control record type")
        return _KEY.pack(0, self.value)

    @staticmethod
    def parse_type_id(key: bytes | None) -> int:
        """The type's number in a control record's key. Kafka: `ControlRecordType.parseTypeId`.

        Raises InvalidRecordException for fewer than 4 bytes or a negative version, NullPointerException for no key.
        """
        if key is None:
            raise NullPointerException("control record without a key")
        if len(key) < _KEY.size:
            raise InvalidRecordException(
                "Invalid value size found for control record key. "
                f"Must have at least {_KEY.size} bytes, but found only {len(key)}"
            )
        version: int
        type_id: int
        version, type_id = _KEY.unpack_from(key)
        if version < 0:
            raise InvalidRecordException(
                f"Invalid version found for control record: {version}. May indicate data corruption"
            )
        return type_id

    @staticmethod
    def from_type_id(type_id: int) -> "ControlRecordType":
        """The type with that number, UNKNOWN when there is none. Kafka: `ControlRecordType.fromTypeId`."""
        try:
            return ControlRecordType(type_id)
        except ValueError:
            return ControlRecordType.UNKNOWN

    @staticmethod
    def parse(key: bytes | None) -> "ControlRecordType":
        """The type that a control record's key names. Kafka: `ControlRecordType.parse`."""
        return ControlRecordType.from_type_id(ControlRecordType.parse_type_id(key))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class EndTransactionMarker:
    """The commit or abort of a transaction; any other type is refused. Kafka: `EndTransactionMarker`."""

    control_type: ControlRecordType
    coordinator_epoch: int

    def __post_init__(self) -> None:
        _ensure_transaction_marker_control_type(self.control_type)

    def serialize_value(self) -> bytes:
        """The control record's value: 6 bytes. Kafka: `EndTransactionMarker.serializeValue`."""
        return _END_TXN_VALUE.pack(0, self.coordinator_epoch)

    @staticmethod
    def deserialize(record: AnyRecord) -> "EndTransactionMarker":
        """The marker in a control `record`. Kafka: `EndTransactionMarker.deserialize`.

        Raises IllegalArgumentException when its type is neither COMMIT nor ABORT, InvalidRecordException for a negative
        version, BufferUnderflowException for a value of fewer than 6 bytes.
        """
        return EndTransactionMarker.deserialize_value(ControlRecordType.parse(record.key), record.value)

    @staticmethod
    def deserialize_value(control_type: ControlRecordType, value: bytes | None) -> "EndTransactionMarker":
        """The marker of `control_type` with that value. Kafka: `EndTransactionMarker.deserializeValue`."""
        _ensure_transaction_marker_control_type(control_type)
        if value is None:
            raise NullPointerException("end transaction marker without a value")
        if len(value) < 2:
            raise BufferUnderflowException("end transaction marker without a version")
        version = int.from_bytes(value[:2], "big", signed=True)
        if version < 0:
            raise InvalidRecordException(
                f"Invalid version found for end transaction marker: {version}. May indicate data corruption"
            )
        if len(value) < _END_TXN_VALUE.size:
            raise BufferUnderflowException("end transaction marker without a coordinator epoch")
        return EndTransactionMarker(control_type, _END_TXN_VALUE.unpack_from(value)[1])


def _ensure_transaction_marker_control_type(control_type: ControlRecordType) -> None:
    if control_type not in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        raise IllegalArgumentException(f"Invalid control record type for end transaction marker {control_type}")
