"""Which partitions the answer of an incremental fetch has, and in which order its session reads them next."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from minikafka.cluster.fetch_params import FetchRequestPartitionData
from minikafka.common.time import ManualTime
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.wire import solutions
from minikafka.messages.apis import FetchResponse
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.server.fetch_manager import FetchManager
from minikafka.server.fetch_metadata import FetchMetadata
from minikafka.server.fetch_session_cache import FetchSessionCache

_TOPIC, _VERSION = "t", 12
_Asked = tuple[list[int], list[int], list[int], dict[int, int]]
_Answer = tuple[list[int], list[int]]

_ASKED: dict[str, _Asked] = {  # session, named, forgotten, news: partition → records found
    "nothing is new": ([0, 1, 2], [], [], {}),
    "records in one": ([0, 1, 2], [], [], {1: 3}),
    "records in the last one": ([0, 1, 2], [2], [], {2: 1}),
    "records in two": ([3, 1, 0, 2], [3], [], {1: 1, 3: 5}),
    "only a high watermark": ([0, 1, 2], [0], [], {0: 0}),
    "a high watermark and records": ([4, 5, 6], [], [], {6: 0, 4: 2}),
    "a new partition without news": ([0, 1], [2], [], {}),
    "a new partition with records": ([0, 1], [7, 0], [], {7: 1, 0: 0}),
    "one is forgotten": ([0, 1, 2], [], [1], {1: 4, 2: 1}),
    "grown, shrunk, and records": ([5, 3, 1], [2, 3], [5], {3: 1, 1: 0}),
    "all have records": ([2, 0, 1], [], [], {0: 1, 1: 1, 2: 1}),
}


@cache
def _spark_says() -> dict[int, _Answer]:
    rows = [
        (number, *asked[:3], list(asked[3]), [p for p, count in asked[3].items() if count])
        for number, asked in enumerate(_ASKED.values())
    ]
    lists = ", ".join(f"{name} ARRAY<INT>" for name in ("session", "named", "forgotten", "news", "found"))
    told = answers_of(
        """WITH grown AS (
               SELECT *, array_except(array_union(session, named), forgotten) AS now FROM {asked})
           SELECT number,
                  filter(now, p -> array_contains(news, p) OR NOT array_contains(session, p)),
                  concat(filter(now, p -> NOT array_contains(found, p)), filter(now, p -> array_contains(found, p)))
           FROM grown""",
        asked=(rows, f"number INT, {lists}"),
    )
    return {number: (list(answered), list(after)) for number, (answered, after) in told.items()}


def _case(number: int) -> AskedCase:
    name, asked = list(_ASKED.items())[number]

    def of(factory: Any) -> _Answer:
        kafka = jvm_of(factory)
        return _minikafka_says(*asked) if kafka is None else _kafka_says(kafka, *asked)

    return AskedCase(name, asked, lambda: _spark_says()[number], of)


def _grown(session: list[int], named: list[int], forgotten: list[int]) -> list[int]:
    return [each for each in dict.fromkeys([*session, *named]) if each not in forgotten]


def _batch(count: int) -> bytes:
    return bytes(MemoryRecords.with_records(CompressionType.NONE, *[SimpleRecord(0, None, b"x")] * count).buffer)


def _minikafka_says(session: list[int], named: list[int], forgotten: list[int], news: Mapping[int, int]) -> _Answer:
    manager = FetchManager(ManualTime(), FetchSessionCache.with_slots(8))
    part = FetchResponse.FetchableTopicResponse.PartitionData

    def key(partition: int) -> TopicIdPartition:
        return TopicIdPartition(ZERO_UUID, TopicPartition(_TOPIC, partition))

    def asked(
        session_id: int, epoch: int, names: Sequence[int], forget: Sequence[int], found: Mapping[int, tuple[int, int]]
    ) -> tuple[int, list[int], list[int]]:
        request = FetchRequestPartitionData(ZERO_UUID, 0, 0, 1, None)
        context = manager.new_context(
            _VERSION,
            FetchMetadata(session_id, epoch),
            False,
            {key(each): request for each in names},
            [key(each) for each in forget],
            lambda topic_id: None,
        )
        updates = {
            key(each): part(partition_index=each, high_watermark=mark, log_start_offset=0, records=_batch(count))
            if count
            else part(partition_index=each, high_watermark=mark, log_start_offset=0, records=b"")
            for each, (mark, count) in found.items()
        }
        order = [each.partition for each, _ in context.partitions()]
        answer = context.update_and_generate_response_data(updates, [])
        answered = [each.partition_index for topic in answer.responses for each in topic.partitions]
        return answer.session_id, answered, order

    return _told(asked, session, named, forgotten, news)


def _kafka_says(
    kafka: Any, session: list[int], named: list[int], forgotten: list[int], news: Mapping[int, int]
) -> _Answer:
    """Kafka: `FetchManager.newContext` and `FetchContext.updateAndGenerateResponseData`."""
    find = kafka.find_class
    shard = find("org.apache.kafka.server.FetchSessionCacheShard")(8, 120_000, 2**31 - 1, 0)
    cache = find("org.apache.kafka.server.FetchSession$FetchSessionCache")([shard])
    manager = find("org.apache.kafka.server.FetchManager")(
        kafka.constant("org.apache.kafka.common.utils.Time", "SYSTEM"), cache
    )
    no_id = kafka.constant("org.apache.kafka.common.Uuid", "ZERO_UUID")

    def key(partition: int) -> Any:
        topic_partition = find("org.apache.kafka.common.TopicPartition")(_TOPIC, partition)
        return find("org.apache.kafka.common.TopicIdPartition")(no_id, topic_partition)

    def asked(
        session_id: int, epoch: int, names: Sequence[int], forget: Sequence[int], found: Mapping[int, tuple[int, int]]
    ) -> tuple[int, list[int], list[int]]:
        fetch_data, updates = (find("java.util.LinkedHashMap")() for _ in range(2))
        of_partition = find("org.apache.kafka.common.requests.FetchRequest$PartitionData")
        for each in names:
            fetch_data.put(key(each), of_partition(no_id, 0, 0, 1, kafka.optional(None)))
        to_forget = find("java.util.ArrayList")()
        for each in forget:
            to_forget.add(key(each))
        for each, (mark, count) in found.items():
            data = find("org.apache.kafka.common.message.FetchResponseData$PartitionData")()
            data.setPartitionIndex(each).setHighWatermark(mark).setLogStartOffset(0)
            data.setRecords(kafka.records(_batch(count) if count else b""))
            updates.put(key(each), data)
        metadata = find("org.apache.kafka.common.requests.FetchMetadata")(session_id, epoch)
        context = manager.newContext(_VERSION, metadata, False, fetch_data, to_forget, find("java.util.HashMap")())
        read = _Read()
        context.foreachPartition(read)
        answer = context.updateAndGenerateResponseData(updates, find("java.util.ArrayList")()).data()
        answered = [each.partitionIndex() for topic in answer.responses() for each in topic.partitions()]
        return answer.sessionId(), answered, read.order

    return _told(asked, session, named, forgotten, news)


class _Read:
    """A Java `BiConsumer` that notes which partitions a fetch reads."""

    def __init__(self) -> None:
        self.order: list[int] = []

    def accept(self, partition: Any, request: Any) -> None:
        self.order.append(partition.partition())

    class Java:
        implements = ["java.util.function.BiConsumer"]


def _told(asked: Any, session: list[int], named: list[int], forgotten: list[int], news: Mapping[int, int]) -> _Answer:
    """A full fetch begins the session; the incremental one is the case; a third one tells the order in which it reads."""
    session_id, _, _ = asked(0, 0, session, [], dict.fromkeys(session, (0, 0)))
    now = _grown(session, named, forgotten)
    found = {each: (int(each in news), news.get(each, 0)) for each in now}
    _, answered, _ = asked(session_id, 1, named, forgotten, found)
    _, _, order = asked(session_id, 2, [], [], {})
    return answered, order


def _next(*, new_told=True, marks_told=True, rotates=lambda count: count > 0, forgets=True, adds_in_front=False):
    """A wrong answer, where not told otherwise the right one."""

    def next_partitions(session, named, forgotten, news):
        added = [each for each in named if each not in session]
        now = [*added, *session] if adds_in_front else [*session, *added]
        now = [each for each in now if not (forgets and each in forgotten)]
        told = [
            each
            for each in now
            if (each in news and (marks_told or news[each] > 0)) or (new_told and each in added and each not in news)
        ]
        behind = [each for each in now if each in news and rotates(news[each])]
        return told, [each for each in now if each not in behind] + behind

    return next_partitions


session_partitions = Exercise(
    "Exercise 4, a fetch session's next partitions",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.next_partitions,
    hints=[
        "First the session changes: new partitions of the request go to its end, in the order of the request; "
        "forgotten ones leave it. A partition that is there keeps its place when the request names it.",
        "The answer has the partitions with news, in the session's order. A new partition is always news: the reader "
        "does not know its high watermark.",
        "Partitions in which records were found go to the end, in their order. Others keep their places.",
    ],
    beliefs=[
        Belief(
            _next(new_told=False),
            "You leave out a new partition in which nothing was found. Its reader does not know its high watermark yet.",
        ),
        Belief(
            _next(marks_told=False),
            "You answer only where records were found. A new high watermark is news, too.",
        ),
        Belief(
            _next(rotates=lambda count: False),
            "You leave the order as it is. A partition that had records goes to the end, so that the others get their "
            "turn when an answer is full.",
        ),
        Belief(
            _next(rotates=lambda count: True),
            "You move every partition that is told. Only those with records go to the end.",
        ),
        Belief(
            _next(forgets=False),
            "You keep the forgotten partitions. The reader does not want them any more.",
        ),
        Belief(
            _next(adds_in_front=True),
            "You put new partitions in front. They go to the end.",
        ),
    ],
    normal=lambda answer: tuple(map(list, answer)) if isinstance(answer, list | tuple) else answer,
)
