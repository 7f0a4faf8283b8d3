"""At which byte of its file each batch begins, by a window."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.start import solutions
from minikafka.lessons.start.exercises.places import appended, batches, places


def _case(counts: tuple[int, ...], segment_bytes: int, draw: random.Random | None = None) -> AskedCase:
    """`draw` brings the rows of a drawn case into any order."""
    rows = batches(counts, segment_bytes)
    table = frame(rows, "segment BIGINT, base BIGINT, size BIGINT", draw)

    def expected() -> Any:
        return table.sparkSession.sql(
            """SELECT b.base, coalesce(sum(earlier.size), 0)
               FROM {rows} b LEFT JOIN {rows} earlier ON earlier.segment = b.segment AND earlier.base < b.base
               GROUP BY b.base ORDER BY b.base""",
            rows=table,
        )

    def asked(factory: Any) -> list[tuple[int, int]]:
        bases = [base for _, base, _ in rows]
        found = places(factory, appended(counts, segment_bytes), bases)
        return [(base, place.relative_position_in_segment) for base, place in zip(bases, found, strict=True)]

    segments = len({segment for segment, _, _ in rows})
    name = "" if draw else f"{len(rows)} batches in segments: {segments}"
    return AskedCase(name, (table,), expected, asked)


def _drawn(draw: random.Random) -> AskedCase:
    return _case(tuple(draw.randint(1, 9) for _ in range(30)), draw.randint(400, 800), draw)


def _by(window: str, less: str = "") -> Any:
    """A wrong answer: the running sum over `window`."""
    return lambda batches: batches.sparkSession.sql(
        f"SELECT base, sum(size) OVER ({window}) {less} AS position FROM {{batches}} ORDER BY base", batches=batches
    )


first_bytes = Exercise(
    "Exercise 2, where a batch begins",
    lambda: [_case((3, 1, 2), 4096), _case((5, 5, 5, 7, 3, 4), 300), _case((1, 9, 2, 2, 7, 1, 1, 8, 3), 400)],
    judged_by_spark,
    solutions.positions,
    drawn=_drawn,
    draws=6,
    hints=[
        "A batch begins where the batches before it in its segment end: add up their bytes.",
        "`PARTITION BY segment ORDER BY base` lets the sum grow within a segment, and includes the batch itself.",
        "Subtract the batch's own size; or let the frame end at `1 PRECEDING`, and replace null by 0 in the first row.",
    ],
    beliefs=[
        Belief(
            _by("PARTITION BY segment ORDER BY base"),
            "You include the batch itself, so you get the byte after its end. A batch begins where the one before it "
            "ends.",
        ),
        Belief(
            _by("ORDER BY base", "- size"),
            "You continue the sum in the next segment. Each file begins at byte 0: PARTITION BY segment.",
        ),
        Belief(
            _by("PARTITION BY segment", "- size"),
            "Without ORDER BY, every row gets the sum of its whole segment. With ORDER BY the sum grows from row to "
            "row.",
        ),
        Belief(
            lambda batches: batches.sparkSession.sql(
                "SELECT base, lag(size, 1, 0) OVER (PARTITION BY segment ORDER BY base) FROM {batches} ORDER BY base",
                batches=batches,
            ),
            "You take the size of only one batch, the one before. Add up all batches before it in the segment.",
        ),
        Belief(
            lambda batches: batches.sparkSession.sql(
                """SELECT base, sum(size) OVER (PARTITION BY segment ORDER BY base
                                                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                   FROM {batches} ORDER BY base""",
                batches=batches,
            ),
            "The first batch of a segment has no rows before it, and the sum of no rows is null. That batch begins "
            "at byte 0.",
        ),
    ],
    normal=as_rows,
)
