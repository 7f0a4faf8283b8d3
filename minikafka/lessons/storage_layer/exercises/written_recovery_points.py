"""What the file of recovery points says at a given second, in Spark."""

import random
from collections.abc import Sequence
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.managed import after_lines
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.storage_layer import solutions

_SCHEMA = "partition STRING, second INT, kind STRING, log_end BIGINT"
_EVENTS = (
    ("orders-0", 0, "create", 0),
    ("orders-0", 5, "append", 3),
    ("users-0", 10, "create", 0),
    ("users-0", 12, "append", 4),
    ("users-0", 20, "roll", 4),
    ("orders-0", 40, "roll", 3),
    ("orders-0", 45, "append", 7),
    ("audit-0", 70, "create", 0),
    ("audit-0", 75, "append", 2),
    ("users-0", 100, "append", 9),
    ("orders-0", 110, "roll", 7),
    ("users-0", 112, "roll", 9),
    ("orders-0", 130, "append", 8),
    ("audit-0", 200, "roll", 2),
)
"""What happens to three logs; the tasks run at 30, 90, 150, 210 …"""

_SECONDS = (29, 31, 65, 95, 125, 160, 205, 30, 90)


Event = tuple[str, int, str, int]


def _case(now: int, happened: Sequence[Event] = _EVENTS, draw: random.Random | None = None) -> AskedCase:
    """`happened`: the events, by time; `draw` brings those of a drawn case into any order."""
    events = frame(happened, _SCHEMA, draw)

    def expected() -> list[tuple[str, int]]:
        return as_rows(
            events.sparkSession.sql(
                """SELECT partition, coalesce(max(log_end) FILTER (WHERE kind = 'roll'), 0) AS offset
                   FROM {events} JOIN (SELECT max(id) AS tick FROM range(30, {now} + 1, 60)) ON second < tick
                   GROUP BY partition ORDER BY partition""",
                events=events,
                now=now,
            )
        )

    name = "" if draw else f"second {now}"
    return AskedCase(name, (events, now), expected, lambda factory: _file_says(factory, now, happened))


def _file_says(factory: Any, now: int, events: Sequence[Event]) -> list[tuple[str, int]]:
    lines, second, ends = ["start"], 0, {}
    for partition, at, kind, end in events:
        if at > now:
            break
        lines.append(f"tick {(at - second) * 1000}")
        more = f" [{end - ends.get(partition, 0)}x10]" if kind == "append" else ""
        lines.append(f"{kind} {partition}{more}")
        second, ends[partition] = at, end
    lines.append(f"tick {(now - second) * 1000}")
    return list(after_lines(factory, "\n".join(lines)).rows[-1]["recovery_point_file"])


def _said(
    *,
    tick=lambda now: (now - 30) // 60 * 60 + 30 if now >= 30 else -1,
    kinds=("roll",),
    zeros=True,
    of_all=False,
):
    """A wrong answer, where not told otherwise the right one."""

    def recovery_points(events, now):
        rows = events.collect()
        found = {row.partition: 0 for row in rows if zeros and row.second <= (now if of_all else tick(now))}
        for row in rows:
            if row.kind in kinds and row.second <= tick(now):
                found[row.partition] = max(found.get(row.partition, 0), row.log_end)
        return sorted(found.items())

    return recovery_points


def _drawn(draw: random.Random) -> AskedCase:
    """Some minutes of six logs; no event happens in the second of a task, and no log rolls twice without an append."""
    seconds = [second for second in range(280) if second % 60 != 30]
    ends: dict[str, int] = {}
    rolled: dict[str, int] = {}
    events: list[Event] = []
    for second in sorted(draw.choices(seconds, k=40)):
        partition = draw.choice(("a-0", "a-2", "a-10", "b-0", "b-7", "c-0"))
        kind = "create" if partition not in ends else draw.choice(("append", "roll"))
        kind = "append" if kind == "roll" and rolled.get(partition, 0) == ends[partition] else kind
        ends[partition] = ends.get(partition, 0) + (draw.randint(1, 9) if kind == "append" else 0)
        rolled[partition] = ends[partition] if kind == "roll" else rolled.get(partition, 0)
        events.append((partition, second, kind, ends[partition]))
    return _case(draw.choice((149, 150, 151, 209, 210, 260)), events, draw)


written_recovery_points = Exercise(
    "Exercise 1, what the file of recovery points says",
    lambda: [_case(now) for now in _SECONDS],
    judged_by_spark,
    solutions.recovery_points,
    drawn=_drawn,
    draws=6,
    hints=[
        "First find the last run of the task at or before now: it runs at second 30, and then every 60 seconds. "
        "Before second 30 the file has no lines.",
        "For each partition that existed at that second, take the greatest log_end of its rolls up to then; 0 if it "
        "has had none.",
        "`(SELECT max(id) AS tick FROM range(30, {now} + 1, 60))` is the last run. Join the events with `second < "
        "tick`.",
    ],
    beliefs=[
        Belief(
            _said(tick=lambda now: now),
            "Your file has everything that is flushed by now. It must have what was flushed when the file was "
            "written last.",
        ),
        Belief(
            _said(kinds=("roll", "append")),
            "You use the log end. By default an append flushes nothing; a roll does.",
        ),
        Belief(
            _said(tick=lambda now: now // 60 * 60),
            "You let the task run at full minutes. The first run comes after log.initial.task.delay.ms, 30 seconds; "
            "then it runs every 60 seconds.",
        ),
        Belief(
            _said(zeros=False),
            "You leave out logs of which nothing has been flushed. They have a line, too, with 0.",
        ),
        Belief(
            _said(of_all=True),
            "You have a line for a log that was created after the file was written.",
        ),
    ],
    normal=as_rows,
)
