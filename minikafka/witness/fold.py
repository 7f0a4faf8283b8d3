"""The Spark witness's fold: the whole log as one value, and what each operation makes of it.

`aggregate()` walks the operations; the value it carries (STATE) has the segments with what rolling and indexing need of
them. Each rule below is one expression over that value. Where the answer would depend on something that is not carried (a
high watermark inside a batch, a segment's age by its file's time), `known` turns false and all later answers are null.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from minikafka.witness.queries import PASSIVE, Query, plain
from minikafka.witness.workload import Workload

SEGMENT = (
    "struct<base:bigint, size:bigint, created:bigint, first_timestamp:bigint, max_timestamp:bigint, since_entry:bigint,"
    " entries:array<struct<offset:bigint,position:bigint>>, times:bigint, last_time:bigint>"
)
STATE = (
    f"struct<known:boolean, leo:bigint, hw:bigint, start:bigint, fetched:map<bigint,bigint>, isr:array<bigint>,"
    f" boundaries:array<bigint>, segments:array<{SEGMENT}>, result:string>"
)
HISTORY = (
    "array<struct<op:bigint, log_start_offset:bigint, high_watermark:bigint, log_end_offset:bigint,"
    " segments:array<struct<base:bigint,size:bigint>>, index_entries:array<struct<offset:bigint,position:bigint>>, result:string>>"
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
    none = long(-1)
    return struct(
        base=base,
        size=long(0),
        created=now,
        first_timestamp=none,
        max_timestamp=none,
        since_entry=long(0),
        entries=F.array().cast("array<struct<offset:bigint,position:bigint>>"),
        times=long(0),
        last_time=none,
    )


def rolled(s: Column, now: Column) -> Column:
    """A new segment at the log end; an empty active segment is replaced by it."""
    kept = F.when(active(s).size == 0, all_but_active(s)).otherwise(s.segments)
    return changed(s, segments=F.concat(kept, F.array(new_segment(s.leo, now))))


def must_roll(segment: Column, o: Column, settings: Column) -> Column:
    """The incoming batch does not fit, the segment has waited long enough, or an index is full."""
    waited = F.when(segment.first_timestamp >= 0, o.max_timestamp - segment.first_timestamp).otherwise(o.now - segment.created)
    return (
        (segment.size > settings.segment_bytes - o.bytes)
        | ((segment.size > 0) & (waited > settings.segment_ms))
        | (F.size(segment.entries) >= settings.max_index_entries)
        | (segment.times >= settings.max_time_index_entries - 1)
    )


def appended(s: Column, o: Column, settings: Column) -> Column:
    """The batch at the end of the active segment; its index entry is made before its own size counts."""

    def grown(segment):
        indexed = segment.since_entry > settings.index_interval_bytes
        max_timestamp = F.greatest(segment.max_timestamp, o.max_timestamp)
        timed = indexed & (max_timestamp > segment.last_time)
        entry = struct(offset=s.leo + o.records - 1, position=segment.size)
        return changed(
            segment,
            first_timestamp=F.when(segment.size == 0, o.max_timestamp).otherwise(segment.first_timestamp),
            max_timestamp=max_timestamp,
            since_entry=F.when(indexed, o.bytes).otherwise(segment.since_entry + o.bytes),
            entries=F.when(indexed, F.concat(segment.entries, F.array(entry))).otherwise(segment.entries),
            times=segment.times + timed.cast("bigint"),
            last_time=F.when(timed, max_timestamp).otherwise(segment.last_time),
            size=segment.size + o.bytes,
        )

    def at_the_end(s):
        return changed(
            s,
            segments=F.concat(all_but_active(s), F.array(let(active(s), grown))),
            leo=s.leo + o.records,
            boundaries=F.concat(s.boundaries, F.array(s.leo + o.records)),
        )

    return let(F.when(must_roll(active(s), o, settings), rolled(s, o.now)).otherwise(s), at_the_end)


def place(s: Column, anchor: Column, distance: Column) -> Column:
    """The offset that an operation names."""
    anchors = {"leo": s.leo, "hw": s.hw, "lso": s.hw, "start": s.start, "active": active(s).base}
    base = long(0)
    for name, value in anchors.items():
        base = F.when(anchor == name, value).otherwise(base)
    return distance + base


def watermarked(s: Column, offset: Column) -> Column:
    """The high watermark set; inside a batch a later read would move it, so nothing is known from there on."""
    return changed(s, hw=offset, known=s.known & F.array_contains(s.boundaries, offset))


def clamped(s: Column, offset: Column) -> Column:
    return F.greatest(s.start, F.least(offset, s.leo))


def isr_raised(s: Column) -> Column:
    """The high watermark raised to the smallest log end offset of the in-sync replicas, when all have fetched."""
    complete = F.forall(s.isr, lambda replica: F.map_contains_key(s.fetched, replica))
    smallest = F.array_min(F.concat(F.array(s.leo), F.transform(s.isr, lambda replica: s.fetched[replica])))
    return F.when(complete & (smallest > s.hw), watermarked(s, smallest)).otherwise(s)


def fetched(s: Column, o: Column, offset: Column) -> Column:
    """A fetch inside a batch counts as one of the batch's base offset; one outside of the log is refused."""
    base = F.array_max(F.filter(s.boundaries, lambda boundary: boundary <= offset))
    others = F.map_filter(s.fetched, lambda replica, _: replica != o.replica)
    noted = changed(s, fetched=F.map_concat(others, F.create_map(o.replica, base)))
    return F.when((offset >= s.start) & (offset <= s.leo), let(noted, isr_raised)).otherwise(s)


def log_start_raised(s: Column, offset: Column) -> Column:
    return F.when((offset <= s.hw) & (offset > s.start), changed(s, start=offset)).otherwise(s)


def without_oldest(s: Column, n: Column, now: Column) -> Column:
    """The first `n` segments deleted; if those are all, a new one is rolled first. The log starts at the first survivor."""

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
        return F.when(settings.deletes & (settings.retention_bytes >= 0) & (excess >= 0), deletable(s, fits)).otherwise(0)

    def too_old(s):
        old = lambda _, segment: o.now - segment.max_timestamp > settings.retention_ms  # noqa: E731
        return F.when(settings.deletes & (settings.retention_ms >= 0), deletable(s, old)).otherwise(0)

    def after(rule, then):
        return lambda s, deleted: let(
            rule(s), lambda n: let(without_oldest(s, n, o.now), lambda left: then(left, deleted + n))
        )

    ageless = F.exists(s.segments, lambda segment: (segment.size > 0) & (segment.max_timestamp < 0))
    done = lambda s, deleted: changed(s, result=F.concat(deleted.cast("string"), F.lit(" deleted")))  # noqa: E731
    walk = after(below_start, after(too_large, after(too_old, done)))
    return changed(walk(s, F.lit(0)), known=s.known & ~(ageless & settings.deletes & (settings.retention_ms >= 0)))


def reopened(s: Column, now: Column) -> Column:
    """Closed and loaded again: the bytes since the last index entry are forgotten, the high watermark begins at the start."""

    def loaded(segment):
        timed = segment.max_timestamp > segment.last_time
        return changed(
            segment,
            created=now,
            since_entry=long(0),
            times=segment.times + timed.cast("bigint"),
            last_time=F.when(timed, segment.max_timestamp).otherwise(segment.last_time),
        )

    segments = F.concat(all_but_active(s), F.array(let(active(s), loaded)))
    return let(changed(s, segments=segments), lambda s: watermarked(s, s.start))


def step(s: Column, o: Column, settings: Column) -> Column:
    """What operation `o` makes of the log `s`."""
    fresh = changed(s, result=F.lit(None).cast("string"))
    return let(fresh, lambda s: let(place(s, o.anchor, o.distance), lambda offset: _step(s, o, offset, settings)))


def _step(s: Column, o: Column, offset: Column, settings: Column) -> Column:
    refused = F.lit(None).cast("string")
    effects = {
        "append_as_leader": F.when(o.accepted, appended(s, o, settings)).otherwise(s),
        "roll": changed(rolled(s, o.now), known=s.known & (offset <= s.leo), result=F.concat(F.lit("segment "), s.leo)),
        "delete_old_segments": retained(s, o, settings),
        "fetch": fetched(s, o, offset),
        "isr": isr_raised(changed(s, isr=o.replicas)),
        "update_high_watermark": changed(watermarked(s, clamped(s, offset)), result=clamped(s, offset).cast("string")),
        "maybe_update_high_watermark": watermarked(s, clamped(s, offset)),
        "maybe_increment_high_watermark": F.when((offset > s.hw) & (offset <= s.leo), watermarked(s, offset)).otherwise(s),
        "maybe_increment_log_start_offset": changed(
            log_start_raised(s, offset),
            result=F.when(offset > s.hw, refused).when(offset > s.start, F.lit("yes")).otherwise(F.lit("no")),
        ),
        "reopen": reopened(s, o.now),
    }
    result = s
    for kind, effect in effects.items():
        result = F.when(o.kind == kind, effect).otherwise(result)
    return result


def fold(spark):
    """The state of the log after each operation: one row an operation."""
    operations = spark.table("operations").alias("o")
    appends = spark.table("appends")
    rows = operations.join(appends.select("op", F.col("max_timestamp").alias("appended_timestamp")), "op", "left").select(
        F.struct(
            "op", "kind", "now", "replica", "replicas", "anchor", "distance", "bytes", "records",
            F.col("appended_timestamp").alias("max_timestamp"), F.col("appended_timestamp").isNotNull().alias("accepted"),
        ).alias("o")
    )  # fmt: skip
    settings = spark.table("settings").select(F.struct("*").alias("settings"))
    everything = rows.agg(F.sort_array(F.collect_list("o")).alias("operations")).crossJoin(settings)
    settings = F.col("settings")
    empty = struct(
        known=F.lit(True),
        leo=long(0),
        hw=long(0),
        start=long(0),
        fetched=F.create_map().cast("map<bigint,bigint>"),
        isr=settings.isr,
        boundaries=F.array(long(0)),
        segments=F.array(new_segment(long(0), settings.start_ms)),
        result=F.lit(None).cast("string"),
    )
    zero = struct(state=empty.cast(STATE), history=F.array().cast(HISTORY))

    def walk(acc, o):
        return let(
            step(acc.state, o, settings).cast(STATE),
            lambda s: struct(state=s, history=F.concat(acc.history, F.array(seen(s, o)))),
        )

    history = F.aggregate("operations", zero, walk, lambda acc: acc.history)
    return everything.select(F.inline(history))


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
    for i, operation in enumerate(workload):
        if operation.kind == "reopen" and not operation.clean:
            return f"operation {i} is an unclean reopen"
        place_ = getattr(operation, "offset", None)
        if operation.kind not in PASSIVE and place_ is not None and place_.anchor in ("recovery", "now"):
            return f"operation {i} anchors on {place_.anchor}"
    if int(workload.config.get("segment.jitter.ms", 0)):
        return "segment.jitter.ms is random"
    return plain(workload)


log_fold = Query(
    "segments, indexes and retention",
    ("segments", "index_entries", "log_start_offset", "high_watermark", "log_end_offset", "result"),
    PASSIVE
    | {"append_as_leader", "roll", "delete_old_segments", "fetch", "isr", "update_high_watermark", "maybe_update_high_watermark"}
    | {"maybe_increment_high_watermark", "maybe_increment_log_start_offset", "reopen"},
    "rolling, the sparse index and the three retention rules, folded over the operations",
    condition=_foldable,
    frame=fold,
)
