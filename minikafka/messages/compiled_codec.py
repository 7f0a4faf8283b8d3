"""Reading and writing at the speed of code that was written for one version of one message by hand.

`message_codec` says what is read and written, and does it step by step. Here the same steps become the source of a
function for each message and version, which Python compiles when the first such message comes. For a ListOffsets
response it begins like this:

    def read(view, p):
        end = len(view)
        m0 = new(ListOffsetsResponse)
        (m0.throttle_time_ms,) = unpack_i(view, p)
        p += 4
        n1 = view[p]
        ...

Whatever is unusual (damaged bytes, a number that does not fit, a version that the message does not have) ends that
function with some exception; then `message_codec` does the work again, and its result or its exception counts.
"""

import struct
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from minikafka.common.java.java_numbers import SHORT_MAX, to_int
from minikafka.common.java.java_utf8 import decode_utf8
from minikafka.common.uuid import uuid_from_bytes, uuid_to_bytes
from minikafka.messages import message_codec
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_codec import (
    FIXED,
    Message,
    default_value,
    grouped,
    message_class,
    present_fields,
    read_tagged_fields,
    snake_case,
    write_tagged_fields,
)
from minikafka.messages.message_schema import Field, StructSchema
from minikafka.messages.message_sink import COPIED_BELOW, MessageSink

Reader = Callable[[memoryview, int], tuple[Any, int]]
"""Takes bytes and a position; gives the message there, and the position behind it."""
Writer = Callable[[MessageSink, Any], None]

_NUMBERS = {2: "h", 4: "i"}  # lengths, by the number of their bytes


class UnusualError(Exception):
    """`message_codec` has to look at this. What compiled code meets first may raise other exceptions, too."""


def read_message(schema: StructSchema, source: MessageBytes, version: int) -> Any:
    """As `message_codec.read_message`."""
    read = reader(schema, version)
    if read is not None:
        try:
            message, source.position = read(source.data, source.position)
            return message
        except Exception:
            pass  # whatever it is, it is found again below
    return message_codec.read_message(schema, source, version)


def write_message(message: Message, sink: MessageSink, version: int) -> None:
    """As `message_codec.write_message`."""
    write = writer(message.schema, version)
    if write is not None:
        mark = sink.mark()
        try:
            write(sink, message)
            return
        except Exception:
            sink.rewind(mark)
    message_codec.write_message(message, sink, version)


@lru_cache(maxsize=4096)
def reader(schema: StructSchema, version: int) -> Reader | None:
    """The compiled reader of a version; None for one that the message does not have, as damaged bytes may name it."""
    if not _is_usual(schema, version):
        return None
    code = _Code(version)
    code.line(0, "def read(view, p):")
    code.line(1, "end = len(view)")
    _read_struct(code, 1, schema, "m0")
    code.line(1, "return m0, p")
    made: Reader = code.compiled(f"read {schema.name} {version}")["read"]
    return made


@lru_cache(maxsize=4096)
def writer(schema: StructSchema, version: int) -> Writer | None:
    """The compiled writer of a version; None for one that the message does not have."""
    if not _is_usual(schema, version):
        return None
    code = _Code(version)
    code.line(0, "def write(sink, m0):")
    code.line(1, "o = sink.last")
    _write_struct(code, 1, schema, "m0")
    made: Writer = code.compiled(f"write {schema.name} {version}")["write"]
    return made


def _is_usual(schema: StructSchema, version: int) -> bool:
    return schema.possible.lowest <= version <= schema.possible.highest


class _Code:
    """The lines of a function, and the objects that it uses, by their names there."""

    def __init__(self, version: int):
        self.version = version
        self._lines: list[str] = []
        self._variables = 0
        self._objects: dict[str, Any] = {
            "UnusualError": UnusualError,
            "decode": decode_utf8,
            "new": object.__new__,
            "pack": struct.pack,
            "unpack_from": struct.unpack_from,
            "uuid_bytes": lru_cache(maxsize=1024)(uuid_to_bytes),
            "uuid_text": lru_cache(maxsize=1024)(uuid_from_bytes),
            "length": _length,
        }

    def line(self, depth: int, text: str) -> None:
        """Add a line, indented `depth` times."""
        self._lines.append("    " * depth + text)

    def variable(self, letter: str) -> str:
        """A name that no other variable has."""
        self._variables += 1
        return f"{letter}{self._variables}"

    def object(self, name: str, value: object) -> str:
        """The name under which the code finds `value`."""
        while self._objects.get(name, value) is not value:
            name += "_"
        self._objects[name] = value
        return name

    def class_of(self, schema: StructSchema) -> str:
        """The name of a structure's class."""
        return self.object(schema.name, message_class(schema))

    def layout(self, codes: str) -> tuple[str, int]:
        """What follows `pack_` and `unpack_` in the names of the functions for these numbers, and their size."""
        made, name = _layout(codes), codes.replace("?", "z")
        self._objects[f"pack_{name}"], self._objects[f"unpack_{name}"] = made.pack, made.unpack_from
        return name, made.size

    def compiled(self, name: str) -> dict[str, Any]:
        """What the lines define."""
        defined = dict(self._objects)
        exec(compile("\n".join(self._lines), f"<{name}>", "exec"), defined)  # made from the tables only
        return defined


@lru_cache(maxsize=1024)
def _layout(codes: str) -> struct.Struct:
    return struct.Struct(f">{codes}")


def _length(view: memoryview, p: int) -> tuple[int, int]:
    """A length, whose number of two bytes or more is larger by one, and the position behind it."""
    if view[p + 1] < 0x80:
        return (view[p] & 0x7F | view[p + 1] << 7) - 1, p + 2
    value = 0
    for shift in range(0, 35, 7):
        byte = view[p]
        p += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return to_int(value) - 1, p
    raise UnusualError


# Reading


def _read_struct(code: _Code, depth: int, schema: StructSchema, into: str) -> None:
    """Lines that read a structure into a new variable."""
    version = code.version
    if not schema.outer.has(version, schema.versions):
        code.line(depth, "raise UnusualError")
        return
    present = present_fields(schema, version)
    _default_struct(code, depth, schema, into, but=present)
    for group in grouped(present):
        if isinstance(group, Field):
            _read_field(code, depth, schema, group, f"{into}.{snake_case(group.name)}")
        else:
            codes, size = code.layout("".join(FIXED[str(field.type)] for field in group))
            targets = "".join(f"{into}.{snake_case(field.name)}, " for field in group)
            code.line(depth, f"({targets.rstrip()}) = unpack_{codes}(view, p)")
            code.line(depth, f"p += {size}")
    if schema.flexible.has(version, schema.possible):
        read_tagged = code.object(f"read_tagged_{schema.name}", partial(_read_tagged, schema, version))
        code.line(depth, "if view[p]:")
        code.line(depth + 1, f"p = {read_tagged}({into}, view, p)")
        code.line(depth, "else:")
        code.line(depth + 1, "p += 1")


def _default_struct(code: _Code, depth: int, schema: StructSchema, into: str, but: list[Field]) -> None:
    """Lines that make a structure in which all fields but some have their defaults."""
    code.line(depth, f"{into} = new({code.class_of(schema)})")
    code.line(depth, f"{into}.unknown_tagged_fields = ()")
    for field in schema.fields:
        if field in but:
            continue
        target = f"{into}.{snake_case(field.name)}"
        if field.default is not None and field.is_array:
            code.line(depth, f"{target} = []")
        elif field.default is not None and isinstance(field.type, StructSchema):
            inner = code.variable("m")
            _default_struct(code, depth, field.type, inner, but=[])
            code.line(depth, f"{target} = {inner}")
        else:
            code.line(depth, f"{target} = {default_value(field)!r}")


def _read_tagged(schema: StructSchema, version: int, message: Any, view: memoryview, p: int) -> int:
    """Tagged fields are rare: they are read step by step."""
    source = MessageBytes(view, limit=len(view))
    source.position = p
    read_tagged_fields(schema, version, source, message)
    return source.position


def _read_field(code: _Code, depth: int, schema: StructSchema, field: Field, target: str) -> None:
    version = code.version
    flexible = schema.flexible.has(version, schema.possible)
    nullable = field.nullable.has(version, schema.possible)
    if field.is_array:
        _read_array(code, depth, field, target, flexible, nullable)
    elif not isinstance(field.type, StructSchema):
        _read_primitive(code, depth, field.type, target, flexible, nullable)
    elif nullable:
        inner = code.variable("m")
        code.line(depth, "p += 1")
        code.line(depth, "if view[p - 1] < 0x80:")
        _read_struct(code, depth + 1, field.type, inner)
        code.line(depth + 1, f"{target} = {inner}")
        code.line(depth, "else:")
        code.line(depth + 1, f"{target} = None")
    else:
        inner = code.variable("m")
        _read_struct(code, depth, field.type, inner)
        code.line(depth, f"{target} = {inner}")


def _read_length(code: _Code, depth: int, size: int, flexible: bool) -> str:
    """Lines that read a length into a variable, below 0 for null; `size` of its bytes where it is not a varint."""
    length = code.variable("n")
    if flexible:
        code.line(depth, f"{length} = view[p] - 1")
        code.line(depth, "p += 1")
        code.line(depth, f"if {length} >= 0x7f:")
        code.line(depth + 1, f"{length}, p = length(view, p - 1)")
    else:
        codes, _ = code.layout(_NUMBERS[size])
        code.line(depth, f"({length},) = unpack_{codes}(view, p)")
        code.line(depth, f"p += {size}")
    return length


def _unless_null(code: _Code, depth: int, length: str, target: str, nullable: bool) -> None:
    code.line(depth, f"if {length} < 0:")
    code.line(depth + 1, f"{target} = None" if nullable else "raise UnusualError")
    code.line(depth, "else:")


def _read_array(code: _Code, depth: int, field: Field, target: str, flexible: bool, nullable: bool) -> None:
    length = _read_length(code, depth, 4, flexible)
    _unless_null(code, depth, length, target, nullable)
    code.line(depth + 1, f"if {length} > end - p:")
    code.line(depth + 2, "raise UnusualError")
    if field.type in FIXED:
        codes = FIXED[str(field.type)]
        code.line(depth + 1, f"{target} = list(unpack_from(f'>{{{length}}}{codes}', view, p))")
        code.line(depth + 1, f"p += {length} * {_layout(codes).size}")
        return
    elements, element = code.variable("a"), code.variable("m")
    code.line(depth + 1, f"{target} = {elements} = []")
    code.line(depth + 1, f"for _ in range({length}):")
    if isinstance(field.type, StructSchema):
        _read_struct(code, depth + 2, field.type, element)
    else:
        _read_primitive(code, depth + 2, str(field.type), element, flexible, nullable=False)
    code.line(depth + 2, f"{elements}.append({element})")


def _read_primitive(code: _Code, depth: int, type_: str, target: str, flexible: bool, nullable: bool) -> None:
    """Lines that read one text, bytes, records, id; numbers are read where they stand in groups and arrays."""
    if type_ == "uuid":
        code.line(depth, "if p + 16 > end:")
        code.line(depth + 1, "raise UnusualError")
        code.line(depth, f"{target} = uuid_text(bytes(view[p : p + 16]))")
        code.line(depth, "p += 16")
        return
    length = _read_length(code, depth, 2 if type_ == "string" else 4, flexible)
    _unless_null(code, depth, length, target, nullable)
    too_long = f" or {length} > {SHORT_MAX}" if type_ == "string" else ""
    code.line(depth + 1, f"if {length} > end - p{too_long}:")
    code.line(depth + 2, "raise UnusualError")
    value = {"string": "decode(view[p : p + {}])", "bytes": "bytes(view[p : p + {}])", "records": "view[p : p + {}]"}
    code.line(depth + 1, f"{target} = {value[type_].format(length)}")
    code.line(depth + 1, f"p += {length}")


# Writing


def _write_struct(code: _Code, depth: int, schema: StructSchema, message: str) -> None:
    """Lines that write the structure in a variable."""
    version = code.version
    if not schema.outer.has(version, schema.versions):
        code.line(depth, "raise UnusualError")
        return
    for field in schema.fields:
        if not field.ignorable and not field.versions.has(version, schema.possible):
            code.line(depth, f"if {_differs(f'{message}.{snake_case(field.name)}', field)}:")
            code.line(depth + 1, "raise UnusualError")
    for group in grouped(present_fields(schema, version)):
        if isinstance(group, Field):
            _write_field(code, depth, schema, group, f"{message}.{snake_case(group.name)}")
        else:
            codes, _ = code.layout("".join(FIXED[str(field.type)] for field in group))
            values = ", ".join(f"{message}.{snake_case(field.name)}" for field in group)
            code.line(depth, f"o += pack_{codes}({values})")
    if schema.flexible.has(version, schema.possible):
        tagged = [
            each for each in schema.fields if each.tag is not None and each.versions.has(version, schema.possible)
        ]
        write = partial(write_tagged_fields, schema, tagged, version)
        set_ = [_differs(f"{message}.{snake_case(field.name)}", field) for field in tagged]
        code.line(depth, f"if {' or '.join([f'{message}.unknown_tagged_fields', *set_])}:")
        code.line(depth + 1, f"{code.object(f'write_tagged_{schema.name}', write)}(sink, {message})")
        code.line(depth, "else:")
        code.line(depth + 1, "o.append(0)")


def _differs(value: str, field: Field) -> str:
    """Whether a value is not the default of its field."""
    if field.default is None:
        return f"{value} is not None"
    if field.is_array:
        return f"{value} != []"
    if not isinstance(field.type, StructSchema):
        return f"{value} != {field.default!r}"
    inner = [_differs(f"{value}.{snake_case(each.name)}", each) for each in field.type.fields]
    return f"({' or '.join([f'{value} is None', f'{value}.unknown_tagged_fields', *inner])})"


def _write_field(code: _Code, depth: int, schema: StructSchema, field: Field, value: str) -> None:
    version = code.version
    flexible = schema.flexible.has(version, schema.possible)
    nullable = field.nullable.has(version, schema.possible)
    if isinstance(field.type, StructSchema) and not field.is_array and not nullable:
        message = code.variable("m")
        code.line(depth, f"{message} = {value}")
        _write_struct(code, depth, field.type, message)
        return
    held = code.variable("v")
    code.line(depth, f"{held} = {value}")
    if nullable:
        is_struct = isinstance(field.type, StructSchema) and not field.is_array
        null = b"\xff" if is_struct else b"\0" if flexible else b"\xff" * (2 if _is_text(field) else 4)
        code.line(depth, f"if {held} is None:")
        code.line(depth + 1, f"o += {null!r}")
        code.line(depth, "else:")
        depth += 1
    if field.is_array:
        _write_array(code, depth, field, held, flexible)
    elif isinstance(field.type, StructSchema):
        code.line(depth, "o.append(1)")
        _write_struct(code, depth, field.type, held)
    else:
        _write_primitive(code, depth, field.type, held, flexible)


def _is_text(field: Field) -> bool:
    return field.type == "string" and not field.is_array


def _write_length(code: _Code, depth: int, length: str, size: int, flexible: bool) -> None:
    if flexible:
        code.line(depth, f"if {length} < 0x7f:")
        code.line(depth + 1, f"o.append({length} + 1)")
        code.line(depth, "else:")
        code.line(depth + 1, f"sink.write_unsigned_varint({length} + 1)")
    else:
        codes, _ = code.layout(_NUMBERS[size])
        code.line(depth, f"o += pack_{codes}({length})")


def _write_array(code: _Code, depth: int, field: Field, values: str, flexible: bool) -> None:
    length, element = code.variable("n"), code.variable("m")
    code.line(depth, f"{length} = len({values})")
    _write_length(code, depth, length, 4, flexible)
    if field.type in FIXED:
        code.line(depth, f"o += pack(f'>{{{length}}}{FIXED[str(field.type)]}', *{values})")
        return
    code.line(depth, f"for {element} in {values}:")
    if isinstance(field.type, StructSchema):
        _write_struct(code, depth + 1, field.type, element)
    else:
        _write_primitive(code, depth + 1, str(field.type), element, flexible)


def _write_primitive(code: _Code, depth: int, type_: str, value: str, flexible: bool) -> None:
    if type_ == "uuid":
        code.line(depth, f"o += uuid_bytes({value})")
        return
    length = code.variable("n")
    if type_ == "string":
        data = code.variable("b")
        code.line(depth, f"{data} = {value}.encode('utf-8', 'replace')")
        code.line(depth, f"{length} = len({data})")
        code.line(depth, f"if {length} > {SHORT_MAX}:")
        code.line(depth + 1, "raise UnusualError")
        _write_length(code, depth, length, 2, flexible)
        code.line(depth, f"o += {data}")
        return
    code.line(depth, f"{length} = len({value})")
    _write_length(code, depth, length, 4, flexible)
    code.line(depth, f"if {length} < {COPIED_BELOW}:")
    code.line(depth + 1, f"o += {value}")
    code.line(depth, "else:")
    code.line(depth + 1, f"sink.write_view({value})")
    code.line(depth + 1, "o = sink.last")
