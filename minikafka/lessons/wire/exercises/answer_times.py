"""When requests are in work and answered, if a connection has one in work at a time, in Spark."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.wire import solutions
from minikafka.lessons.wire.served_connections import answered_at

_REQUESTS = "connection STRING, number INT, whole_ms INT, work_ms INT"


def _case(name: str, *rows: tuple[str, int, int, int]) -> AskedCase:
    requests = frame(list(rows), _REQUESTS)

    def expected() -> list[tuple[str, int, int, int]]:
        return as_rows(
            requests.sparkSession.sql(
                """WITH lined AS (
                       SELECT connection, sort_array(collect_list(struct(number, whole_ms, work_ms))) AS line
                       FROM {requests} GROUP BY connection),
                   worked AS (
                       SELECT connection, explode(aggregate(
                           line,
                           named_struct('at', 0, 'done', CAST(array() AS ARRAY<STRUCT<n: INT, h: INT, a: INT>>)),
                           (so_far, each) -> named_struct(
                               'at', greatest(so_far.at, each.whole_ms) + each.work_ms,
                               'done', array_append(so_far.done, named_struct(
                                   'n', each.number, 'h', greatest(so_far.at, each.whole_ms),
                                   'a', greatest(so_far.at, each.whole_ms) + each.work_ms))),
                           so_far -> so_far.done)) AS row
                       FROM lined)
                   SELECT connection, row.n AS number, row.h AS handed_ms, row.a AS answered_ms
                   FROM worked ORDER BY connection, number""",
                requests=requests,
            )
        )

    return AskedCase(name, (requests,), expected, lambda factory: answered_at(factory, sorted(rows)))


def _cases() -> list[AskedCase]:
    return [
        _case("one after the other", ("A", 1, 0, 3), ("A", 2, 5, 2)),
        _case("the second comes while the first is in work", ("A", 1, 0, 8), ("A", 2, 3, 2)),
        _case("three at once", ("A", 1, 2, 4), ("A", 2, 2, 1), ("A", 3, 2, 5)),
        _case("two connections", ("A", 1, 0, 9), ("B", 2, 1, 2), ("A", 3, 2, 1), ("B", 4, 2, 3)),
        _case("a gap, then a queue", ("A", 1, 0, 2), ("A", 2, 7, 6), ("A", 3, 8, 1), ("A", 4, 9, 1)),
        _case("work without time", ("A", 1, 4, 0), ("A", 2, 4, 0), ("A", 3, 5, 2), ("A", 4, 5, 0)),
        _case("a long one in front", ("A", 1, 0, 20), ("A", 2, 1, 1), ("B", 3, 1, 1), ("A", 4, 19, 1), ("A", 5, 30, 1)),
    ]


def _drawn(draw: random.Random) -> AskedCase:
    rows, whole_ms = [], dict.fromkeys("ABCD", 0)
    for number in sorted(draw.sample(range(1, 200), 40)):
        connection = draw.choice("AAAABBCD")
        whole_ms[connection] += draw.choice((0, 0, 1, 2, 3, 12))
        rows.append((connection, number, whole_ms[connection], draw.choice((0, 0, 1, 2, 3, 9))))
    return _case("", *draw.sample(rows, len(rows)))


def _times(
    *, starts=lambda whole, free: max(whole, free), apart=True, waits=True, ends=lambda handed, work: handed + work
):
    """A wrong answer, where not told otherwise the right one."""

    def answer_times(requests):
        free: dict[str, int] = {}
        found = []
        for row in requests.orderBy("number").collect():
            key = row.connection if apart else "all"
            handed = starts(row.whole_ms, free.get(key, 0)) if waits else row.whole_ms
            free[key] = ends(handed, row.work_ms)
            found.append((row.connection, row.number, handed, free[key]))
        return sorted(found)

    return answer_times


def _answers_in_order(requests: Any) -> list[tuple[str, int, int, int]]:
    """All are in work as soon as they are whole; only the answers wait for each other."""
    last: dict[str, int] = {}
    found = []
    for row in requests.orderBy("number").collect():
        last[row.connection] = max(last.get(row.connection, 0), row.whole_ms + row.work_ms)
        found.append((row.connection, row.number, row.whole_ms, last[row.connection]))
    return sorted(found)


answer_times = Exercise(
    "Exercise 3, answers in order",
    _cases,
    judged_by_spark,
    solutions.in_order,
    drawn=_drawn,
    draws=6,
    hints=[
        "A request is handed over at the later of two moments: when it is whole, and when the one before it on its "
        "connection has been answered.",
        "Without recursion: let W be the sum of `work_ms` up to and with a request. It is answered at W plus the "
        "largest `whole_ms − (the sum of work_ms before it)` of all requests so far on its connection.",
        "max(whole_ms - before) OVER (PARTITION BY connection ORDER BY number), where `before` is "
        "sum(work_ms) OVER (…) − work_ms.",
    ],
    beliefs=[
        Belief(
            _times(waits=False),
            "You work on all requests of a connection at once. The connection is muted until the answer is sent.",
        ),
        Belief(
            _answers_in_order,
            "You work on all requests at once, and hold the answers back. Kafka does not begin before the one in front "
            "is answered.",
        ),
        Belief(
            _times(apart=False),
            "You let connections wait for each other. Each connection is muted by itself.",
        ),
        Belief(
            _times(starts=lambda whole, free: free if free else whole),
            "You begin a request when the one before it is answered, even if it has not come by then.",
        ),
    ],
    normal=as_rows,
)
