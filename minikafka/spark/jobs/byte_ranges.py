"""How a job reads in parallel: the bytes of logs as rows, and a function that is called for each task's rows.

    found = ranges(spark, ["/var/lib/kafka/data"], subscribe="orders")
    for_each_task(found, count_of_each_range, "topic string, records bigint").groupBy("topic").sum("records")

What crosses from a worker into Spark's JVM costs more than what was read for it, so the function decodes and adds up in
Arrow, and Spark only brings together the few rows that it gives. Nothing here needs a driver of our own: it works
through Spark Connect as well.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.register import register
from minikafka.spark.source.damage import Damage, Mode
from minikafka.spark.source.range_rows import PARTITIONS, RANGES, carried_settings, range_of
from minikafka.spark.source.read_task import ByteRange
from minikafka.spark.source.replaced_segments import as_they_are_now

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

T = TypeVar("T")

__all__ = ["PartitionDirectory", "for_each_directory", "for_each_task", "partitions", "range_of", "ranges", "sound"]


class PartitionDirectory(NamedTuple):
    """A partition and its directory; `settings` as for `storage_of`."""

    topic_partition: TopicPartition
    directory: str
    settings: Mapping[str, str] = {}


def ranges(spark: "SparkSession", paths: "Sequence[str | PathLike[str]]", **options: object) -> "DataFrame":
    """The table `ranges` of the logs below `paths`, with the data source's options; `__` in a name stands for a dot."""
    return table(spark, RANGES, paths, options)


def partitions(spark: "SparkSession", paths: "Sequence[str | PathLike[str]]", **options: object) -> "DataFrame":
    """The table `partitions`: the directories below `paths`; options as for `ranges`."""
    return table(spark, PARTITIONS, paths, options)


def table(
    spark: "SparkSession", name: str, paths: "Sequence[str | PathLike[str]]", options: dict[str, object]
) -> "DataFrame":
    """A table of the data source, which the session then knows."""
    register(spark)
    reader = spark.read.format("minikafka").option("table", name)
    for option, setting in options.items():
        reader = reader.option(option.replace("__", "."), setting)  # type: ignore[arg-type]
    return reader.load([fspath(path) for path in paths])


def for_each_task(
    ranges: "DataFrame",
    function: "Callable[[Iterator[ByteRange]], Iterator[pa.RecordBatch]]",
    schema: "StructType | str",
    *,
    with_empty: bool = False,
) -> "DataFrame":
    """What `function` makes of the byte ranges of each task, in the workers; its batches have the columns of `schema`.

    `ranges` is the table of that name, maybe filtered. Damage that was met while it was planned (in mode PERMISSIVE) is
    passed over. So are partitions without a byte to read, unless `with_empty`: then an empty range stands for each.
    """

    settings = carried_settings(ranges.schema)

    def run(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        rows = (row for batch in batches for row in batch.to_pylist())
        found = (range_of(row, settings) for row in rows if row["segment"] is not None)
        return function(as_they_are_now(each for each in found if each.size or with_empty))

    return ranges.mapInArrow(run, schema)


def for_each_directory(
    partitions: "DataFrame",
    function: "Callable[[Iterator[PartitionDirectory]], Iterator[pa.RecordBatch]]",
    schema: "StructType | str",
) -> "DataFrame":
    """As `for_each_task`, with the directories of the table `partitions`."""

    settings = carried_settings(partitions.schema)

    def run(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        rows = (row for batch in batches for row in batch.to_pylist())
        return function(
            PartitionDirectory(TopicPartition(row["topic"], row["partition"]), row["directory"], settings)
            for row in rows
        )

    return partitions.mapInArrow(run, schema)


def sound(found: "Iterable[T | Damage]", mode: str) -> Iterator[T]:
    """What is no damage. Raises CorruptRecordException for damage in mode FAILFAST; in other modes it is left out."""
    fails = Mode.of(mode) is Mode.FAILFAST
    for each in found:
        if not isinstance(each, Damage):
            yield each
        elif fails:
            raise each.exception_to_raise()
