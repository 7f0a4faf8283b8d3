"""Which segments a run of the retention task deletes, in Spark."""

import random
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.managed import after_lines
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.storage_layer import solutions
from minikafka.witness.log.workload import START_MS

_SCHEMA = (
    "partition STRING, policy STRING, retention_ms BIGINT, log_start BIGINT, base BIGINT, newest BIGINT, active BOOLEAN"
)
_FIRST_RUN_MS = 30_000
"""When the retention task runs first, in ms after the start: the moment that all cases ask about."""

_NOW = START_MS + _FIRST_RUN_MS
_LENGTH = 3
"""Records in a segment."""


@dataclass(frozen=True)
class _Log:
    """A log whose segments of three records are so many seconds old at the task's run, the active one last."""

    name: str
    policy: str
    retention_s: int
    ages_s: tuple[int, ...]
    log_start: int = 0

    @property
    def retention_ms(self) -> int:
        return self.retention_s * 1000 if self.retention_s >= 0 else -1

    @property
    def rows(self) -> list[tuple[str, str, int, int, int, int, bool]]:
        return [
            (f"{self.name}-0", self.policy, self.retention_ms, self.log_start, _LENGTH * place, _NOW - age * 1000, last)
            for place, age in enumerate(self.ages_s)
            for last in [place == len(self.ages_s) - 1]
        ]

    @property
    def settings(self) -> str:
        return f"topic {self.name} cleanup.policy={self.policy} retention.ms={self.retention_ms}"

    @property
    def lines(self) -> list[str]:
        partition = f"{self.name}-0"
        lines = [f"create {partition}"]
        for place, age in enumerate(self.ages_s):
            lines += [f"roll {partition}"] if place else []
            lines.append(f"append {partition} [{_LENGTH}x10 keys=3 ts={_NOW - age * 1000}]")
        return [*lines, f"delete_records {partition} {self.log_start}"] if self.log_start else lines

    def __str__(self) -> str:
        kept = "for ever" if self.retention_s < 0 else f"{self.retention_s} s"
        start = f", log start {self.log_start}" if self.log_start else ""
        return f"{self.name} ({self.policy or 'no policy'}, {kept}{start}): ages {', '.join(map(str, self.ages_s))} s"


_LOGS_OF_CASES = (
    (_Log("orders", "delete", 100, (300, 200, 50)), _Log("users", "delete", 100, (100, 99, 40))),
    (_Log("orders", "delete", 100, (300, 50, 200, 40)), _Log("audit", "delete", 100, (300, 200))),
    (_Log("state", "compact", 100, (300, 200, 40)), _Log("both", "compact,delete", 100, (300, 200, 40))),
    (_Log("orders", "delete", 100, (300, 200, 40)), _Log("both", "delete,compact", 100, (300, 200, 40))),
    (_Log("orders", "delete", -1, (300, 200, 40), log_start=4), _Log("users", "delete", 100, (90, 80), log_start=6)),
    (_Log("none", "", 100, (300, 200, 40), log_start=3), _Log("orders", "delete", 100, (300, 40))),
    (_Log("orders", "delete", 0, (300, 1, 0)),),
)


def _case(logs: tuple[_Log, ...], draw: random.Random | None = None) -> AskedCase:
    """`draw` brings the segments of a drawn case into any order."""
    rows = [row for log in logs for row in log.rows]
    segments = frame(rows, _SCHEMA, draw)

    def expected() -> list[tuple[str, int]]:
        return as_rows(
            segments.sparkSession.sql(
                """WITH placed AS (
                       SELECT *, lead(base) OVER (PARTITION BY partition ORDER BY base) AS next FROM {segments}),
                   first_kept AS (
                       SELECT partition, min(base) AS kept FROM placed
                       WHERE contains(policy, 'compact')
                          OR coalesce(next, log_start + 1) > log_start
                             AND (policy = '' OR retention_ms < 0 OR {now} - newest <= retention_ms)
                       GROUP BY partition)
                   SELECT partition, base FROM placed LEFT JOIN first_kept USING (partition)
                   WHERE kept IS NULL OR base < kept ORDER BY partition, base""",
                segments=segments,
                now=_NOW,
            )
        )

    name = "" if draw else "; ".join(map(str, logs))
    return AskedCase(name, (segments, _NOW), expected, lambda factory: _gone(factory, logs))


def _gone(factory: Any, logs: tuple[_Log, ...]) -> list[tuple[str, int]]:
    """Which segments are gone after the first run of the task."""
    lines = [*(log.settings for log in logs), "start", *(line for log in logs for line in log.lines)]
    rows = after_lines(factory, "\n".join([*lines, f"tick {_FIRST_RUN_MS}"])).rows
    before, after = (
        {(name, int(base)) for name, bases in row["segments"] for base in bases.split(",")} for row in rows[-2:]
    )
    return sorted(before - after)


def _going(
    *,
    passed_over=lambda policy: "compact" in policy,
    old=lambda age, limit: age > limit,
    limited=lambda limit: limit >= 0,
    active_stays=False,
    starts=True,
    ends_at_first=True,
    deletes=lambda policy: "delete" in policy,
):
    """A wrong answer, where not told otherwise the right one."""

    def goes(row, following, now):
        below_start = starts and following is not None and following.base <= row.log_start
        expired = deletes(row.policy) and limited(row.retention_ms) and old(now - row.newest, row.retention_ms)
        return (below_start or expired) and not (active_stays and row.active)

    def deleted(segments, now):
        found = []
        for _, group in groupby(segments.orderBy("partition", "base").collect(), key=lambda row: row.partition):
            rows = list(group)
            for row, following in zip(rows, [*rows[1:], None], strict=True):
                if passed_over(row.policy):
                    break
                if goes(row, following, now):
                    found.append((row.partition, row.base))
                elif ends_at_first:
                    break
        return found

    return deleted


def _drawn(draw: random.Random) -> AskedCase:
    """Segments on both sides of their log's limit; log starts at, before and after the begin of a segment."""
    policies, logs = ["compact", "compact,delete", "delete,compact", "", "", *["delete"] * 4], []
    for name, policy in zip("abcdefghi", draw.sample(policies, len(policies)), strict=True):
        limit = draw.choice((100, 100, 100, 50, 0, -1))
        ages = [max(0, limit + draw.choice((1, 1, 1, 200, 0, -1))) for _ in range(draw.randint(2, 6))]
        start = draw.choice((0, draw.randint(0, _LENGTH * len(ages)))) if policy != "compact" else 0
        logs.append(_Log(name, policy, limit, tuple(ages), start))
    return _case(tuple(logs), draw)


deleted_by_retention = Exercise(
    "Exercise 2, what a run of the retention task deletes",
    lambda: [_case(logs) for logs in _LOGS_OF_CASES],
    judged_by_spark,
    solutions.deleted,
    drawn=_drawn,
    draws=6,
    hints=[
        "Which logs does the task look at? It skips each log whose policy contains the word compact. A log without "
        "any policy only loses segments below its log start.",
        "A segment may be deleted if the next segment begins at or below the log start (the last segment has no next "
        "one), or if `now − newest > retention_ms` (policy delete, retention_ms not −1). The active segment may be "
        "deleted for its age, too.",
        "The task begins with the oldest segment and stops at the first that stays: `min(may_go) OVER (PARTITION BY "
        "partition ORDER BY base)` is true as long as all segments so far may be deleted.",
    ],
    beliefs=[
        Belief(
            _going(passed_over=lambda policy: policy == "compact"),
            "You delete segments of a topic with compact,delete. The task skips every compacted log; the cleaner's "
            "threads handle them.",
        ),
        Belief(
            _going(passed_over=lambda policy: False, deletes=bool),
            "You delete old segments of compacted logs. The task skips them; the cleaner's threads handle them.",
        ),
        Belief(
            _going(old=lambda age, limit: age >= limit),
            "You delete a segment that is exactly as old as retention.ms. It must be older.",
        ),
        Belief(
            _going(ends_at_first=False),
            "You delete a segment after one that stays. The task begins with the oldest segment and stops at the "
            "first that stays, so that a log has no gaps.",
        ),
        Belief(
            _going(active_stays=True),
            "You keep the active segment. If it is old enough it is deleted, too, and a new, empty segment takes its "
            "place.",
        ),
        Belief(
            _going(starts=False),
            "You look at ages only. A segment that is completely below the log start is deleted in the same run.",
        ),
        Belief(
            _going(limited=lambda limit: True),
            "You treat a retention.ms of −1 as a very short time. It means that there is no limit.",
        ),
        Belief(
            _going(deletes=lambda policy: True),
            "You delete old segments of a topic without any policy. It only loses segments below its log start.",
        ),
    ],
    normal=as_rows,
)
