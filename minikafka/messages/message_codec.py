"""Kafka's messages as Python objects, read and written as bytes: one class for all versions of a message.

Kafka's build makes such a class out of each message's schema (`ProduceRequestData`); here it is made when it is first
asked for. A field has its name in snake_case, and these types: numbers, booleans, texts, ids as texts of 22 characters,
bytes, lists, and messages for structures. Records stay bytes: what is read is a view into the request.

Reading and writing become a list of steps for each structure and version. Fields of fixed sizes that follow each other
are one step. Read this codec to know what is done; `compiled_codec`, which does the same, is the one to call.

Why no library: of those that know all of Kafka's messages, kio comes closest. But a damaged length in a request ends
its whole process, its dates and durations do not hold every 64-bit number that Kafka accepts and sends back, it copies
records, and it ends with the messages of Kafka 4.1. The tables are Kafka's own definitions: nothing is written twice.
"""

import re
import struct
from collections.abc import Callable
from dataclasses import field as dataclass_field
from dataclasses import make_dataclass
from functools import cache, lru_cache, partial
from typing import Any, ClassVar, TypeAlias

from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import (
    IllegalArgumentException,
    NullPointerException,
    RuntimeException,
    UnsupportedVersionException,
)
from minikafka.common.java.java_numbers import SHORT_MAX
from minikafka.common.java.java_utf8 import decode_utf8
from minikafka.common.made_once import made_once
from minikafka.common.uuid import uuid_to_bytes
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_schema import Field, StructSchema
from minikafka.messages.message_sink import MessageSink
from minikafka.messages.message_tables import message_schema

FIXED = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}
_UNKNOWN = "unknown_tagged_fields"

_ReadStep: TypeAlias = Callable[[MessageBytes, Any], None]
_WriteStep: TypeAlias = Callable[[MessageSink, Any], None]
_ReadValue: TypeAlias = Callable[[MessageBytes], Any]
_WriteValue: TypeAlias = Callable[[MessageSink, Any], None]


class Message:
    """A message, or a structure in one: `message_class` makes the classes.

    - Every field may be given by name, and has Kafka's default if it is not; the classes of structures are attributes
      of their message's class.
    - `unknown_tagged_fields` are pairs (tag, bytes) that a later version of Kafka sent; they are written as they came.
    """

    __slots__: ClassVar[tuple[str, ...]] = ()
    schema: ClassVar[StructSchema]
    unknown_tagged_fields: tuple[tuple[int, bytes], ...]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return [getattr(self, name) for name in self.__slots__] == [getattr(other, name) for name in self.__slots__]

    def __repr__(self) -> str:
        fields = [f"{name}={getattr(self, name)!r}" for name in self.__slots__ if name != _UNKNOWN]
        return f"{type(self).__qualname__}({', '.join(fields)})"


@made_once
def message_class(schema: StructSchema) -> Any:
    """The class of a structure's messages. Kafka: `MessageDataGenerator`."""
    namespace: dict[str, Any] = {"__doc__": f"{schema.name} of Kafka's protocol.", "schema": schema}
    fields: list[tuple[str, Any, Any]] = []
    for field in schema.fields:
        if isinstance(field.type, StructSchema):
            namespace[field.type.name] = message_class(field.type)
        fields.append((snake_case(field.name), Any, _dataclass_default(field)))
    fields.append((_UNKNOWN, Any, dataclass_field(default=(), repr=False)))
    return make_dataclass(
        schema.name,
        fields,
        bases=(Message,),
        namespace=namespace,
        slots=True,
        kw_only=True,
        eq=False,  # what a dataclass would compile for each class anew, `Message` has for all
        repr=False,
    )


def message_classes(table: str) -> Callable[[str], Any]:
    """What a module of the messages of a table has for `__getattr__`: it finds a message's class by its name.

    A stub beside the module, made from the same table, tells a type checker their fields.
    """

    def class_of(name: str) -> Any:
        try:
            return message_class(message_schema(table, name).struct)
        except KeyError:
            raise AttributeError(f"{table} has no message {name}") from None

    return class_of


def read_message(schema: StructSchema, source: MessageBytes, version: int) -> Any:
    """The message of `version` that lies in front of `source`; fields that the version lacks have their defaults.

    Raises BufferUnderflowException, IllegalArgumentException, RuntimeException, UnsupportedVersionException.
    """
    return _reader(schema, version)(source)


def write_message(message: Message, sink: MessageSink, version: int) -> None:
    """Write `message` as its `version`. Fields that the version lacks are left out if that is allowed.

    Raises UnsupportedVersionException for one that is set and may not be left out, or a version that the message does
    not have; NullPointerException for None where a version has no place for it; IllegalArgumentException for a number
    that does not fit.
    """
    _writer(message.schema, version)(sink, message)


def default_value(field: Field) -> Any:
    """What the field holds where nothing is set: a new list or message each time."""
    if field.is_array:
        return None if field.default is None else []
    if isinstance(field.type, StructSchema):
        return None if field.default is None else message_class(field.type)()
    return field.default


@cache
def snake_case(name: str) -> str:
    """`timeoutMs` as `timeout_ms`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _dataclass_default(field: Field) -> Any:
    if field.is_array and field.default is not None:
        return dataclass_field(default_factory=list)
    if isinstance(field.type, StructSchema) and not field.is_array and field.default is not None:
        return dataclass_field(default_factory=message_class(field.type))
    return dataclass_field(default=None if field.is_array or isinstance(field.type, StructSchema) else field.default)


# How a version is read.


@lru_cache(maxsize=4096)
def _reader(schema: StructSchema, version: int) -> _ReadValue:
    if not schema.outer.has(version, schema.versions):
        raise UnsupportedVersionException(f"Can't read version {version} of {schema.name}")
    make, flexible = message_class(schema), schema.flexible.has(version, schema.possible)
    steps: list[_ReadStep] = []
    for group in grouped(present_fields(schema, version)):
        if isinstance(group, Field):
            read = _field_reader(schema, group, version, flexible=flexible)
            steps.append(partial(_read_into, snake_case(group.name), read))
        else:
            steps.append(partial(_read_fixed, tuple(snake_case(field.name) for field in group), _layout(group)))
    if flexible:
        steps.append(partial(read_tagged_fields, schema, version))

    def read_struct(source: MessageBytes) -> Any:
        message = make()
        for step in steps:
            step(source, message)
        return message

    return read_struct


def _read_fixed(names: tuple[str, ...], layout: struct.Struct, source: MessageBytes, message: Any) -> None:
    for name, value in zip(names, source.read_struct(layout)):
        setattr(message, name, value)


def _read_into(name: str, read: _ReadValue, source: MessageBytes, message: Any) -> None:
    setattr(message, name, read(source))


def read_tagged_fields(schema: StructSchema, version: int, source: MessageBytes, message: Any) -> None:
    unknown: list[tuple[int, bytes]] = []
    for _ in range(source.read_unsigned_varint()):
        tag, size = source.read_unsigned_varint(), source.read_unsigned_varint()
        field = next((field for field in schema.fields if field.tag == tag), None)
        if field is None:
            unknown.append((tag, source.read_array(size)))
        elif not field.versions.has(version, schema.possible):
            raise RuntimeException(f"Tag {tag} is not valid for version {version}")
        else:
            setattr(message, snake_case(field.name), _field_reader(schema, field, version, flexible=True)(source))
    if unknown:
        message.unknown_tagged_fields = tuple(unknown)


@lru_cache(maxsize=16384)
def _field_reader(schema: StructSchema, field: Field, version: int, *, flexible: bool) -> _ReadValue:
    nullable = field.nullable.has(version, schema.possible)
    if field.is_array:
        element = _element_reader(field, version, flexible=flexible)
        return partial(_read_array, field.name, element, flexible, nullable)
    if isinstance(field.type, StructSchema):
        inner = partial(_read_inner, field.type, version)
        return partial(_read_nullable_struct, inner, field.tag is not None) if nullable else inner
    return _primitive_reader(field.type, field.name, flexible=flexible, nullable=nullable)


def _element_reader(field: Field, version: int, *, flexible: bool) -> _ReadValue:
    if isinstance(field.type, StructSchema):
        return partial(_read_inner, field.type, version)
    return _primitive_reader(field.type, f"{field.name} element", flexible=flexible, nullable=False)


def _primitive_reader(type_: str, name: str, *, flexible: bool, nullable: bool) -> _ReadValue:
    match type_:
        case "string":
            return partial(_read_string, name, flexible, nullable)
        case "bytes":
            return partial(_read_bytes, name, flexible, nullable)
        case "records":
            return partial(_read_records, name, flexible, nullable)
        case "uuid":
            return MessageBytes.read_uuid
        case _:
            return partial(_read_one_fixed, struct.Struct(">" + FIXED[type_]))


def _read_one_fixed(layout: struct.Struct, source: MessageBytes) -> Any:
    return source.read_struct(layout)[0]


def _read_inner(schema: StructSchema, version: int, source: MessageBytes) -> Any:
    return _reader(schema, version)(source)


def _read_nullable_struct(read: _ReadValue, tagged: bool, source: MessageBytes) -> Any:
    there = source.read_unsigned_varint() > 0 if tagged else source.read_int(1) >= 0
    return read(source) if there else None


def _read_array(name: str, read: _ReadValue, flexible: bool, nullable: bool, source: MessageBytes) -> list[Any] | None:
    length = source.read_unsigned_varint() - 1 if flexible else source.read_int(4)
    if length < 0:
        _refuse_null(name, nullable)
        return None
    if length > source.remaining:
        raise RuntimeException(
            f"Tried to allocate a collection of size {length}, but there are only {source.remaining} bytes remaining."
        )
    return [read(source) for _ in range(length)]


def _read_string(name: str, flexible: bool, nullable: bool, source: MessageBytes) -> str | None:
    length = source.read_unsigned_varint() - 1 if flexible else source.read_int(2)
    if length < 0:
        _refuse_null(name, nullable)
        return None
    if length > SHORT_MAX:
        raise RuntimeException(f"string field {name} had invalid length {length}")
    return decode_utf8(source.read_view(length))


def _read_bytes(name: str, flexible: bool, nullable: bool, source: MessageBytes) -> bytes | None:
    length = source.read_unsigned_varint() - 1 if flexible else source.read_int(4)
    if length < 0:
        _refuse_null(name, nullable)
        return None
    return source.read_array(length)


def _read_records(name: str, flexible: bool, nullable: bool, source: MessageBytes) -> memoryview | None:
    length = source.read_unsigned_varint() - 1 if flexible else source.read_int(4)
    if length < 0:
        _refuse_null(name, nullable)
        return None
    return source.read_view(length)


def _refuse_null(name: str, nullable: bool) -> None:
    if not nullable:
        raise RuntimeException(f"non-nullable field {name} was serialized as null")


# How a version is written.


@lru_cache(maxsize=4096)
def _writer(schema: StructSchema, version: int) -> _WriteValue:
    if not schema.outer.has(version, schema.versions):
        raise UnsupportedVersionException(f"Can't write version {version} of {schema.name}")
    flexible = schema.flexible.has(version, schema.possible)
    present = present_fields(schema, version)
    lost = [field for field in schema.fields if not field.versions.has(version, schema.possible)]
    steps: list[_WriteStep] = [
        partial(_check_default, snake_case(field.name), field, version) for field in lost if not field.ignorable
    ]
    for group in grouped(present):
        if isinstance(group, Field):
            write = _field_writer(schema, group, version, flexible=flexible)
            steps.append(partial(_write_from, snake_case(group.name), write))
        else:
            steps.append(partial(_write_fixed, tuple(snake_case(field.name) for field in group), _layout(group)))
    if flexible:
        tagged = [f for f in schema.fields if f.tag is not None and f.versions.has(version, schema.possible)]
        steps.append(partial(write_tagged_fields, schema, tagged, version))

    def write_struct(sink: MessageSink, message: Any) -> None:
        for step in steps:
            step(sink, message)

    return write_struct


def _check_default(name: str, field: Field, version: int, _: MessageSink, message: Any) -> None:
    if getattr(message, name) != default_value(field):
        raise UnsupportedVersionException(f"Attempted to write a non-default {field.name} at version {version}")


def _write_fixed(names: tuple[str, ...], layout: struct.Struct, sink: MessageSink, message: Any) -> None:
    values = [getattr(message, name) for name in names]
    try:
        data = layout.pack(*values)
    except struct.error:
        raise IllegalArgumentException(_first_unfit(names, layout, values)) from None
    sink.write(data)


def _first_unfit(names: tuple[str, ...], layout: struct.Struct, values: list[Any]) -> str:
    """Which of the values does not fit into its field."""
    types = {code: name for name, code in FIXED.items()}
    fields = zip(names, layout.format[1:], values)
    name, code, value = next(field for field in fields if not _fits(*field[1:]))
    return f"{name}: {value!r} is no {types[code]}"


def _fits(code: str, value: Any) -> bool:
    try:
        struct.pack(f">{code}", value)
    except struct.error:
        return False
    return True


def _write_from(name: str, write: _WriteValue, sink: MessageSink, message: Any) -> None:
    write(sink, getattr(message, name))


def write_tagged_fields(
    schema: StructSchema, fields: list[Field], version: int, sink: MessageSink, message: Any
) -> None:
    sections = dict(message.unknown_tagged_fields)
    for field in fields:
        value = getattr(message, snake_case(field.name))
        if value != default_value(field):
            inner = MessageSink()
            _field_writer(schema, field, version, flexible=True)(inner, value)
            sections[field.tag] = bytes(inner)
    sink.write_unsigned_varint(len(sections))
    for tag, data in sorted(sections.items()):
        sink.write_unsigned_varint(tag)
        sink.write_unsigned_varint(len(data))
        sink.write(data)


@lru_cache(maxsize=16384)
def _field_writer(schema: StructSchema, field: Field, version: int, *, flexible: bool) -> _WriteValue:
    nullable = field.nullable.has(version, schema.possible)
    if field.is_array:
        return partial(_write_array, field.name, _element_writer(field, version, flexible=flexible), flexible, nullable)
    if isinstance(field.type, StructSchema):
        inner = partial(_write_inner, field.type, version)
        return partial(_write_nullable_struct, inner, field.tag is not None) if nullable else inner
    return _primitive_writer(field.type, field.name, flexible=flexible, nullable=nullable)


def _element_writer(field: Field, version: int, *, flexible: bool) -> _WriteValue:
    if isinstance(field.type, StructSchema):
        return partial(_write_inner, field.type, version)
    return _primitive_writer(field.type, f"{field.name} element", flexible=flexible, nullable=False)


def _primitive_writer(type_: str, name: str, *, flexible: bool, nullable: bool) -> _WriteValue:
    match type_:
        case "string":
            return partial(_write_string, name, flexible, nullable)
        case "bytes" | "records":
            return partial(_write_bytes, name, flexible, nullable)
        case "uuid":
            return _write_uuid
        case _:
            return partial(_write_one_fixed, struct.Struct(">" + FIXED[type_]))


def _write_one_fixed(layout: struct.Struct, sink: MessageSink, value: Any) -> None:
    sink.write(layout.pack(value))


def _write_uuid(sink: MessageSink, value: str) -> None:
    sink.write(uuid_to_bytes(value))


def _write_inner(schema: StructSchema, version: int, sink: MessageSink, message: Any) -> None:
    if message is None:
        raise NullPointerException(schema.name)
    _writer(schema, version)(sink, message)


def _write_nullable_struct(write: _WriteValue, tagged: bool, sink: MessageSink, message: Any) -> None:
    if message is None:
        sink.write(b"\0" if tagged else b"\xff")
        return
    sink.write(b"\1")
    write(sink, message)


def _write_array(
    name: str, write: _WriteValue, flexible: bool, nullable: bool, sink: MessageSink, values: list[Any] | None
) -> None:
    _write_length(name, None if values is None else len(values), 4, flexible, nullable, sink)
    for value in values or ():
        write(sink, value)


def _write_string(name: str, flexible: bool, nullable: bool, sink: MessageSink, value: str | None) -> None:
    data = None if value is None else value.encode("utf-8", "replace")  # half a character is "?", as in Java
    if data is not None and len(data) > SHORT_MAX:
        raise RuntimeException(f"'{name}' field is too long to be serialized")
    _write_length(name, None if data is None else len(data), 2, flexible, nullable, sink)
    sink.write(data or b"")


def _write_bytes(name: str, flexible: bool, nullable: bool, sink: MessageSink, value: BytesLike | None) -> None:
    _write_length(name, None if value is None else len(value), 4, flexible, nullable, sink)
    if value is not None:
        sink.write_view(value)


def _write_length(name: str, length: int | None, size: int, flexible: bool, nullable: bool, sink: MessageSink) -> None:
    """The length before a text, bytes or a list; `size` of its bytes where it is not a varint."""
    if length is None:
        if not nullable:
            raise NullPointerException(name)
        length = -1
    if flexible:
        sink.write_unsigned_varint(length + 1)
    else:
        sink.write(length.to_bytes(size, "big", signed=True))


# Which fields a version has.


def present_fields(schema: StructSchema, version: int) -> list[Field]:
    """The fields that lie in the bytes of `version` one after another."""
    return [field for field in schema.fields if field.tag is None and field.versions.has(version, schema.possible)]


def grouped(fields: list[Field]) -> list[Field | list[Field]]:
    """`fields` with those of fixed sizes that follow each other in a list."""
    groups: list[Field | list[Field]] = []
    for field in fields:
        if field.is_array or field.type not in FIXED:
            groups.append(field)
        elif groups and isinstance(groups[-1], list):
            groups[-1].append(field)
        else:
            groups.append([field])
    return groups


def _layout(fields: list[Field]) -> struct.Struct:
    return struct.Struct(">" + "".join(FIXED[str(field.type)] for field in fields))
