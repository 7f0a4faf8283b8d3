"""What damage and a missing index together leave of a log."""

import random
from pathlib import Path

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import frame
from minikafka.lab.exercises.wrecked import WreckedCase, judged_by_spark, sql
from minikafka.lab.stage.damage import SMALL, flip, kill, remove
from minikafka.lab.stage.workbench import fresh_log, records
from minikafka.lessons.damaged_files import solutions

_PER_SEGMENT, _BYTES, _RECORDS = 3, 95, 2  # batches in a segment of at most 300 bytes, and what each of them has


def _wrecked(bad: tuple[int, ...], unindexed: tuple[int, ...], recovery_point: int) -> WreckedCase:
    """Segments 0, 6, 12, 18. Batches numbered `bad` have a flipped bit, segments `unindexed` no offset index."""

    def wreck() -> Path:
        log = fresh_log(SMALL)
        for number in range(4 * _PER_SEGMENT):
            log.append_as_leader(records(_RECORDS, first=_RECORDS * number), leader_epoch=0)
        directory = kill(log)
        for number in bad:
            segment, place = divmod(number, _PER_SEGMENT)
            flip(directory, f"{segment * 6:020}.log", place * _BYTES + _BYTES - 4)
        return remove(directory, *(f"{base:020}.index" for base in unindexed))

    rows = []
    for base in (0, 6, 12, 18):
        damaged = [n % _PER_SEGMENT for n in bad if n // _PER_SEGMENT * 6 == base]
        rows.append((base, 6, _RECORDS * min(damaged, default=_PER_SEGMENT), base not in unindexed))

    def expected() -> list[tuple[int, int]]:
        return sql(
            """SELECT s.base, IF(s.indexed AND (s.base < r.first_read OR s.base != r.cut_in), s.records, s.good)
               FROM {segments} s CROSS JOIN (
                   SELECT f.first_read, coalesce(min(d.base), 1000) AS cut_in
                   FROM (SELECT max(base) AS first_read FROM {segments} WHERE base <= {point}) f
                   LEFT JOIN {segments} d ON d.indexed AND d.good < d.records AND d.base >= f.first_read
                   GROUP BY f.first_read) r
               WHERE s.base <= r.cut_in ORDER BY s.base""",
            segments=frame(rows, "base BIGINT, records BIGINT, good BIGINT, indexed BOOLEAN"),
            point=recovery_point,
        )

    damages = [f"a bad bit in {2 * n}–{2 * n + 1}" for n in bad] + [f"no index of {base}" for base in unindexed]
    name = f"{', '.join(damages) or 'no damage'}; recovery point {recovery_point}"

    def answer(state: tuple) -> list[tuple[int, int]]:
        return [(base, size // _BYTES * _RECORDS) for base, size in state.segments]

    return WreckedCase(name, (rows, recovery_point), expected, wreck, answer, {"recovery_point": recovery_point})


def _left(*, scans=lambda base, first: base >= first, hole_stops=False, opens=True, cuts=True, next_goes=True):
    """A wrong loader, which works as Kafka's does unless told otherwise."""

    def answer(segments, recovery_point):
        first = max(base for base, *_ in segments if base <= recovery_point)
        left = []
        for base, count, good, has_index in segments:
            if not has_index and opens:
                left.append((base, good))
                if hole_stops and good < count:
                    return left
            elif good < count and scans(base, first):
                left += [(base, good if cuts else 0)]
                if next_goes:
                    return left
            else:
                left.append((base, count))
        return left

    return answer


def _drawn(draw: random.Random) -> WreckedCase:
    bad = draw.sample(range(4 * _PER_SEGMENT), draw.choice((0, 1, 1, 2, 3, 5)))
    return _wrecked(
        tuple(sorted(bad)), tuple(draw.sample((0, 6, 12, 18), draw.choice((0, 0, 1, 2)))), draw.randint(0, 24)
    )


holes = Exercise(
    "Exercise 2, damage and a missing index",
    lambda: [
        _wrecked((), (), 0),
        _wrecked((4,), (), 0),
        _wrecked((4,), (), 12),
        _wrecked((4,), (6,), 0),
        _wrecked((4,), (6,), 18),
        _wrecked((4, 8), (6,), 0),
        _wrecked((3,), (12,), 6),
    ],
    judged_by_spark,
    solutions.segments_left,
    drawn=_drawn,
    hints=[
        "There are two phases. Phase 4 opens every segment. Phase 5 scans from the segment with the recovery point "
        "on. Which of them ends the log after a cut?",
        "A segment without its index is recovered and cut when it is opened: after any stop, at any offset. Then the "
        "load continues.",
        "The scan of phase 5 ends the log at the first segment that has an index and a bad batch: all later segments "
        "are deleted.",
    ],
    beliefs=[
        Belief(
            _left(hole_stops=True),
            "You end the log at a segment that was cut because of its missing index. The load ignores how many bytes "
            "were cut there, so the log keeps a gap.",
        ),
        Belief(
            _left(opens=False),
            "You treat a segment without its index like any other. It is recovered when it is opened, even below the "
            "recovery point.",
        ),
        Belief(
            _left(scans=lambda base, first: True),
            "You scan the whole log. Below the segment with the recovery point, Kafka checks only segments without "
            "their index (and those with a damaged `.txnindex`).",
        ),
        Belief(
            _left(next_goes=False),
            "You cut the damaged segment and keep the later ones. If the scan cuts a segment, the log ends there.",
        ),
        Belief(
            _left(cuts=False),
            "You delete the whole damaged segment. Its batches before the bad one stay.",
        ),
    ],
    normal=lambda answer: [tuple(row) for row in answer] if isinstance(answer, list | tuple) else answer,
)
