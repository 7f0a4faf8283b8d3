"""The microscope: a record batch in hexadecimal, each field in its box, one field explained at a time."""

from dataclasses import dataclass, replace
from html import escape
from typing import Any

from minikafka.common.errors import CorruptRecordException
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player
from minikafka.witness.log.batch import CODECS

_HEADER = (  # name, bytes, what it is
    ("baseOffset", 8, "what offset deltas count from"),
    ("batchLength", 4, "bytes that follow this field"),
    ("partitionLeaderEpoch", 4, "leader epoch, −1: not known"),
    ("magic", 1, "version of the format"),
    ("crc", 4, "CRC-32C of everything behind it"),
    ("attributes", 2, "codec, timestamp type, transactional, control, delete horizon"),
    ("lastOffsetDelta", 4, "last offset − base offset"),
    ("baseTimestamp", 8, "what timestamp deltas count from, in ms: the first record's, or a delete horizon"),
    ("maxTimestamp", 8, "largest timestamp of the batch, in ms"),
    ("producerId", 8, "−1: neither idempotent nor transactional"),
    ("producerEpoch", 2, "−1: none"),
    ("baseSequence", 4, "sequence number of the first record, −1: none"),
    ("recordsCount", 4, "how many records follow"),
)
_HEADER_SIZE = sum(size for _, size, _ in _HEADER)
_LONGEST_VARINT = 10  # bytes
_COLOURS = "abcdefg"
_PER_ROW, _MOST_ROWS, _BOX = 16, 14, 26


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a batch: where it stands (bytes from the batch's start), its value, and what it means."""

    name: str
    start: int
    size: int
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ByteFrame:
    """A batch with field number `chosen` picked out."""

    data: bytes
    fields: tuple[Field, ...]
    chosen: int

    def __str__(self) -> str:
        field = self.fields[self.chosen]
        raw = self.data[field.start : field.start + field.size].hex(" ")
        return (
            f"bytes {field.start}–{field.start + field.size - 1} {field.name} = {field.value} ({field.meaning}):"
            f" {drawing.shorten(raw, 60)}"
        )


def microscope(batch: Any, title: str = "A record batch, byte by byte") -> Player:
    """A player over the fields of `batch`, those of each record among them: a magic-2 `RecordBatch`, or its bytes.

    With the mouse on a field, its name and value show without a move of the slider. Raises CorruptRecordException as
    `fields_of` does.
    """
    data = bytes(getattr(batch, "buffer", batch))
    fields = tuple(_fields_in_full(data))
    frames = [ByteFrame(data, fields, i) for i in range(len(fields))]
    return Player(frames, render_bytes, title=title)


def fields_of(data: bytes) -> list[Field]:
    """The fields of the magic-2 batch in `data`: the header, then each record (one field in all when compressed).

    Raises CorruptRecordException where a header or a record does not end within the batch.
    """
    if len(data) < _HEADER_SIZE:
        raise CorruptRecordException(f"A batch has a header of {_HEADER_SIZE} bytes; here are {len(data)} bytes.")
    fields, at = [], 0
    for name, size, meaning in _HEADER:
        number = int.from_bytes(data[at : at + size], "big", signed=name != "crc")
        value = f"{number:08x}" if name == "crc" else f"{number:016b}"[-7:] if name == "attributes" else f"{number:,}"
        fields.append(Field(name, at, size, value, meaning))
        at += size
    count = int.from_bytes(data[57:61], "big")
    if data[22] & 7:
        fields.append(Field("records", at, len(data) - at, f"{count:,} records", "compressed as one block"))
        return fields
    for number in range(count):
        size, begin = _varint(data, at)
        if not 0 < size <= len(data) - begin:
            raise CorruptRecordException(
                f"Record {number} at byte {at} has a length of {size}; {len(data) - begin} bytes follow."
            )
        words = _record(data, begin)
        fields.append(
            Field(f"record {number}", at, begin - at + size, words, "length, attributes, deltas, key, value, headers")
        )
        at = begin + size
    return fields


def _fields_in_full(data: bytes) -> list[Field]:
    """As `fields_of`, with the fields of each record instead of the record."""
    fields = []
    for field in fields_of(data):
        if field.name.startswith("record "):
            record = memoryview(data)[: field.start + field.size]
            fields += _RecordReader(record, field.start, f"r{field.name.removeprefix('record ')} ").fields()
        else:
            meaning = _attributes(data) if field.name == "attributes" else field.meaning
            fields.append(replace(field, meaning=meaning))
    return fields


def _attributes(data: bytes) -> str:
    """The attribute bits in words."""
    bits = data[22]
    words = [CODECS[bits & 7], "LogAppendTime" if bits & 8 else "CreateTime"]
    flags = ((0x10, "transactional"), (0x20, "control"), (0x40, "delete horizon"))
    return ", ".join(words + [word for mask, word in flags if bits & mask])


class _RecordReader:
    """Goes through one record, from `at` to the end of `data`, and names its fields, each with `prefix`."""

    def __init__(self, data: memoryview, at: int, prefix: str):
        self._data, self._at, self._prefix = data, at, prefix
        self._found: list[Field] = []

    def fields(self) -> list[Field]:
        """The record's fields, in order."""
        self._number("length", "bytes that follow this field")
        self._note("attributes", 1, "0", "always 0")
        self._number("timestampDelta", "ms after the batch's base timestamp")
        self._number("offsetDelta", "offsets after the batch's base offset")
        self._chunk("key")
        self._chunk("value")
        for number in range(self._number("headersCount", "how many headers follow")):
            self._chunk(f"header {number} key")
            self._chunk(f"header {number} value")
        return self._found

    def _number(self, name: str, meaning: str) -> int:
        number, end = _varint(self._data, self._at)
        self._note(name, end - self._at, str(number), f"varint: {meaning}")
        return number

    def _chunk(self, name: str) -> None:
        size = self._number(f"{name} length", "−1 is null, which has no bytes")
        if size > 0:
            data = bytes(self._data[self._at : self._at + size])
            control = _control_words(name, data) if self._data[22] & 0x20 else ""
            words = control or drawing.shorten(repr(data)[1:], 24)
            self._note(name, size, words, "the end of a transaction" if control else "bytes as the producer gave them")

    def _note(self, name: str, size: int, value: str, meaning: str) -> None:
        self._found.append(Field(f"{self._prefix}{name}", self._at, size, value, meaning))
        self._at += size


def _control_words(name: str, data: bytes) -> str:
    """What key and value of a transaction's end marker say; "" for anything else."""
    first, second = int.from_bytes(data[:2], "big"), int.from_bytes(data[2:], "big")
    if name == "key" and len(data) == 4 and second in (0, 1):
        return f"version {first}, {('ABORT', 'COMMIT')[second]}"
    return f"version {first}, coordinator epoch {second}" if name == "value" and len(data) == 6 else ""


def _record(data: bytes, at: int) -> str:
    timestamp, at = _varint(data, at + 1)
    offset, at = _varint(data, at)
    key, at = _chunk(data, at)
    value, at = _chunk(data, at)
    return f"offset +{offset}, timestamp +{timestamp} ms, key {key}, value {value}"


def _chunk(data: bytes, at: int) -> tuple[str, int]:
    size, at = _varint(data, at)
    if size < 0:
        return "null", at
    return drawing.shorten(repr(data[at : at + size])[1:], 24), at + size


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A zigzag varint at `at`, and where it ends."""
    number = 0
    for place, byte in enumerate(data[at : at + _LONGEST_VARINT]):
        number |= (byte & 0x7F) << 7 * place
        if not byte & 0x80:
            return (number >> 1) ^ -(number & 1), at + place + 1
    raise CorruptRecordException(f"The number at byte {at} does not end within its record.")


def render_bytes(frame: ByteFrame) -> str:
    """The picture of one frame: at most 14 rows of 16 bytes, around the chosen field; all fields in a list beside
    it.
    """
    chosen = frame.fields[frame.chosen]
    rows = -(-len(frame.data) // _PER_ROW)
    first = max(0, min(chosen.start // _PER_ROW - 4, rows - _MOST_ROWS))
    shown = range(first, min(first + _MOST_ROWS, rows))
    parts = [drawing.text(10, 20, f"{chosen.name} = {chosen.value}", kind="h", room=drawing.WIDTH - 20)]
    where = f"bytes {chosen.start} to {chosen.start + chosen.size - 1}: {chosen.meaning}"
    parts.append(drawing.text(10, 38, where, kind="s", room=drawing.WIDTH - 20))
    for number, row in enumerate(shown):
        parts.append(drawing.text(44, 68 + number * _BOX, row * _PER_ROW, kind="sm", anchor="end"))
    for index, field in enumerate(frame.fields):
        parts += field_bytes(frame.data, field, index, shown, index == frame.chosen)
    parts += _names(frame)
    height = max(52 + len(shown) * _BOX, 62 + min(len(frame.fields), 18) * 17) + 22
    note = f"{len(frame.data):,} bytes" + (
        f", rows {first + 1} to {shown[-1] + 1} of {rows}" if rows > len(shown) else ""
    )
    parts.append(drawing.text(50, height - 8, note, kind="s"))
    return drawing.svg(drawing.WIDTH, height, "".join(parts), str(frame))


def field_bytes(data: bytes, field: Field, index: int, rows: range, chosen: bool) -> list[str]:
    """The field's bytes, row by row, closed by a line; a thick line frames the chosen field."""
    parts, colour = [], _COLOURS[index % len(_COLOURS)]
    parts.append(f'<g class="mk-field"><title>{escape(f"{field.name} = {field.value}: {field.meaning}")}</title>')
    end = field.start + field.size
    for row in rows:
        low, high = max(field.start, row * _PER_ROW), min(end, (row + 1) * _PER_ROW)
        if low >= high:
            continue
        x, y = 50 + (low % _PER_ROW) * _BOX, 50 + (row - rows[0]) * _BOX
        width = (high - low) * _BOX
        stroke, weight = ("ink", 2.5) if chosen else ("faint", 0.8)
        parts.append(drawing.rect(x + 1, y + 1, width - 2, _BOX - 3, colour, stroke=stroke, weight=weight))
        for at in range(low, high):
            x = 50 + (at % _PER_ROW) * _BOX + _BOX / 2
            parts.append(
                drawing.text(
                    x, y + 17, f"{data[at]:02x}", kind="sm" + ("b" if chosen else ""), anchor="middle", fill="ink"
                )
            )
    return [*parts, "</g>"]


def _names(frame: ByteFrame) -> list[str]:
    x, parts = 50 + _PER_ROW * _BOX + 26, []
    first = max(0, min(frame.chosen - 12, len(frame.fields) - 18))
    for row, field in enumerate(frame.fields[first : first + 18]):
        index = first + row
        y, chosen = 62 + row * 17, index == frame.chosen
        parts.append(
            drawing.rect(
                x,
                y - 10,
                12,
                12,
                _COLOURS[index % len(_COLOURS)],
                stroke="ink" if chosen else "line",
                weight=2 if chosen else 1,
            )
        )
        words = ("▶ " if chosen else "") + f"{field.name} = {field.value}"
        room = drawing.WIDTH - x - 28
        parts.append(drawing.text(x + 18, y, words, kind="sb" if chosen else "s", fill="ink", room=room))
    return parts
