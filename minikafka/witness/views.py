"""The views that the Spark witness asks: the workload's frames, its settings, and the appends that a leader accepts."""

from minikafka.witness.frames import batches_frame, local_frame, operations_frame, records_frame
from minikafka.witness.workload import Workload

FOREVER = 9_223_372_036_854_775_807
DEFAULTS = {
    "index.interval.bytes": 4096,
    "segment.index.bytes": 10_485_760,
    "segment.ms": 604_800_000,
    "retention.ms": 604_800_000,
    "retention.bytes": -1,
    "max.message.bytes": 1_048_588,
    "message.timestamp.before.max.ms": FOREVER,
    "message.timestamp.after.max.ms": 3_600_000,
}

APPENDS = """
-- the appends that a leader accepts: one sound batch, not too large, no timestamp out of range, keys where they must
-- be, sequences with a producer id, markers from the coordinator only
SELECT o.op, o.now, b.records, b.bytes, b.producer_id, b.transactional, b.marker,
       IF(s.log_append_time, o.now, b.max_timestamp) AS max_timestamp
FROM operations o JOIN batches b USING (op) CROSS JOIN settings s
WHERE o.kind = 'append_as_leader' AND o.batches = 1
  AND b.damage = '' AND coalesce(b.distance, 0) = 0 AND NOT b.thinned
  AND IF(b.marker = '', b.producer_id = -1 OR b.base_sequence >= 0, o.origin = 'coordinator')
  AND b.bytes <= s.max_message_bytes AND b.bytes <= s.segment_bytes
  AND o.op NOT IN (
      SELECT r.op
      FROM records r JOIN batches c USING (op, batch) JOIN operations w ON w.op = r.op CROSS JOIN settings t
      WHERE t.compacted AND r.key IS NULL AND r.marker = ''
         OR c.log_append_time AND (t.log_append_time OR r.timestamp = -1)
         OR NOT t.log_append_time AND r.timestamp <> -1
            AND (w.now - r.timestamp > t.before_max_ms OR r.timestamp - w.now > t.after_max_ms))
"""

ENDS = """
-- the log end offset before and after each operation, when nothing is ever truncated
SELECT o.op, coalesce(sum(a.records) OVER (ORDER BY o.op), 0) AS leo,
       coalesce(sum(a.records) OVER (ORDER BY o.op ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS leo_before
FROM operations o LEFT JOIN appends a USING (op)
"""


def settings_row(workload: Workload) -> dict:
    """The settings that the queries use, as one row: bytes, ms, and what kind of topic it is."""
    config = workload.config
    number = {name: int(config.get(name, default)) for name, default in DEFAULTS.items()}
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
        "log_append_time": config.get("message.timestamp.type", "CreateTime") == "LogAppendTime",
        "compacted": "compact" in policy,
        "deletes": "delete" in policy,
        "start_ms": workload.start_ms,
        "isr": list(workload.isr),
    }


SETTINGS = """
    segment_bytes BIGINT, index_interval_bytes BIGINT, max_index_entries BIGINT, max_time_index_entries BIGINT,
    segment_ms BIGINT, retention_ms BIGINT, retention_bytes BIGINT, max_message_bytes BIGINT, before_max_ms BIGINT,
    after_max_ms BIGINT, log_append_time BOOLEAN, compacted BOOLEAN, deletes BOOLEAN, start_ms BIGINT, isr ARRAY<BIGINT>
"""


def create_views(workload: Workload, spark) -> None:
    """Make the temporary views `operations`, `batches`, `records`, `settings`, `appends` and `ends`."""
    frames = {
        "operations": operations_frame(workload, spark),
        "batches": batches_frame(workload, spark),
        "records": records_frame(workload, spark),
        "settings": local_frame(spark, [tuple(settings_row(workload).values())], SETTINGS),
    }
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    for name, sql in {"appends": APPENDS, "ends": ENDS}.items():
        spark.createDataFrame(spark.sql(sql).toArrow()).createOrReplaceTempView(name)  # answered once, used often
