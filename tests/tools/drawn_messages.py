"""Draws messages of Kafka's schemas, and writes their bytes."""

import random
import struct

from minikafka.messages.message_schema import Field, StructSchema
from minikafka.messages.versions import Versions

TEXTS = ("", "a", "consumer", "range", "order-events", 'quo"te\\', "ж\n\x1f\x7f", "客户", "😀", "x" * 200)
DOUBLES = (0.0, -0.0, 1.5, 1024.0, 1e7, 123456.789, 1e-3, 1e-4, 1e22, -2.5e300, float("nan"), float("inf"))
_INTEGERS = {"int8": (1, True), "int16": (2, True), "uint16": (2, False), "int32": (4, True), "uint32": (4, False)}


class MessageDrawer:
    """Draws the bytes of messages; the same seed draws the same."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)

    def message(self, schema: StructSchema, version: int, possible: Versions) -> bytes:
        """A message of this version, one of the `possible` ones."""
        flexible = schema.flexible.has(version, possible)
        here = [field for field in schema.fields if field.versions.has(version, possible)]
        written = [self._field(field, version, possible, flexible) for field in here if field.tag is None]
        if not flexible:
            return b"".join(written)
        tagged = {field.tag: field for field in here if field.tag is not None and self.draw.random() < 0.5}
        sections = [(tag, self._field(field, version, possible, True)) for tag, field in sorted(tagged.items())]
        if self.draw.random() < 0.1:
            sections.append((90, b"unknown"))
        section = b"".join(varint(tag) + varint(len(data)) + data for tag, data in sections)
        return b"".join([*written, varint(len(sections)), section])

    def damaged(self, data: bytes) -> bytes:
        """`data` cut, with bytes behind it, or with a byte changed."""
        match self.draw.randrange(4):
            case 0:
                return data[: self.draw.randrange(len(data) + 1)]
            case 1:
                return data + b"\0\1"
            case _:
                changed = bytearray(data)
                for _ in range(self.draw.randint(1, 2)):
                    if changed:
                        at = self.draw.randrange(len(changed))
                        changed[at] = self.draw.choice((0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF))
                return bytes(changed)

    def _field(self, field: Field, version: int, possible: Versions, flexible: bool) -> bytes:
        null = field.nullable.has(version, possible) and self.draw.random() < 0.3
        if not field.is_array:
            return self._element(field, version, possible, flexible, null)
        if null:
            return b"\0" if flexible else b"\xff" * 4
        count = self.draw.choice((0, 1, 1, 2, 3))
        elements = [self._element(field, version, possible, flexible, None) for _ in range(count)]
        return b"".join([varint(count + 1) if flexible else count.to_bytes(4, "big"), *elements])

    def _element(self, field: Field, version: int, possible: Versions, flexible: bool, null: bool | None) -> bytes:
        """`null` is None for an element of an array, which has no place to say so."""
        draw = self.draw
        match field.type:
            case StructSchema():
                inside = self.message(field.type, version, possible.intersect(field.type.versions))
                if null is None or not field.nullable.has(version, possible):
                    return inside
                tagged = field.tag is not None
                return (b"\0" if tagged else b"\xff") if null else b"\1" + inside
            case "string" | "bytes" | "records":
                if null:
                    return b"\0" if flexible else b"\xff" * (2 if field.type == "string" else 4)
                text = field.type == "string"
                data = draw.choice(TEXTS).encode() if text else draw.choice((b"", draw.randbytes(7), self._protocol()))
                length = varint(len(data) + 1) if flexible else len(data).to_bytes(2 if text else 4, "big")
                return length + data
            case "uuid":
                return draw.choice((bytes(16), draw.randbytes(16)))
            case "bool":
                return draw.choice((b"\0", b"\1", b"\2"))
            case "float64":
                return struct.pack(">d", draw.choice((*DOUBLES, draw.uniform(-1e9, 1e9))))
            case name:
                size, signed = _INTEGERS.get(name, (8, True))
                number = draw.choice((0, 1, 2, 7, -1 if signed else 9, draw.getrandbits(size * 8 - 1)))
                return number.to_bytes(size, "big", signed=signed)

    def _protocol(self) -> bytes:
        """What a consumer may send as its subscription or its assignment."""
        version = self.draw.choice((0, 1, 2, 3, 3, 4, -1))
        names = [name.encode() for name in self.draw.choices(TEXTS, k=self.draw.randrange(3))]
        topics = b"".join(len(name).to_bytes(2, "big") + name for name in names)
        owned = b"\0\0\0\1\0\1t\0\0\0\2\0\0\0\0\0\0\0\1" if self.draw.random() < 0.5 else b"\0\0\0\0"
        data = version.to_bytes(2, "big", signed=True) + len(names).to_bytes(4, "big") + topics
        return data + self.draw.choice((b"\xff" * 4, b"\0\0\0\2ab")) + owned + b"\0\0\0\5\0\4rack"


def varint(number: int) -> bytes:
    """Kafka's unsigned varint."""
    data = b""
    while number >= 0x80:
        data, number = data + bytes([number & 0x7F | 0x80]), number >> 7
    return data + bytes([number])
