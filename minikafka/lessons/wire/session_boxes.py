"""A fetch session of a broker: what its reader names, what the broker remembers, and what the answer has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.common.error_codes import Errors
from minikafka.lab.stage.workbench import NOON
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.player import Player
from minikafka.lessons.wire.hand_run_broker import HandRunBroker
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

_TOPIC, _VERSION = "orders", 12
_LEFT, _ROW, _BOX, _STEP = 168, 46, 76, 84
_NONE = 0
"""The id of no session; so is the epoch of a request that begins one."""


@dataclass(frozen=True, slots=True)
class SessionFrame:
    """A fetch and its answer. Partitions are pairs of number and offset; `forgotten` are numbers; of an answer, pairs
    of number and how many records. `epoch`: of the request. `session`: the partitions that the broker remembers then.
    """

    caption: str
    epoch: int
    named: tuple[tuple[int, int], ...]
    forgotten: tuple[int, ...]
    session: tuple[tuple[int, int], ...]
    answered: tuple[tuple[int, int], ...]
    error: str

    def __str__(self) -> str:
        named = ", ".join(f"{number}@{offset}" for number, offset in self.named) or "nothing"
        forgotten = f", forgets {', '.join(map(str, self.forgotten))}" if self.forgotten else ""
        session = ", ".join(f"{number}@{offset}" for number, offset in self.session) or "none"
        told = ", ".join(f"{number} ({count} records)" for number, count in self.answered) or "nothing"
        answer = self.error if self.error != "NONE" else told
        return f"{self.caption}: epoch {self.epoch} names {named}{forgotten}; session {session}; answer {answer}"


class FetchingReader:
    """A reader of the topic `orders`, of so many partitions on a new broker, that fetches in a session.

    It knows where it is in each partition. In a session it names a partition when that offset is another one than the
    broker knows, or when the partition is new. `epoch`: of its next request.
    """

    def __init__(self, partitions: int = 4, title: str = "A fetch session"):
        self.title = title
        self.broker = HandRunBroker(_TOPIC, partitions=partitions)
        self.frames: list[SessionFrame] = []
        self.epoch = 0
        self._id = _NONE
        self._at: dict[int, int] = {}
        self._told: dict[int, int] = {}

    def append(self, partition: int, *values: str) -> None:
        """A producer appends records to a partition."""
        produce = request_class(ApiKeys.PRODUCE)
        records = [SimpleRecord(NOON, None, value.encode()) for value in values]
        batch = bytes(MemoryRecords.with_records(CompressionType.NONE, *records).buffer)
        part = produce.TopicProduceData.PartitionProduceData(index=partition, records=batch)
        data = [produce.TopicProduceData(name=_TOPIC, partition_data=[part])]
        self._asked(ApiKeys.PRODUCE, 9, produce(acks=1, timeout_ms=1000, topic_data=data))

    def fetch(self, *more: int, forget: Sequence[int] = (), epoch: int | None = None) -> SessionFrame:
        """Fetch once: the reader reads `more` partitions from now on, and those of `forget` no longer.

        `epoch`: another one than it should be.
        """
        begins = self._id == _NONE
        for partition in more:
            self._at[partition] = 0
        for partition in forget:
            self._at.pop(partition, None)
            self._told.pop(partition, None)
        named = {each: at for each, at in self._at.items() if begins or self._told.get(each) != at}
        used = self.epoch if epoch is None else epoch
        body = self._asked(ApiKeys.FETCH, _VERSION, _fetch(self._id, used, named, forget))
        self._told |= named
        error = Errors(body.error_code)
        answered = [part for topic in body.responses for part in topic.partitions]
        counts = tuple((part.partition_index, _records_in(part.records)) for part in answered)
        self._note_answer(body, error, counts)
        caption = "full fetch" if begins else "incremental fetch"
        frame = SessionFrame(caption, used, tuple(named.items()), tuple(forget), self._remembered(), counts, error.name)
        self.frames.append(frame)
        return frame

    def play(self) -> Player:
        """The fetches with their slider, at the last one."""
        told = [number for number, frame in enumerate(self.frames) if frame.forgotten or frame.error != "NONE"]
        return Player(self.frames, render_session, title=self.title, start=len(self.frames) - 1, pictured=told)

    def _note_answer(self, body: Any, error: Errors, counts: Sequence[tuple[int, int]]) -> None:
        if error is not Errors.NONE:  # the reader begins anew
            self._id, self.epoch, self._told = _NONE, 0, {}
            return
        self._id, self.epoch = body.session_id, self.epoch + 1
        for partition, count in counts:
            self._at[partition] += count

    def _remembered(self) -> tuple[tuple[int, int], ...]:
        manager = self.broker.server.broker.fetch_manager
        session = manager.cache.get_cache_shard(self._id).get(self._id) if self._id != _NONE else None
        cached = session.partitions if session is not None else []
        return tuple((each.topic_id_partition.partition, each.request.fetch_offset) for each in cached)

    def _asked(self, api_key: ApiKeys, version: int, body: Any) -> Any:
        request = request_bytes(api_key, version, body, correlation_id=1, client_id="reader")
        answer = self.broker.server.broker.handle(bytearray(request)).result
        return parse_response(api_key, version, answer)[1]


def _fetch(session_id: int, epoch: int, named: dict[int, int], forget: Sequence[int]) -> Any:
    fetch = request_class(ApiKeys.FETCH)
    partitions = [
        fetch.FetchTopic.FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
        for number, offset in named.items()
    ]
    return fetch(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=epoch,
        topics=[fetch.FetchTopic(topic=_TOPIC, partitions=partitions)] if partitions else [],
        forgotten_topics_data=[fetch.ForgottenTopic(topic=_TOPIC, partitions=list(forget))] if forget else [],
    )


def _records_in(data: Any) -> int:
    return sum(1 for batch in MemoryRecords.readable_records(bytes(data or b"")).batches() for _ in batch)


def render_session(frame: SessionFrame) -> str:
    """The picture of one fetch: three rows, the request, the session, the answer."""
    head = f"{frame.caption}, epoch {frame.epoch}"
    parts = [drawing.text(10, 20, head, kind="h")]
    named = [(f"orders-{number}", f"from {offset}", "a") for number, offset in frame.named]
    named += [(f"orders-{number}", "forget", "gone") for number in frame.forgotten]
    remembered = [(f"orders-{number}", f"from {offset}", "panel") for number, offset in frame.session]
    answered = [(f"orders-{number}", _count(count), "committed") for number, count in frame.answered]
    rows = (
        ("the request names", named, "nothing: go on as before"),
        ("the broker remembers", remembered, "no session"),
        ("the answer has", answered, frame.error if frame.error != "NONE" else "no partition: no news"),
    )
    for place, (heading, boxes, nothing) in enumerate(rows):
        y = 36 + place * (_ROW + 8)
        parts.append(drawing.text(10, y + 26, heading, kind="b"))
        if not boxes:
            fill = "bad" if nothing.isupper() else ""
            parts.append(drawing.text(_LEFT + 4, y + 26, nothing, kind="s", fill=fill))
        for number, (name, words, fill) in enumerate(boxes):
            x = _LEFT + number * _STEP
            dash = "4 3" if fill == "gone" else ""
            parts.append(drawing.rect(x, y + 2, _BOX, _ROW - 4, fill, stroke="ink", dash=dash))
            parts.append(drawing.text(x + _BOX / 2, y + 20, name, kind="sb", anchor="middle", fill="ink"))
            parts.append(drawing.text(x + _BOX / 2, y + 36, words, kind="s", anchor="middle", fill="ink"))
    return drawing.svg(drawing.WIDTH, 36 + 3 * (_ROW + 8) + 6, "".join(parts), str(frame))


def _count(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records" if count else "no record"
