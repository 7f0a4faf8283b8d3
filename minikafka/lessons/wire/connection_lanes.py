"""Connections as lanes: what lies unread in each, what is in work, and what has been answered."""

from dataclasses import dataclass
from typing import Any

from minikafka.lab.stage.workbench import NOON
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player
from minikafka.lessons.wire.hand_run_broker import HandRunBroker
from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_bytes, request_class
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.connections.run import answers_in

_LEFT, _ROW, _BOX, _GAP = 138, 58, 92, 6
_COLUMNS = (("in the socket, not read", _LEFT, 246), ("in work", _LEFT + 256, 236), ("answered", _LEFT + 502, 236))
_WAIT_MS = 60_000
_TOPIC = "orders"


@dataclass(frozen=True, slots=True)
class Lane:
    """A connection at one moment: whether the broker has muted it, or closed it, and the requests, in words."""

    name: str
    is_muted: bool
    is_open: bool
    unread: tuple[str, ...]
    in_work: tuple[str, ...]
    answered: tuple[str, ...]

    @property
    def state(self) -> str:
        """Its state in a word."""
        return "closed" if not self.is_open else "muted" if self.is_muted else "not muted"

    def __str__(self) -> str:
        parts = (("unread", self.unread), ("in work", self.in_work), ("answered", self.answered))
        said = "; ".join(f"{name} {', '.join(each)}" for name, each in parts if each)
        return f"{self.name} is {self.state}" + (f": {said}" if said else "")


@dataclass(frozen=True, slots=True)
class LanesFrame:
    """All connections after an action."""

    caption: str
    lanes: tuple[Lane, ...]

    def __str__(self) -> str:
        return "\n   ".join([self.caption, *map(str, self.lanes)])


class ConnectionLanes:
    """Clients made of bytes on connections of a new broker; after each action a frame is recorded.

    Requests are numbered from 1 on, all connections together; the number is the correlation id. Kinds: `fetch` (waits
    until there is a record behind the end of the log), `metadata`, `produce` (a record), `produce0` (the same with
    acks=0), `old` (a produce request of version 0, which nobody serves).
    """

    def __init__(self, title: str = "Connections"):
        self.title = title
        self.broker = HandRunBroker(_TOPIC)
        self.frames: list[LanesFrame] = []
        self._clients: dict[str, Any] = {}
        self._sent: dict[str, list[int]] = {}
        self._got: dict[str, bytes] = {}
        self._kinds: dict[int, str] = {}

    def send(self, name: str, *kinds: str) -> "ConnectionLanes":
        """Requests of these kinds arrive together on a connection, which is opened if there is none."""
        if name not in self._clients:
            self._clients[name], self._sent[name], self._got[name] = self.broker.connect(name), [], b""
        data = b""
        for kind in kinds:
            number = len(self._kinds) + 1
            self._kinds[number] = kind
            self._sent[name].append(number)
            request = _request(kind, number, self.broker.log().log_end_offset)
            data += len(request).to_bytes(4) + request
        self._clients[name].sendall(data)
        self.broker.settle()
        words = " and ".join(self._named(number) for number in self._sent[name][-len(kinds) :])
        self.frames.append(LanesFrame(f"{name} sends {words}", tuple(map(self._lane, self._clients))))
        return self

    def answers(self, name: str) -> list[int]:
        """The correlation ids of the answers that the client of a connection has got, in their order."""
        self._lane(name)
        return list(answers_in(self._got[name]))

    def play(self) -> Player:
        """The lanes with their slider, at the last frame."""
        return Player(self.frames, render_lanes, title=self.title, start=len(self.frames) - 1)

    def _lane(self, name: str) -> Lane:
        is_open = True
        while is_open:
            try:
                piece = self._clients[name].recv(1 << 16)
            except BlockingIOError:
                break
            is_open = bool(piece)
            self._got[name] += piece
        channel = next((each for each in self.broker.sockets.channels if each.id == name), None)
        answered = list(answers_in(self._got[name]))
        handled = self.broker.handled.get(name, [])
        done = {*answered, *(number for number in handled if self._kinds[number] == "produce0")}
        return Lane(
            name,
            channel is not None and channel.is_muted,
            channel is not None,
            tuple(self._named(number) for number in self._sent[name] if number not in handled and channel is not None),
            tuple(self._named(number) for number in handled if number not in done and channel is not None),
            tuple(self._named(number) for number in answered),
        )

    def _named(self, number: int) -> str:
        return f"{number} {self._kinds[number]}"


def _request(kind: str, number: int, log_end: int) -> bytes:
    api_key, version, body = _body(kind, log_end)
    request = request_bytes(api_key, version, body, correlation_id=number, client_id="till")
    return request[:2] + bytes(2) + request[4:] if kind == "old" else request


def _body(kind: str, log_end: int) -> tuple[ApiKeys, int, Message]:
    if kind == "metadata":
        return ApiKeys.METADATA, 12, request_class(ApiKeys.METADATA)(topics=[])
    if kind == "fetch":
        fetch = request_class(ApiKeys.FETCH)
        partition = fetch.FetchTopic.FetchPartition(partition=0, fetch_offset=log_end, partition_max_bytes=1 << 20)
        topics = [fetch.FetchTopic(topic=_TOPIC, partitions=[partition])]
        return ApiKeys.FETCH, 12, fetch(max_wait_ms=_WAIT_MS, min_bytes=1, max_bytes=1 << 20, topics=topics)
    produce = request_class(ApiKeys.PRODUCE)
    batch = MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(NOON, None, b"record"))
    part = produce.TopicProduceData.PartitionProduceData(index=0, records=bytes(batch.buffer))
    data = [produce.TopicProduceData(name=_TOPIC, partition_data=[part])]
    acks = 0 if kind == "produce0" else -1
    return ApiKeys.PRODUCE, 9, produce(acks=acks, timeout_ms=_WAIT_MS, topic_data=data)


def render_lanes(frame: LanesFrame) -> str:
    """The picture of one moment: a lane for each connection."""
    parts = [drawing.text(10, 20, frame.caption, kind="h", room=drawing.WIDTH - 20)]
    for heading, x, _ in _COLUMNS:
        parts.append(drawing.text(x, 44, heading, kind="s"))
    y = 52.0
    for lane in frame.lanes:
        parts += _drawn(lane, y)
        y += _ROW
    return drawing.svg(drawing.WIDTH, y + 4, "".join(parts), str(frame))


def _drawn(lane: Lane, y: float) -> list[str]:
    parts = [drawing.text(10, y + 22, f"connection {lane.name}", kind="b")]
    sign = {"muted": "◼ ", "closed": "✕ "}.get(lane.state, "▷ ")
    parts.append(drawing.text(10, y + 39, sign + lane.state, kind="s", fill="bad" if lane.state != "not muted" else ""))
    fills = ("gone", "pending", "committed")
    for (_, x, width), fill, words in zip(_COLUMNS, fills, (lane.unread, lane.in_work, lane.answered), strict=True):
        parts.append(drawing.rect(x, y, width, _ROW - 10, "panel"))
        most = int(width // (_BOX + _GAP))
        shown = words[-most:] if fill == "committed" else words[:most]
        room = (width - _GAP) / max(most, 1) - _GAP
        for place, each in enumerate(shown):
            left = x + _GAP + place * (room + _GAP)
            parts.append(drawing.rect(left, y + 6, room, _ROW - 30, fill, stroke="ink"))
            if fill == "pending":
                parts.append(drawing.hatch(left, y + 6, room, _ROW - 30, "line"))
                label = drawing.width(each, "s") + 8
                middle = left + room / 2 - label / 2
                parts.append(drawing.rect(middle, y + 12, label, 16, "paper", stroke="none"))
            parts.append(
                drawing.text(left + room / 2, y + 24, each, kind="s", anchor="middle", fill="ink", room=room - 4)
            )
        if len(words) > most:
            left_out = f"{len(words) - most} more"
            parts.append(drawing.text(x + width - 5, y + _ROW - 13.5, left_out, kind="s", anchor="end"))
    return parts
