"""The Spark witness of a log directory: what its files must say, from the workload's lines alone.

What the clock brings about is added to the operations: each run of a periodic task is an event, too. Then
`aggregate()` walks the events of one partition; the value that it carries is the partition's STATE, and each rule below
is one expression over the last state. Nothing here knows minikafka's code.
"""

import threading

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from minikafka.spark import session
from minikafka.witness.log.dataframes import local_frame
from minikafka.witness.log.fold import let, long, struct
from minikafka.witness.log_dir.workload import MANAGER_DEFAULTS, LogDirWorkload
from minikafka.witness.observation import Observations

OPERATIONS = "op BIGINT, kind STRING, partition STRING, number BIGINT, records BIGINT, newest BIGINT, now BIGINT"
PARTITIONS = "partition STRING, flush_ms BIGINT, retention_ms BIGINT, compacted BOOLEAN"
SEGMENT = "struct<base:bigint, newest:bigint>"
STATE = (
    "struct<created:boolean, log_end:bigint, log_start:bigint, recovery_point:bigint, flushed_at:bigint,"
    f" to_flush:bigint, segments:array<{SEGMENT}>, recovery_point_file:bigint, log_start_file:bigint>"
)
FOREVER = 10**15
"""A period (ms) that is longer than any workload."""

_one_question_at_a_time = threading.Lock()  # the session has one set of views

TASKS = {
    "retention": "retention_check_ms",
    "flush": "flush_check_ms",
    "recovery_point_checkpoint": "flush_recovery_offset_checkpoint_ms",
    "log_start_checkpoint": "flush_start_offset_checkpoint_ms",
}
"""The periodic tasks, in the order in which they run when they are due together, and the settings of their periods."""

EVENTS = """
WITH broker AS (  -- when the broker was last started, whether it is up, and whether its last stop was clean
    SELECT *, last_value(IF(kind = 'start', now, NULL)) IGNORE NULLS OVER so_far AS started,
           last_value(IF(kind IN ('start', 'stop', 'kill'), kind, NULL)) IGNORE NULLS OVER so_far AS last
    FROM log_dir_operations WINDOW so_far AS (ORDER BY op)),
runs AS (  -- while time passes, each task runs after the first delay, and then once every period
    SELECT op, rank, task,
           explode(sequence(started + {delay}, greatest(now + number, started + {delay}), period)) AS at, now, number
    FROM broker JOIN log_dir_tasks ON broker.kind = 'tick' AND last = 'start'),
moments AS (
    SELECT op, now AS at, 0 AS rank, kind, partition, number, records, newest FROM broker
    UNION ALL
    SELECT op, at, rank, task, NULL, NULL, NULL, NULL FROM runs WHERE at > now AND at <= now + number),
all_moments AS (
    SELECT * FROM moments
    UNION ALL  -- what an operation or a task leaves to the background is done after everything due at that time
    SELECT DISTINCT op, at, 9, 'background', NULL, NULL, NULL, NULL FROM moments)
SELECT l.op, l.last, p.*,
       array_sort(collect_list(struct(m.op, m.at, m.rank, m.kind, m.number, m.records, m.newest))) AS events
FROM broker l CROSS JOIN log_dir_partitions p
JOIN all_moments m ON m.op <= l.op AND coalesce(m.partition = p.partition, true)
GROUP BY l.op, l.last, p.partition, p.flush_ms, p.retention_ms, p.compacted
"""

_OF_A_LOG = {
    "log_end_offsets": "log_end",
    "log_start_offsets": "log_start",
    "recovery_points": "recovery_point",
    "segments": "bases",
}


def log_dir_expected(workload: LogDirWorkload, spark=None) -> Observations:
    """What Spark expects after each operation of `workload`; quantities of the logs only while the broker is up.

    Segments that are deleted because of the log's size, and segments that roll by themselves, are not followed. Raises
    ValueError for a workload in which a whole log is deleted or put aside.
    """
    if any(operation.kind in ("delete", "stray") for operation in workload):
        raise ValueError("Spark does not follow the deletion of a whole log, nor one that is put aside")
    if spark is None:
        spark = session()
    rows: list[dict] = [{} for _ in workload]
    with _one_question_at_a_time:
        states = _states(workload, spark).collect()
    for row in states:
        said = rows[row.op]
        said["clean_shutdown"] = row.last == "stop"
        for name in ("recovery_point_file", "log_start_file"):
            said[name] = _pairs(row.states, name)
        if row.last == "start":
            said |= {quantity: _pairs(row.states, name) for quantity, name in _OF_A_LOG.items()}
    return Observations("spark", workload, tuple(rows))


def _states(workload: LogDirWorkload, spark) -> DataFrame:
    """A row for each operation: the last start, stop or kill, and the states of all partitions after the operation."""
    _create_views(workload, spark)
    delay = workload.manager.get("initial_task_delay_ms", MANAGER_DEFAULTS["initial_task_delay_ms"])
    nothing = struct(
        created=F.lit(False), log_end=long(0), log_start=long(0), recovery_point=long(0), flushed_at=long(0),
        to_flush=long(0), segments=F.array(), recovery_point_file=F.lit(None), log_start_file=F.lit(None),
    ).cast(STATE)  # fmt: skip
    state = F.aggregate("events", nothing, _after)
    bases = F.array_join(F.transform(state.segments, lambda segment: segment.base), ",")
    return (
        spark.sql(EVENTS.replace("{delay}", str(delay)))
        .groupBy("op", "last")
        .agg(
            F.array_sort(F.collect_list(struct(partition=F.col("partition"), state=state, bases=bases))).alias("states")
        )
    )


def _after(log: Column, event: Column) -> Column:
    """The state of a log after an event: one rule for each quantity."""
    return let(_segments_after(log, event), lambda segments: _marks_after(log, event, segments)).cast(STATE)


def _segments_after(log: Column, event: Column) -> Column:
    """The log's segments. An append makes the last one newer; a roll begins a new one at the log's end."""
    last = _last(log.segments)
    newer = struct(base=last.base, newest=F.greatest(last.newest, event.newest)).cast(SEGMENT)
    but_the_last = F.slice(log.segments, 1, F.size(log.segments) - 1)
    return (
        F.when(event.kind == "create", F.array(_segment(long(0))))
        .when(event.kind == "append", F.concat(but_the_last, F.array(newer)))
        .when((event.kind == "roll") & _has_records(log), F.concat(log.segments, F.array(_segment(log.log_end))))
        .when((event.kind == "retention") & log.created & ~F.col("compacted"), _retained(log, event))
        .otherwise(log.segments)
    )


def _retained(log: Column, event: Column) -> Column:
    """The oldest segments go, while they end below the log's start or are too old; a new one follows if all go."""
    count = F.size(log.segments)

    def stays(segment: Column, number: Column) -> Column:
        below_start = (number < count - 1) & (F.get(log.segments, number + 1).base <= log.log_start)
        expired = (F.col("retention_ms") >= 0) & (event.at - segment.newest > F.col("retention_ms"))
        return ~(below_start | F.coalesce(expired, F.lit(False)))

    first = F.array_position(F.transform(log.segments, stays), True)  # counted from 1; 0 if all go
    return F.when(first == 0, F.array(_segment(log.log_end))).otherwise(F.slice(log.segments, first, count))


def _marks_after(log: Column, event: Column, segments: Column) -> Column:
    """The log's offsets and its lines in the checkpoint files, given its segments after the event."""
    is_ = lambda kind: event.kind == kind  # noqa: E731
    first_base, new_end = F.get(segments, 0).base, _last(segments).base
    rolled = new_end > _last(log.segments).base
    # A start takes the log's start from the file; nothing lies below the first segment.
    given_start = F.when(is_("start"), log.log_start_file).when(is_("delete_records"), event.number)
    log_start = F.greatest(F.when(is_("start"), long(0)).otherwise(log.log_start), given_start, first_base)
    # What must be flushed: everything below a new segment, in the background; all of it, by the flusher, when due.
    due = is_("flush") & (event.at - log.flushed_at >= F.col("flush_ms"))
    flushed = F.when(is_("background"), log.to_flush).when(due | is_("stop"), log.log_end)
    known = F.when(is_("start"), F.coalesce(log.recovery_point_file, long(0))).otherwise(log.recovery_point)
    recovery_point = F.greatest(known, flushed, log_start)
    is_checkpointed = is_("recovery_point_checkpoint") | is_("stop")
    start_is_checkpointed = is_("log_start_checkpoint") | is_("stop")
    return struct(
        created=log.created | is_("create"),
        log_end=log.log_end + F.when(is_("append"), event.records).otherwise(0),
        log_start=log_start,
        recovery_point=recovery_point,
        flushed_at=F.when(is_("create") | is_("start") | (flushed > log.recovery_point), event.at).otherwise(
            log.flushed_at
        ),
        to_flush=F.when(rolled, new_end)
        .when(is_("background") | is_("stop") | is_("kill"), long(0))
        .otherwise(log.to_flush),
        segments=segments,
        recovery_point_file=F.when(log.created & is_checkpointed, recovery_point).otherwise(log.recovery_point_file),
        # Only a log that begins inside its first segment has a line there.
        log_start_file=F.when(start_is_checkpointed, F.when(log_start > first_base, log_start)).otherwise(
            log.log_start_file
        ),
    )


def _has_records(log: Column) -> Column:
    """Whether the last segment has any."""
    return _last(log.segments).base < log.log_end


def _last(segments: Column) -> Column:
    """The active segment; null where there is no log yet."""
    return F.try_element_at(segments, F.lit(-1))


def _segment(base: Column) -> Column:
    return struct(base=base, newest=F.lit(None)).cast(SEGMENT)


def _create_views(workload: LogDirWorkload, spark) -> None:
    operations = [
        (
            number,
            operation.kind,
            operation.partition or None,
            operation.number,
            sum(batch.count for batch in operation.batches),
            max((batch.max_timestamp(now) for batch in operation.batches), default=None),
            now,
        )
        for number, (operation, now) in enumerate(zip(workload, workload.clock(), strict=True))
    ]
    partitions = [
        (
            partition,
            int(workload.topic_setting(partition, "flush.ms", str(FOREVER))),
            int(workload.topic_setting(partition, "retention.ms", "604800000")),
            "compact" in workload.topic_setting(partition, "cleanup.policy", "delete"),
        )
        for partition in workload.partitions
    ]
    periods = {**MANAGER_DEFAULTS, **workload.manager}
    tasks = [(rank, kind, min(periods[name], FOREVER)) for rank, (kind, name) in enumerate(TASKS.items(), 1)]
    for name, rows, schema in (
        ("log_dir_operations", operations, OPERATIONS),
        ("log_dir_partitions", partitions, PARTITIONS),
        ("log_dir_tasks", tasks, "rank INT, task STRING, period BIGINT"),
    ):
        local_frame(spark, rows, schema).createOrReplaceTempView(name)


def _pairs(states, name: str) -> tuple[tuple[str, object], ...]:
    """(partition, value) of all logs that have one."""
    found = []
    for row in states:
        value = row.bases if name == "bases" else row.state[name]
        if row.state.created and value is not None:
            found.append((row.partition, value))
    return tuple(found)
