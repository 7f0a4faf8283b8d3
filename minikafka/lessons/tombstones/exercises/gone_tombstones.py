"""Which cleaning removes a tombstone, in Spark."""

import random
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.tombstones import solutions
from minikafka.lessons.tombstones.exercises.survivors import offsets_in
from minikafka.witness.log.workload import Workload

_TURN = ("append_as_leader [1x10 keys=26 data=25]", "roll", "update_high_watermark leo", "clean", "consume 0")
"""A cleaning, before it a record of another key, so that there is something to clean, and what is left after it."""


def _case(name: str, story: str, retention_ms: int = 1000, draw: random.Random | None = None) -> AskedCase:
    """`story`: steps of a moment in ms and a letter, by time: `0w` a tombstone of a new key is written, `100c` a
    cleaning. `draw` brings the rows of a drawn case into any order.
    """
    lines = [f"config cleanup.policy=compact delete.retention.ms={retention_ms} min.cleanable.dirty.ratio=0"]
    written: list[tuple[int, int]] = []
    turns: list[tuple[int, int]] = []
    now = 0
    for offset, step in enumerate(story.split()):
        at, kind = int(step[:-1]), step[-1]
        lines += [f"tick {at - now}"] if at > now else []
        now = at
        if kind == "w":
            lines.append(f"append_as_leader [1xnull keys=26 data={len(written)}]")
            written.append((offset, at))
        else:
            lines += _TURN
            turns.append((at, len(lines) - 2))  # the line of settings is no operation
    times = [(at,) for at, _ in turns]
    tombstones, cleanings = frame(written, "offset BIGINT, t BIGINT", draw), frame(times, "t BIGINT", draw)

    def expected() -> list[tuple[int, int | None]]:
        return as_rows(
            tombstones.sparkSession.sql(
                """WITH met AS (
                       SELECT w.offset, array_sort(collect_list(c.t)) AS times
                       FROM {tombstones} w LEFT JOIN {cleanings} c ON c.t >= w.t GROUP BY w.offset)
                   SELECT offset, get(filter(times, t -> t >= get(times, 0) + {retention_ms}), 0) AS gone
                   FROM met ORDER BY offset""",
                tombstones=tombstones,
                cleanings=cleanings,
                retention_ms=retention_ms,
            )
        )

    def asked(factory: Any) -> list[tuple[int, int | None]]:
        from minikafka.lab.stage.workbench import scratch
        from minikafka.witness import run

        told = run(Workload.parse("\n".join(lines)), factory, scratch())
        left = [(at, offsets_in(told.value(place, "result"))) for at, place in turns]
        return [
            (offset, next((at for at, offsets in left if at >= t and offset not in offsets), None))
            for offset, t in written
        ]

    words = name and f"{name} (ms {story}; w: a tombstone is written, c: a cleaning; retention {retention_ms})"
    return AskedCase(words, (tombstones, cleanings, retention_ms), expected, asked)


def _gone(*, horizon=lambda written, times, retention: times[0] + retention, when=None, shown=lambda gone: True):
    """A wrong answer, where not told otherwise the right one. `when(times, horizon)`: the moment at which it goes."""

    def first_at_or_after(times, at):
        return next((t for t in times if t >= at), None)

    def tombstones_gone(tombstones, cleanings, retention_ms):
        all_times, found = [t for (t,) in cleanings.orderBy("t").collect()], []
        for offset, written in tombstones.orderBy("offset").collect():
            times = [t for t in all_times if t >= written]
            gone = (when or first_at_or_after)(times, horizon(written, times, retention_ms)) if times else None
            if shown(gone):
                found.append((offset, gone))
        return found

    return tombstones_gone


def _drawn(draw: random.Random) -> AskedCase:
    """A cleaning covers what is written in its own moment, too, so it comes after it."""
    retention = draw.choice((4, 100, 1000))
    moments = [retention // 4 * number + more for number in range(14) for more in (0, 0, 1)]
    steps = [(draw.choice(moments), kind) for kind in "w" * 17 + "c" * 9]
    steps.sort(key=lambda step: (step[0], step[1] == "c"))
    return _case("", " ".join(f"{at}{kind}" for at, kind in steps), retention, draw)


gone_tombstones = Exercise(
    "Exercise 2, which cleaning removes a tombstone",
    lambda: [
        _case("one tombstone", "0w 100c 600c 1200c 2000c"),
        _case("at the horizon", "0w 0c 999c 1000c 1500c"),
        _case("the first cleaning comes late", "0w 5000c 5500c 5999c 6000c"),
        _case("two tombstones", "0w 100c 700w 800c 1100c 1700c 1800c"),
        _case("no cleaning so late", "0w 100c 900c 950w 1000c"),
        _case("a short retention", "0w 10c 20c 300w 400c 401c", 5),
        _case("written after the last cleaning", "0w 100c 1100c 1200w"),
        _case("many cleanings before the horizon", "0w 1c 2c 3c 4c 5c 6c 7c 8c 1000c 1001c 1002c"),
    ],
    judged_by_spark,
    solutions.tombstones_gone,
    drawn=_drawn,
    draws=6,
    hints=[
        "The first cleaning at or after the write sets the delete horizon. It does not remove the tombstone.",
        "The horizon is the time of that cleaning plus retention_ms: a LEFT JOIN and min(t).",
        "The tombstone is removed by the first cleaning with t >= horizon: another LEFT JOIN and min(t).",
    ],
    beliefs=[
        Belief(
            _gone(when=lambda times, horizon: times[0]),
            "You remove a tombstone in its first cleaning. That cleaning only sets the delete horizon.",
        ),
        Belief(
            _gone(when=lambda times, horizon: times[1] if len(times) > 1 else None),
            "You remove a tombstone in its second cleaning. It stays until a cleaning runs at or after its horizon.",
        ),
        Belief(
            _gone(horizon=lambda written, times, retention: written + retention),
            "You count delete.retention.ms from the write. It counts from the first cleaning.",
        ),
        Belief(
            _gone(when=lambda times, horizon: next((t for t in times if t > horizon), None)),
            "You keep a tombstone in a cleaning exactly at its horizon. It is removed if t >= horizon.",
        ),
        Belief(
            _gone(when=lambda times, horizon: horizon),
            "You return the horizon. Nothing happens at that moment: a cleaning must run at or after it.",
        ),
        Belief(
            _gone(shown=lambda gone: gone is not None),
            "You leave out tombstones that stay. Each tombstone has a row; for these, gone is null.",
        ),
    ],
    normal=as_rows,
)
