"""Where a read begins, in a log of several segments with gaps, in Spark."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lab.stage.workbench import scratch
from minikafka.lessons.offset_to_bytes import solutions
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.run import Runner
from minikafka.witness.log.workload import START_MS, Workload

_SCHEMA = "segment BIGINT, base BIGINT, last BIGINT, size BIGINT"
Segments = dict[int, list[tuple[int, int]]]
"""By base offset: the base offset of each batch of a segment, and how many records the batch has."""


def _case(name: str, segments: Segments, starts: list[int], draw: random.Random | None = None) -> AskedCase:
    """`draw` brings the batches of a drawn case into any order."""
    lines, rows = [], []
    for segment, batches in segments.items():
        lines += [f"roll {segment}"] if lines else []
        for base, count in batches:
            lines.append(f"append_as_follower [{count}x10 offset={base}]")
            rows.append((segment, base, base + count - 1, Batch(count, 10).size_in_bytes(START_MS)))
    batches = frame(rows, _SCHEMA, draw)
    asking = frame([(start,) for start in starts], "start BIGINT")

    def expected() -> list[tuple[int, int, int]]:
        return as_rows(
            batches.sparkSession.sql(
                """WITH found AS (
                       SELECT start, min(base) AS base FROM {starts} JOIN {batches} ON last >= start GROUP BY start)
                   SELECT f.start, b.segment, coalesce(sum(earlier.size), 0) AS position
                   FROM found f JOIN {batches} b USING (base)
                   LEFT JOIN {batches} earlier ON earlier.segment = b.segment AND earlier.base < b.base
                   GROUP BY f.start, b.segment ORDER BY f.start""",
                batches=batches,
                starts=asking,
            )
        )

    def asked(factory: Any) -> list[tuple[int, int, int]]:
        places = _places(factory, Workload.parse("\n".join(lines)), starts)
        return [
            (start, place.segment_base_offset, place.relative_position_in_segment)
            for start, place in sorted(zip(starts, places, strict=True))
        ]

    told = "; ".join(
        f"segment {segment}: {', '.join(f'{base}–{base + count - 1}' for base, count in batches)}"
        for segment, batches in segments.items()
    )
    return AskedCase(name and f"{name} (batches of {told})", (batches, asking), expected, asked)


def _places(factory: Any, workload: Workload, starts: list[int]) -> list[Any]:
    """Where reads begin in a log of `factory` after `workload`."""
    runner = Runner(factory, scratch(), workload)
    try:
        for operation in workload:
            observed = runner.apply(operation)
            assert not observed.error, observed
        return [runner.log.read(start, 1, FetchIsolation.LOG_END).fetch_offset_metadata for start in starts]
    finally:
        runner.let_go()


def _begun(
    *,
    choose=lambda rows, start: next((row for row in rows if row.last >= start), None),
    counted=lambda row, other: other.segment == row.segment and other.base < row.base,
):
    """A wrong answer: another batch is chosen, or other batches are counted as lying before it in its file."""

    def read_begins(batches, starts):
        rows, found = batches.orderBy("base").collect(), []
        for (start,) in starts.orderBy("start").collect():
            row = choose(rows, start)
            if row is not None:
                position = sum(other.size for other in rows if counted(row, other))
                found.append((start, row.segment, position))
        return found

    return read_begins


def _in_its_segment(rows, start):
    segment = max(row.segment for row in rows if row.segment <= start)
    return next((row for row in rows if row.segment == segment and row.last >= start), None)


def _drawn(draw: random.Random) -> AskedCase:
    """Every offset below the log end is asked for, in a log with gaps everywhere."""
    segments: Segments = {}
    end = 0
    for _ in range(5):
        end += draw.choice((0, 0, 3, 10)) if segments else 0
        batches = segments[end] = []
        for _ in range(draw.randint(1, 5)):
            base, count = end + draw.choice((0, 0, 0, 1, 4)), draw.randint(1, 4)
            batches.append((base, count))
            end = base + count
    return _case("", segments, draw.sample(range(end), end), draw)


begins = Exercise(
    "Exercise 2, where a read begins",
    lambda: [
        _case("no gaps", {0: [(0, 3), (3, 5), (8, 2)], 10: [(10, 4), (14, 1)]}, [0, 4, 7, 8, 12, 14]),
        _case("gaps in a segment", {0: [(0, 3), (7, 2), (12, 1)]}, [1, 3, 6, 8, 10, 12]),
        _case("a gap at the end of a segment", {0: [(0, 2), (2, 3)], 20: [(20, 2), (25, 3)]}, [4, 5, 19, 20, 23]),
        _case("a gap at the begin of a segment", {0: [(0, 5)], 5: [(9, 1), (10, 3)]}, [4, 5, 8, 11]),
    ],
    judged_by_spark,
    solutions.read_begins,
    drawn=_drawn,
    draws=6,
    hints=[
        "Two questions: at which batch does the read begin, and how many bytes are before this batch in its file?",
        "The batch is the first one with last >= start, in whichever segment: `JOIN … ON last >= start`, then "
        "`min_by(…, base)`.",
        "The byte is `sum(size) OVER (PARTITION BY segment ORDER BY base) - size`.",
    ],
    beliefs=[
        Belief(
            _begun(choose=lambda rows, start: next((row for row in rows if row.base >= start), None)),
            "You take the first batch whose base offset is at or above the start. The start may be inside the batch "
            "before it: compare with the last offset.",
        ),
        Belief(
            _begun(choose=lambda rows, start: next((row for row in rows if row.last > start), None)),
            "You skip a batch whose last offset is the start. Its last record is the first one to read.",
        ),
        Belief(
            _begun(choose=lambda rows, start: [row for row in rows if row.base <= start][-1]),
            "If the start is in a gap, you take the batch before the gap. A read begins with the batch after it.",
        ),
        Belief(
            _begun(choose=_in_its_segment),
            "You search only the segment whose base offset is at or below the start. If no batch there ends at or after "
            "the start, the read begins in the next segment.",
        ),
        Belief(
            _begun(counted=lambda row, other: other.base < row.base),
            "You add up the bytes of earlier segments, too. Each segment has its own file, which begins at byte 0.",
        ),
        Belief(
            _begun(counted=lambda row, other: other.segment == row.segment and other.base <= row.base),
            "You include the batch itself, so you get the byte after its end.",
        ),
    ],
    normal=as_rows,
)
