"""Where a cleaning may begin, and where it must end."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, answers_of, call_private, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Belief, Exercise
from minikafka.lab.exercises.solutions import compaction as solutions
from minikafka.witness.workload import START_MS, Workload

_HOUR = 3_600_000
_OFFSETS = re.compile(r"=(-?\d+).*=(-?\d+).*=(true|false)")


@dataclass(frozen=True)
class _Asked:
    """A log of segments 0, 4, 8 and 12, the active one, with four records each.

    `checkpoint`: what the cleaner noted last; `high_watermark`: of the log; `open_at`: the segment (one of 4, 8, 12)
    that begins with the records of an open transaction; `lag_h`: min.compaction.lag.ms in hours; `ages_h`: of the
    records of each segment; `log_start`: where DeleteRecords has put it.
    """

    checkpoint: int | None = None
    high_watermark: int = 16
    open_at: int | None = None
    lag_h: int = 0
    ages_h: tuple[int, ...] = (9, 9, 9, 9)
    log_start: int = 0

    def __str__(self) -> str:
        words = [f"checkpoint {'none' if self.checkpoint is None else self.checkpoint}", f"HW {self.high_watermark}"]
        words += [f"open transaction from {self.open_at}"] if self.open_at else []
        words += [f"lag {self.lag_h} h, ages {', '.join(map(str, self.ages_h))} h"] if self.lag_h else []
        words += [f"log start {self.log_start}"] if self.log_start else []
        return ", ".join(words)

    @property
    def workload(self) -> Workload:
        lines = [f"config cleanup.policy=compact min.compaction.lag.ms={self.lag_h * _HOUR}"]
        for number, age in enumerate(self.ages_h):
            lines += ["roll"] if number else []
            txn = " pid=7 epoch=0 seq=0 txn" if self.open_at == 4 * number else ""
            lines.append(f"append_as_leader [4x10 keys=4 ts=now-{age * _HOUR}{txn}]")
        lines.append(f"update_high_watermark {self.high_watermark}")
        lines += [f"maybe_increment_log_start_offset {self.log_start}"] if self.log_start else []
        return Workload.parse("\n".join(lines))


_ASKED = (
    _Asked(),
    _Asked(checkpoint=4, high_watermark=10),
    _Asked(checkpoint=4, open_at=8),
    _Asked(lag_h=5, ages_h=(9, 5, 4, 0)),
    _Asked(checkpoint=12, high_watermark=10),
    _Asked(checkpoint=30),
    _Asked(checkpoint=4, log_start=6),
    _Asked(checkpoint=8, lag_h=5, ages_h=(1, 1, 9, 9)),
)


@cache
def _spark_says() -> dict[int, tuple[int, int, bool]]:
    logs = [
        (n, a.checkpoint, a.log_start, 4 * len(a.ages_h), a.high_watermark, a.open_at, a.lag_h * _HOUR)
        for n, a in enumerate(_ASKED)
    ]
    segments = [(n, 4 * i, START_MS - age * _HOUR) for n, a in enumerate(_ASKED) for i, age in enumerate(a.ages_h)]
    return answers_of(
        """WITH begun AS (
               SELECT *, coalesce(checkpoint < start OR checkpoint > end, false) AS invalid,
                      IF(coalesce(checkpoint BETWEEN start AND end, false), checkpoint, start) AS first_dirty
               FROM {logs}),
           placed AS (SELECT *, max(base) OVER (PARTITION BY number) AS active,
                             coalesce(lead(base) OVER (PARTITION BY number ORDER BY base), 1000000) AS next
                      FROM {segments})
           SELECT number, first_dirty,
                  greatest(first_dirty, least(mark, coalesce(open_at, mark), max(active),
                      coalesce(min(base) FILTER (
                          WHERE lag > 0 AND base < active AND next > first_dirty AND timestamp > {now} - lag), mark))),
                  invalid
           FROM begun JOIN placed USING (number)
           GROUP BY number, first_dirty, mark, open_at, invalid""",
        logs=(
            logs,
            "number INT, checkpoint BIGINT, start BIGINT, end BIGINT, mark BIGINT, open_at BIGINT, lag BIGINT",
        ),
        segments=(segments, "number INT, base BIGINT, timestamp BIGINT"),
        now=START_MS,
    )


def _case(number: int) -> AskedCase:
    from minikafka.lab.stage.readers import log_after

    asked = _ASKED[number]

    def answered(factory: Any) -> tuple[int, int, bool]:
        from minikafka.lab.stage.workbench import scratch
        from minikafka.log.cleaner.cleanable_offsets import cleanable_offsets
        from minikafka.witness.runner import Runner

        runner = Runner(factory, scratch(), asked.workload)
        for operation in asked.workload:
            runner.perform(operation)
        kafka = jvm_of(factory)
        if kafka is None:
            return cleanable_offsets(runner.log, asked.checkpoint, START_MS)
        return _kafka_says(kafka, runner.log.unified_log, asked.checkpoint)

    arguments = (log_after(asked.workload), asked.checkpoint, START_MS)
    return AskedCase(str(asked), arguments, lambda: _spark_says()[number], answered)


def _kafka_says(kafka: Any, log: Any, checkpoint: int | None) -> tuple[int, int, bool]:
    """Kafka: `LogCleanerManager.cleanableOffsets`, which is not public."""
    loader = log.getClass().getClassLoader()
    manager = kafka.find_class("java.lang.Class").forName(
        f"{log.getClass().getPackageName()}.LogCleanerManager", True, loader
    )
    noted = kafka.optional_long(checkpoint)
    found = call_private(kafka, manager, None, "cleanableOffsets", log, noted, START_MS)
    first_dirty, first_uncleanable, forced = _OFFSETS.search(found.toString()).groups()
    return int(first_dirty), int(first_uncleanable), forced == "true"


def _range(
    *,
    bound=lambda log: log.last_stable_offset,
    young=lambda segment, horizon: segment.largest_timestamp > horizon,
    begins=lambda checkpoint, start, end: start if not start <= checkpoint <= end else checkpoint,
    looked_at=lambda log, first_dirty: log.non_active_log_segments_from(first_dirty),
    at_least=max,
    forced=True,
):
    """A wrong answer, where not told otherwise the right one."""

    def cleanable_offsets(log, last_clean_offset, now):
        start, end = log.log_start_offset, log.log_end_offset
        invalid = last_clean_offset is not None and not start <= last_clean_offset <= end
        first_dirty = start if last_clean_offset is None else begins(last_clean_offset, start, end)
        bounds = [bound(log), log.active_segment.base_offset]
        lag = log.config.compaction_lag_ms
        if lag > 0:
            bounds += [s.base_offset for s in looked_at(log, first_dirty) if young(s, now - lag)][:1]
        return first_dirty, at_least(first_dirty, min(bounds)), invalid and forced

    return cleanable_offsets


cleanable_range = Exercise(
    "Exercise 2, from where to where",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.cleanable_offsets,
    hints=[
        "Begin at the checkpoint. There may be none, or one that lies below the log start or above the log end: then"
        " begin at the log start, and in the last two cases the checkpoint must be written anew (True).",
        "Three things end the range: the last stable offset, the active segment, and the first segment from the first"
        " dirty offset on that is too young (largest_timestamp > now − lag, if there is a lag).",
        "The end is never below the beginning: `max(first_dirty, min(bounds))`.",
    ],
    beliefs=[
        Belief(
            _range(bound=lambda log: log.log_end_offset),
            "You clean everything but the active segment. What is not below the last stable offset must wait as well:"
            " it may still be lost, or aborted.",
        ),
        Belief(
            _range(bound=lambda log: log.high_watermark),
            "You stop at the high watermark. A transaction that is open below it stops the cleaning too: the bound is"
            " the last stable offset.",
        ),
        Belief(
            _range(young=lambda segment, horizon: False),
            "You leave out min.compaction.lag.ms. The first segment that is younger ends the range.",
        ),
        Belief(
            _range(young=lambda segment, horizon: segment.largest_timestamp >= horizon),
            "You hold back a segment that is exactly min.compaction.lag.ms old. It is young while"
            " `largest_timestamp > now − lag`.",
        ),
        Belief(
            _range(looked_at=lambda log, first_dirty: log.log_segments[:-1]),
            "You check the age of segments below the first dirty offset. They have been cleaned before and hold"
            " nothing back.",
        ),
        Belief(
            _range(begins=lambda checkpoint, start, end: max(checkpoint, start)),
            "You believe a checkpoint above the log end. The log must have lost its end since: begin at the log start.",
        ),
        Belief(
            _range(begins=lambda checkpoint, start, end: min(checkpoint, end) if checkpoint >= start else start),
            "You lower a checkpoint above the log end to the log end. What was cleaned is then not known at all: begin"
            " at the log start.",
        ),
        Belief(
            _range(begins=lambda checkpoint, start, end: start if checkpoint > end else checkpoint),
            "You begin below the log start. Records have been deleted up to it since the checkpoint was written.",
        ),
        Belief(
            _range(at_least=lambda first_dirty, end: end),
            "Your range ends before it begins. The mark may fall below the checkpoint, after a truncation, say: then"
            " the range is empty.",
        ),
        Belief(
            _range(forced=False),
            "You never ask for the checkpoint to be written anew. If it lies outside the log, it is written anew at once.",
        ),
    ],
    normal=lambda answer: tuple(answer) if isinstance(answer, list | tuple) else answer,
)
