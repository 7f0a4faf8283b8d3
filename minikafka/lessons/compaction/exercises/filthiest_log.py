"""Which log is cleaned next, in Spark."""

import random
from dataclasses import dataclass, replace
from typing import Any

from minikafka.lab.exercises.asked import AskedCase, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import as_rows, frame
from minikafka.lessons.compaction import solutions
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.workload import START_MS, Workload

CHECKPOINT = "cleaner-offset-checkpoint"
_SCHEMA = "log STRING, base BIGINT, size BIGINT, active BOOLEAN, first_dirty BIGINT"


@dataclass(frozen=True)
class _Log:
    """A log whose segments hold one batch of two records each: `sizes` of their values in bytes; the last is active.

    The first `clean` segments are clean.
    """

    name: str
    sizes: tuple[int, ...]
    clean: int = 0

    @property
    def rows(self) -> list[tuple[str, int, int, bool, int]]:
        last = len(self.sizes) - 1
        return [
            (self.name, 2 * i, _batch(size).size_in_bytes(START_MS), i == last, 2 * self.clean)
            for i, size in enumerate(self.sizes)
        ]

    def workload(self, min_ratio: float) -> Workload:
        lines = [f"config cleanup.policy=compact min.cleanable.dirty.ratio={min_ratio}"]
        for number, size in enumerate(self.sizes):
            lines += ["roll"] if number else []
            lines.append(f"append_as_leader {_batch(size)}")
        return Workload.parse("\n".join([*lines, "update_high_watermark leo"]))


def _batch(size: int) -> Batch:
    return Batch(2, size, keys=2)


def _case(min_ratio: float, *logs: _Log, draw: random.Random | None = None) -> AskedCase:
    """`draw` brings the rows of a drawn case into any order."""
    segments = frame([row for log in logs for row in log.rows], _SCHEMA, draw)

    def expected() -> list[str]:
        return as_rows(
            segments.sparkSession.sql(
                """WITH weighed AS (
                       SELECT log, sum(size) FILTER (WHERE NOT active) AS all_of_it,
                              sum(size) FILTER (WHERE NOT active AND base >= first_dirty) AS dirty
                       FROM {segments} GROUP BY log)
                   SELECT max_by(log, dirty / all_of_it) FROM weighed
                   WHERE dirty > {min_ratio} * all_of_it HAVING count(*) > 0""",
                segments=segments,
                min_ratio=min_ratio,
            )
        )

    words = ", ".join(f"{log.name} {len(log.sizes) - 1} segments, {log.clean} clean" for log in logs)
    name = f"ratio {min_ratio}; {words}"
    return AskedCase(name, (segments, min_ratio), expected, lambda factory: _grabbed(factory, min_ratio, logs))


def _grabbed(factory: Any, min_ratio: float, logs: tuple[_Log, ...]) -> list[str]:
    """What a manager of these logs grabs, minikafka's or Kafka's."""
    from minikafka.common.time import ManualTime
    from minikafka.common.topic_partition import TopicPartition
    from minikafka.lab.stage.workbench import scratch
    from minikafka.log.cleaner.log_cleaner_manager import LogCleanerManager
    from minikafka.log.cleaner.pre_clean_stats import PreCleanStats
    from minikafka.witness.kafka.kafka_time import JavaTime
    from minikafka.witness.log.run import Runner

    parent = scratch("logs")
    open_logs = {}
    for log in logs:
        runner = Runner(factory, parent / f"{log.name}-0", log.workload(min_ratio))
        for operation in log.workload(min_ratio):
            runner.perform(operation)
        open_logs[log.name] = runner.log
    lines = [f"{log.name} 0 {2 * log.clean}\n" for log in logs if log.clean]
    (parent / CHECKPOINT).write_text(f"0\n{len(lines)}\n{''.join(lines)}")
    time, kafka = ManualTime(START_MS), jvm_of(factory)
    if kafka is None:
        by_partition = {TopicPartition(name, 0): log for name, log in open_logs.items()}
        grabbed = LogCleanerManager([parent], by_partition, None).grab_filthiest_compacted_log(time, PreCleanStats())
        return [grabbed.topic_partition.topic] if grabbed else []
    log_dirs = kafka.find_class("java.util.ArrayList")()
    log_dirs.add(kafka.file(parent))
    java_logs = kafka.find_class("java.util.concurrent.ConcurrentHashMap")()
    for log in open_logs.values():
        java_logs.put(log.unified_log.topicPartition(), log.unified_log)
    manager = kafka.log_class("LogCleanerManager")(log_dirs, java_logs, kafka.log_class("LogDirFailureChannel")(1))
    found = manager.grabFilthiestCompactedLog(JavaTime(time), kafka.log_class("PreCleanStats")())
    return [found.get().topicPartition().topic()] if found.isPresent() else []


def _weighed(
    *, counts_active=False, weight=lambda dirty, clean: dirty / (dirty + clean), enough=lambda w, least: w > least
):
    """A wrong answer: the log with the greatest `weight(dirty bytes, clean bytes)` among those that weigh `enough`."""

    def filthiest(segments, min_ratio):
        logs: dict[str, list[int]] = {}
        for row in segments.orderBy("log", "base").collect():
            if counts_active or not row.active:
                logs.setdefault(row.log, [0, 0])[row.base < row.first_dirty] += row.size
        found = {log: weight(*sizes) for log, sizes in logs.items() if enough(weight(*sizes), min_ratio)}
        return [max(found, key=found.get)] if found else []

    return filthiest


def _of_enough(weight):
    """A wrong answer: of the logs whose ratio is enough the one with the greatest `weight(dirty, clean)`."""

    def filthiest(segments, min_ratio):
        logs: dict[str, list[int]] = {}
        for row in segments.orderBy("log", "base").collect():
            if not row.active:
                logs.setdefault(row.log, [0, 0])[row.base < row.first_dirty] += row.size
        enough = {log: sizes for log, sizes in logs.items() if sizes[0] / sum(sizes) > min_ratio}
        return [max(enough, key=lambda log: weight(*enough[log]))] if enough else []

    return filthiest


def _drawn(draw: random.Random) -> AskedCase:
    """Many logs; one of them has only its active segment, and one may never have been cleaned."""
    logs = [_Log("active", (900,)), _Log("new", tuple(draw.sample(range(3000), 3)))][: draw.choice((1, 1, 1, 2))]
    for name in draw.sample("abcdefghijk", 7):
        sizes = tuple(draw.sample(range(3000), draw.randint(4, 7)))
        logs.append(_Log(name, sizes, clean=draw.choice((1, 2, 2, 3))))
    min_ratio = draw.choice((0.1, 0.5, 0.6, 0.7))
    return replace(_case(min_ratio, *logs, draw=draw), name="")


filthiest_log = Exercise(
    "Exercise 2, the filthiest log",
    lambda: [
        _case(
            0.5,
            _Log("orders", (900, 900, 900, 10), clean=2),
            _Log("prices", (300, 500, 10), clean=1),
            _Log("users", (3000, 3200, 10), clean=1),
        ),
        _case(0.5, _Log("orders", (400, 400, 900), clean=1), _Log("prices", (900, 100, 10), clean=1)),
        _case(0.5, _Log("orders", (400, 100, 4000), clean=1), _Log("prices", (300, 200, 10), clean=1)),
        _case(
            0.1,
            _Log("orders", (2000, 2500, 10), clean=1),
            _Log("prices", (80, 90, 10)),
            _Log("users", (100, 300, 10), clean=1),
        ),
        _case(0.5, _Log("orders", (2000, 100, 10), clean=1)),
    ],
    judged_by_spark,
    solutions.filthiest,
    drawn=_drawn,
    draws=6,
    hints=[
        "For each log make two sums over the segments that are not active: of all of them, and of those from "
        "first_dirty on.",
        "The ratio is dirty bytes / (clean + dirty bytes). A log is cleaned only if its ratio is greater than "
        "min_ratio.",
        "`WHERE ratio > {min_ratio} ORDER BY ratio DESC LIMIT 1`; if no log is dirty enough, there is no row.",
    ],
    beliefs=[
        Belief(
            _weighed(counts_active=True),
            "You count the active segment as well. It cannot be cleaned, so it counts neither as dirty nor as clean.",
        ),
        Belief(
            _of_enough(lambda dirty, clean: dirty),
            "You take the log with the most dirty bytes. The share of dirty bytes counts: a small log may have a "
            "higher share than a large one.",
        ),
        Belief(
            _weighed(weight=lambda dirty, clean: dirty / clean if clean else 1e9),
            "You divide by the clean bytes. Divide the dirty bytes by the sum of clean and dirty bytes.",
        ),
        Belief(
            _weighed(enough=lambda ratio, least: ratio >= least),
            "You clean a log at exactly min.cleanable.dirty.ratio. It must be dirtier than that: `>`.",
        ),
        Belief(
            _weighed(enough=lambda ratio, least: True),
            "You clean the log with the highest ratio even if that is low. A log at or below min_ratio is not cleaned.",
        ),
    ],
    normal=as_rows,
)
