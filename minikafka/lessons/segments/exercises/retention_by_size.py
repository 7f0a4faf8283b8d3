"""Retention by size, in Spark."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.lessons.segments import solutions
from minikafka.lessons.segments.exercises.observed import batch_bytes
from minikafka.lessons.segments.exercises.retention import cleaned_up, deleted, spares_the_active_segment


def _sized(sizes, limit: int, draw: random.Random | None = None) -> WitnessedCase:
    """`draw` brings the rows of a drawn case into any order."""
    workload = cleaned_up(f"retention.bytes={limit} retention.ms=-1", [f"2x{size}" for size in sizes])
    rows = [(number * 2, batch_bytes(2, size)) for number, size in enumerate(sizes)]
    segments = frame(rows, "base BIGINT, size BIGINT", draw)
    name = "" if draw else f"segments of {', '.join(str(size) for _, size in rows)} bytes, retention.bytes {limit}"
    return WitnessedCase(name, (segments, limit), workload, deleted)


def _oldest_while(stays):
    """A wrong answer: segments go from the oldest on, up to the first for which `stays(rest, size, limit)`.

    `rest`: the bytes of the log from this segment on.
    """

    def deletable(segments, retention_bytes):
        rows = [tuple(row) for row in segments.orderBy("base").collect()]
        rest, gone = sum(size for _, size in rows), []
        for base, size in rows:
            if retention_bytes < 0 or stays(rest, size, retention_bytes):
                break
            rest -= size
            gone.append(base)
        return gone

    return deletable


def _no_limit_is_a_limit(segments, retention_bytes):
    rows = [tuple(row) for row in segments.orderBy("base").collect()]
    total = sum(size for _, size in rows)
    return [
        base
        for number, (base, _) in enumerate(rows)
        if total - sum(size for _, size in rows[: number + 1]) >= retention_bytes
    ]


def _drawn(draw: random.Random) -> WitnessedCase:
    """The limit is the size of the newest segments, or there is none."""
    sizes = [draw.choice((10, 80, 80, 100, 300, 1000)) for _ in range(14)]
    rest = sum(batch_bytes(2, size) for size in sizes[draw.randint(1, 9) :])
    return _sized(sizes, draw.choice((rest, -7)), draw)


by_size = Exercise(
    "Exercise 3, retention by size",
    lambda: [
        _sized((100, 200, 300), 600),
        _sized((100, 100, 100, 100), batch_bytes(2, 100) * 2),
        _sized((80, 80), 0),
        _sized((80, 80, 80), -1),
    ],
    judged_by_spark,
    solutions.deletable_by_size,
    drawn=_drawn,
    draws=6,
    hints=[
        "For each segment: how many bytes would stay if it and all older ones were deleted? You need two window sums.",
        "`sum(size) OVER ()` is the size of the whole log. `sum(size) OVER (ORDER BY base)` is the size of this "
        "segment and all older ones.",
        "A segment may be deleted if the rest is still >= the limit. A limit below 0 means no limit.",
    ],
    beliefs=[
        Belief(
            _oldest_while(lambda rest, size, limit: rest <= limit),
            "You delete until the log is at or below the limit. retention.bytes is what Kafka keeps at least: it "
            "deletes a segment only if the rest still has that many bytes.",
        ),
        Belief(
            _oldest_while(lambda rest, size, limit: rest - size <= limit),
            "You keep a segment if the rest would be exactly the limit. The rule is rest >= limit.",
        ),
        Belief(_no_limit_is_a_limit, "You treat −1 as a number of bytes. It means that there is no limit."),
        spares_the_active_segment(solutions.deletable_by_size),
    ],
    normal=as_rows,
)
