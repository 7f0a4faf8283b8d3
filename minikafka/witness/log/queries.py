"""The Spark witness's queries in SQL: rules that can be said of sets."""

from collections.abc import Callable
from dataclasses import dataclass

from minikafka.witness.log.workload import Workload

PASSIVE = frozenset(
    "tick flush read fetch_offset_by_timestamp count consume checkpoint take_producer_snapshot"
    " end_offset_for_epoch".split()
)


@dataclass(frozen=True)
class Query:
    """A declarative query that speaks of `quantities`, with one row per operation (column `op`).

    `admits`: the kinds of operations whose effects it knows. `condition(workload)`: None, or why the query is left out
    nevertheless. `sql`: the text; `frame(spark, kinds)`: makes the DataFrame for operations of these kinds, for a query
    without a text; `prepare(spark, kinds)`: does what can be done before the views exist.
    """

    name: str
    quantities: tuple[str, ...]
    admits: frozenset[str]
    rule: str
    sql: str = ""
    condition: Callable[[Workload], str | None] = lambda workload: None
    frame: Callable | None = None
    prepare: Callable = lambda spark, kinds: None

    def refuses(self, workload: Workload) -> str | None:
        """Why the query says nothing about this workload; None when it does."""
        for number, operation in enumerate(workload):
            if operation.kind not in self.admits:
                return f"does not admit operation {number}, {operation.kind}"
            if getattr(operation, "damage", ()):
                return f"operation {number} damages files"
        return self.condition(workload)

    def ask(self, spark, workload: Workload):
        """The answer for `workload` as a DataFrame; its views must exist."""
        return self.frame(spark, workload.kinds) if self.frame else spark.sql(self.sql)

    def __str__(self) -> str:
        return f"-- {self.name}: {self.rule}\n-- admits {', '.join(sorted(self.admits))}\n{self.sql.strip()}"


def plain(workload: Workload) -> str | None:
    """Why this is more than plain records appended by clients: sequences, other origins, a codec set for the topic."""
    if reason := _recompressed(workload):
        return reason
    for number, append in workload.appends:
        if getattr(append, "origin", "client") != "client":
            return f"operation {number} is not from a client"
        if any(batch.seq >= 0 for batch in append.batches):
            return f"operation {number} is from an idempotent producer"
    return None


def _recompressed(workload: Workload) -> str | None:
    return (
        None if workload.config.get("compression.type", "producer") == "producer" else "compression.type changes sizes"
    )


def settled(workload: Workload) -> str | None:
    """Why this is more than `plain` allows, or anchors on anything but the log end and the high watermark, or rolls
    elsewhere than at the log end.
    """
    for number, operation in enumerate(workload):
        places = [getattr(operation, name, None) for name in ("offset", "lower", "upper")]
        followed = all(place is None or place.anchor in ("", "leo", "hw") for place in places)
        if operation.kind in ("roll", "fetch", "count") and not followed:
            return f"operation {number} anchors on a place that is not followed"
        if operation.kind == "roll" and str(operation.offset) != "leo":
            return f"operation {number} rolls elsewhere than at the log end"
    return plain(workload)


def _nothing_is_counted(workload: Workload) -> str | None:
    return None if "count" in workload.kinds else "no operation counts"


def orderly_transactions(workload: Workload) -> str | None:
    """Why producers do not behave: a sequence out of order, a new epoch, a marker not from the coordinator."""
    next_sequence, open_ = {}, set()
    for number, append in workload.appends:
        for batch in append.batches:
            if batch.pid == -1:
                continue
            if batch.epoch != 0 or len(append.batches) != 1:
                return f"operation {number}: only epoch 0 is followed, one batch an append"
            if batch.marker:
                if append.origin != "coordinator" or append.transaction_version != 0 or batch.coordinator_epoch:
                    return f"operation {number}: only markers from the coordinator's epoch 0 are followed"
                open_.discard(batch.pid)
            elif append.origin != "client" or batch.seq != next_sequence.get(batch.pid, 0) or batch.damage:
                return f"operation {number} is out of order"
            elif batch.pid in open_ and not batch.txn:
                return f"operation {number} leaves its transaction"
            else:
                next_sequence[batch.pid] = batch.seq + batch.count
                open_ |= {batch.pid} if batch.txn else set()
        if any(batch.marker and batch.pid == -1 for batch in append.batches):
            return f"operation {number}: a marker without a producer"
    return _recompressed(workload)


_WATERMARKS = """
steps AS (  -- the offset that is named, the set of in-sync followers, and where batches begin
    SELECT *, distance + IF(anchor = 'leo', leo, 0) AS offset,
           coalesce(last_value(IF(kind = 'isr', replicas, NULL)) IGNORE NULLS OVER so_far, settings.isr) AS in_sync,
           collect_list(leo_before) OVER so_far AS bases
    FROM judged WINDOW so_far AS (ORDER BY op)),
fetches AS (  -- a follower's fetch that the leader answers; inside a batch it counts as the batch's base offset
    SELECT *, collect_list(fetch) OVER (ORDER BY op) AS so_far
    FROM (SELECT *, IF(kind = 'fetch' AND offset BETWEEN 0 AND leo,
                       struct(op, replica, array_max(filter(bases, base -> base <= offset)) AS fetched), NULL) AS fetch
          FROM steps)),
known AS (  -- the last fetched offset of each in-sync follower; null if there is none
    SELECT *, transform(in_sync, r -> array_max(filter(so_far, f -> f.replica = r)).fetched) AS fetched FROM fetches),
watermarks AS (  -- the smallest log end offset of the in-sync replicas, the leader's among them; it only grows
    SELECT *, max(IF((kind = 'isr' OR fetch IS NOT NULL) AND NOT exists(fetched, f -> f IS NULL),
                     array_min(array_append(fetched, leo)), 0)) OVER (ORDER BY op) AS hw
    FROM known)"""

_LEADER = PASSIVE | {"append_as_leader", "roll", "fetch", "isr"}

log_end_offset = Query(
    "log_end_offset",
    ("log_end_offset",),
    _LEADER
    | {"update_high_watermark", "maybe_update_high_watermark", "maybe_increment_high_watermark", "delete_old_segments"}
    | {"maybe_increment_log_start_offset"},
    "the running sum of the records accepted",
    "SELECT op, leo AS log_end_offset FROM judged",
    settled,
)

high_watermark = Query(
    "high_watermark",
    ("high_watermark",),
    _LEADER,
    "the smallest offset that the in-sync replicas have fetched up to; it never falls",
    f"WITH{_WATERMARKS}\nSELECT op, hw AS high_watermark FROM watermarks",
    settled,
)

counts = Query(
    "counts",
    ("result",),
    _LEADER,
    "how many records have an offset in [lower, upper)",
    f"""WITH{_WATERMARKS},
bounds AS (
    SELECT op, leo,
           distance + CASE anchor WHEN 'leo' THEN leo WHEN 'hw' THEN hw ELSE 0 END AS lower,
           upper_distance + CASE upper_anchor WHEN 'leo' THEN leo WHEN 'hw' THEN hw ELSE 0 END AS upper
    FROM watermarks WHERE kind = 'count')
SELECT b.op, concat(count(s.offset), ' records') AS result
FROM bounds b LEFT JOIN stored s ON s.op < b.op AND s.offset >= b.lower AND s.offset < b.upper
WHERE b.lower BETWEEN 0 AND b.leo
GROUP BY b.op""",
    lambda workload: _nothing_is_counted(workload) or settled(workload),
)

committed = Query(
    "read_committed",
    ("result", "last_stable_offset"),
    PASSIVE | {"append_as_leader", "roll", "maybe_increment_high_watermark"},
    "a record is visible when its producer's next marker says commit, below the first record whose fate is open",
    """WITH
raised AS (  -- the high watermark, raised to the log end now and then
    SELECT op, read_committed, kind = 'consume' AND anchor = 'start' AND distance = 0 AS consumed,
           max(IF(kind = 'maybe_increment_high_watermark', leo, 0)) OVER (ORDER BY op) AS hw,
           max(coalesce(batch.producer_id <> -1 AND NOT accepted, false)) OVER (ORDER BY op) AS refused
    FROM judged),
fates AS (  -- after each operation, of each record below the watermark: its producer's first marker from it on
    SELECT r.*, s.offset, s.marker, s.transactional,
           first_value(nullif(s.marker, '')) IGNORE NULLS OVER (
               PARTITION BY r.op, s.producer_id ORDER BY s.offset
               ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS fate
    FROM raised r LEFT JOIN stored s ON s.op <= r.op AND s.offset < r.hw),
stable AS (
    SELECT *, coalesce(min(IF(transactional AND fate IS NULL, offset, NULL)) OVER (PARTITION BY op), hw) AS lso
    FROM fates),
visible AS (
    SELECT op, lso, consumed, sort_array(collect_list(offset) FILTER (
        WHERE marker = '' AND (NOT read_committed OR offset < lso AND (NOT transactional OR fate = 'commit')))) AS seen
    FROM stable
    WHERE NOT refused  -- once an append of a producer is refused, what follows from it is another story
    GROUP BY op, lso, consumed)
SELECT op, lso AS last_stable_offset, IF(consumed, coalesce(nullif(concat_ws(' ', zip_with(
           filter(seen, offset -> NOT array_contains(seen, offset - 1)),  -- where a run of offsets begins
           filter(seen, offset -> NOT array_contains(seen, offset + 1)),  -- and where it ends
           (first, last) -> concat_ws('..', first, nullif(last, first)))), ''), 'none'), NULL) AS result
FROM visible""",
    lambda workload: raised_to_the_end(workload) or orderly_transactions(workload),
)


def raised_to_the_end(workload: Workload) -> str | None:
    """Why not every roll and every high watermark is at the log end."""
    for number, operation in enumerate(workload):
        if operation.kind in ("maybe_increment_high_watermark", "roll") and str(operation.offset) != "leo":
            return f"operation {number} does not name the log end"
    return None


SQL_QUERIES = (log_end_offset, high_watermark, counts, committed)
