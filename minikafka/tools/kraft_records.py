"""Control records of the metadata log (`__cluster_metadata`) as Kafka's dump tool prints them: a name and JSON.

Each message is described by a table: its fields in the order of their bytes, with their types. All begin with their
own version, all are read by the rules of version 0, and all end in tagged fields, which are skipped.

Kafka: `ControlRecordUtils`, `LeaderChangeMessage`, `SnapshotHeaderRecord`, `SnapshotFooterRecord`,
`KRaftVersionRecord`, `VotersRecord` and their JSON converters.
"""

import base64
import json
import re
from collections.abc import Callable

from minikafka.common.errors import (
    BufferUnderflowException,
    IllegalArgumentException,
    NegativeArraySizeException,
    NullPointerException,
    RuntimeException,
)
from minikafka.common.java_utf8 import decode_utf8
from minikafka.common.uuid import ZERO_UUID
from minikafka.record.control_record import ControlRecordType

_LONGEST_STRING = 0x7FFF
_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|.)")


class MessageBytes:
    """A reader of Kafka's wire types, from the front of `data` on. Kafka: `ByteBufferAccessor`."""

    def __init__(self, data: bytes):
        self._data = bytes(data)
        self._position = 0

    @property
    def remaining(self) -> int:
        """Bytes not read yet."""
        return len(self._data) - self._position

    def read_int(self, size: int, signed: bool = True) -> int:
        """A big-endian number of `size` bytes. Raises BufferUnderflowException."""
        return int.from_bytes(self._take(size), "big", signed=signed)

    def read_unsigned_varint(self) -> int:
        """A 32-bit number in groups of 7 bits, as Java's int: the fifth byte may make it negative.

        Raises BufferUnderflowException, and IllegalArgumentException when a fifth byte says that more follow.
        Kafka: `ByteUtils.readUnsignedVarint`.
        """
        value = 0
        for shift in range(0, 35, 7):
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= 0xFFFF_FFFF
                return value - (1 << 32) if value >> 31 else value
        raise IllegalArgumentException("Varint is too long, the most significant bit in the 5th byte is set")

    def read_array(self, size: int) -> bytes:
        """So many bytes. Raises RuntimeException when there are fewer, NegativeArraySizeException below 0."""
        if size > self.remaining:
            raise RuntimeException(
                f"Error reading byte array of {size} byte(s): only {self.remaining} byte(s) available"
            )
        if size < 0:
            raise NegativeArraySizeException(str(size))
        return self._take(size)

    def skip_tagged_fields(self) -> None:
        """The optional fields at the end of a structure, none of which version 0 knows."""
        for _ in range(self.read_unsigned_varint()):
            self.read_unsigned_varint()  # the tag
            self.read_array(self.read_unsigned_varint())

    def _take(self, size: int) -> bytes:
        if size > self.remaining:
            raise BufferUnderflowException(f"{size} bytes wanted, {self.remaining} are left")
        self._position += size
        return self._data[self._position - size : self._position]


Reader = Callable[[MessageBytes, str], object]
Fields = tuple[tuple[str, Reader], ...]


def _number(size: int, signed: bool = True) -> Reader:
    return lambda source, name: source.read_int(size, signed)


def _uuid(source: MessageBytes, name: str) -> str:
    raw = source.read_int(8, signed=False) << 64 | source.read_int(8, signed=False)
    return base64.urlsafe_b64encode(raw.to_bytes(16, "big")).rstrip(b"=").decode("ascii")


def _string(source: MessageBytes, name: str) -> str:
    length = source.read_unsigned_varint() - 1
    if length < 0:
        raise RuntimeException(f"non-nullable field {name} was serialized as null")
    if length > _LONGEST_STRING:
        raise RuntimeException(f"string field {name} had invalid length {length}")
    return decode_utf8(source.read_array(length))


def _structure(fields: Fields) -> Reader:
    def read(source: MessageBytes, name: str) -> dict[str, object]:
        values = {field: reader(source, field) for field, reader in fields}
        source.skip_tagged_fields()
        return values

    return read


def _array(fields: Fields) -> Reader:
    read_element = _structure(fields)

    def read(source: MessageBytes, name: str) -> list[dict[str, object]]:
        length = source.read_unsigned_varint() - 1
        if length < 0:
            raise RuntimeException(f"non-nullable field {name} was serialized as null")
        if length > source.remaining:
            raise RuntimeException(
                f"Tried to allocate a collection of size {length}, "
                f"but there are only {source.remaining} bytes remaining."
            )
        return [read_element(source, name) for _ in range(length)]

    return read


_INT16, _UINT16, _INT32, _INT64 = _number(2), _number(2, signed=False), _number(4), _number(8)
_LEADER_CHANGE_VOTER = (("voterId", _INT32),)
_ENDPOINT = (("name", _string), ("host", _string), ("port", _UINT16))
_KRAFT_VERSION_FEATURE = (("minSupportedVersion", _INT16), ("maxSupportedVersion", _INT16))
_VOTER = (
    ("voterId", _INT32),
    ("voterDirectoryId", _uuid),
    ("endpoints", _array(_ENDPOINT)),
    ("kRaftVersionFeature", _structure(_KRAFT_VERSION_FEATURE)),
)

# What the tool writes before the JSON, and the fields.
_MESSAGES: dict[ControlRecordType, tuple[str, Fields]] = {
    ControlRecordType.LEADER_CHANGE: (
        "LeaderChange:",
        (
            ("version", _INT16),
            ("leaderId", _INT32),
            ("voters", _array(_LEADER_CHANGE_VOTER)),
            ("grantingVoters", _array(_LEADER_CHANGE_VOTER)),
        ),
    ),
    ControlRecordType.SNAPSHOT_HEADER: ("SnapshotHeader", (("version", _INT16), ("lastContainedLogTimestamp", _INT64))),
    ControlRecordType.SNAPSHOT_FOOTER: ("SnapshotFooter", (("version", _INT16),)),
    ControlRecordType.KRAFT_VERSION: ("KRaftVersion", (("version", _INT16), ("kRaftVersion", _INT16))),
    ControlRecordType.KRAFT_VOTERS: ("KRaftVoters", (("version", _INT16), ("voters", _array(_VOTER)))),
}
KRAFT_RECORD_TYPES = frozenset(_MESSAGES)


def kraft_record_line(control_type: ControlRecordType, value: bytes | None) -> str:
    """`LeaderChange: {"version":0,…}`: the words of the type, one of KRAFT_RECORD_TYPES, and its message.

    Raises NullPointerException, BufferUnderflowException, IllegalArgumentException or RuntimeException for bad bytes.
    Kafka: `DumpLogSegments.printControlRecord`.
    """
    if value is None:
        raise NullPointerException("control record without a value")
    words, fields = _MESSAGES[control_type]
    message = _structure(fields)(MessageBytes(value), "")
    if control_type is ControlRecordType.LEADER_CHANGE and message["version"] >= 1:
        # Read by the rules of version 0, which has no directory ids, and written by those of its own version.
        for voter in message["voters"] + message["grantingVoters"]:
            voter["voterDirectoryId"] = ZERO_UUID
    return f"{words} {_json(message)}"


def _json(message: dict[str, object]) -> str:
    """As Jackson writes it: no blanks, letters of all scripts as they are, control characters in capital digits."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return _ESCAPE.sub(lambda escape: escape[0][:2] + escape[0][2:].upper(), text)
