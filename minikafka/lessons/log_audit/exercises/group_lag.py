"""How far groups are behind, in records and in time, in Spark."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.drawn_logs import consumed, read_from
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.log_audit import solutions

_COMMIT = "append_as_leader origin=coordinator transaction_version=0 [commit pid=7 epoch=0]"


def _case(name: str, story: str, groups: dict[str, int], draw: random.Random | None = None) -> AskedCase:
    """`story`: records by commas, each with its second; `7` alone is a record at second 7, `7t` one in a transaction
    that is committed at once, so that a marker takes the next offset. `draw` brings the rows of a drawn case into any order.
    """
    lines, sequence = [], 0
    for word in story.split(", "):
        in_transaction = word.endswith("t")
        sender = f" pid=7 epoch=0 seq={sequence} txn" if in_transaction else ""
        lines.append(f"append_as_leader [1x10 ts=now+{int(word.rstrip('t')) * 1000}{sender}]")
        if in_transaction:
            sequence += 1
            lines.append(_COMMIT)
    lines.append("update_high_watermark leo")
    records = frame(read_from(lines, "offset, timestamp"), "offset BIGINT, timestamp BIGINT", draw)
    asking = frame(list(groups.items()), "name STRING, offset BIGINT")

    def expected() -> list[tuple[str, int, int]]:
        return as_rows(
            records.sparkSession.sql(
                """WITH newest AS (SELECT max(timestamp) AS newest FROM {records}),
                   coming AS (
                       SELECT name, r.timestamp, count(*) OVER (PARTITION BY name) AS records,
                              row_number() OVER (PARTITION BY name ORDER BY r.offset) AS place
                       FROM {groups} g JOIN {records} r ON r.offset >= g.offset)
                   SELECT g.name, coalesce(records, 0) AS records, coalesce(newest - timestamp, 0) AS ms
                   FROM {groups} g CROSS JOIN newest LEFT JOIN coming ON coming.name = g.name AND place = 1
                   ORDER BY g.name""",
                records=records,
                groups=asking,
            )
        )

    def asked(factory: Any) -> list[tuple[str, int, int]]:
        found = [(offset, timestamp) for offset, timestamp, *_ in consumed(lines, factory)]
        newest, answers = max(timestamp for _, timestamp in found), []
        for group, committed in sorted(groups.items()):
            coming = [timestamp for offset, timestamp in found if offset >= committed]
            answers.append((group, len(coming), newest - coming[0] if coming else 0))
        return answers

    told = ", ".join(f"{group} {offset}" for group, offset in groups.items())
    return AskedCase(
        f"{name} (seconds {story}, t: a marker follows; committed: {told})", (records, asking), expected, asked
    )


def _drawn(draw: random.Random) -> AskedCase:
    words = [f"{draw.randint(0, 9) * 5}{draw.choice(('', '', 't'))}" for _ in range(24)]
    end = len(words) + sum(word.endswith("t") for word in words)
    groups = {f"g{number}": draw.randint(0, end) for number in draw.sample(range(100), 20)}
    return _case("", ", ".join(words), groups, draw)


def _lags(
    *,
    count=lambda coming, rows, committed: len(coming),
    first=lambda coming, rows, committed: coming[0].timestamp if coming else None,
    newest=lambda rows: max(row.timestamp for row in rows),
    shown=lambda coming: True,
):
    """A wrong answer, where not told otherwise the right one."""

    def lags(records, groups):
        rows, answers = records.orderBy("offset").collect(), []
        for group in groups.orderBy("name").collect():
            coming = [row for row in rows if row.offset >= group.offset]
            since = first(coming, rows, group.offset)
            if shown(coming):
                answers.append(
                    (group.name, count(coming, rows, group.offset), 0 if since is None else newest(rows) - since)
                )
        return answers

    return lags


def _before(coming, rows, committed):
    """The time of the last record that the group has had."""
    had = [row.timestamp for row in rows if row.offset < committed]
    return had[-1] if had and coming else coming[0].timestamp if coming else None


group_lag = Exercise(
    "Exercise 1, who is how far behind",
    lambda: [
        _case("all in order", "0, 10, 20, 30, 40", {"mail": 1, "web": 4, "stock": 5}),
        _case("with markers", "0t, 10t, 20t, 30", {"mail": 1, "web": 3, "stock": 7}),
        _case("a late record", "10, 20, 30, 2, 40", {"mail": 1, "web": 3}),
        _case("the late one is still to come", "10, 50, 20, 30", {"mail": 1, "web": 2, "stock": 3}),
    ],
    judged_by_spark,
    solutions.lags,
    drawn=_drawn,
    draws=6,
    hints=[
        "A committed offset is the next one that the group will read. The records at or above it are still to read.",
        "A group that has nothing to read must appear, too, with 0 and 0: use a LEFT JOIN, and count a column of the "
        "records.",
        "The first record to read is the one with the least offset, whatever its time: min_by(timestamp, offset). "
        "The newest record of the partition has the greatest timestamp: max(timestamp) OVER ().",
    ],
    beliefs=[
        Belief(
            _lags(count=lambda coming, rows, committed: max(0, rows[-1].offset + 1 - committed)),
            "You subtract offsets. Markers use offsets, too, but no consumer gets them.",
        ),
        Belief(
            _lags(shown=bool),
            "A group that has read everything is missing. It is not behind: 0 records, 0 ms.",
        ),
        Belief(
            _lags(first=lambda coming, rows, committed: min((row.timestamp for row in coming), default=None)),
            "You take the oldest record that the group has still to read. Take the first one by offset; a record "
            "with an older timestamp may come later.",
        ),
        Belief(
            _lags(first=_before),
            "You measure from the last record that the group has read. Measure from the first one that it has not "
            "read.",
        ),
        Belief(
            _lags(
                first=lambda coming, rows, committed: next((r.timestamp for r in coming if r.offset == committed), None)
            ),
            "You look for a record at exactly the committed offset. A marker may have that offset: take the first "
            "record at or above it.",
        ),
        Belief(
            _lags(newest=lambda rows: rows[-1].timestamp),
            "You take the last record as the newest. The last record may have an old timestamp: take the greatest "
            "timestamp.",
        ),
    ],
    normal=as_rows,
)
