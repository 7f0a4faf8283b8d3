"""Where two copies of a partition differ first, in Spark."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.drawn_logs import consumed, read_from
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.log_audit import solutions

_SCHEMA = "offset BIGINT, timestamp BIGINT, key BINARY, value BINARY"
_COLUMNS = "offset, timestamp, key, value"


def _case(name: str, ours: str, theirs: str, high_watermark: int, draw: random.Random | None = None) -> AskedCase:
    """Each copy: a letter for each offset; `.` for none there, `x` for another value, `y` for one of the same size, `0`
    for no value, `e` for an empty one, `k` for another key, `n` for none, `b` for an empty one, `z` for another key
    without a value, `v` for another value without a key, `u` for neither key nor value, `t` for another timestamp, `=`
    for the usual record. `draw` brings the rows of a drawn case into any order.
    """
    copies = [_lines(copy) for copy in (ours, theirs)]
    frames = [frame(read_from(lines, _COLUMNS, bounds="log_end"), _SCHEMA, draw) for lines in copies]

    def expected() -> list[int]:
        return as_rows(
            frames[0].sparkSession.sql(
                """WITH both AS (SELECT * FROM {ours} UNION ALL SELECT * FROM {theirs}),
                   alike AS (SELECT offset, timestamp, key, value, count(*) AS copies FROM both GROUP BY ALL)
                   SELECT offset FROM alike WHERE copies = 1 AND offset < {high_watermark}
                   GROUP BY offset ORDER BY offset LIMIT 1""",
                ours=frames[0],
                theirs=frames[1],
                high_watermark=high_watermark,
            )
        )

    def asked(factory: Any) -> list[int]:
        held = [{offset: rest for offset, *rest in consumed(lines, factory)} for lines in copies]
        places = range(high_watermark)
        return next(([place] for place in places if held[0].get(place) != held[1].get(place)), [])

    told = f"ours {ours}, theirs {theirs}, HW {high_watermark}"
    return AskedCase(f"{name} ({told})", (*frames, high_watermark), expected, asked)


def _lines(copy: str) -> list[str]:
    lines = []
    for offset, letter in enumerate(copy):
        size, data, keys, when = 10, offset, 100, offset * 1000
        if letter == ".":
            continue
        size = {"x": 11, "0": "null", "z": "null", "u": "null", "e": 0}.get(letter, size)
        keys = {"k": 3, "z": 3, "n": 0, "v": 0, "u": 0, "b": -1}.get(letter, keys)
        data += 100 * (letter in "yv")
        when += 500 * (letter == "t")
        lines.append(f"append_as_follower [1x{size} keys={keys} data={data} ts=now+{when} offset={offset}]")
    return [*lines, "update_high_watermark leo"]


def _drawn(draw: random.Random) -> AskedCase:
    """Copies that differ at two offsets, first in what the cases of the page lack; the mark is there, or above."""
    copies, places = (["="], ["="]), sorted(draw.sample(range(3, 25), 2))
    for place in range(1, 25):
        pair = draw.choice(("==", "..", "yy", "00", "ee", "nn", "tt", "kk"))
        if place in places:
            pair = draw.choice(("=n", "nb", "0e", "=y", "u."))
        for copy, letter in zip(copies, draw.sample(pair, 2)):
            copy.append(letter)
    mark = draw.choice((places[0], places[0] + 1, 25, 25))
    return _case("", *map("".join, copies), mark, draw)


def _different(
    *,
    below=lambda offset, mark: offset < mark,
    differ=lambda one, other: one != other,
    only_common=False,
    choose=lambda found: found[:1],
):
    """A wrong answer, where not told otherwise the right one."""

    def first_difference(ours, theirs, high_watermark):
        held = [{row.offset: tuple(row)[1:] for row in copy.collect()} for copy in (ours, theirs)]
        places = sorted(held[0].keys() & held[1].keys() if only_common else held[0].keys() | held[1].keys())
        return choose([p for p in places if below(p, high_watermark) and differ(held[0].get(p), held[1].get(p))])

    return first_difference


def _by_place(ours, theirs, high_watermark):
    """A wrong answer: the n-th record of one copy beside the n-th of the other."""
    rows = [copy.orderBy("offset").collect() for copy in (ours, theirs)]
    pairs = [pair for pair in zip(*rows) if pair[0].offset < high_watermark]
    return [mine.offset for mine, other in pairs if tuple(mine)[1:] != tuple(other)[1:]][:1]


def _unsafe(one, other):
    """`<>` of SQL, which says nothing where a side is null."""
    if one is None or other is None:
        return one is not other
    return any(a is not None and b is not None and a != b for a, b in zip(one, other, strict=True))


equal_replicas = Exercise(
    "Exercise 2, equal or not",
    lambda: [
        _case("equal", "=====", "=====", 5),
        _case("the shorter copy is only shorter", "======", "====", 4),
        _case("above the mark they may differ", "====x=", "======", 3),
        _case("another value", "==x==x", "======", 6),
        _case("one has no value", "=====", "=0===", 5),
        _case("another time", "===t=", "=====", 5),
        _case("another key", "=====k", "======", 6),
        _case("one has no key, the other an empty one", "===n==", "===b==", 6),
        _case("another key, and no value", "====0=", "====z=", 6),
        _case("another value, and no key", "====n=", "====v=", 6),
        _case("one is missing", "=====", "==.==", 5),
        _case("one is missing, without key and value", "==u==", "==.==", 5),
        _case("missing in ours", "=.===", "=====", 5),
        _case("a hole in both", "=..=x", "=..==", 5),
    ],
    judged_by_spark,
    solutions.first_difference,
    drawn=_drawn,
    draws=6,
    hints=[
        "Only offsets below the high watermark count. Records at or above it may differ: a follower may truncate them.",
        "A record that one copy lacks is a difference: FULL JOIN … USING (offset) keeps it.",
        "NULL <> 'a' is NULL, which is not true. Use NOT (… <=> …) instead. Compare keys and timestamps as well.",
    ],
    beliefs=[
        Belief(
            _different(below=lambda offset, mark: True),
            "You compare records above the high watermark, too. They are not committed, so copies may differ.",
        ),
        Belief(
            _different(below=lambda offset, mark: offset <= mark),
            "You compare the offset of the high watermark itself. It is exclusive: the first offset that is not "
            "committed.",
        ),
        Belief(
            _different(only_common=True),
            "You compare only offsets that both copies have. If one copy lacks a record, that is a difference.",
        ),
        Belief(
            _different(differ=_unsafe),
            "You compare with <>, which is never true if one side is null. Use <=>: it is true if both sides are "
            "equal or both are null.",
        ),
        Belief(
            _different(choose=lambda found: found),
            "You return every difference. Return only the first one.",
        ),
        Belief(_by_place, "You compare the n-th records of both copies. Compare records of the same offset."),
        Belief(
            _different(differ=lambda one, other: (one and one[1:]) != (other and other[1:])),
            "You do not compare the timestamps. Copies of a record have the same timestamp.",
        ),
        Belief(
            _different(differ=lambda one, other: (one and (one[0], one[2])) != (other and (other[0], other[2]))),
            "You do not compare the keys.",
        ),
    ],
    normal=as_rows,
)
