"""In which file an offset lies."""

import random
from functools import cache
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lessons.start import solutions
from minikafka.lessons.start.exercises.places import appended, batches, places
from minikafka.witness.log.workload import Workload

_COUNTS, _SEGMENT_BYTES = (5, 5, 5, 7, 3, 4), 300
_OFFSETS = (7, 0, 28, 15, 10, 14)


@cache
def _bases() -> list[int]:
    return sorted({segment for segment, _, _ in batches(_COUNTS, _SEGMENT_BYTES)})


@cache
def _by_spark() -> dict[int, Any]:
    return answers_of(
        """SELECT number, lpad(max(base), 20, '0') || '.log'
           FROM {cases} JOIN {bases} ON base <= offset GROUP BY number""",
        cases=([*enumerate(_OFFSETS)], "number INT, offset BIGINT"),
        bases=([(base,) for base in _bases()], "base BIGINT"),
    )


def _case(number: int) -> AskedCase:
    offset = _OFFSETS[number]

    def asked(factory: Any) -> str:
        [place] = places(factory, appended(_COUNTS, _SEGMENT_BYTES), [offset])
        return f"{place.segment_base_offset:020}.log"

    names = [f"{base:020}.log" for base in _bases()]
    return AskedCase(f"offset {offset}", (names, offset), lambda: _by_spark()[number], asked)


def _base(name: str) -> int:
    return int(name.removesuffix(".log"))


def _drawn(draw: random.Random) -> AskedCase:
    """A follower's log with gaps between its segments, some of which begin beyond 2⁵³."""
    segments, end = [], 0
    for _ in range(draw.randint(1, 7)):
        base = end + draw.choice((0, 0, 5, draw.randrange(2**57)))
        segments.append((base, draw.randint(1, 6)))
        end = sum(segments[-1])
    base, count = draw.choice(segments)
    offset = base + draw.choice((0, count - 1, draw.randrange(count)))
    lines = [f"roll {base}\nappend_as_follower leader_epoch=0 [{count}x10 offset={base}]" for base, count in segments]

    def asked(factory: Any) -> str:
        [place] = places(factory, Workload.parse("\n".join(lines)), [offset])
        return f"{place.segment_base_offset:020}.log"

    names = [f"{base:020}.log" for base, _ in segments]
    return AskedCase("", (names, offset), lambda: None, asked)


file_names = Exercise(
    "Exercise 1, the file of an offset",
    lambda: [_case(number) for number in range(len(_OFFSETS))],
    judged_by_spark,
    solutions.file_of,
    drawn=_drawn,
    hints=[
        "A file holds the offsets from the number in its name up to the number in the next file's name, which is "
        "excluded.",
        "The answer is the last file whose number is at or below the offset. `int` reads the 20 digits.",
    ],
    beliefs=[
        Belief(
            lambda names, offset: next((name for name in names if _base(name) >= offset), names[-1]),
            "You take the file whose name is at or above the offset. A file begins at the offset in its name, and "
            "its offsets grow from there.",
        ),
        Belief(
            lambda names, offset: max([name for name in names if _base(name) < offset], default=names[0]),
            "You take the last file whose name is strictly below the offset. The offset in a file's name is in that "
            "file, too.",
        ),
        Belief(lambda names, offset: names[-1], "You take the newest file. It holds only the newest offsets."),
        Belief(
            lambda names, offset: f"{offset:020}.log",
            "You make a file name from the offset itself. A file is named after the first offset of its segment only.",
        ),
    ],
)
