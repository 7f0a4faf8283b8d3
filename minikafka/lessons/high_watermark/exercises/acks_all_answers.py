"""When acks=all is answered, in Spark."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.lessons.high_watermark import solutions
from minikafka.lessons.high_watermark.exercises.least_end_offset import drawn_fetches
from minikafka.lessons.high_watermark.exercises.replica_ends import (
    LATE_FOLLOWER,
    SLOW_FOLLOWER,
    TWO_FOLLOWERS,
    ends_of,
    least,
    running_maximum,
)
from minikafka.witness.log.operations import AppendAsLeader
from minikafka.witness.log.workload import Workload


def _answered(name: str, text: str, draw: random.Random | None = None) -> WitnessedCase:
    """`draw` brings the rows of a drawn case into any order."""
    workload = Workload.parse(text)
    appends, end = [], 0
    for t, operation in enumerate(workload):
        if isinstance(operation, AppendAsLeader):
            end += operation.batches[0].count
            appends.append((t, end - 1))

    def answer(observations):
        marks = observations.column("high_watermark")
        return [(t, next((i for i, hw in enumerate(marks) if i >= t and hw > last), None)) for t, last in appends]

    marks = [(t, hw) for t, hw in _simulated_marks(workload)]
    arguments = (frame(appends, "t BIGINT, last_offset BIGINT", draw), frame(marks, "t BIGINT, hw BIGINT", draw))
    return WitnessedCase(name, arguments, workload, answer, ("high_watermark",))


def _simulated_marks(workload: Workload) -> list[tuple[int, int]]:
    rows = {}
    for t, _, end in ends_of(workload):
        rows.setdefault(t, []).append(end)
    return running_maximum([(t, least(found)) for t, found in sorted(rows.items())])


def _joined(appends, watermarks, reached):
    marks = [tuple(row) for row in watermarks.orderBy("t").collect()]
    rows = [tuple(row) for row in appends.orderBy("t").collect()]
    return [(t, next((i for i, hw in marks if i >= t and reached(hw, last)), None)) for t, last in rows]


def _drawn(draw: random.Random) -> WitnessedCase:
    return _answered("", drawn_fetches(draw), draw)


acks_all = Exercise(
    "Exercise 4, when acks=all is answered",
    lambda: [
        _answered("two followers", TWO_FOLLOWERS),
        _answered("a slow follower", SLOW_FOLLOWER),
        _answered("the last append is never answered", LATE_FOLLOWER + "append_as_leader [2x10]\nfetch 1 4"),
    ],
    judged_by_spark,
    solutions.answered,
    drawn=_drawn,
    draws=6,
    hints=[
        "Join each append with the marks at or after it, and keep the first mark that is high enough.",
        "An append with the last offset x is answered when HW >= x + 1, in other words HW > x.",
        "A LEFT JOIN keeps appends that are never answered, with null.",
    ],
    beliefs=[
        Belief(
            lambda appends, watermarks: _joined(appends, watermarks, lambda hw, last: hw >= last),
            "You answer when HW reaches the last offset. HW is exclusive: offset x is committed when HW is x + 1.",
        ),
        Belief(
            lambda appends, watermarks: [
                row for row in _joined(appends, watermarks, lambda hw, last: hw > last) if row[1] is not None
            ],
            "You leave out the appends that are never answered. Their producers are waiting: keep them, with null.",
        ),
        Belief(
            lambda appends, watermarks: [(t, t) for t, _ in (tuple(row) for row in appends.orderBy("t").collect())],
            "You answer as soon as the leader has the records. That is acks=1.",
        ),
    ],
    normal=as_rows,
)
