"""The views that the Spark witness asks: the operations with a leader's verdicts, and the records that it stores."""

from collections import defaultdict

from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.witness.log.dataframes import (
    BATCHES,
    OPERATIONS,
    RECORDS,
    batch_rows,
    local_frame,
    operation_rows,
    record_rows,
)
from minikafka.witness.log.workload import Workload

DEFAULTS = {
    "index.interval.bytes": 4096,
    "segment.index.bytes": 10_485_760,
    "segment.ms": 604_800_000,
    "retention.ms": 604_800_000,
    "retention.bytes": -1,
    "max.message.bytes": 1_048_588,
    "message.timestamp.before.max.ms": LONG_MAX,
    "message.timestamp.after.max.ms": 3_600_000,
    "min.compaction.lag.ms": 0,
    "delete.retention.ms": 86_400_000,
    "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
}

SETTINGS = """
    segment_bytes BIGINT, index_interval_bytes BIGINT, max_index_entries BIGINT, max_time_index_entries BIGINT,
    segment_ms BIGINT, retention_ms BIGINT, retention_bytes BIGINT, max_message_bytes BIGINT, before_max_ms BIGINT,
    after_max_ms BIGINT, min_compaction_lag_ms BIGINT, delete_retention_ms BIGINT, map_entries BIGINT,
    log_append_time BOOLEAN, compacted BOOLEAN, deletes BOOLEAN, start_ms BIGINT, isr ARRAY<BIGINT>
"""

OFFERED = f"""
    {OPERATIONS.strip()},
    batch STRUCT<{BATCHES.strip()}> COMMENT 'appends of one batch: the batch',
    batch_records ARRAY<STRUCT<{RECORDS.strip()}>> COMMENT 'appends of one batch: its records',
    settings STRUCT<{SETTINGS.strip()}>
"""

JUDGED = """
-- the appends that a leader accepts: one sound batch, not too large, no timestamp out of range, keys where they must
-- be, sequences with a producer id, markers from the coordinator only
WITH verdicts AS (
    SELECT * EXCEPT (batch_records), coalesce(kind = 'append_as_leader'
        AND batch.damage = '' AND coalesce(batch.distance, 0) = 0 AND NOT batch.thinned
        AND IF(batch.marker = '', batch.producer_id = -1 OR batch.base_sequence >= 0, origin = 'coordinator')
        AND batch.bytes <= settings.max_message_bytes AND batch.bytes <= settings.segment_bytes
        AND NOT exists(batch_records, r ->
            settings.compacted AND r.key IS NULL AND r.marker = ''
            OR batch.log_append_time AND (settings.log_append_time OR r.timestamp = -1)
            OR NOT settings.log_append_time AND r.timestamp <> -1
               AND (now - r.timestamp > settings.before_max_ms OR r.timestamp - now > settings.after_max_ms)),
        false) AS accepted  -- what is no append of one batch has no batch: null
    FROM offered)
-- and the log end offset before and after each operation, when nothing is ever truncated
SELECT *,
       IF(settings.log_append_time, now, max_timestamp) AS stored_timestamp,
       sum(IF(accepted, batch.records, 0)) OVER (ORDER BY op) AS leo,
       coalesce(sum(IF(accepted, batch.records, 0)) OVER (
           ORDER BY op ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS leo_before
FROM verdicts
"""

STORED = """
-- the records that the leader accepts, and the offsets that they get
SELECT op, leo_before + r.record AS offset, r.producer_id, r.transactional, r.marker
FROM records r JOIN judged USING (op) WHERE accepted
"""


def settings_row(workload: Workload) -> dict:
    """The settings that the queries use, as one row: bytes, ms, and what kind of topic it is."""
    config = workload.config
    number = {name: int(config.get(name, default)) for name, default in DEFAULTS.items()}
    load_factor = float(config.get("log.cleaner.io.buffer.load.factor", 0.9))
    policy = config.get("cleanup.policy", "delete").split(",")
    return {
        "segment_bytes": int(config.get("internal.segment.bytes", config.get("segment.bytes", 1_073_741_824))),
        "index_interval_bytes": number["index.interval.bytes"],
        "max_index_entries": number["segment.index.bytes"] // 8,
        "max_time_index_entries": number["segment.index.bytes"] // 12,
        "segment_ms": number["segment.ms"],
        "retention_ms": number["retention.ms"],
        "retention_bytes": number["retention.bytes"],
        "max_message_bytes": number["max.message.bytes"],
        "before_max_ms": number["message.timestamp.before.max.ms"],
        "after_max_ms": number["message.timestamp.after.max.ms"],
        "min_compaction_lag_ms": number["min.compaction.lag.ms"],
        "delete_retention_ms": number["delete.retention.ms"],
        "map_entries": int(number["log.cleaner.dedupe.buffer.size"] // 24 * load_factor),
        "log_append_time": config.get("message.timestamp.type", "CreateTime") == "LogAppendTime",
        "compacted": "compact" in policy,
        "deletes": "delete" in policy,
        "start_ms": workload.start_ms,
        "isr": list(workload.isr),
    }


def create_views(workload: Workload, spark) -> None:
    """Make the temporary views `judged` (the operations, and what JUDGED says of each) and `stored` (records).

    `judged` takes a Spark job, which runs once. After that all rows are local, so that Spark's optimizer folds queries
    over them alone into constants.
    """
    records = record_rows(workload)
    local_frame(spark, records, RECORDS).createOrReplaceTempView("records")
    local_frame(spark, _offered_rows(workload, records), OFFERED).createOrReplaceTempView("offered")
    spark.createDataFrame(spark.sql(JUDGED).toArrow()).createOrReplaceTempView("judged")
    spark.sql(STORED).createOrReplaceTempView("stored")


def _offered_rows(workload: Workload, records: list[tuple]) -> list[tuple]:
    """The operations with what they offer to the log: an append of one batch, that batch and its records."""
    batches_of, records_of = defaultdict(list), defaultdict(list)
    for row in batch_rows(workload):
        batches_of[row[0]].append(row)
    for row in records:
        records_of[row[0]].append(row)
    single = {op: rows[0] for op, rows in batches_of.items() if len(rows) == 1}
    settings = tuple(settings_row(workload).values())
    return [
        (*row, single.get(op), records_of[op] if op in single else None, settings)
        for op, row in enumerate(operation_rows(workload))
    ]
