"""Where a log ends that was closed cleanly, in Spark."""

import random
from dataclasses import replace
from pathlib import Path

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lab.exercises.wrecked import WreckedCase, judged_by_spark, sql
from minikafka.lab.stage.damage import SMALL, flip
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lessons.loading import solutions

_PER_SEGMENT = 3  # batches of two records, 95 bytes each, in segments of at most 300 bytes


def _closed(
    batches: int,
    *,
    begins: int = 0,
    bad: int | None = None,
    rolled_to: int | None = None,
    draw: random.Random | None = None,
) -> WreckedCase:
    """A log that begins at `begins` and was closed; batch `bad` has a flipped bit, and an empty segment begins at
    `rolled_to`. `draw` brings the rows of a drawn case into any order.
    """

    def wreck() -> Path:
        log = fresh_log(SMALL)
        if begins:
            log.truncate_fully_and_start_at(begins)
        for number in range(batches):
            log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
        if rolled_to is not None:
            log.roll(rolled_to)
        bytes_of_a_batch = log.log_segments[0].size // max(1, min(batches, _PER_SEGMENT))
        log.close()
        if bad is not None:
            segment, place = divmod(bad, _PER_SEGMENT)
            flip(
                Path(log.dir),
                f"{begins + segment * 2 * _PER_SEGMENT:020}.log",
                place * bytes_of_a_batch + bytes_of_a_batch - 4,
            )
        return Path(log.dir)

    rows = [
        (begins + n // _PER_SEGMENT * 2 * _PER_SEGMENT, begins + 2 * n, begins + 2 * n + 1, n != bad)
        for n in range(batches)
    ]
    bases = sorted({base for base, *_ in rows} | {begins if rolled_to is None else rolled_to} - {None})
    segments = frame([(base,) for base in bases], "base BIGINT", draw)
    table = frame(rows, "segment BIGINT, first BIGINT, last BIGINT, sound BOOLEAN", draw)

    def expected() -> int:
        return sql(
            """SELECT last_row.end FROM (
                   SELECT max_by(struct(greatest(s.base, coalesce(b.last + 1, s.base)) AS end),
                                 struct(s.base, coalesce(b.last, -1))) AS last_row
                   FROM {segments} s LEFT JOIN {batches} b ON b.segment = s.base)""",
            segments=segments,
            batches=table,
        )[0]

    name = f"segments {', '.join(map(str, bases))}; batches up to {rows[-1][2] if rows else 'none'}"
    name += "" if bad is None else f"; a flipped bit in {begins + 2 * bad}–{begins + 2 * bad + 1}"
    return WreckedCase(name, (segments, table), expected, wreck, lambda state: state.log_end_offset, {"clean": True})


def _ends(choose):
    """A wrong answer that needs only plain Python: `choose(bases, rows)` of rows (segment, first, last, sound)."""
    return lambda segments, batches: choose(
        [base for (base,) in segments.orderBy("base").collect()],
        [tuple(row) for row in batches.orderBy("first").collect()],
    )


def _last_of_all(bases, rows):
    return rows[-1][2] if rows else -1


def _right(bases, rows):
    return max([bases[-1], *(last + 1 for segment, _, last, _ in rows if segment == bases[-1])])


def _drawn(draw: random.Random) -> WreckedCase:
    batches, begins = draw.choice((0, *range(1, 20))), draw.choice((0, 5, 30, 2**40))
    bad = draw.choice((None, draw.randrange(batches), batches - 1)) if batches else None
    rolled_to = begins + 2 * batches + draw.choice((0, 0, 1, 50)) if batches and draw.random() < 0.4 else None
    case = _closed(batches, begins=begins, bad=bad, rolled_to=rolled_to, draw=draw)
    return replace(case, name="")


ends = Exercise(
    "Exercise 1, where a closed log ends",
    lambda: [
        _closed(8),
        _closed(8, bad=4),
        _closed(9, rolled_to=18),
        _closed(7, rolled_to=21),
        _closed(0, begins=30),
        _closed(4, begins=30),
    ],
    judged_by_spark,
    solutions.clean_end,
    drawn=_drawn,
    draws=6,
    hints=[
        "Only the last segment counts. In which case does a join with its batches give no row?",
        "The last segment may have no batch. Then the log ends at its base offset.",
        "Take max(last) + 1 of the batches in the segment with the greatest base. If it has none, take that base "
        "(LEFT JOIN).",
    ],
    beliefs=[
        Belief(
            _ends(lambda bases, rows: _last_of_all(bases, rows) + 1 if rows else None),
            "You look for the last batch in all segments. Only the last segment counts; if it is empty, the log ends "
            "at its base offset.",
        ),
        Belief(
            _ends(lambda bases, rows: next((first for _, first, _, sound in rows if not sound), _right(bases, rows))),
            "You end the log before the damaged batch. After a clean stop Kafka checks no batch.",
        ),
        Belief(
            _ends(lambda bases, rows: bases[-1]),
            "You take the base of the last segment. If that segment has batches, the log ends after the last one.",
        ),
        Belief(
            _ends(lambda bases, rows: max(bases[-1], _right(bases, rows) - 1)),
            "You return the offset of the last record. The log end is one more: the offset that the next record gets.",
        ),
        Belief(
            _ends(lambda bases, rows: _right(bases, rows) if any(segment == bases[-1] for segment, *_ in rows) else 0),
            "If the last segment is empty, your log ends at 0. It ends at the segment's base offset: the "
            "offsets below it are used.",
        ),
    ],
    normal=lambda answer: (as_rows(answer) or [None])[0] if hasattr(answer, "collect") else answer,
)
