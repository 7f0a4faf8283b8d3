"""Spark's word on compaction: which records are left after each cleaning, from the workload and the settings alone.

The view `accepted_records` has one row for each record. Each cleaning is worked out by four queries, one cleaning after
another: where it must end (UPPER), what the offset map is made from (DIRTY), where it does end (CLEAN), and which
records go, and why (CLEANED). The function `accepted_records` returns the view for a workload; the query `survivors`
derives what a consumer sees.

These queries do not know the following, and are silent about it:

- How dirty a log is in bytes: the topic must be content with any dirt (`min.cleanable.dirty.ratio=0`).
- Segments that end because of their age or a full index; retention, truncation, and a log that is loaded again.
- Where a cleaning with a full offset map ends, if aborted transactions leave gaps in the log or the age of segments
  counts (`min.compaction.lag.ms`).
- What is left of a batch without records, such as a producer's last one or the end of a transaction.
"""

from minikafka.spark import session
from minikafka.witness.log.queries import PASSIVE, Query, orderly_transactions, raised_to_the_end
from minikafka.witness.log.views import create_views, settings_row
from minikafka.witness.log.workload import Workload

SEGMENTS = """
-- the segments, each with the operation that began it: a batch that does not fit, or a roll of one that is not empty
SELECT inline(aggregate(
    array_sort(collect_list(struct(op, kind, leo_before, batch.bytes, settings.segment_bytes AS limit))),
    struct(array(struct(-1L AS op, 0L AS base)) AS begun, 0L AS size),
    (log, next) -> CASE
        WHEN next.kind = 'roll' AND log.size = 0 THEN log
        WHEN next.kind = 'roll' OR log.size + next.bytes > next.limit THEN struct(
            array_append(log.begun, struct(next.op, next.leo_before AS base)) AS begun,
            coalesce(next.bytes, 0L) AS size)
        ELSE struct(log.begun, log.size + next.bytes AS size) END).begun)
FROM judged WHERE accepted OR kind = 'roll'
"""

ACCEPTED_RECORDS = """
-- the records that the leader accepts, each with its batch, its segment, and the end of its transaction
SELECT r.op, leo - 1 AS batch_last, stored_timestamp AS timestamp,
       array_max(filter(bases, base -> base <= leo_before)) AS segment,
       leo_before + record AS offset, key, marker, value_bytes IS NULL AND marker = '' AS tombstone,
       IF(transactional AND marker = '', struct(
           first_value(nullif(marker, '')) IGNORE NULLS OVER from_here AS fate,
           first_value(IF(marker = '', NULL, leo_before)) IGNORE NULLS OVER from_here AS decided_at), NULL) AS txn,
       CAST(NULL AS BIGINT) AS horizon, CAST(NULL AS BIGINT) AS gone_at, CAST(NULL AS STRING) AS why
FROM records r JOIN judged j ON r.op = j.op AND accepted
CROSS JOIN (SELECT collect_list(base) AS bases FROM segments)
WINDOW from_here AS (PARTITION BY r.producer_id ORDER BY leo_before + record
                     ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
"""

CLEANINGS = """
-- the cleanings, each with the clock and the high watermark
SELECT op, now, hw, settings.min_compaction_lag_ms AS lag, settings.delete_retention_ms AS delete_retention,
       settings.map_entries FROM (
    SELECT *, max(IF(kind = 'maybe_increment_high_watermark', leo, 0)) OVER (ORDER BY op) AS hw FROM judged)
WHERE kind = 'clean' ORDER BY op
"""

UPPER = """
-- where the cleaning :op must end: at the first segment that is not entirely below the high watermark and the first
-- open transaction, or is younger than the lag; at the active segment at the latest
SELECT max(base) AS upper FROM segments CROSS JOIN (
    SELECT least(:hw,
                 min(offset) FILTER (WHERE txn IS NOT NULL AND coalesce(txn.decided_at >= :hw, true)),
                 min(segment) FILTER (WHERE segment >= :dirty AND :lag > 0 AND newest > :now - :lag)) AS unsettled
    FROM (SELECT *, max(timestamp) OVER (PARTITION BY segment) AS newest FROM accepted_records WHERE op < :op))
WHERE op < :op AND base <= unsettled
"""

DIRTY = """
-- the records from :dirty up to :upper that count, and how many different keys come before each
SELECT offset, batch_last, segment, key,
       coalesce(sum(first) OVER (ORDER BY offset ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS keys_before
FROM (SELECT *, IF(row_number() OVER (PARTITION BY key ORDER BY offset) = 1, 1, 0) AS first
      FROM accepted_records WHERE offset >= :dirty AND offset < :upper AND key IS NOT NULL AND gone_at IS NULL
                   AND coalesce(txn.fate, '') <> 'abort')
"""

CLEAN = """
-- the first offset that is still not clean: the first record to find the map full ends the cleaning
SELECT coalesce(1 + greatest(max(offset) FILTER (WHERE offset < meets_full),
                             max(batch_last) FILTER (WHERE batch_last < meets_full),
                             max(segment) FILTER (WHERE offset = meets_full) - 1), :upper) AS clean
FROM (SELECT *, min(IF(keys_before >= :map_entries, offset, NULL)) OVER () AS meets_full FROM dirty)
WHERE meets_full IS NOT NULL
"""

CLEANED = """
-- the records after the cleaning :op, which rewrites all segments that begin below :clean
WITH mapped AS (
    SELECT key, max(offset) AS newest FROM dirty WHERE offset < :clean AND keys_before < :map_entries GROUP BY key),
verdicts AS (
    SELECT accepted_records.*, op < :op AND segment < :clean AND gone_at IS NULL AND marker = '' AS rewritten,
           CASE WHEN txn.fate = 'abort' THEN 'aborted'
                WHEN offset >= :clean THEN NULL
                WHEN offset < newest THEN 'replaced'
                WHEN tombstone AND horizon <= :now THEN 'deleted' END AS verdict
    FROM accepted_records LEFT JOIN mapped USING (key))
SELECT op, batch_last, timestamp, segment, offset, key, marker, tombstone, txn,
       coalesce(horizon, IF(max(rewritten AND verdict IS NULL AND tombstone) OVER (PARTITION BY op),
                            :now + :delete_retention, NULL)) AS horizon,  -- of the whole batch
       IF(rewritten AND verdict IS NOT NULL, :op, gone_at) AS gone_at,
       IF(rewritten AND verdict IS NOT NULL, verdict, why) AS why
FROM verdicts
"""

REFUSED = "SELECT op FROM judged WHERE batch.producer_id <> -1 AND NOT accepted ORDER BY op"

SEEN = """
-- what a consumer sees from the log start on: what is still there, below the high watermark
WITH raised AS (
    SELECT *, max(IF(kind = 'maybe_increment_high_watermark', leo, 0)) OVER so_far AS hw,
           max(coalesce(batch.producer_id <> -1 AND NOT accepted, false)) OVER so_far AS refused
    FROM judged WINDOW so_far AS (ORDER BY op)),
there AS (
    SELECT c.op, c.read_committed, c.hw, l.offset, l.txn, l.marker, l.gone_at,
           min(IF(txn IS NOT NULL AND coalesce(txn.decided_at >= c.hw, true), offset, NULL)) OVER (PARTITION BY c.op)
               AS first_unstable
    FROM raised c LEFT JOIN accepted_records l ON l.op < c.op AND l.offset < c.hw
    WHERE c.kind = 'consume' AND c.anchor = 'start' AND c.distance = 0 AND NOT c.refused),
visible AS (
    SELECT op, sort_array(collect_list(offset) FILTER (
        WHERE marker = '' AND coalesce(gone_at > op, true)
        AND (NOT read_committed OR offset < coalesce(first_unstable, hw) AND coalesce(txn.fate = 'commit', true))
        )) AS seen
    FROM there GROUP BY op)
SELECT op, coalesce(nullif(concat_ws(' ', zip_with(
           filter(seen, offset -> NOT array_contains(seen, offset - 1)),  -- where a run of offsets begins
           filter(seen, offset -> NOT array_contains(seen, offset + 1)),  -- and where it ends
           (first, last) -> concat_ws('..', first, nullif(last, first)))), ''), 'none') AS result
FROM visible
"""


def accepted_records(workload: Workload, spark=None):
    """One row for each record that the leader accepts, after all operations of `workload`, as a DataFrame.

    Columns: `op` that appended it, `offset`, `segment` (the base offset of its segment), `key` (null: none),
    `tombstone`, `marker` (`commit`, `abort`, or empty), `fate` (how its transaction ended; null: not yet, or none),
    `horizon` (from when a tombstone may go, in ms; null: no cleaning has met the batch so far), `gone_at` (the
    operation that removed it; null: it is still there) and `why` (`replaced`, `deleted` for a tombstone past its
    horizon, `aborted`). Raises ValueError with the reason if the queries do not know the workload.
    """
    if reason := survivors.refuses(workload):
        raise ValueError(reason)
    if spark is None:
        spark = session()
    create_views(workload, spark)
    if refused := spark.sql(REFUSED).first():
        raise ValueError(f"operation {refused.op} of a producer is refused: what follows from that is another story")
    _clean_all(spark)
    return spark.sql(
        "SELECT op, offset, segment, key, tombstone, marker, txn.fate, horizon, gone_at, why FROM accepted_records "
        "ORDER BY offset"
    )


def _clean_all(spark) -> None:
    """Make the view `accepted_records`, with what all cleanings did."""
    _keep(spark, "segments", SEGMENTS)
    _keep(spark, "accepted_records", ACCEPTED_RECORDS)
    clean = 0
    for cleaning in spark.sql(CLEANINGS).collect():
        clean = _clean(spark, {**cleaning.asDict(), "dirty": clean})


def _clean(spark, known: dict) -> int:
    """Put into the view `accepted_records` what one cleaning does; the first offset that is not clean after it."""
    [known["upper"]] = spark.sql(UPPER, args=known).first()
    if known["upper"] <= known["dirty"]:
        return known["dirty"]
    _keep(spark, "dirty", DIRTY, known)
    [known["clean"]] = spark.sql(CLEAN, args=known).first()
    _keep(spark, "accepted_records", CLEANED, known)
    return known["clean"]


def _keep(spark, view: str, query: str, arguments: dict | None = None) -> None:
    """Ask a query once, and make its answer a view of local rows."""
    spark.createDataFrame(spark.sql(query, args=arguments).toArrow()).createOrReplaceTempView(view)


def _seen(spark, _kinds):
    _clean_all(spark)
    return spark.sql(SEEN)


def _known(workload: Workload) -> str | None:
    """Why the queries are silent about this workload; None when they speak."""
    settings = settings_row(workload)
    if "clean" not in workload.kinds:
        return "nothing is cleaned"
    if workload.config.get("cleanup.policy") != "compact":
        return "the topic is not only compacted"
    if float(workload.config.get("min.cleanable.dirty.ratio", 0.5)):
        return "how dirty the log must be depends on bytes"
    for name in ("segment.index.bytes", "segment.ms", "segment.jitter.ms", "max.compaction.lag.ms"):
        if name in workload.config:
            return f"{name} ends segments"
    times = [at for _, append in workload.appends for batch in append.batches for at in batch.timestamps(0)]
    if workload.clock() and workload.clock()[-1] - workload.start_ms + max(map(abs, times), default=0) > 500_000_000:
        return "segments end because of their age"
    keys = {batch.key(i) for _, append in workload.appends for batch in append.batches for i in range(batch.count)}
    if settings["map_entries"] < len(keys):
        if settings["min_compaction_lag_ms"]:
            return "the map may be full, and the age of segments counts"
        if any(batch.txn for _, append in workload.appends for batch in append.batches):
            return "the map may be full, and there are transactions"
    return raised_to_the_end(workload) or orderly_transactions(workload)


survivors = Query(
    "survivors",
    ("result",),
    PASSIVE | {"append_as_leader", "roll", "maybe_increment_high_watermark", "clean"},
    "of each key the last record stays, a tombstone up to its horizon; of aborted transactions nothing",
    "".join((SEGMENTS, ACCEPTED_RECORDS, CLEANINGS, UPPER, DIRTY, CLEAN, CLEANED, SEEN)),
    condition=_known,
    frame=_seen,
)
