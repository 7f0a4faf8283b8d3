"""The byte view: a record batch in hexadecimal, each field in its colour, one field explained at a time."""

from dataclasses import dataclass

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player

_HEADER = (  # name, bytes, what it is
    ("baseOffset", 8, "offset of the first record; the broker sets it, outside the CRC"),
    ("batchLength", 4, "bytes that follow this field"),
    ("partitionLeaderEpoch", 4, "epoch of the leader that wrote the batch; the broker sets it, outside the CRC"),
    ("magic", 1, "version of the format"),
    ("crc", 4, "CRC-32C of everything behind it"),
    ("attributes", 2, "codec, timestamp type, transactional, control, delete horizon"),
    ("lastOffsetDelta", 4, "last offset − base offset"),
    ("baseTimestamp", 8, "timestamp of the first record, in ms"),
    ("maxTimestamp", 8, "largest timestamp of the batch, in ms"),
    ("producerId", 8, "−1: neither idempotent nor transactional"),
    ("producerEpoch", 2, "−1: none"),
    ("baseSequence", 4, "sequence number of the first record, −1: none"),
    ("recordsCount", 4, "how many records follow"),
)
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


def view_bytes(batch, title: str = "The bytes of a record batch") -> Player:
    """A player over the fields of `batch`: a magic-2 `RecordBatch`, or its bytes."""
    data = bytes(getattr(batch, "buffer", batch))
    fields = tuple(fields_of(data))
    frames = [ByteFrame(data, fields, i) for i in range(len(fields))]
    return Player(frames, render_bytes, title=title)


def fields_of(data: bytes) -> list[Field]:
    """The fields of the magic-2 batch in `data`: the header, then each record (one field in all when compressed)."""
    fields, at = [], 0
    for name, size, meaning in _HEADER:
        number = int.from_bytes(data[at : at + size], "big", signed=name != "crc")
        value = f"0x{number:08x}" if name == "crc" else f"{number:016b}"[-7:] if name == "attributes" else f"{number:,}"
        fields.append(Field(name, at, size, value, meaning))
        at += size
    count = int.from_bytes(data[57:61], "big")
    if data[22] & 7:
        fields.append(Field("records", at, len(data) - at, f"{count:,} records", "compressed as one block"))
        return fields
    for number in range(count):
        size, begin = _varint(data, at)
        words = _record(data, begin)
        fields.append(
            Field(f"record {number}", at, begin - at + size, words, "length, attributes, deltas, key, value, headers")
        )
        at = begin + size
    return fields


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


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint at `at`, and where it ends."""
    number = shift = 0
    while data[at] & 0x80:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    number |= data[at] << shift
    return (number >> 1) ^ -(number & 1), at + 1


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
        parts += _field_bytes(frame.data, field, index, shown, index == frame.chosen)
    parts += _names(frame)
    height = max(52 + len(shown) * _BOX, 62 + min(len(frame.fields), 18) * 17) + 22
    note = f"{len(frame.data):,} bytes" + (
        f", rows {first + 1} to {shown[-1] + 1} of {rows}" if rows > len(shown) else ""
    )
    parts.append(drawing.text(50, height - 8, note, kind="s"))
    return drawing.svg(drawing.WIDTH, height, "".join(parts), str(frame))


def _field_bytes(data: bytes, field: Field, index: int, rows: range, chosen: bool) -> list[str]:
    """The field's bytes, row by row, closed by a line; a thick line frames the chosen field."""
    parts, colour = [], _COLOURS[index % len(_COLOURS)]
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
    return parts


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
