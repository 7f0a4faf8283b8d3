"""After which piece of a stream each request is whole, in Spark."""

import random
from collections.abc import Sequence
from itertools import accumulate, pairwise

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.wire import solutions
from minikafka.lessons.wire.served_connections import whole_after
from minikafka.witness.connections.workload import framed_request

_PIECES = "connection STRING, place INT, bytes INT"
_REQUESTS = "connection STRING, number INT, size INT"


def _case(
    name: str,
    requests: dict[str, Sequence[int]],
    pieces: Sequence[tuple[str, int]],
    draw: random.Random | None = None,
) -> AskedCase:
    """`pieces`: connection and number of bytes, in the order in which they arrive; `draw` brings the rows of a drawn case into any order."""
    arrived = [(connection, place, count) for place, (connection, count) in enumerate(pieces)]
    sent = [
        (connection, number, len(framed_request(number)) - 4)
        for connection, numbers in requests.items()
        for number in numbers
    ]
    tables = frame(arrived, _PIECES, draw), frame(sent, _REQUESTS, draw)

    def expected() -> list[tuple[str, int, int]]:
        return as_rows(
            tables[0].sparkSession.sql(
                """WITH ends AS (
                       SELECT *, sum(size + 4) OVER (PARTITION BY connection ORDER BY number) AS end FROM {requests}),
                   come AS (
                       SELECT *, sum(bytes) OVER (PARTITION BY connection ORDER BY place) AS total FROM {pieces})
                   SELECT connection, number, min(place) AS place FROM ends JOIN come USING (connection)
                   WHERE total >= end GROUP BY connection, number ORDER BY connection, number""",
                pieces=tables[0],
                requests=tables[1],
            )
        )

    return AskedCase(name, tables, expected, lambda factory: whole_after(factory, requests, arrived))


def _sizes(*numbers: int) -> int:
    return sum(len(framed_request(number)) for number in numbers)


def _cases() -> list[AskedCase]:
    return [
        _case("two requests, a piece each", {"A": [1, 2]}, [("A", _sizes(1)), ("A", _sizes(2))]),
        _case("three requests in one piece", {"A": [1, 2, 3]}, [("A", _sizes(1, 2, 3))]),
        _case("one byte is missing", {"A": [4, 5]}, [("A", _sizes(4)), ("A", _sizes(5) - 1)]),
        _case("byte by byte at the end", {"A": [6]}, [("A", _sizes(6) - 2), ("A", 1), ("A", 1)]),
        _case(
            "the size alone, then the rest", {"A": [7, 8]}, [("A", 4), ("A", _sizes(7) - 4 + 3), ("A", _sizes(8) - 3)]
        ),
        _case(
            "two connections in turns",
            {"A": [1, 3], "B": [2, 4]},
            [("A", 10), ("B", _sizes(2) + 5), ("A", _sizes(1, 3) - 10), ("B", 1), ("B", _sizes(4) - 6)],
        ),
        _case("nothing is whole", {"A": [9], "B": [10]}, [("A", 3), ("B", _sizes(10) - 1)]),
    ]


def _drawn(draw: random.Random) -> AskedCase:
    """Pieces that end with a request, or near its end; the last request of a connection may not come as a whole."""
    numbers, coming = draw.sample(range(1, 100), 24), {}
    requests = {name: sorted(numbers[i::4]) for i, name in enumerate("ABCD")}
    for name in requests:
        ends = list(accumulate(map(_sizes, requests[name])))
        near = {end + by for end in ends for by in draw.choice(((), (0,), (-1,), (-1, 0), (1, 4), (-9, -3, 2)))}
        coming[name] = [end - begin for begin, end in pairwise([0, *sorted({min(place, ends[-1]) for place in near})])]
    turns = [name for name in coming for _ in coming[name]]
    pieces = [(name, coming[name].pop(0)) for name in draw.sample(turns, len(turns))]
    return _case("", requests, pieces, draw)


def _whole(*, prefix=4, enough=lambda total, end: total >= end, apart=True, per_request=False):
    """A wrong answer, where not told otherwise the right one."""

    def whole_requests(pieces, requests):
        found = []
        ends: dict[str, int] = {}
        for request in requests.orderBy("connection", "number").collect():
            key = request.connection if apart else "all"
            end = ends[key] = (0 if per_request else ends.get(key, 0)) + request.size + prefix
            total = 0
            for piece in pieces.orderBy("place").collect():
                if apart and piece.connection != request.connection:
                    continue
                total += piece.bytes
                if enough(total, end):
                    found.append((request.connection, request.number, piece.place))
                    break
        return found

    return whole_requests


whole_requests = Exercise(
    "Exercise 2, whole requests",
    _cases,
    judged_by_spark,
    solutions.found_whole,
    drawn=_drawn,
    draws=6,
    hints=[
        "Where does a request end in its connection's stream? The running sum of `size + 4` tells: sum(size + 4) OVER "
        "(PARTITION BY connection ORDER BY number).",
        "How many bytes have come with each piece? Another running sum, of `bytes` by `place`.",
        "Join both by connection, keep the rows where enough bytes have come, and take the least place of each request.",
    ],
    beliefs=[
        Belief(
            _whole(prefix=0),
            "You forget the four bytes of the size: `size` counts only what follows them.",
        ),
        Belief(
            _whole(enough=lambda total, end: total > end),
            "You wait for one byte more. With its last byte a request is whole.",
        ),
        Belief(
            _whole(apart=False),
            "You put the bytes of all connections into one stream. Each connection has its own.",
        ),
        Belief(
            _whole(per_request=True),
            "You count the bytes from the beginning for each request. The requests before it have taken theirs.",
        ),
    ],
    normal=as_rows,
)
