"""The Spark witness's fold: the whole log as one value, and what each operation makes of it.

`aggregate()` walks the operations; the value that it carries is the list of the log's states after each of them
(STATE), including what rolling and indexing need to know about every segment. Each rule below is one expression over
the last state. Where the answer would depend on something that is not carried (a high watermark inside a batch, a
segment's age by its file's time), `known` turns false, and nothing is said about any later operation.

Spark resolves an expression from its leaves up, in one round for each level of nested lambdas, so the rules are kept
shallow.
"""

from functools import lru_cache

from pyspark.sql import Column
from pyspark.sql import functions as F

from minikafka.witness.log.queries import PASSIVE, Query, plain
from minikafka.witness.log.workload import Workload

STAMP = "struct<timestamp:bigint,offset:bigint>"
SEGMENT = (
    f"struct<base:bigint, size:bigint, created:bigint, since_entry:bigint, newest:{STAMP},"
    " batches:array<struct<base:bigint,last:bigint,bytes:bigint,timestamp:bigint>>,"
    f" entries:array<struct<offset:bigint,position:bigint>>, times:array<{STAMP}>>"
)
STATE = (
    "struct<op:bigint, known:boolean, leo:bigint, hw:bigint, start:bigint, fetched:map<bigint,bigint>,"
    f" isr:array<bigint>, closed:array<{SEGMENT}>, active:{SEGMENT}, result:string>"
)


def let(value: Column, use) -> Column:
    """`use(value)` with `value` computed once."""
    return F.transform(F.array(value), use)[0]


def struct(**columns) -> Column:
    """A struct with these fields."""
    return F.struct(*(column.alias(name) for name, column in columns.items()))


def changed(value: Column, **columns) -> Column:
    """The struct `value` with these columns replaced."""
    for name, column in columns.items():
        value = value.withField(name, column)
    return value


def long(value: int) -> Column:
    return F.lit(value).cast("bigint")


def segments(log: Column) -> Column:
    """All segments, the active one last."""
    return F.concat(log.closed, F.array(log.active))


def base_of(log: Column, index: Column) -> Column:
    """The base offset of segment `index`, counted from 0; beyond the closed ones it is the active segment's."""
    return F.coalesce(F.get(log.closed, index).base, log.active.base)


def first_base(log: Column) -> Column:
    return base_of(log, F.lit(0))


def new_segment(base: Column, now: Column) -> Column:
    """An empty segment, created now."""
    return struct(
        base=base, size=long(0), created=now, since_entry=long(0), newest=struct(timestamp=long(-1), offset=base),
        batches=F.array(), entries=F.array(), times=F.array(),
    ).cast(SEGMENT)  # fmt: skip


def newer(newest: Column, timestamp: Column, offset: Column) -> Column:
    """The largest timestamp so far, and the last offset of the first batch that has it."""
    return F.when(timestamp > newest.timestamp, struct(timestamp=timestamp, offset=offset)).otherwise(newest)


def timed(times: Column, newest: Column) -> Column:
    """The time index with an entry for the newest batch, if that is newer than the last entry."""
    last = F.coalesce(F.array_max(times).timestamp, long(-1))
    return F.when(newest.timestamp > last, F.concat(times, F.array(newest))).otherwise(times)


def closed_by_roll(log: Column) -> Column:
    """The closed segments after a roll: an empty active segment is replaced, not closed."""
    last = changed(log.active, times=timed(log.active.times, log.active.newest))
    return F.when(log.active.size > 0, F.concat(log.closed, F.array(last))).otherwise(log.closed)


def rolled(log: Column, now: Column) -> Column:
    """A new segment at the log end."""
    return changed(log, closed=closed_by_roll(log), active=new_segment(log.leo, now))


def must_roll(segment: Column, operation: Column, settings: Column) -> Column:
    """The incoming batch does not fit, the segment has waited long enough, or an index is full."""
    first = F.get(segment.batches, F.lit(0)).timestamp
    waited = F.when(first >= 0, operation.max_timestamp - first).otherwise(operation.now - segment.created)
    return (
        (segment.size > settings.segment_bytes - operation.bytes)
        | ((segment.size > 0) & (waited > settings.segment_ms))
        | (F.size(segment.entries) >= settings.max_index_entries)
        | (F.size(segment.times) >= settings.max_time_index_entries - 1)
    )


def appended(log: Column, operation: Column, settings: Column) -> Column:
    """The log with the batch at the end of the active segment; index entries are made before its own size counts."""
    last = log.leo + operation.records - 1
    batch = struct(base=log.leo, last=last, bytes=operation.bytes, timestamp=operation.max_timestamp)

    def grown(segment):
        newest = newer(segment.newest, operation.max_timestamp, last)
        due = segment.since_entry > settings.index_interval_bytes
        entry = struct(offset=last, position=segment.size)
        return changed(
            segment,
            size=segment.size + operation.bytes,
            since_entry=F.when(due, long(0)).otherwise(segment.since_entry) + operation.bytes,
            newest=newest,
            batches=F.concat(segment.batches, F.array(batch)),
            entries=F.when(due, F.concat(segment.entries, F.array(entry))).otherwise(segment.entries),
            times=F.when(due, timed(segment.times, newest)).otherwise(segment.times),
        )

    rolls = must_roll(log.active, operation, settings)
    return changed(
        log,
        closed=F.when(rolls, closed_by_roll(log)).otherwise(log.closed),
        active=let(F.when(rolls, new_segment(log.leo, operation.now)).otherwise(log.active), grown),
        leo=log.leo + operation.records,
    )


def place(log: Column, anchor: Column, distance: Column) -> Column:
    """The offset that an operation names."""
    anchors = {"leo": log.leo, "hw": log.hw, "lso": log.hw, "start": log.start, "active": log.active.base}
    base = long(0)
    for name, value in anchors.items():
        base = F.when(anchor == name, value).otherwise(base)
    return distance + base


def batch_base(log: Column, offset: Column) -> Column:
    """Where a read at `offset` begins: the base offset of the first batch that ends at or after it, or the log end."""
    batches = F.concat(F.flatten(log.closed.batches), log.active.batches)
    return F.coalesce(F.array_min(F.filter(batches, lambda batch: batch.last >= offset)).base, log.leo)


def sound(log: Column) -> Column:
    """Whether the log is still known: a high watermark inside a batch would be moved by a later read, and nothing is
    known from there on.
    """
    return log.known & (batch_base(log, log.hw) == log.hw)


def clamped(log: Column, offset: Column) -> Column:
    return F.greatest(log.start, F.least(offset, log.leo))


def isr_raised(log: Column, fetched: Column, isr: Column) -> Column:
    """The high watermark raised to the smallest log end offset of the in-sync replicas, when all have fetched."""
    complete = F.size(F.array_except(isr, F.map_keys(fetched))) == 0
    theirs = F.map_values(F.map_filter(fetched, lambda replica, _: F.array_contains(isr, replica)))
    smallest = F.array_min(F.concat(F.array(log.leo), theirs))
    return changed(log, fetched=fetched, isr=isr, hw=F.when(complete, F.greatest(smallest, log.hw)).otherwise(log.hw))


def fetched(log: Column, operation: Column, offset: Column) -> Column:
    """A fetch inside a batch counts as one of the batch's base offset; one outside of the log is refused."""
    others = F.map_filter(log.fetched, lambda replica, _: replica != operation.replica)
    noted = F.map_concat(others, F.create_map(operation.replica, batch_base(log, offset)))
    served = (offset >= log.start) & (offset >= first_base(log)) & (offset <= log.leo)
    return F.when(served, let(noted, lambda noted: isr_raised(log, noted, log.isr))).otherwise(log)


def log_start_raised(log: Column, offset: Column) -> Column:
    """The log start only grows, and never above the high watermark: an offset above that is refused."""
    moves = (offset <= log.hw) & (offset > log.start)
    answer = F.when(offset > log.hw, F.lit(None)).when(moves, F.lit("yes")).otherwise(F.lit("no"))
    return changed(log, start=F.when(moves, offset).otherwise(log.start), result=answer)


def without_oldest(log: Column, count: Column, now: Column) -> Column:
    """The first `count` segments deleted, after a roll if those are all. The log starts at the first survivor."""
    all_go = count > F.size(log.closed)
    first = F.when(all_go, log.leo).otherwise(base_of(log, count))
    return changed(
        log,
        closed=F.when(all_go, F.array()).otherwise(F.slice(log.closed, count + 1, F.size(log.closed))),
        active=F.when(all_go, new_segment(log.leo, now)).otherwise(log.active),
        start=F.when(count == 0, log.start).otherwise(F.greatest(log.start, first)),
        result=F.concat(count.cast("string"), F.lit(" deleted")),
    )


def retained(log: Column, operation: Column, settings: Column) -> Column:
    """The log after a walk over the segments, oldest first, by three rules in this order: log start offset, size, time.

    A rule that has refused a segment is not asked again; a segment that all three refuse stays, and so do all segments
    behind it. Under every rule, a segment goes only once the high watermark has passed it, and an empty last segment
    stays.
    """
    total = F.aggregate(segments(log).size, long(0), lambda sum_, size: sum_ + size)
    by_size = settings.deletes & (settings.retention_bytes >= 0)
    by_time = settings.deletes & (settings.retention_ms >= 0)
    below_start, too_large, too_old, none = range(4)

    def walk(walked, segment):
        last = walked.number == F.size(log.closed)
        upper = F.when(last, log.leo).otherwise(base_of(log, walked.number + 1))
        may_go = (log.hw >= upper) & ~(last & (segment.size == 0))
        older = walked.bytes + segment.size
        rule = (
            F.when(~may_go, none)
            .when((walked.rule <= below_start) & ~last & (upper <= log.start), below_start)
            .when((walked.rule <= too_large) & by_size & (older <= total - settings.retention_bytes), too_large)
            .when(
                (walked.rule <= too_old) & by_time & (operation.now - segment.newest.timestamp > settings.retention_ms),
                too_old,
            )
            .otherwise(none)
        )
        rule = F.greatest(walked.rule, rule)
        return struct(
            number=walked.number + 1, bytes=older, rule=rule, gone=walked.gone + F.when(rule < none, 1).otherwise(0)
        )

    begin = struct(number=F.lit(0), bytes=long(0), rule=F.lit(below_start), gone=F.lit(0))
    gone = F.aggregate(segments(log), begin, walk).gone
    ageless = F.exists(segments(log), lambda segment: (segment.size > 0) & (segment.newest.timestamp < 0))
    known = log.known & ~(ageless & by_time)
    return changed(let(gone, lambda count: without_oldest(log, count, operation.now)), known=known)


def restarted(log: Column, offset: Column, start: Column, now: Column) -> Column:
    """Everything is dropped but one empty segment at `offset`. A log start above it is not followed."""
    known = log.known & (offset >= 0) & (start >= 0) & (start <= offset)
    active = new_segment(offset, now)
    return changed(log, known=known, closed=F.array(), active=active, leo=offset, hw=offset, start=start)


def truncated(log: Column, offset: Column, now: Column) -> Column:
    """Segments that begin above `offset` go; in the one before, the batch that contains it goes as a whole."""

    def cut(segment):
        batches = F.filter(segment.batches, lambda batch: batch.last < offset)
        size = F.aggregate(batches.bytes, long(0), lambda sum_, bytes_: sum_ + bytes_)
        nothing = struct(timestamp=long(-1), offset=segment.base)
        return changed(
            segment,
            batches=batches,
            size=size,
            created=F.when(size == 0, now).otherwise(segment.created),
            since_entry=long(0),
            newest=F.aggregate(batches, nothing, lambda newest, batch: newer(newest, batch.timestamp, batch.last)),
            entries=F.filter(segment.entries, lambda entry: entry.offset < offset),
            times=F.filter(segment.times, lambda entry: entry.offset < offset),
        )

    def shortened(left):
        return changed(
            log,
            closed=F.slice(left, F.lit(1), F.size(left) - 1),
            active=let(F.element_at(left, -1), cut),
            leo=offset,
            start=F.least(log.start, offset),
            hw=F.least(log.hw, offset),
        )

    left = F.filter(segments(log), lambda segment: segment.base <= offset)
    return F.when(offset < first_base(log), restarted(log, offset, offset, now)).otherwise(let(left, shortened))


def truncated_to(log: Column, offset: Column, now: Column) -> Column:
    """A target at or above the log end changes nothing, a negative one is refused."""
    answered = lambda log, answer: changed(log, result=F.lit(answer))  # noqa: E731
    inside = let(truncated(log, offset, now), lambda log: answered(log, "yes"))
    return F.when(offset >= log.leo, answered(log, "no")).when(offset >= 0, inside).otherwise(log)


def reopened(log: Column, now: Column) -> Column:
    """Closed and loaded again: the bytes since the last index entry are forgotten, the high watermark begins at the
    start, and the log ends where its last batch does.
    """
    leo = F.coalesce(F.array_max(log.active.batches).last + 1, log.active.base)
    start = F.greatest(log.start, first_base(log))
    loaded = changed(log.active, times=timed(log.active.times, log.active.newest), created=now, since_entry=long(0))
    return changed(log, known=log.known & (leo >= start), active=loaded, leo=leo, start=start, hw=start)


REBUILT = (
    f"struct<position:bigint, indexed:bigint, newest:{STAMP},"
    f" entries:array<struct<offset:bigint,position:bigint>>, times:array<{STAMP}>>"
)


def rebuilt(segment: Column, settings: Column) -> Column:
    """The segment with the index entries that a scan of its batches gives."""

    def scan(scanned, batch):
        newest = newer(scanned.newest, batch.timestamp, batch.last)
        due = scanned.position - scanned.indexed > settings.index_interval_bytes
        entry = struct(offset=batch.last, position=scanned.position)
        return struct(
            position=scanned.position + batch.bytes,
            indexed=F.when(due, scanned.position).otherwise(scanned.indexed),
            newest=newest,
            entries=F.when(due, F.concat(scanned.entries, F.array(entry))).otherwise(scanned.entries),
            times=F.when(due, timed(scanned.times, newest)).otherwise(scanned.times),
        ).cast(REBUILT)

    nothing = struct(
        position=long(0), indexed=long(0), newest=struct(timestamp=long(-1), offset=segment.base),
        entries=F.array(), times=F.array(),
    ).cast(REBUILT)  # fmt: skip
    return let(
        F.aggregate(segment.batches, nothing, scan),
        lambda scanned: changed(segment, entries=scanned.entries, times=timed(scanned.times, scanned.newest)),
    )


def recovered(log: Column, now: Column, settings: Column) -> Column:
    """Killed and loaded again: all segments are scanned, and a log start that no checkpoint holds is forgotten."""
    closed = F.transform(log.closed, lambda segment: rebuilt(segment, settings))
    return let(
        changed(log, closed=closed, active=rebuilt(log.active, settings), start=long(0)), lambda log: reopened(log, now)
    )


def step(log: Column, operation: Column, settings: Column, kinds: frozenset[str]) -> Column:
    """What `operation`, which is of one of `kinds`, makes of the log."""
    unanswered = changed(log, op=operation.op, known=sound(log), result=F.lit(None).cast("string"))
    before = struct(log=unanswered, offset=place(log, operation.anchor, operation.distance))
    return let(before, lambda before: effect(before.log, operation, before.offset, settings, kinds))


def effect(log: Column, operation: Column, offset: Column, settings: Column, kinds: frozenset[str]) -> Column:
    higher = (offset > log.hw) & (offset <= log.leo)
    effects = {
        "append_as_leader": lambda: F.when(operation.accepted, appended(log, operation, settings)).otherwise(log),
        "roll": lambda: changed(
            rolled(log, operation.now),
            known=log.known & (offset <= log.leo),
            result=F.concat(F.lit("segment "), log.leo),
        ),
        "delete_old_segments": lambda: retained(log, operation, settings),
        "fetch": lambda: fetched(log, operation, offset),
        "isr": lambda: isr_raised(log, log.fetched, operation.replicas),
        "update_high_watermark": lambda: changed(
            log, hw=clamped(log, offset), result=clamped(log, offset).cast("string")
        ),
        "maybe_update_high_watermark": lambda: changed(log, hw=clamped(log, offset)),
        "maybe_increment_high_watermark": lambda: changed(log, hw=F.when(higher, offset).otherwise(log.hw)),
        "maybe_increment_log_start_offset": lambda: log_start_raised(log, offset),
        "truncate_to": lambda: truncated_to(log, offset, operation.now),
        "truncate_fully_and_start_at": lambda: restarted(
            log, offset, F.coalesce(place(log, operation.upper_anchor, operation.upper_distance), offset), operation.now
        ),
        "reopen": lambda: F.when(operation.clean, reopened(log, operation.now)).otherwise(
            recovered(log, operation.now, settings)
        ),
    }
    result = log
    for kind in sorted(kinds & effects.keys()):
        result = F.when(operation.kind == kind, effects[kind]()).otherwise(result)
    return result


def fold(spark, kinds: frozenset[str]):
    """The log after each operation (all are of one of `kinds`), one row per operation, as far as it is known."""
    operations, settings, seen = expressions(spark, kinds)
    return spark.table("judged").agg(operations, settings).select(seen)


@lru_cache(maxsize=8)
def expressions(spark, kinds: frozenset[str]) -> tuple[Column, Column, Column]:
    """The columns `operations` and `settings`, and over them the fold: a row of what is seen of each known state.

    Spark is slow with long expressions, so they cover only the kinds of operations that occur and are made once per
    session.
    """
    columns = F.struct(
        "op", "kind", "now", "replica", "replicas", "anchor", "distance", "upper_anchor", "upper_distance",
        "batch.bytes", "batch.records", "accepted",
        F.col("stored_timestamp").alias("max_timestamp"),
        (~F.col("text").contains("clean=false")).alias("clean"),
    )  # fmt: skip
    settings = F.col("settings")
    empty = struct(
        op=long(-1), known=F.lit(True), leo=long(0), hw=long(0), start=long(0),
        fetched=F.create_map(), isr=settings.isr, closed=F.array(), active=new_segment(long(0), settings.start_ms),
        result=F.lit(None),
    ).cast(STATE)  # fmt: skip

    def walk(history, operation):
        return F.concat(history, F.array(step(F.element_at(history, -1), operation, settings, kinds).cast(STATE)))

    def seen(log):
        return struct(
            op=log.op,
            log_start_offset=log.start,
            high_watermark=log.hw,
            log_end_offset=log.leo,
            segments=F.transform(segments(log), lambda segment: F.struct(segment.base, segment.size)),
            index_entries=F.flatten(segments(log).entries),
            result=log.result,
        )

    history = F.aggregate("operations", F.array(empty), walk)
    after_each = F.slice(history, F.lit(2), F.size(history))
    return (
        F.sort_array(F.collect_list(columns)).alias("operations"),
        F.first("settings").alias("settings"),
        F.inline(F.transform(F.filter(after_each, sound), seen)),
    )


def _foldable(workload: Workload) -> str | None:
    checkpointed = False
    for number, operation in enumerate(workload):
        if operation.kind == "reopen" and not operation.clean and checkpointed:
            return f"operation {number} is an unclean reopen that begins with checkpoints"
        checkpointed |= operation.kind == "checkpoint" or operation.kind == "reopen" and operation.clean
        place_named = getattr(operation, "offset", None)
        if operation.kind not in PASSIVE and place_named is not None and place_named.anchor in ("recovery", "now"):
            return f"operation {number} anchors on {place_named.anchor}"
    if int(workload.config.get("segment.jitter.ms", 0)):
        return "segment.jitter.ms is random"
    return plain(workload)


_FOLDED = frozenset(
    "append_as_leader roll delete_old_segments fetch isr update_high_watermark maybe_update_high_watermark"
    " maybe_increment_high_watermark maybe_increment_log_start_offset reopen truncate_to"
    " truncate_fully_and_start_at".split()
)

log_fold = Query(
    "log_fold",
    ("segments", "index_entries", "log_start_offset", "high_watermark", "log_end_offset", "result"),
    PASSIVE | _FOLDED,
    "rolling, the sparse index, the three retention rules and truncation, folded over the operations",
    condition=_foldable,
    frame=fold,
    prepare=expressions,
)
