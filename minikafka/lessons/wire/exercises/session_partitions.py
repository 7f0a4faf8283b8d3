"""Which partitions the answer of an incremental fetch has, and in which order its session reads them next."""

import random
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.wire import solutions
from minikafka.witness.kafka.kafka_fetch_sessions import KafkaFetchSessions
from minikafka.witness.sessions.fetch_sessions import FetchSessions, Found
from minikafka.witness.sessions.minikafka_sessions import MinikafkaSessions

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
    return _asked(name, asked, lambda: _spark_says()[number])


def _asked(name: str, asked: _Asked, expected: Callable[[], Any] = lambda: None) -> AskedCase:
    def of(factory: Any) -> _Answer:
        kafka = jvm_of(factory)
        return _told(MinikafkaSessions() if kafka is None else KafkaFetchSessions(kafka), *asked)

    return AskedCase(name, asked, expected, of)


def _told(
    sessions: FetchSessions, session: list[int], named: list[int], forgotten: list[int], news: Mapping[int, int]
) -> _Answer:
    """A full fetch begins the session; the incremental one is the case; a third one tells the order in which it reads."""

    def found(partition: int) -> Found:
        return Found(records=news.get(partition, 0), high_watermark=int(partition in news))

    began = sessions.fetch(0, 0, session, [], lambda partition: Found())
    answer = sessions.fetch(began.session_id, 1, named, forgotten, found)
    after = sessions.fetch(began.session_id, 2, [], [], lambda partition: Found())
    return list(answer.told), list(after.read)


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


def _drawn(draw: random.Random) -> AskedCase:
    partitions = draw.sample(range(9), draw.randint(1, 8))
    session = partitions[: draw.randint(1, len(partitions))]
    forgotten = draw.sample(session, draw.choice((0, 0, min(1, len(session)), len(session) // 2)))
    may_be_named = [each for each in partitions if each not in forgotten]
    named = draw.sample(may_be_named, draw.randint(0, len(may_be_named)))
    known = [each for each in partitions if each in session or each in named]
    news = {each: draw.choice((0, 1, 7)) for each in draw.sample(known, draw.randint(0, len(known)))}
    return _asked("", (session, named, forgotten, news))


session_partitions = Exercise(
    "Exercise 4, a fetch session's next partitions",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.next_partitions,
    drawn=_drawn,
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
