"""Where a damaged log ends, in Spark."""

import random
from dataclasses import replace
from pathlib import Path

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lab.exercises.wrecked import WreckedCase, judged_by_spark, sql
from minikafka.lab.stage.damage import SMALL, flip, kill
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lessons.crash import solutions

_PER_SEGMENT = 3  # batches of two records, 95 bytes each, in segments of at most 300 bytes


def _damaged(
    bad: tuple[int, ...], recovery_point: int, batches: int = 9, draw: random.Random | None = None
) -> WreckedCase:
    """Batches numbered `bad` (of two records each) have a byte flipped; the load begins at `recovery_point`.

    `draw` brings the rows of a drawn case into any order.
    """

    def wreck() -> Path:
        log = fresh_log(SMALL)
        for number in range(batches):
            log.append_as_leader(records(2, first=2 * number), leader_epoch=0)
        bytes_of_a_batch = next(log.log_segments[0].log.batches()).size_in_bytes
        directory = kill(log)
        for number in bad:
            segment, place = divmod(number, _PER_SEGMENT)
            flip(directory, f"{segment * 2 * _PER_SEGMENT:020}.log", place * bytes_of_a_batch + bytes_of_a_batch - 4)
        return directory

    rows = [(n // _PER_SEGMENT * 2 * _PER_SEGMENT, 2 * n, 2 * n + 1, n not in bad) for n in range(batches)]
    table = frame(rows, "segment BIGINT, first BIGINT, last BIGINT, sound BOOLEAN", draw)

    def expected() -> int:
        return sql(
            """SELECT aggregate(
                   array_sort(collect_list(struct(first, last, segment, sound))),
                   struct(0L AS end, false AS over),
                   (s, b) -> CASE WHEN s.over THEN s
                                  WHEN NOT b.sound AND b.segment >= {from_segment} THEN struct(b.first AS end, true AS over)
                                  ELSE struct(b.last + 1 AS end, false AS over) END,
                   s -> s.end) FROM {batches}""",
            batches=table,
            from_segment=max(base for base, *_ in rows if base <= recovery_point),
        )[0]

    names = ", ".join(f"{2 * n}–{2 * n + 1}" for n in bad) or "none"
    bases = ", ".join(str(base) for base in sorted({base for base, *_ in rows}))
    name = f"segments {bases}; damaged batches: {names}; recovery point {recovery_point}"
    checkpoints = {"recovery_point": recovery_point}
    return WreckedCase(name, (table, recovery_point), expected, wreck, lambda state: state.log_end_offset, checkpoints)


def _ends(choose):
    """A wrong answer that needs only plain Python: `choose(rows, recovery point)` of rows (segment, first, last,
    sound).
    """
    return lambda batches, point: choose([tuple(row) for row in batches.orderBy("first").collect()], point)


def _first_bad(rows):
    return next((first for _, first, _, sound in rows if not sound), rows[-1][2] + 1)


def _doubtful(rows, point):
    """The rows of the segments that are scanned."""
    return [row for row in rows if row[0] >= max(segment for segment, *_ in rows if segment <= point)]


def _cut_at(end, whole=lambda rows: rows[-1][2] + 1):
    """A wrong answer: `end(segment, first, last)` of the first bad batch that is scanned, or `whole(rows)` if there is
    none.
    """
    return _ends(
        lambda rows, point: next((end(*row) for *row, sound in _doubtful(rows, point) if not sound), whole(rows))
    )


def _segment_before(rows, point):
    """The last segment that begins strictly below the point."""
    return max((segment for segment, *_ in rows if segment < point), default=rows[0][0])


def _later_segments_stay(rows, point):
    doubtful = max(segment for segment, *_ in rows if segment <= point)
    kept, cut_segments = [], set()
    for segment, _, last, sound in rows:
        if not sound and segment >= doubtful:
            cut_segments.add(segment)
        if segment not in cut_segments:
            kept.append(last)
    return kept[-1] + 1 if kept else rows[0][1]


def _drawn(draw: random.Random) -> WreckedCase:
    batches = draw.randint(16, 26)
    bad = draw.sample(range(batches), draw.choice((0, 2, 4, 6)))
    point = draw.choice((draw.randrange(2 * batches), 6 * draw.randint(0, 5)))
    return replace(_damaged(tuple(bad), point, batches, draw), name="")


damaged_end = Exercise(
    "Exercise 1, where a damaged log ends",
    lambda: [
        _damaged((7,), 0),
        _damaged((3, 7), 0),
        _damaged((1,), 8),
        _damaged((4,), 10),
        _damaged((5,), 12),
        _damaged((), 6),
    ],
    judged_by_spark,
    solutions.log_end,
    drawn=_drawn,
    draws=6,
    hints=[
        "Answer three questions. Which segments are scanned? Where is the first bad batch in them? What if there is "
        "none?",
        (
            "The scan begins at the first byte of the segment that holds the recovery point: max(segment) with "
            "segment <= recovery point."
        ),
        (
            "The log ends at the first offset of the first bad batch. Later segments are deleted as a whole. Without "
            "a bad batch: max(last) + 1."
        ),
    ],
    beliefs=[
        Belief(
            _ends(lambda rows, point: _first_bad(rows)),
            "You scan the whole log. Segments below the one that holds the recovery point were flushed, and Kafka "
            "does not check them.",
        ),
        Belief(
            _ends(lambda rows, point: max(last for _, _, last, sound in rows if sound) + 1),
            "Your log continues after the bad batch. The scan ends the log before the first bad batch.",
        ),
        Belief(
            _ends(lambda rows, point: _first_bad([row for row in rows if row[0] >= _segment_before(rows, point)])),
            "If the recovery point is a segment's base offset, you scan the segment before it, too. The segment that "
            "holds the recovery point is the one that begins there.",
        ),
        Belief(
            _cut_at(lambda segment, first, last: segment),
            "You delete the whole damaged segment. Its sound batches before the bad one stay.",
        ),
        Belief(
            _cut_at(lambda segment, first, last: first - 1),
            "You return the last offset that stays. The log end is one more: the first offset of the bad batch.",
        ),
        Belief(
            _ends(_later_segments_stay),
            "You cut the segment with the bad batch and keep the later ones. The scan ends there, and all later "
            "segments are deleted, even sound ones.",
        ),
        Belief(
            _ends(lambda rows, point: _first_bad([row for row in rows if row[1] >= point] or rows[-1:])),
            "You begin at the recovery point or after it. The scan begins at the first byte of the segment that "
            "holds it.",
        ),
        Belief(
            _cut_at(lambda segment, first, last: last + 1),
            "Your log ends after the bad batch. It ends before it: at the batch's first offset.",
        ),
        Belief(
            _cut_at(lambda segment, first, last: first, whole=lambda rows: rows[-1][2]),
            "Without a bad batch you return the last offset. The log end is one more: the offset that the next "
            "record gets.",
        ),
        Belief(
            _cut_at(lambda segment, first, last: first, whole=lambda rows: None),
            "Without a bad batch you return nothing. Then nothing is cut, and the log ends after its last batch.",
        ),
    ],
    normal=lambda answer: (as_rows(answer) or [None])[0] if hasattr(answer, "collect") else answer,
)
