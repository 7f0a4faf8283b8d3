"""The Spark witness's fold: the whole log as one value, and what each operation makes of it.

`aggregate()` walks the operations; the value that it carries is the list of the log's states after each of them
(STATE), with what rolling and indexing need of every segment. Each rule below is one expression over the last state.
Where the answer would depend on something that is not carried (a high watermark inside a batch, a segment's age by its
file's time), `known` turns false, and nothing is said of all later operations.

Spark resolves an expression from its leaves up, one round for each lambda within a lambda: the rules are kept shallow.
"""

from functools import lru_cache

from pyspark.sql import Column
from pyspark.sql import functions as F

from minikafka.witness.queries import PASSIVE, Query, plain
from minikafka.witness.workload import Workload

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


def changed(s: Column, **columns) -> Column:
    """The struct `s`, other in `columns`."""
    for name, column in columns.items():
        s = s.withField(name, column)
    return s


def long(value: int) -> Column:
    return F.lit(value).cast("bigint")


def segments(s: Column) -> Column:
    """All segments, the active one last."""
    return F.concat(s.closed, F.array(s.active))


def base_of(s: Column, i: Column) -> Column:
    """The base offset of segment `i`, counted from 0; of the active one for all behind the closed ones."""
    return F.coalesce(F.get(s.closed, i).base, s.active.base)


def first_base(s: Column) -> Column:
    return base_of(s, F.lit(0))


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


def closed_by_roll(s: Column) -> Column:
    """The closed segments after a roll: an empty active segment is replaced, not closed."""
    last = changed(s.active, times=timed(s.active.times, s.active.newest))
    return F.when(s.active.size > 0, F.concat(s.closed, F.array(last))).otherwise(s.closed)


def rolled(s: Column, now: Column) -> Column:
    """A new segment at the log end."""
    return changed(s, closed=closed_by_roll(s), active=new_segment(s.leo, now))


def must_roll(segment: Column, o: Column, settings: Column) -> Column:
    """The incoming batch does not fit, the segment has waited long enough, or an index is full."""
    first = F.get(segment.batches, F.lit(0)).timestamp
    waited = F.when(first >= 0, o.max_timestamp - first).otherwise(o.now - segment.created)
    return (
        (segment.size > settings.segment_bytes - o.bytes)
        | ((segment.size > 0) & (waited > settings.segment_ms))
        | (F.size(segment.entries) >= settings.max_index_entries)
        | (F.size(segment.times) >= settings.max_time_index_entries - 1)
    )


def appended(s: Column, o: Column, settings: Column) -> Column:
    """The batch at the end of the active segment; index entries are made before its own size counts."""
    last = s.leo + o.records - 1
    batch = struct(base=s.leo, last=last, bytes=o.bytes, timestamp=o.max_timestamp)

    def grown(segment):
        newest = newer(segment.newest, o.max_timestamp, last)
        due = segment.since_entry > settings.index_interval_bytes
        entry = struct(offset=last, position=segment.size)
        return changed(
            segment,
            size=segment.size + o.bytes,
            since_entry=F.when(due, long(0)).otherwise(segment.since_entry) + o.bytes,
            newest=newest,
            batches=F.concat(segment.batches, F.array(batch)),
            entries=F.when(due, F.concat(segment.entries, F.array(entry))).otherwise(segment.entries),
            times=F.when(due, timed(segment.times, newest)).otherwise(segment.times),
        )

    rolls = must_roll(s.active, o, settings)
    return changed(
        s,
        closed=F.when(rolls, closed_by_roll(s)).otherwise(s.closed),
        active=let(F.when(rolls, new_segment(s.leo, o.now)).otherwise(s.active), grown),
        leo=s.leo + o.records,
    )


def place(s: Column, anchor: Column, distance: Column) -> Column:
    """The offset that an operation names."""
    anchors = {"leo": s.leo, "hw": s.hw, "lso": s.hw, "start": s.start, "active": s.active.base}
    base = long(0)
    for name, value in anchors.items():
        base = F.when(anchor == name, value).otherwise(base)
    return distance + base


def batch_base(s: Column, offset: Column) -> Column:
    """Where a read at `offset` begins: the base offset of the first batch that ends at or after it, or the log end."""
    batches = F.concat(F.flatten(s.closed.batches), s.active.batches)
    return F.coalesce(F.array_min(F.filter(batches, lambda b: b.last >= offset)).base, s.leo)


def sound(s: Column) -> Column:
    """Inside of a batch a later read would move the high watermark: nothing is known from there on."""
    return s.known & (batch_base(s, s.hw) == s.hw)


def clamped(s: Column, offset: Column) -> Column:
    return F.greatest(s.start, F.least(offset, s.leo))


def isr_raised(s: Column, fetched: Column, isr: Column) -> Column:
    """The high watermark raised to the smallest log end offset of the in-sync replicas, when all have fetched."""
    complete = F.size(F.array_except(isr, F.map_keys(fetched))) == 0
    theirs = F.map_values(F.map_filter(fetched, lambda replica, _: F.array_contains(isr, replica)))
    smallest = F.array_min(F.concat(F.array(s.leo), theirs))
    return changed(s, fetched=fetched, isr=isr, hw=F.when(complete, F.greatest(smallest, s.hw)).otherwise(s.hw))


def fetched(s: Column, o: Column, offset: Column) -> Column:
    """A fetch inside a batch counts as one of the batch's base offset; one outside of the log is refused."""
    others = F.map_filter(s.fetched, lambda replica, _: replica != o.replica)
    noted = F.map_concat(others, F.create_map(o.replica, batch_base(s, offset)))
    served = (offset >= s.start) & (offset >= first_base(s)) & (offset <= s.leo)
    return F.when(served, let(noted, lambda noted: isr_raised(s, noted, s.isr))).otherwise(s)


def log_start_raised(s: Column, offset: Column) -> Column:
    """The log start only grows, and never above the high watermark: an offset above that is refused."""
    moves = (offset <= s.hw) & (offset > s.start)
    answer = F.when(offset > s.hw, F.lit(None)).when(moves, F.lit("yes")).otherwise(F.lit("no"))
    return changed(s, start=F.when(moves, offset).otherwise(s.start), result=answer)


def without_oldest(s: Column, n: Column, now: Column) -> Column:
    """The first `n` segments deleted, after a roll if those are all. The log starts at the first survivor."""
    all_go = n > F.size(s.closed)
    first = F.when(all_go, s.leo).otherwise(base_of(s, n))
    return changed(
        s,
        closed=F.when(all_go, F.array()).otherwise(F.slice(s.closed, n + 1, F.size(s.closed))),
        active=F.when(all_go, new_segment(s.leo, now)).otherwise(s.active),
        start=F.when(n == 0, s.start).otherwise(F.greatest(s.start, first)),
        result=F.concat(n.cast("string"), F.lit(" deleted")),
    )


def retained(s: Column, o: Column, settings: Column) -> Column:
    """The walk over the segments, oldest first, by three rules in their order: log start offset, size, time.

    A rule that has refused a segment is not asked again; what all have refused stays, and so does all behind it.
    Always: the high watermark has passed a segment that goes, and an empty last segment stays.
    """
    total = F.aggregate(segments(s).size, long(0), lambda sum_, size: sum_ + size)
    by_size = settings.deletes & (settings.retention_bytes >= 0)
    by_time = settings.deletes & (settings.retention_ms >= 0)
    below_start, too_large, too_old, none = range(4)

    def walk(w, segment):
        last = w.i == F.size(s.closed)
        upper = F.when(last, s.leo).otherwise(base_of(s, w.i + 1))
        may_go = (s.hw >= upper) & ~(last & (segment.size == 0))
        older = w.bytes + segment.size
        rule = (
            F.when(~may_go, none)
            .when((w.rule <= below_start) & ~last & (upper <= s.start), below_start)
            .when((w.rule <= too_large) & by_size & (older <= total - settings.retention_bytes), too_large)
            .when((w.rule <= too_old) & by_time & (o.now - segment.newest.timestamp > settings.retention_ms), too_old)
            .otherwise(none)
        )
        rule = F.greatest(w.rule, rule)
        return struct(i=w.i + 1, bytes=older, rule=rule, gone=w.gone + F.when(rule < none, 1).otherwise(0))

    begin = struct(i=F.lit(0), bytes=long(0), rule=F.lit(below_start), gone=F.lit(0))
    gone = F.aggregate(segments(s), begin, walk).gone
    ageless = F.exists(segments(s), lambda segment: (segment.size > 0) & (segment.newest.timestamp < 0))
    known = s.known & ~(ageless & by_time)
    return changed(let(gone, lambda n: without_oldest(s, n, o.now)), known=known)


def restarted(s: Column, offset: Column, start: Column, now: Column) -> Column:
    """Everything dropped, one empty segment at `offset`. A log start above it is not followed."""
    known = s.known & (offset >= 0) & (start >= 0) & (start <= offset)
    active = new_segment(offset, now)
    return changed(s, known=known, closed=F.array(), active=active, leo=offset, hw=offset, start=start)


def truncated(s: Column, offset: Column, now: Column) -> Column:
    """Segments that begin above `offset` go; in the one before, the batch that contains it goes whole."""

    def cut(segment):
        batches = F.filter(segment.batches, lambda b: b.last < offset)
        size = F.aggregate(batches.bytes, long(0), lambda sum_, bytes_: sum_ + bytes_)
        nothing = struct(timestamp=long(-1), offset=segment.base)
        return changed(
            segment,
            batches=batches,
            size=size,
            created=F.when(size == 0, now).otherwise(segment.created),
            since_entry=long(0),
            newest=F.aggregate(batches, nothing, lambda newest, b: newer(newest, b.timestamp, b.last)),
            entries=F.filter(segment.entries, lambda entry: entry.offset < offset),
            times=F.filter(segment.times, lambda entry: entry.offset < offset),
        )

    def shortened(left):
        return changed(
            s,
            closed=F.slice(left, F.lit(1), F.size(left) - 1),
            active=let(F.element_at(left, -1), cut),
            leo=offset,
            start=F.least(s.start, offset),
            hw=F.least(s.hw, offset),
        )

    left = F.filter(segments(s), lambda segment: segment.base <= offset)
    return F.when(offset < first_base(s), restarted(s, offset, offset, now)).otherwise(let(left, shortened))


def truncated_to(s: Column, offset: Column, now: Column) -> Column:
    """A target at or above the log end changes nothing, a negative one is refused."""
    answered = lambda s, answer: changed(s, result=F.lit(answer))  # noqa: E731
    inside = let(truncated(s, offset, now), lambda s: answered(s, "yes"))
    return F.when(offset >= s.leo, answered(s, "no")).when(offset >= 0, inside).otherwise(s)


def reopened(s: Column, now: Column) -> Column:
    """Closed and loaded again: the bytes since the last index entry are forgotten, the high watermark begins at the
    start, and the log ends where its last batch does.
    """
    leo = F.coalesce(F.array_max(s.active.batches).last + 1, s.active.base)
    start = F.greatest(s.start, first_base(s))
    loaded = changed(s.active, times=timed(s.active.times, s.active.newest), created=now, since_entry=long(0))
    return changed(s, known=s.known & (leo >= start), active=loaded, leo=leo, start=start, hw=start)


REBUILT = (
    f"struct<position:bigint, indexed:bigint, newest:{STAMP},"
    f" entries:array<struct<offset:bigint,position:bigint>>, times:array<{STAMP}>>"
)


def rebuilt(segment: Column, settings: Column) -> Column:
    """The segment with the index entries that a scan of its batches gives."""

    def scan(r, b):
        newest = newer(r.newest, b.timestamp, b.last)
        due = r.position - r.indexed > settings.index_interval_bytes
        entry = struct(offset=b.last, position=r.position)
        return struct(
            position=r.position + b.bytes,
            indexed=F.when(due, r.position).otherwise(r.indexed),
            newest=newest,
            entries=F.when(due, F.concat(r.entries, F.array(entry))).otherwise(r.entries),
            times=F.when(due, timed(r.times, newest)).otherwise(r.times),
        ).cast(REBUILT)

    nothing = struct(
        position=long(0), indexed=long(0), newest=struct(timestamp=long(-1), offset=segment.base),
        entries=F.array(), times=F.array(),
    ).cast(REBUILT)  # fmt: skip
    return let(
        F.aggregate(segment.batches, nothing, scan),
        lambda r: changed(segment, entries=r.entries, times=timed(r.times, r.newest)),
    )


def recovered(s: Column, now: Column, settings: Column) -> Column:
    """Killed and loaded again: all segments are scanned, and a log start that no checkpoint holds is forgotten."""
    closed = F.transform(s.closed, lambda segment: rebuilt(segment, settings))
    return let(changed(s, closed=closed, active=rebuilt(s.active, settings), start=long(0)), lambda s: reopened(s, now))


def step(s: Column, o: Column, settings: Column, kinds: frozenset[str]) -> Column:
    """What operation `o`, which is of one of `kinds`, makes of the log `s`."""
    log = changed(s, op=o.op, known=sound(s), result=F.lit(None).cast("string"))
    before = struct(log=log, offset=place(s, o.anchor, o.distance))
    return let(before, lambda before: effect(before.log, o, before.offset, settings, kinds))


def effect(s: Column, o: Column, offset: Column, settings: Column, kinds: frozenset[str]) -> Column:
    higher = (offset > s.hw) & (offset <= s.leo)
    effects = {
        "append_as_leader": lambda: F.when(o.accepted, appended(s, o, settings)).otherwise(s),
        "roll": lambda: changed(
            rolled(s, o.now), known=s.known & (offset <= s.leo), result=F.concat(F.lit("segment "), s.leo)
        ),
        "delete_old_segments": lambda: retained(s, o, settings),
        "fetch": lambda: fetched(s, o, offset),
        "isr": lambda: isr_raised(s, s.fetched, o.replicas),
        "update_high_watermark": lambda: changed(s, hw=clamped(s, offset), result=clamped(s, offset).cast("string")),
        "maybe_update_high_watermark": lambda: changed(s, hw=clamped(s, offset)),
        "maybe_increment_high_watermark": lambda: changed(s, hw=F.when(higher, offset).otherwise(s.hw)),
        "maybe_increment_log_start_offset": lambda: log_start_raised(s, offset),
        "truncate_to": lambda: truncated_to(s, offset, o.now),
        "truncate_fully_and_start_at": lambda: restarted(
            s, offset, F.coalesce(place(s, o.upper_anchor, o.upper_distance), offset), o.now
        ),
        "reopen": lambda: F.when(o.clean, reopened(s, o.now)).otherwise(recovered(s, o.now, settings)),
    }
    result = s
    for kind in sorted(kinds & effects.keys()):
        result = F.when(o.kind == kind, effects[kind]()).otherwise(result)
    return result


def fold(spark, kinds: frozenset[str]):
    """The log after each operation, all of which are of one of `kinds`: one row an operation, as far as it is known."""
    operations, settings, seen = expressions(spark, kinds)
    return spark.table("judged").agg(operations, settings).select(seen)


@lru_cache(maxsize=8)
def expressions(spark, kinds: frozenset[str]) -> tuple[Column, Column, Column]:
    """The columns `operations` and `settings`, and over them the fold: a row of what is seen of each known state.

    Spark takes its time over long expressions: so they speak of the kinds of operations that there are, and are made
    once for a session.
    """
    operation = F.struct(
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

    def walk(history, o):
        return F.concat(history, F.array(step(F.element_at(history, -1), o, settings, kinds).cast(STATE)))

    def seen(s):
        return struct(
            op=s.op,
            log_start_offset=s.start,
            high_watermark=s.hw,
            log_end_offset=s.leo,
            segments=F.transform(segments(s), lambda segment: F.struct(segment.base, segment.size)),
            index_entries=F.flatten(segments(s).entries),
            result=s.result,
        )

    history = F.aggregate("operations", F.array(empty), walk)
    after_each = F.slice(history, F.lit(2), F.size(history))
    return (
        F.sort_array(F.collect_list(operation)).alias("operations"),
        F.first("settings").alias("settings"),
        F.inline(F.transform(F.filter(after_each, sound), seen)),
    )


def _foldable(workload: Workload) -> str | None:
    checkpointed = False
    for i, operation in enumerate(workload):
        if operation.kind == "reopen" and not operation.clean and checkpointed:
            return f"operation {i} is an unclean reopen that begins with checkpoints"
        checkpointed |= operation.kind == "checkpoint" or operation.kind == "reopen" and operation.clean
        place_ = getattr(operation, "offset", None)
        if operation.kind not in PASSIVE and place_ is not None and place_.anchor in ("recovery", "now"):
            return f"operation {i} anchors on {place_.anchor}"
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
