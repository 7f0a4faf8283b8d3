"""The bytes of a request with the field that each belongs to, and one request in all versions of its API."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.microscope import Field, field_bytes
from minikafka.lab.widgets.player import Player
from minikafka.messages import message_schema
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_schema import StructSchema
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import RequestHeader, parse_body, request_bytes

_SIZE = 4
_FIXED = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "float64": 8, "uuid": 16}
_TOPIC_IDS = 13
"""From this version on a produce request names topics by their ids."""
_TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"
_PER_ROW, _BOX, _TOP = 16, 26, 50
_LEGEND, _MOST_NAMES = 17, 24
_COLOURS = "abcdefg"


@dataclass(frozen=True, slots=True)
class RequestFrame:
    """A request's bytes, the size in front, in one version; `before`: the names of its fields in the version before."""

    version: int
    data: bytes
    fields: tuple[Field, ...]
    before: tuple[str, ...] | None

    @property
    def is_new(self) -> tuple[bool, ...]:
        """For each field, whether the version before has none of its name, or another size of it."""
        return tuple(self.before is not None and _told(field) not in self.before for field in self.fields)

    def __str__(self) -> str:
        new = [_told(field) for field, is_new in zip(self.fields, self.is_new, strict=True) if is_new]
        said = f"version {self.version}: {len(self.data)} bytes, {len(self.fields)} fields"
        return f"{said}; new or of another size: {', '.join(new)}" if new else said


def in_versions(request: bytes, versions: Sequence[int], *, correlation_id: int = 1) -> Player:
    """A slider over versions of a request, which is given as it came from a client, with its size in front.

    The same body is written in each version, with this correlation id; from the version on that has topic ids, with an
    id that is the same in every run.
    """
    source = MessageBytes(request[_SIZE:])
    header = RequestHeader.read(source)
    body = parse_body(header, source)
    frames: list[RequestFrame] = []
    for version in versions:
        data = request_bytes(
            header.api_key,
            version,
            _for_version(body, header.api_key, version),
            correlation_id=correlation_id,
            client_id=header.client_id,
        )
        framed = len(data).to_bytes(_SIZE) + data
        fields = tuple(fields_of_request(framed))
        before = tuple(map(_told, frames[-1].fields)) if frames else None
        frames.append(RequestFrame(version, framed, fields, before))
    rows = max(-(-len(frame.data) // _PER_ROW) for frame in frames)
    names = max(len(frame.fields) for frame in frames)
    start = versions.index(header.api_version) if header.api_version in versions else 0
    title = f"A request for {header.api_key.name}, by version"
    return Player(frames, lambda frame: render_request(frame, rows, names), title=title, start=start, pictured=[start])


def _for_version(body: Any, api_key: ApiKeys, version: int) -> Any:
    """The body with topic ids in place of names, where a version has them."""
    if api_key is not ApiKeys.PRODUCE or version < _TOPIC_IDS:
        return body
    return replace(body, topic_data=[replace(topic, name="", topic_id=_TOPIC_ID) for topic in body.topic_data])


def field_named(request: bytes, name: str) -> Field:
    """The first field of a request (with its size in front) of this name. Raises StopIteration."""
    return next(field for field in fields_of_request(request) if field.name == name)


def fields_of_request(request: bytes) -> list[Field]:
    """The fields of a request with its size in front: size, header, body."""
    reader = _Reader(request)
    reader.fixed("size", 4, "bytes that follow")
    reader.fixed("apiKey", 2, "what is asked")
    reader.fixed("apiVersion", 2, "in which version: how to read the rest")
    reader.fixed("correlationId", 4, "comes back in the answer")
    length = reader.fixed("clientId length", 2, "−1 is null")
    if length > 0:
        reader.chunk("clientId", length, "a name for logs and quotas")
    header = RequestHeader.read(MessageBytes(request[_SIZE:]))
    if header.api_key.request_header_version(header.api_version) == 2:
        reader.tagged("header's tagged fields")
    reader.structure(header.api_key.request_schema.struct, header.api_version, "")
    return reader.found


class _Reader:
    """Goes through a request and notes each field."""

    def __init__(self, data: bytes):
        self._data, self._at = data, 0
        self.found: list[Field] = []

    def fixed(self, name: str, size: int, meaning: str, type_: str = "int") -> int:
        """A number of so many bytes."""
        raw = self._data[self._at : self._at + size]
        number = int.from_bytes(raw, signed=True)
        self._note(name, size, raw.hex() if type_ == "uuid" else f"{number:,}", meaning)
        return number

    def chunk(self, name: str, size: int, meaning: str) -> None:
        """Bytes whose number stands in front of them."""
        data = self._data[self._at : self._at + size]
        self._note(name, size, drawing.shorten(repr(data)[1:], 24), meaning)

    def varint(self, name: str, meaning: str) -> int:
        """An unsigned varint."""
        number = shift = size = 0
        while True:
            byte = self._data[self._at + size]
            number |= (byte & 0x7F) << shift
            size, shift = size + 1, shift + 7
            if byte < 0x80:
                break
        self._note(name, size, str(number), meaning)
        return number

    def tagged(self, name: str) -> None:
        """The tagged fields at the end of a structure, of which these requests have none."""
        self.varint(name, "how many follow")

    def structure(self, schema: StructSchema, version: int, prefix: str) -> None:
        """The fields of a structure in one version."""
        flexible = schema.flexible.has(version, schema.possible)
        for field in schema.fields:
            if field.tag is None and field.versions.has(version, schema.possible):
                self._field(field, version, prefix + field.name, flexible=flexible)
        if flexible:
            self.tagged(f"{prefix}tagged fields")

    def _field(self, field: message_schema.Field, version: int, name: str, *, flexible: bool) -> None:
        if field.is_array:
            for number in range(self._length(f"{name} count", 4, flexible=flexible)):
                inside = f"{name}[{number}]"
                if isinstance(field.type, StructSchema):
                    self.structure(field.type, version, f"{inside}.")
                else:
                    self._field(field._replace(is_array=False), version, inside, flexible=flexible)
        elif isinstance(field.type, StructSchema):
            self.structure(field.type, version, f"{name}.")
        elif field.type in _FIXED:
            self.fixed(name, _FIXED[field.type], field.type, field.type)
        else:
            length = self._length(f"{name} length", 2 if field.type == "string" else 4, flexible=flexible)
            if length > 0:
                is_batch = field.type == "records"
                meaning = "a record batch, as it goes into the log" if is_batch else field.type
                self.chunk(name, length, meaning)
                if is_batch:
                    self.found[-1] = replace(self.found[-1], value=f"a batch of {length} bytes")

    def _length(self, name: str, size: int, *, flexible: bool) -> int:
        if flexible:
            return self.varint(name, "varint: one more than the length; 0 is null") - 1
        return self.fixed(name, size, "−1 is null")

    def _note(self, name: str, size: int, value: str, meaning: str) -> None:
        short = name.replace("topicData[0].", "").replace("partitionData[0].", "")
        self.found.append(Field(short, self._at, size, value, meaning))
        self._at += size


def _told(field: Field) -> str:
    return f"{field.name} ({field.size})"


def render_request(frame: RequestFrame, rows: int, names: int) -> str:
    """The picture of one version; `rows`, `names`: for how many there is room at least."""
    title = f"version {frame.version}: {len(frame.data)} bytes"
    parts = [drawing.text(10, 20, title, kind="h")]
    parts.append(drawing.text(10, 38, "★ new in this version, or of another size than in the one before", kind="s"))
    for row in range(-(-len(frame.data) // _PER_ROW)):
        parts.append(drawing.text(44, _TOP + 18 + row * _BOX, row * _PER_ROW, kind="sm", anchor="end"))
    for index, field in enumerate(frame.fields):
        parts += field_bytes(frame.data, field, index, range(rows), False)
    x = 50 + _PER_ROW * _BOX + 20
    for index, (field, is_new) in enumerate(zip(frame.fields, frame.is_new, strict=True)):
        y = 56 + index * _LEGEND
        parts.append(drawing.rect(x, y - 10, 12, 12, _COLOURS[index % len(_COLOURS)]))
        words = f"{'★ ' if is_new else ''}{field.name} = {field.value}"
        kind = "sb" if is_new else "s"
        parts.append(drawing.text(x + 18, y, words, kind=kind, fill="ink", room=drawing.WIDTH - x - 28))
    height = max(_TOP + rows * _BOX, 56 + names * _LEGEND) + 12
    return drawing.svg(drawing.WIDTH, height, "".join(parts), str(frame))
