"""The job `profile`: what there is of each topic, how large its records are, how fast it grows, how late records come.

A task counts its records in columns (`record_profile`), and Spark adds these counts up.
"""

from functools import partial

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from minikafka.common.errors import IllegalArgumentException
from minikafka.record.codecs.compression import CompressionType
from minikafka.spark.jobs.byte_ranges import for_each_task
from minikafka.spark.jobs.key_sketch import KeySketch
from minikafka.spark.jobs.record_profile import CountRow, profile_of_task
from minikafka.spark.jobs.row_type import schema_of_rows
from minikafka.spark.jobs.spark_time import spark_time
from minikafka.spark.source.damage import Mode

PERIODS = {"hour": 3_600_000, "day": 86_400_000}
"""How long a period may be, in ms."""

_SUMS = {
    "batches": "batches",
    "controlBatches": "control batches",
    "bytes": "bytes",
    "records": "records",
    "recordBytes": "record bytes",
    "withoutKey": "without key",
    "tombstones": "tombstones",
    "withHeaders": "with headers",
    "damages": "damages",
}
_QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}


def profile(
    ranges: DataFrame, *, by_partition: bool = False, every: str | None = None, mode: str = Mode.FAILFAST.value
) -> DataFrame:
    """A row for each topic, or with `by_partition` for each partition; with `every` also for each `hour` or `day`.

    | column | type | meaning |
    |---|---|---|
    | `topic` | string | |
    | `partition` | int | with `by_partition` |
    | `since` | timestamp | with `every`: when the period begins, in UTC; null for what has no timestamp |
    | `partitions` | bigint | without `by_partition`: how many have a batch |
    | `batches` | bigint | with data, also of aborted transactions |
    | `controlBatches` | bigint | markers of transactions and the like |
    | `bytes` | bigint | of all these batches, as they are stored |
    | `codecs` | map<string,bigint> | bytes of the batches of each codec |
    | `records` | bigint | those that a query of the records with the same options has |
    | `recordBytes` | bigint | before compression, without the headers of batches |
    | `sizes` | struct | `smallest`, `median`, `p90`, `p99`, `largest` record, in bytes before compression |
    | `keys` | bigint | how many different keys: exactly up to 4095, more with a standard error of 1.6 % |
    | `withoutKey`, `tombstones`, `withHeaders` | bigint | records without a key, with a key alone, with headers |
    | `firstTimestamp`, `lastTimestamp` | timestamp | the smallest and the largest of the records |
    | `late` | bigint | records with a smaller timestamp than the largest one before them in the partition's files |
    | `lateness` | struct | by how many ms the late ones are: `median`, `p90`, `p99`, `largest`; null without any |
    | `damages` | bigint | damaged places; more than 0 only if `mode` is not FAILFAST, which ends the job at the first |

    What a record may be late for is all that lies before it in the segments, as the time index has it: also markers
    of transactions, aborted records, and records below the log's start. With `every`, a record counts in the period
    of its timestamp, and a batch in that of its largest. Quantiles beyond 4095 are up to 1/2048 too small, and lie
    between two values as numpy's do. A batch belongs whole to the bounds that the table `ranges` was read with, if
    one of its offsets does. `ranges` should have `copies=refuse`, as the command has it: the records of each copy
    of a partition would count.

    Raises IllegalArgumentException for a period that is neither of these.
    """
    if every is not None and every not in PERIODS:
        raise IllegalArgumentException(f"every={every} is none of {', '.join(PERIODS)}")
    period_ms = None if every is None else PERIODS[every]
    counts = for_each_task(ranges, partial(profile_of_task, mode=mode, period_ms=period_ms), schema_of_rows(CountRow))
    groups = ["topic", *(["partition"] if by_partition else []), *([] if every is None else ["since"])]
    sums = counts.groupBy(*groups, "measure", "at").agg(F.sum("count").alias("count"))
    table = _without_large_hashes(sums, groups).groupBy(*groups).agg(*_columns(by_partition))
    if every is not None:
        table = table.withColumn("since", spark_time("since"))
    return table.orderBy(*groups)


def _without_large_hashes(sums: DataFrame, groups: list[str]) -> DataFrame:
    """Of the hashes of keys, only those of the sketch of the whole group.

    In one pass over all measures: for a union of two parts of `sums` Spark would read the records twice.
    """
    rank = F.row_number().over(Window.partitionBy(*groups, "measure").orderBy("at"))
    is_needed = (F.col("measure") != "key") | (F.col("rank") <= KeySketch.SIZE)
    return sums.withColumn("rank", rank).where(is_needed).drop("rank")


def _columns(by_partition: bool) -> list[Column]:
    def sum_of(measure: str) -> Column:
        return F.coalesce(F.sum(_only(measure, "count")), F.lit(0))

    codecs = F.collect_list(F.when(F.col("measure") == "bytes", F.struct(_codec(), "count")))
    columns = {name: sum_of(measure).alias(name) for name, measure in _SUMS.items()}
    return [
        *([] if by_partition else [F.count(_only("partition", "at")).alias("partitions")]),
        columns["batches"], columns["controlBatches"], columns["bytes"],
        F.map_from_entries(codecs).alias("codecs"),
        columns["records"], columns["recordBytes"],
        _spread("size", with_smallest=True).alias("sizes"),
        _different_keys().alias("keys"),
        columns["withoutKey"], columns["tombstones"], columns["withHeaders"],
        spark_time(F.min(_only("smallest timestamp", "at"))).alias("firstTimestamp"),
        spark_time(F.max(_only("largest timestamp", "at"))).alias("lastTimestamp"),
        sum_of("lateness").alias("late"),
        _spread("lateness").alias("lateness"),
        columns["damages"],
    ]  # fmt: skip


def _only(measure: str, column: str) -> Column:
    """The column in the rows of a measure, null in others."""
    return F.when(F.col("measure") == measure, F.col(column))


def _codec() -> Column:
    names = F.create_map(*(F.lit(each) for codec in CompressionType for each in (codec.id, codec.type_name)))
    return F.coalesce(names[F.col("at")], F.format_string("unknown (%d)", "at"))


def _spread(measure: str, *, with_smallest: bool = False) -> Column:
    """Quantiles of a histogram, the largest value, and the smallest; null where there are no values."""
    quantiles = F.percentile(_only(measure, "at"), list(_QUANTILES.values()), _only(measure, "count"))
    smallest = [F.min(_only(f"smallest {measure}", "at")).alias("smallest")] if with_smallest else []
    largest = F.max(_only(f"largest {measure}", "at"))
    parts = [quantiles[number].alias(name) for number, name in enumerate(_QUANTILES)]
    return F.when(largest.isNotNull(), F.struct(*smallest, *parts, largest.alias("largest")))


def _different_keys() -> Column:
    """The estimate of `KeySketch` from its hashes, which are signed 64-bit numbers."""
    hashes = F.count(_only("key", "at"))
    share = F.max(_only("key", "at")) / F.lit(2.0**64) + F.lit(0.5)
    return F.when(hashes < KeySketch.SIZE, hashes).otherwise(F.round((KeySketch.SIZE - 1) / share).cast("bigint"))
