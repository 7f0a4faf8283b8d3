"""Kafka's messages, read by their schemas and written as JSON.

Values are numbers, texts, bytes, booleans, None, lists, and for structures dicts by the names of their fields.
Kafka generates two classes for each message, one that reads it and one that writes its JSON; here one schema does both
for all of them.
"""

import base64
from typing import NamedTuple

from minikafka.common.errors import RuntimeException, UnsupportedVersionException
from minikafka.common.java_utf8 import decode_utf8
from minikafka.tools.message_bytes import MessageBytes
from minikafka.tools.versions import Versions

_LONGEST_STRING = 0x7FFF
_INTEGERS = {  # bytes, and whether there is a sign
    "int8": (1, True),
    "int16": (2, True),
    "uint16": (2, False),
    "int32": (4, True),
    "uint32": (4, False),
    "int64": (8, True),
}
_UNKNOWN_TAGGED_FIELDS = "_unknownTaggedFields"


class Field(NamedTuple):
    """One field of a structure, and in which versions it is there, and may be null.

    `type` is a word of Kafka's schemas (`int32`, `string`, `uuid`) or a structure; `is_array`: a list of such. A field
    with a `tag` stands behind the others, and only where it differs from its `default`.
    """

    name: str
    type: "str | StructSchema"
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    default: object

    def default_value(self) -> object:
        """What the field is where it is not written."""
        if isinstance(self.type, StructSchema) and not self.is_array and self.default is not None:
            return self.type.defaults()
        return [] if self.is_array and self.default is not None else self.default


class StructSchema:
    """The fields of a message or of a structure in it.

    - `versions` are its own, `possible` those of what it is part of: another version is refused.
    - `fields` are set after the rest, since structures may stand in each other.
    """

    def __init__(self, name: str, versions: Versions, possible: Versions, flexible: Versions):
        self.name = name
        self.versions = versions
        self.fields: tuple[Field, ...] = ()
        self._outer = possible
        self._possible = possible.intersect(versions)
        self._flexible = flexible

    def defaults(self) -> dict[str, object]:
        """The structure as it is before anything is read into it."""
        return {field.name: field.default_value() for field in self.fields}

    def read(self, source: MessageBytes, version: int) -> dict[str, object]:
        """The values of all fields; those that this version does not have get their defaults.

        Raises BufferUnderflowException, IllegalArgumentException, RuntimeException, UnsupportedVersionException.
        """
        if not self._outer.has(version, self.versions):
            raise UnsupportedVersionException(f"Can't read version {version} of {self.name}")
        flexible = self._flexible.has(version, self._possible)
        values = self.defaults()
        for field in self.fields:
            if field.tag is None and field.versions.has(version, self._possible):
                values[field.name] = self._read_field(field, source, version, flexible=flexible)
        if flexible:
            self._read_tagged_fields(values, source, version)
        return values

    def json(self, values: dict[str, object], version: int) -> dict[str, object]:
        """What stands in the JSON of this version: the fields in the order of the schema, as JSON's types."""
        return {
            field.name: _json_value(field, values[field.name], version)
            for field in self.fields
            if field.versions.has(version, self._possible)
            and (field.tag is None or values[field.name] != field.default_value())
        }

    def _read_tagged_fields(self, values: dict[str, object], source: MessageBytes, version: int) -> None:
        by_tag = {field.tag: field for field in self.fields if field.tag is not None}
        unknown = []
        for _ in range(source.read_unsigned_varint()):
            tag, size = source.read_unsigned_varint(), source.read_unsigned_varint()
            field = by_tag.get(tag)
            if field is None:
                unknown.append((tag, source.read_array(size)))
            elif not field.versions.has(version, self._possible):
                raise RuntimeException(f"Tag {tag} is not valid for version {version}")
            else:
                values[field.name] = self._read_field(field, source, version, flexible=True)
        if unknown:
            values[_UNKNOWN_TAGGED_FIELDS] = unknown  # no part of the JSON, but such a structure is not the default

    def _read_field(self, field: Field, source: MessageBytes, version: int, *, flexible: bool) -> object:
        nullable = field.nullable.has(version, self._possible)
        if field.is_array:
            return _read_array(field, source, version, flexible=flexible, nullable=nullable)
        if isinstance(field.type, StructSchema):
            if nullable and _is_null(source, tagged=field.tag is not None):
                return None
            return field.type.read(source, version)
        return _read_primitive(field.type, field.name, source, flexible=flexible, nullable=nullable)


class MessageSchema(NamedTuple):
    """A message of Kafka's; `api_key` says what kind of record it is, -1 where no record has it alone."""

    name: str
    api_key: int
    versions: Versions
    struct: StructSchema


def _is_null(source: MessageBytes, *, tagged: bool) -> bool:
    return source.read_unsigned_varint() <= 0 if tagged else source.read_int(1) < 0


def _read_array(field: Field, source: MessageBytes, version: int, *, flexible: bool, nullable: bool) -> list | None:
    length = source.read_unsigned_varint() - 1 if flexible else source.read_int(4)
    if length < 0:
        return _null(field.name, nullable=nullable)
    if length > source.remaining:
        raise RuntimeException(
            f"Tried to allocate a collection of size {length}, but there are only {source.remaining} bytes remaining."
        )
    if isinstance(field.type, StructSchema):
        return [field.type.read(source, version) for _ in range(length)]
    name = f"{field.name} element"
    return [_read_primitive(field.type, name, source, flexible=flexible, nullable=False) for _ in range(length)]


def _read_primitive(type_: str, name: str, source: MessageBytes, *, flexible: bool, nullable: bool) -> object:
    match type_:
        case "bool":
            return source.read_int(1) != 0
        case "uuid":
            return source.read_uuid()
        case "float64":
            return source.read_double()
        case "string":
            return _read_string(name, source, flexible=flexible, nullable=nullable)
        case "bytes":
            length = source.read_unsigned_varint() - 1 if flexible else source.read_int(4)
            return _null(name, nullable=nullable) if length < 0 else source.read_array(length)
        case _:
            size, signed = _INTEGERS[type_]
            return source.read_int(size, signed=signed)


def _read_string(name: str, source: MessageBytes, *, flexible: bool, nullable: bool) -> str | None:
    length = source.read_unsigned_varint() - 1 if flexible else source.read_int(2)
    if length < 0:
        return _null(name, nullable=nullable)
    if length > _LONGEST_STRING:
        raise RuntimeException(f"string field {name} had invalid length {length}")
    return decode_utf8(source.read_array(length))


def _null(name: str, *, nullable: bool) -> None:
    if not nullable:
        raise RuntimeException(f"non-nullable field {name} was serialized as null")


def _json_value(field: Field, value: object, version: int) -> object:
    if isinstance(value, list):
        return [_json_value(field, element, version) for element in value]
    if isinstance(value, dict):
        return field.type.json(value, version)
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
