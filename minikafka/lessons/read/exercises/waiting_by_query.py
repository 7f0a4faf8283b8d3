"""The messages between the high watermark and the log end at every moment, in Spark."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, as_rows, frame, judged_by_spark
from minikafka.lessons.read import solutions
from minikafka.lessons.read.exercises.stories import TRANSACTIONS, offsets_seen, records_of, workload_of
from minikafka.witness.log.operations import AppendAsLeader, MaybeIncrementHighWatermark
from minikafka.witness.log.workload import Workload

_MARKS = "t BIGINT, hw BIGINT, leo BIGINT"


def _marks(workload: Workload) -> list[tuple[int, int, int]]:
    """(t, HW, LEO) after each operation t; the high watermark is only ever raised to the log end."""
    rows, high_watermark, end = [], 0, 0
    for t, operation in enumerate(workload):
        if isinstance(operation, AppendAsLeader):
            end += sum(batch.count for batch in operation.batches)
        elif isinstance(operation, MaybeIncrementHighWatermark):
            high_watermark = end
        rows.append((t, high_watermark, end))
    return rows


def _waiting(name: str, story: str, draw: random.Random | None = None) -> WitnessedCase:
    """`draw` brings the rows of a drawn case into any order."""
    workload = workload_of(story)
    marks = _marks(workload)
    rows = [(offset, marker is not None) for offset, _, _, marker in records_of(workload)]
    records, moments = frame(rows, "offset BIGINT, control BOOLEAN", draw), frame(marks, _MARKS, draw)

    def answer(observations):
        messages = offsets_seen(observations)
        return [(t, sum(hw <= offset < leo for offset in messages)) for t, hw, leo in marks]

    told = workload_of(story, "maybe_increment_high_watermark leo", "consume")
    return WitnessedCase(name, (records, moments), told, answer, TRANSACTIONS)


def _joined(records, marks, inside, keep=lambda count: True):
    messages = [row.offset for row in records.collect() if not row.control]
    rows = [(m.t, sum(inside(offset, m.hw, m.leo) for offset in messages)) for m in marks.orderBy("t").collect()]
    return [row for row in rows if keep(row[1])]


def _drawn(draw: random.Random) -> WitnessedCase:
    words = []
    for _ in range(26):
        producer, count, end = draw.choice("789"), draw.randint(1, 3), draw.choice("+-")
        words.append(draw.choice((f"p{count}", f"6={count}", f"{producer}:{count}", f"{producer}{end}", "hw")))
    return _waiting("", " ".join(words), draw)


between_spark = Exercise(
    "Exercise 2, between high watermark and log end, in Spark",
    lambda: [
        _waiting("plain records", "p3 p2 hw p2 p3 hw"),
        _waiting("transactions", "p2 7:2 hw 7- 8:1 hw p3 8+ hw p1"),
        _waiting("nothing but markers wait", "7:3 8:2 hw 7- 8+"),
    ],
    judged_by_spark,
    solutions.messages_waiting,
    drawn=_drawn,
    draws=6,
    hints=[
        "Join each moment with the records whose offset lies between its two marks.",
        "Both marks are exclusive bounds: the records below hw are committed, and the log ends below leo. So: offset "
        ">= hw AND offset < leo.",
        "A LEFT JOIN keeps the moments at which nothing waits; count a column of the right side, not `*`.",
    ],
    beliefs=[
        Belief(
            lambda records, marks: [(m.t, m.leo - m.hw) for m in marks.orderBy("t").collect()],
            "LEO − HW counts offsets, and so control records, too.",
        ),
        Belief(
            lambda records, marks: _joined(records, marks, lambda offset, hw, leo: hw <= offset <= leo),
            "BETWEEN includes the log end; there was no record at that offset at that moment.",
        ),
        Belief(
            lambda records, marks: _joined(records, marks, lambda offset, hw, leo: hw < offset < leo),
            "You leave out the offset HW. It is the first one that is not committed.",
        ),
        Belief(
            lambda records, marks: _joined(records, marks, lambda offset, hw, leo: hw <= offset < leo, bool),
            "You leave out the moments at which nothing waits. Keep them, with 0.",
        ),
        Belief(
            lambda records, marks: [
                (t, max(count, 1)) for t, count in as_rows(solutions.messages_waiting(records, marks))
            ],
            "count(*) also counts the row that a LEFT JOIN keeps without a match. Count a column of the right side.",
        ),
    ],
    normal=as_rows,
)
