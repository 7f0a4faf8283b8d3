"""What a round of compaction would save, in Spark."""

import random
from collections import Counter
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.drawn_logs import consumed, read_from
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.log_audit import solutions

_SCHEMA = "offset BIGINT, timestamp BIGINT, key BINARY, value BINARY"


def _case(name: str, story: str, draw: random.Random | None = None) -> AskedCase:
    """`story`: records as letters, their keys; `-a` a tombstone, `a<` one with an earlier timestamp, `|` the begin of the
    active segment. `draw` brings the rows of a drawn case into any order.
    """
    lines = ["config cleanup.policy=compact min.cleanable.dirty.ratio=0 delete.retention.ms=1000"]
    end = offset = 0
    for word in story.split():
        if word == "|":
            lines, end = [*lines, "roll"], offset
            continue
        size = "null" if word.startswith("-") else "10"
        when = "now-5000" if word.endswith("<") else f"now+{offset}"
        lines.append(f"append_as_leader [1x{size} keys=26 data={ord(word.strip('-<')) - ord('a')} ts={when}]")
        offset += 1
    lines.append("update_high_watermark leo")
    records = frame(read_from(lines, "offset, timestamp, key, value"), _SCHEMA, draw)

    def expected() -> list[tuple[str, int]]:
        return as_rows(
            records.sparkSession.sql(
                """WITH judged AS (
                       SELECT CAST(key AS STRING) AS key, offset < max(offset) OVER (PARTITION BY key) AS replaced
                       FROM {records} WHERE offset < {end})
                   SELECT key, count_if(replaced) AS removed FROM judged GROUP BY key
                   HAVING removed > 0 ORDER BY key""",
                records=records,
                end=end,
            )
        )

    def asked(factory: Any) -> list[tuple[str, int]]:
        before, after = (
            Counter(key for _, _, key, _ in consumed(each, factory)) for each in (lines, [*lines, "clean"])
        )
        return [(key.decode(), before[key] - after[key]) for key in sorted(before) if before[key] > after[key]]

    return AskedCase(f"{name} ({story}; clean up to {end})", (records, end), expected, asked)


def _drawn(draw: random.Random) -> AskedCase:
    words = [draw.choice(("{}", "{}", "{}<", "-{}")).format(draw.choice("aaabbcdefghz")) for _ in range(36)]
    words.insert(draw.randint(18, 33), "|")
    return _case("", " ".join(words), draw)


def _removed(
    *,
    looked_at=lambda row, end: row.offset < end,
    witnesses=lambda row, end: row.offset < end,
    goes=lambda row: False,
    shown=lambda count: count > 0,
):
    """A wrong answer, where not told otherwise the right one."""

    def saved(records, end):
        rows = records.collect()
        found: Counter[str] = Counter()
        for row in rows:
            if looked_at(row, end):
                others = [other for other in rows if other.key == row.key and witnesses(other, end)]
                found[bytes(row.key).decode()] += goes(row) or any(other.offset > row.offset for other in others)
        return [(key, count) for key, count in sorted(found.items()) if shown(count)]

    return saved


saved_by_compaction = Exercise(
    "Exercise 3, what compaction would save",
    lambda: [
        _case("five prices", "a b a c b | d"),
        _case("newer ones in the active segment", "a b a | b a c"),
        _case("twice in the active segment", "a b b | a a b"),
        _case("a tombstone", "a b -a c -d | b"),
        _case("a late record", "a b a< c a< | c"),
        _case("one of each", "a b c | a b c"),
        _case("all the same", "a a a a a | a"),
    ],
    judged_by_spark,
    solutions.saved,
    drawn=_drawn,
    draws=6,
    hints=[
        "A cleaning looks only at records below `end`. It does not know the records at or above `end`.",
        "Of each key the record with the greatest offset stays, also if it is a tombstone: a later cleaning removes "
        "it.",
        "So take count(*) − 1 of each key below `end`, and leave out keys that lose nothing.",
    ],
    beliefs=[
        Belief(
            _removed(witnesses=lambda row, end: True),
            "You let records at or above `end` replace those below. The cleaning does not read them.",
        ),
        Belief(
            _removed(looked_at=lambda row, end: True, witnesses=lambda row, end: True),
            "You count over the whole partition. The active segment is not cleaned.",
        ),
        Belief(
            _removed(goes=lambda row: row.value is None),
            "You remove tombstones at once. In its first cleaning a tombstone stays.",
        ),
        Belief(_removed(shown=lambda count: True), "You include keys that lose nothing."),
        Belief(
            _removed(goes=lambda row: True),
            "You count every record of a key. The newest one stays.",
        ),
    ],
    normal=as_rows,
)
