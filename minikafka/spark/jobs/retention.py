"""The job `retention`: which segments a broker deletes, by which rule, and when.

Workers look at the ends of segments (`segment_facts`); the rules are window functions over these rows. A rule takes the
oldest segments up to the first that must stay, so it is a running sum, or a running `bool_and`.
"""

import time
from functools import partial

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from minikafka.spark.jobs.byte_ranges import for_each_directory, table
from minikafka.spark.jobs.row_type import schema_of_rows
from minikafka.spark.jobs.segment_facts import SegmentFacts, segment_facts
from minikafka.spark.jobs.spark_time import spark_time
from minikafka.spark.source.damage import Mode
from minikafka.spark.source.range_rows import carried_settings
from minikafka.tools.recover.offline_log import config_of

LOG_START, RETENTION_BYTES, RETENTION_MS = "log start", "retention.bytes", "retention.ms"


def retention(
    partitions: DataFrame,
    *,
    now: int | None = None,
    configs: tuple[str, ...] = (),
    metadata: str | None = None,
    mode: str = Mode.FAILFAST.value,
) -> DataFrame:
    """A row for each segment. `partitions` is the data source's table of that name.

    | column | type | meaning |
    |---|---|---|
    | `topic`, `partition`, `segment` | string, int, string | the segment's file |
    | `baseOffset`, `endOffset` | bigint | `endOffset` is exclusive: that of the next segment, or the log end |
    | `size` | bigint | bytes |
    | `newest` | timestamp | the largest of its records, or when the file was last changed, if no record has one |
    | `newestIsOfRecord` | boolean | which of the two `newest` is |
    | `goesBy` | string | what a broker deletes it by at the time `now`, in the order in which it asks: `log start`, \
`retention.bytes`, `retention.ms`; null if it stays |
    | `goesAt` | timestamp | from when on `retention.ms` lets it go, if those before it have gone; null if that never \
comes, and for what goes by the other two |
    | `held` | boolean | it is not below the high watermark as a whole, so it stays whatever the rules say |
    | `settingsKnown` | boolean | a metadata log told the topic's settings; if not, it is judged by `configs` alone |

    `now`: ms since 1970, None for this machine's clock. `configs`: settings of all topics, as `K=V`, by default
    Kafka's. Topics' own settings come first: those that the metadata log (`__cluster_metadata-0`) in the partition's
    own log directory tells, on a disk; or, with `metadata`, that of another log directory, which in an object store is
    read with the settings of `partitions`. Settings of a broker count if they are given in `configs`, and those of all
    brokers if the log beside a partition tells them. A broker looks every `log.retention.check.interval.ms`,
    and removes the files `file.delete.delay.ms` later; tiered storage is not looked at. What goes by its size goes
    `now`: how large the log will be tomorrow nobody knows. With damage, mode FAILFAST ends the job; in others a segment
    that cannot be read has no `newest`, and `retention.ms` stops there. Where `metadata` has no metadata log, or one
    that does not know a topic by its name and id, as that of another cluster, the query ends with
    IllegalArgumentException.

    Kafka: `UnifiedLog.deleteOldSegments`.
    """
    config = config_of(configs)
    defaults = {
        "deletes": F.lit(config.delete),
        "retention_bytes": F.lit(config.retention_size),
        "retention_ms": F.lit(config.retention_ms),
    }
    facts = for_each_directory(partitions, partial(segment_facts, mode=mode), schema_of_rows(SegmentFacts))
    if metadata is None:
        own = {
            "deletes": F.col("deletes"),
            "retention_bytes": F.col("retentionBytes"),
            "retention_ms": F.col("retentionMs"),
        }
        known = facts.withColumns({name: F.coalesce(own[name], default) for name, default in defaults.items()})
    else:
        topics = (
            table(facts.sparkSession, "metadata", [metadata], dict(carried_settings(partitions.schema)))
            .groupBy("topic")
            .agg(F.first("settings").alias("of"), F.first("topicId").alias("knownId"))
        )
        own = _own_settings(F.col("of"))
        known = facts.join(F.broadcast(topics), "topic", "left").withColumns(
            {name: F.when(_is_known(metadata), F.coalesce(own[name], default)) for name, default in defaults.items()}
            | {"settingsKnown": F.lit(True)}
        )
    clock = time.time_ns() // 1_000_000 if now is None else now
    return _judged(known, clock).select(
        "topic",
        F.col("partition").cast("int"),
        "segment",
        "baseOffset",
        F.coalesce("nextOffset", "logEnd").alias("endOffset"),
        "size",
        spark_time("newest").alias("newest"),
        "newestIsOfRecord",
        "goesBy",
        spark_time("goesAt").alias("goesAt"),
        "held",
        "settingsKnown",
    ).orderBy("topic", "partition", "segment")  # fmt: skip


def _is_known(metadata: str) -> Column:
    """True where the metadata log knows the topic; otherwise the query ends."""
    told = F.concat(
        F.lit(f"minikafka.common.errors.IllegalArgumentException: the metadata log of {metadata} knows no topic "),
        F.col("topic"),
        F.coalesce(F.concat(F.lit(" with the id "), F.col("topicId")), F.lit("")),
        F.lit(": it is of another cluster, or the topic was deleted; subscribe and subscribePattern leave topics out"),
    )
    is_other = F.col("knownId").isNull() | F.coalesce(F.col("topicId") != F.col("knownId"), F.lit(False))
    return F.when(is_other, F.raise_error(told).cast("boolean")).otherwise(True)


def _own_settings(settings: Column) -> dict[str, Column]:
    """What a topic's own settings say, null for nothing."""
    return {
        "deletes": F.array_contains(F.split(settings["cleanup.policy"], r"\s*,\s*"), "delete"),
        "retention_bytes": settings["retention.bytes"].cast("bigint"),
        "retention_ms": settings["retention.ms"].cast("bigint"),
    }


def _judged(known: DataFrame, now: int) -> DataFrame:
    """With `held`, `goesBy` and `goesAt` (ms)."""
    log = Window.partitionBy("topic", "partition", "logDirectory")
    so_far = log.orderBy("baseOffset").rowsBetween(Window.unboundedPreceding, Window.currentRow)

    def up_to_here(rule: Column) -> Column:
        """Whether a rule takes this segment and all before it."""
        return F.bool_and(F.coalesce(rule, F.lit(False))).over(so_far)

    is_empty_last = F.col("nextOffset").isNull() & (F.col("size") == 0)
    below_start = ~F.col("held") & up_to_here(F.col("nextOffset") <= F.col("logStart"))
    left = F.when(~F.col("belowStart"), F.col("size")).otherwise(0)
    surplus = F.try_subtract(F.sum(left).over(log), F.col("retention_bytes"))
    too_much = (F.col("retention_bytes") >= 0) & (F.sum(left).over(so_far) <= surplus)
    may_go = F.col("deletes") & ~F.col("held") & ~is_empty_last
    is_left = ~F.col("belowStart") & ~F.col("tooMuch")
    # A segment whose age is not known stays, and so do all behind it.
    is_known = up_to_here(F.col("newest").isNotNull() | ~is_left)
    # Kafka subtracts the newest timestamp from its clock. A sum beyond any clock is null here: that time never comes.
    age = F.try_add(F.col("retention_ms"), F.lit(1))
    oldest_first = F.try_add(F.max(F.when(is_left, F.col("newest"))).over(so_far), age)
    return (
        known.withColumn("logDirectory", F.regexp_replace("segment", "/[^/]*$", ""))
        .withColumn("held", ~up_to_here(F.col("highWatermark") >= F.coalesce("nextOffset", "logEnd")))
        .withColumn("belowStart", below_start)
        .withColumn("tooMuch", may_go & ~F.col("belowStart") & too_much)
        .withColumn("goesAt", F.when(may_go & is_left & is_known & (F.col("retention_ms") >= 0), oldest_first))
        .withColumn(
            "goesBy",
            F.when(F.col("belowStart"), LOG_START)
            .when(F.col("tooMuch"), RETENTION_BYTES)
            .when(F.col("goesAt") <= now, RETENTION_MS),
        )
    )
