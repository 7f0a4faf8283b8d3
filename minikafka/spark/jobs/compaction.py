"""The job `compaction`: which records must survive, and what a round of the log cleaner would save.

A task reads its part of the log and gives, of each key, the latest record of the dirty part (`latest_of_keys`), so what
is shuffled has as many rows as there are keys, not records. What survives is one window function over these.

Keys are compared byte by byte, in the tasks and in Spark, so two keys are never taken for one; Kafka's cleaner compares
their MD5 hashes.
"""

import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from minikafka.record.format.batch_header import RECORD_BATCH_OVERHEAD
from minikafka.spark.jobs.byte_ranges import for_each_directory, range_of
from minikafka.spark.jobs.latest_of_keys import CompactionRow, latest_of_keys
from minikafka.spark.jobs.log_to_compact import RoundAhead, rounds_ahead
from minikafka.spark.jobs.row_type import schema_of_rows
from minikafka.spark.source.damage import Mode
from minikafka.spark.source.range_rows import carried_settings
from minikafka.spark.source.replaced_segments import as_they_are_now
from minikafka.tools.recover.offline_log import config_of

if TYPE_CHECKING:
    import pyarrow as pa

_OF_BATCHES = ("batchSize", "batchStays", "kept", "compressed", "records", "recordBytes")


def compaction(
    partitions: DataFrame,
    ranges: DataFrame,
    *,
    now: int | None = None,
    configs: tuple[str, ...] = (),
    mode: str = Mode.FAILFAST.value,
) -> DataFrame:
    """A row for each log. Both are the data source's tables; `ranges` with `isolation.level=read_committed`.

    | column | type | meaning |
    |---|---|---|
    | `topic`, `partition`, `directory` | string, int, string | |
    | `firstDirtyOffset`, `firstUncleanableOffset` | bigint | the dirty part, as far as it can be cleaned (exclusive) |
    | `cleanBytes`, `cleanableBytes` | bigint | of the segments before the dirty part, and in it |
    | `dirtyRatio` | double | the cleanable share of both, 0 … 1; null for none |
    | `dirtyEnough` | boolean | whether that is more than `min.cleanable.dirty.ratio` |
    | `keys` | bigint | different keys in the dirty part: the entries of the offset map |
    | `records`, `recordsAfter` | bigint | from the log's start to `firstUncleanableOffset`, now and after; no markers |
    | `tombstones` | bigint | of those after a round, how many are tombstones, which wait for `delete.retention.ms` |
    | `tombstonesGone` | bigint | latest records of their keys that are tombstones whose time is over |
    | `bytes`, `bytesAfter` | bigint | of these batches; the latter is an estimate |
    | `savedShare` | double | of `bytes`, 0 … 1; null without any |
    | `settingsKnown` | boolean | a metadata log told the topic's settings; if not, `configs` alone count |

    `now`: ms since 1970, None for this machine's clock. `configs`: settings of the topics, as `K=V`; below them count
    those that the metadata log (`__cluster_metadata-0`) in the partition's own log directory tells, on a disk. Topics
    count whatever their policy is: the answer is what compaction would do. A round begins where
    `cleaner-offset-checkpoint` says that the last one ended, and its offset map holds all keys; a broker's holds 5.0
    million by default, and needs several rounds for more.

    A log is taken as it lies on the disk; `minikafka clean` loads it first, as a broker that starts does, which may cut
    off its end after an unclean stop. A loaded log holds a transaction for ended whose marker lies at or above the high
    watermark; here it is open, as it was for the broker that stopped.

    The counts of records are exact; what lies below the log's start in its first segment is not among them, and a round
    goes over that, too. Nor is what lies behind the high watermark or in an open transaction, where a cleaner's
    checkpoint reaches beyond them. Bytes are estimated where a batch keeps some of its records: as much of its
    compressed bytes as of the others. Markers are taken to stay, and of batches without records only the round's last
    one is counted. With damage, mode FAILFAST ends the job; in others a damaged batch counts for nothing, where Kafka's
    cleaner would give up the partition.

    Kafka: `LogCleanerManager.cleanableOffsets`, `Cleaner.doClean`, `Cleaner.shouldRetainRecord`.
    """
    config = config_of(configs, {"cleanup.policy": "compact"})
    clock = time.time_ns() // 1_000_000 if now is None else now
    look = partial(rounds_ahead, configs=config.props, now=clock, mode=mode)
    rounds = for_each_directory(partitions, look, schema_of_rows(RoundAhead))
    rows = _ranges_with_rounds(ranges, rounds).mapInArrow(
        partial(_rows_of_task, settings=carried_settings(ranges.schema), now=clock, mode=mode),
        schema_of_rows(CompactionRow),
    )

    newest = F.max(F.when(F.col("dirty"), F.col("offset"))).over(Window.partitionBy("directory", "key"))
    is_latest = F.col("key").isNotNull() & (F.col("offset") >= F.coalesce("newest", F.lit(0)))
    stays = is_latest & ~F.col("expired")
    batches = (
        rows.withColumn("newest", newest)
        .groupBy("directory", "segment", "position")
        .agg(
            F.count_if(stays).alias("staying"),
            F.sum(F.when(stays, F.col("size"))).alias("stayingBytes"),
            F.count_if(stays & F.col("tombstone")).alias("tombstones"),
            F.count_if(is_latest & F.col("expired")).alias("tombstonesGone"),
            F.count_if(is_latest & F.col("dirty")).alias("keys"),
            *(F.max(name).alias(name) for name in _OF_BATCHES),
        )
    )
    share = F.col("stayingBytes") / F.col("recordBytes")
    rewritten = F.when(F.col("compressed"), (F.col("batchSize") - RECORD_BATCH_OVERHEAD) * share).otherwise(
        F.col("stayingBytes")
    )
    after = (
        F.when(F.col("kept") | (F.col("staying") == 0), F.col("batchStays"))
        .when(F.col("staying") == F.col("records"), F.col("batchSize"))
        .otherwise(RECORD_BATCH_OVERHEAD + F.round(rewritten))
    )
    staying = F.when(F.col("kept"), F.col("records")).otherwise(F.col("staying"))
    ratio = F.try_divide("cleanableBytes", F.col("cleanBytes") + F.col("cleanableBytes"))
    logs = batches.groupBy("directory").agg(
        *(F.sum(name).alias(name) for name in ("keys", "tombstones", "tombstonesGone")),
        F.sum("records").alias("records"),
        F.sum(F.when(F.col("records").isNotNull(), staying)).alias("recordsAfter"),
        F.sum("batchSize").alias("bytes"),
        F.sum(F.when(F.col("batchSize").isNotNull(), after)).cast("bigint").alias("bytesAfter"),
    )
    return rounds.join(logs, "directory", "left").fillna(0).select(
        "topic",
        F.col("partition").cast("int"),
        "directory",
        "firstDirtyOffset",
        "firstUncleanableOffset",
        "cleanBytes",
        "cleanableBytes",
        ratio.alias("dirtyRatio"),
        F.coalesce(ratio > F.col("minCleanableRatio"), F.lit(False)).alias("dirtyEnough"),
        *("keys", "records", "recordsAfter", "tombstones", "tombstonesGone", "bytes", "bytesAfter"),
        F.try_divide(F.col("bytes") - F.col("bytesAfter"), "bytes").alias("savedShare"),
        "settingsKnown",
    ).orderBy("topic", "partition", "directory")  # fmt: skip


def _ranges_with_rounds(ranges: DataFrame, rounds: DataFrame) -> DataFrame:
    """Each range beside the round over its log; the ranges of a task stay together, as a broadcast moves none."""
    ahead = F.struct(*RoundAhead._fields).alias("ahead")
    directory = F.regexp_replace("segment", "/[^/]*$", "")
    return ranges.withColumn("directory", directory).join(F.broadcast(rounds.select("directory", ahead)), "directory")


def _rows_of_task(
    batches: "Iterable[pa.RecordBatch]", *, settings: dict[str, str], now: int, mode: str
) -> "Iterator[pa.RecordBatch]":
    rows = (row for batch in batches for row in batch.to_pylist())
    with_rounds = (
        (each, RoundAhead(**row["ahead"]))
        for row in rows
        for each in as_they_are_now([range_of(row, settings)])
        if each.size
    )
    return latest_of_keys(with_rounds, now=now, mode=mode)
