"""The Spark witness's fold: the whole log as one value, and what each operation makes of it.

`aggregate()` walks the operations; the value it carries (STATE) has the segments with what rolling and indexing need of
them. Each rule below is one expression over that value. Where the answer would depend on something that is not carried
(a high watermark inside a batch, a segment's age by its file's time), `known` turns false and all later answers are
null.
"""

from functools import lru_cache

from pyspark.sql import Column
from pyspark.sql import functions as F

from minikafka.witness.queries import PASSIVE, Query, plain
from minikafka.witness.workload import Workload

SEGMENT = (
    "struct<base:bigint, size:bigint, created:bigint, since_entry:bigint,"
    " batches:array<struct<base:bigint,last:bigint,bytes:bigint,timestamp:bigint>>,"
    " entries:array<struct<offset:bigint,position:bigint>>, times:array<struct<timestamp:bigint,offset:bigint>>>"
)
STATE = (
    f"struct<known:boolean, leo:bigint, hw:bigint, start:bigint, fetched:map<bigint,bigint>, isr:array<bigint>,"
    f" segments:array<{SEGMENT}>, result:string>"
)
HISTORY = (
    "array<struct<op:bigint, log_start_offset:bigint, high_watermark:bigint, log_end_offset:bigint,"
    " segments:array<struct<base:bigint,size:bigint>>,"
    " index_entries:array<struct<offset:bigint,position:bigint>>, result:string>>"
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


def active(s: Column) -> Column:
    return F.element_at(s.segments, -1)


def all_but_active(s: Column) -> Column:
    return F.slice(s.segments, F.lit(1), F.size(s.segments) - 1)


def new_segment(base: Column, now: Column) -> Column:
    """An empty segment, created now."""
    empty = {name: F.array() for name in ("batches", "entries", "times")}
    return struct(base=base, size=long(0), created=now, since_entry=long(0), **empty).cast(SEGMENT)


def newest(segment: Column) -> Column:
    """The largest timestamp, and the last offset of the first batch that has it; (−1, base) for none."""
    largest = F.array_max(F.transform(segment.batches, lambda b: struct(timestamp=b.timestamp, offset=-b.last)))
    return struct(
        timestamp=F.coalesce(largest.timestamp, long(-1)), offset=F.coalesce(-largest.offset, segment.base)
    )  # fmt: skip


def timed(segment: Column) -> Column:
    """The segment with a time index entry for its newest batch, if that is newer than the last entry."""
    last = F.coalesce(F.get(segment.times, F.size(segment.times) - 1).timestamp, long(-1))
    entry = newest(segment)
    times = F.when(entry.timestamp > last, F.concat(segment.times, F.array(entry))).otherwise(segment.times)
    return changed(segment, times=times)


def rolled(s: Column, now: Column) -> Column:
    """A new segment at the log end; an empty active segment is replaced by it."""
    closed = F.when(active(s).size > 0, F.array(timed(active(s)))).otherwise(F.array().cast(f"array<{SEGMENT}>"))
    return changed(s, segments=F.concat(all_but_active(s), closed, F.array(new_segment(s.leo, now))))


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

    def grown(segment, last):
        batch = struct(base=s.leo, last=last, bytes=o.bytes, timestamp=o.max_timestamp)
        longer = changed(segment, batches=F.concat(segment.batches, F.array(batch)))
        indexed = changed(
            timed(longer),
            entries=F.concat(segment.entries, F.array(struct(offset=last, position=segment.size))),
            since_entry=long(0),
        )
        due = segment.since_entry > settings.index_interval_bytes
        return let(
            F.when(due, indexed).otherwise(longer),
            lambda grown: changed(grown, size=grown.size + o.bytes, since_entry=grown.since_entry + o.bytes),
        )

    def at_the_end(s):
        last = s.leo + o.records - 1
        segments = F.concat(all_but_active(s), F.array(let(active(s), lambda segment: grown(segment, last))))
        return changed(s, segments=segments, leo=s.leo + o.records)

    return let(F.when(must_roll(active(s), o, settings), rolled(s, o.now)).otherwise(s), at_the_end)


def place(s: Column, anchor: Column, distance: Column) -> Column:
    """The offset that an operation names."""
    anchors = {"leo": s.leo, "hw": s.hw, "lso": s.hw, "start": s.start, "active": active(s).base}
    base = long(0)
    for name, value in anchors.items():
        base = F.when(anchor == name, value).otherwise(base)
    return distance + base


def batch_base(s: Column, offset: Column) -> Column:
    """Where a read at `offset` begins: the base offset of the first batch that ends at or after it, or the log end."""
    batches = F.flatten(F.transform(s.segments, lambda segment: segment.batches))
    return F.coalesce(F.array_min(F.transform(F.filter(batches, lambda b: b.last >= offset), lambda b: b.base)), s.leo)


def watermarked(s: Column, offset: Column) -> Column:
    """The high watermark set; inside a batch a later read would move it, so nothing is known from there on."""
    return changed(s, hw=offset, known=s.known & (batch_base(s, offset) == offset))


def clamped(s: Column, offset: Column) -> Column:
    return F.greatest(s.start, F.least(offset, s.leo))


def isr_raised(s: Column) -> Column:
    """The high watermark raised to the smallest log end offset of the in-sync replicas, when all have fetched."""
    complete = F.forall(s.isr, lambda replica: F.map_contains_key(s.fetched, replica))
    smallest = F.array_min(F.concat(F.array(s.leo), F.transform(s.isr, lambda replica: s.fetched[replica])))
    return F.when(complete & (smallest > s.hw), watermarked(s, smallest)).otherwise(s)


def fetched(s: Column, o: Column, offset: Column) -> Column:
    """A fetch inside a batch counts as one of the batch's base offset; one outside of the log is refused."""
    others = F.map_filter(s.fetched, lambda replica, _: replica != o.replica)
    noted = changed(s, fetched=F.map_concat(others, F.create_map(o.replica, batch_base(s, offset))))
    served = (offset >= s.start) & (offset >= s.segments[0].base) & (offset <= s.leo)
    return F.when(served, let(noted, isr_raised)).otherwise(s)


def log_start_raised(s: Column, offset: Column) -> Column:
    return F.when((offset <= s.hw) & (offset > s.start), changed(s, start=offset)).otherwise(s)


def without_oldest(s: Column, n: Column, now: Column) -> Column:
    """The first `n` segments deleted, after a roll if those are all. The log starts at the first survivor."""

    def drop(s):
        kept = F.slice(s.segments, n + 1, F.size(s.segments))
        return changed(s, segments=kept, start=F.greatest(s.start, kept[0].base))

    everything = F.when(n == F.size(s.segments), rolled(s, now)).otherwise(s)
    return F.when(n == 0, s).otherwise(let(everything, drop))


def deletable(s: Column, rule) -> Column:
    """How many of the oldest segments `rule(i, segment)` lets go: the walk stops at the first that must stay.

    Always: the high watermark has passed the segment, and an empty last segment stays.
    """
    count = F.size(s.segments)

    def goes(i):
        segment = s.segments[i]
        last = i == count - 1
        upper = F.when(last, s.leo).otherwise(F.get(s.segments, i + 1).base)
        return (s.hw >= upper) & ~(last & (segment.size == 0)) & rule(i, segment)

    indexes = F.sequence(F.lit(0), count - 1)
    return F.size(F.filter(indexes, lambda i: F.forall(F.sequence(F.lit(0), i), goes)))


def retained(s: Column, o: Column, settings: Column) -> Column:
    """The three rules in their order, each on what the one before has left: log start offset, size, time."""
    total = lambda segments: F.aggregate(segments, long(0), lambda sum_, segment: sum_ + segment.size)  # noqa: E731

    def below_start(s):
        return deletable(s, lambda i, _: (i < F.size(s.segments) - 1) & (F.get(s.segments, i + 1).base <= s.start))

    def too_large(s):
        excess = total(s.segments) - settings.retention_bytes
        fits = lambda i, _: total(F.slice(s.segments, F.lit(1), i + 1)) <= excess  # noqa: E731
        applies = settings.deletes & (settings.retention_bytes >= 0) & (excess >= 0)
        return F.when(applies, deletable(s, fits)).otherwise(0)

    def too_old(s):
        old = lambda _, segment: o.now - newest(segment).timestamp > settings.retention_ms  # noqa: E731
        return F.when(settings.deletes & (settings.retention_ms >= 0), deletable(s, old)).otherwise(0)

    def after(rule, then):
        return lambda s, deleted: let(
            rule(s), lambda n: let(without_oldest(s, n, o.now), lambda left: then(left, deleted + n))
        )

    ageless = F.exists(s.segments, lambda segment: (segment.size > 0) & (newest(segment).timestamp < 0))
    done = lambda s, deleted: changed(s, result=F.concat(deleted.cast("string"), F.lit(" deleted")))  # noqa: E731
    walk = after(below_start, after(too_large, after(too_old, done)))
    return changed(walk(s, F.lit(0)), known=s.known & ~(ageless & settings.deletes & (settings.retention_ms >= 0)))


def restarted(s: Column, offset: Column, start: Column, now: Column) -> Column:
    """Everything dropped, one empty segment at `offset`. A log start above it is not followed."""
    fresh = changed(s, segments=F.array(new_segment(offset, now)), leo=offset, hw=offset, start=start)
    return changed(fresh, known=s.known & (offset >= 0) & (start >= 0) & (start <= offset))


def truncated(s: Column, offset: Column, now: Column) -> Column:
    """Segments that begin above `offset` go; in the one before, the batch that contains it goes whole."""

    def cut(segment):
        batches = F.filter(segment.batches, lambda b: b.last < offset)
        size = F.aggregate(batches, long(0), lambda sum_, b: sum_ + b.bytes)
        return changed(
            segment,
            batches=batches,
            size=size,
            created=F.when(size == 0, now).otherwise(segment.created),
            since_entry=long(0),
            entries=F.filter(segment.entries, lambda entry: entry.offset < offset),
            times=F.filter(segment.times, lambda entry: entry.offset < offset),
        )

    left = changed(s, segments=F.filter(s.segments, lambda segment: segment.base <= offset))
    cut_off = let(left, lambda s: changed(s, segments=F.concat(all_but_active(s), F.array(let(active(s), cut)))))
    lowered = changed(cut_off, leo=offset, start=F.least(s.start, offset))
    partly = let(lowered, lambda s: watermarked(s, F.least(s.hw, offset)))
    return F.when(offset < s.segments[0].base, restarted(s, offset, offset, now)).otherwise(partly)


def truncated_to(s: Column, offset: Column, now: Column) -> Column:
    """A target at or above the log end changes nothing, a negative one is refused."""
    inside = (offset >= 0) & (offset < s.leo)
    answer = F.when(offset >= s.leo, F.lit("no")).when(inside, F.lit("yes"))
    return changed(F.when(inside, truncated(s, offset, now)).otherwise(s), result=answer)


def reopened(s: Column, now: Column) -> Column:
    """Closed and loaded again: the bytes since the last index entry are forgotten, the high watermark begins at the
    start, and the log ends where its last batch does.
    """

    def loaded(segment):
        return changed(timed(segment), created=now, since_entry=long(0))

    last_batch = F.get(active(s).batches, F.size(active(s).batches) - 1)
    leo = F.coalesce(last_batch.last + 1, active(s).base)
    start = F.greatest(s.start, s.segments[0].base)
    segments = F.concat(all_but_active(s), F.array(let(active(s), loaded)))
    known = s.known & (leo >= start)
    return let(changed(s, segments=segments, leo=leo, start=start, known=known), lambda s: watermarked(s, s.start))


REBUILT = (
    "struct<position:bigint, indexed:bigint, newest:struct<timestamp:bigint,offset:bigint>,"
    " entries:array<struct<offset:bigint,position:bigint>>, times:array<struct<timestamp:bigint,offset:bigint>>>"
)


def rebuilt(segment: Column, settings: Column) -> Column:
    """The segment with the index entries that a scan of its batches gives."""

    def scan(r, b):
        newest = F.when(b.timestamp > r.newest.timestamp, struct(timestamp=b.timestamp, offset=b.last)).otherwise(
            r.newest
        )
        due = r.position - r.indexed > settings.index_interval_bytes
        last_time = F.coalesce(F.get(r.times, F.size(r.times) - 1).timestamp, long(-1))
        return struct(
            position=r.position + b.bytes,
            indexed=F.when(due, r.position).otherwise(r.indexed),
            newest=newest,
            entries=F.when(due, F.concat(r.entries, F.array(struct(offset=b.last, position=r.position)))).otherwise(
                r.entries
            ),
            times=F.when(due & (newest.timestamp > last_time), F.concat(r.times, F.array(newest))).otherwise(r.times),
        ).cast(REBUILT)

    nothing = struct(
        position=long(0),
        indexed=long(0),
        newest=struct(timestamp=long(-1), offset=segment.base),
        entries=F.array(),
        times=F.array(),
    ).cast(REBUILT)
    return let(
        F.aggregate(segment.batches, nothing, scan),
        lambda r: timed(changed(segment, entries=r.entries, times=r.times)),
    )


def recovered(s: Column, now: Column, settings: Column) -> Column:
    """Killed and loaded again: all segments are scanned, and a log start that no checkpoint holds is forgotten."""
    scanned = changed(s, segments=F.transform(s.segments, lambda segment: rebuilt(segment, settings)), start=long(0))
    return let(scanned, lambda s: reopened(s, now))


def step(s: Column, o: Column, settings: Column, kinds: frozenset[str]) -> Column:
    """What operation `o`, which is of one of `kinds`, makes of the log `s`."""
    fresh = changed(s, result=F.lit(None).cast("string"))
    return let(
        fresh, lambda s: let(place(s, o.anchor, o.distance), lambda offset: _step(s, o, offset, settings, kinds))
    )


def _step(s: Column, o: Column, offset: Column, settings: Column, kinds: frozenset[str]) -> Column:
    refused = F.lit(None).cast("string")
    higher = (offset > s.hw) & (offset <= s.leo)
    effects = {
        "append_as_leader": lambda: F.when(o.accepted, appended(s, o, settings)).otherwise(s),
        "roll": lambda: changed(
            rolled(s, o.now), known=s.known & (offset <= s.leo), result=F.concat(F.lit("segment "), s.leo)
        ),
        "delete_old_segments": lambda: retained(s, o, settings),
        "fetch": lambda: fetched(s, o, offset),
        "isr": lambda: isr_raised(changed(s, isr=o.replicas)),
        "update_high_watermark": lambda: changed(
            watermarked(s, clamped(s, offset)), result=clamped(s, offset).cast("string")
        ),
        "maybe_update_high_watermark": lambda: watermarked(s, clamped(s, offset)),
        "maybe_increment_high_watermark": lambda: F.when(higher, watermarked(s, offset)).otherwise(s),
        "maybe_increment_log_start_offset": lambda: changed(
            log_start_raised(s, offset),
            result=F.when(offset > s.hw, refused).when(offset > s.start, F.lit("yes")).otherwise(F.lit("no")),
        ),
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
    """The state of the log after each operation, all of which are of one of `kinds`: one row an operation."""
    operations = spark.table("operations")
    appends = spark.table("appends").select("op", F.col("max_timestamp").alias("appended_timestamp"))
    rows = operations.join(appends, "op", "left").select(
        F.struct(
            "op", "kind", "now", "replica", "replicas", "anchor", "distance", "upper_anchor", "upper_distance",
            "bytes", "records", F.col("appended_timestamp").alias("max_timestamp"),
            F.col("appended_timestamp").isNotNull().alias("accepted"),
            (~F.col("text").contains("clean=false")).alias("clean"),
        ).alias("o")
    )  # fmt: skip
    settings = spark.table("settings").select(F.struct("*").alias("settings"))
    everything = rows.agg(F.sort_array(F.collect_list("o")).alias("operations")).crossJoin(settings)
    return everything.select(F.inline(_history(spark, kinds)))


@lru_cache(maxsize=8)
def _history(spark, kinds: frozenset[str]) -> Column:
    """The fold over the column `operations`. Spark takes its time over long expressions: so it speaks of the kinds of
    operations that there are, and is made once for a session."""
    settings = F.col("settings")
    empty = struct(
        known=F.lit(True),
        leo=long(0),
        hw=long(0),
        start=long(0),
        fetched=F.create_map().cast("map<bigint,bigint>"),
        isr=settings.isr,
        segments=F.array(new_segment(long(0), settings.start_ms)),
        result=F.lit(None).cast("string"),
    )
    zero = struct(state=empty.cast(STATE), history=F.array().cast(HISTORY))

    def walk(acc, o):
        return let(
            step(acc.state, o, settings, kinds).cast(STATE),
            lambda s: struct(state=s, history=F.concat(acc.history, F.array(seen(s, o)))),
        )

    return F.aggregate("operations", zero, walk, lambda acc: acc.history)


def seen(s: Column, o: Column) -> Column:
    """What can be seen of the log after operation `o`; nulls where it is not known."""
    pairs = F.transform(s.segments, lambda segment: struct(base=segment.base, size=segment.size))
    entries = F.flatten(F.transform(s.segments, lambda segment: segment.entries))
    known = lambda value: F.when(s.known, value)  # noqa: E731
    return struct(
        op=o.op,
        log_start_offset=known(s.start),
        high_watermark=known(s.hw),
        log_end_offset=known(s.leo),
        segments=known(pairs),
        index_entries=known(entries),
        result=known(s.result),
    ).cast(HISTORY.removeprefix("array<").removesuffix(">"))


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
)
