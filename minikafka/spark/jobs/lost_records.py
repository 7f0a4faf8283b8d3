"""Partitions whose log ends below the high watermark that their broker noted: records are lost.

A query up to the high watermark meets this itself, and it is a damage. One that reads to the log end never asks where
the high watermark was, so its sums would look whole: here is what to say beside them.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from minikafka.common.errors import IllegalArgumentException
from minikafka.spark.jobs.byte_ranges import PartitionDirectory, for_each_directory
from minikafka.spark.jobs.row_type import batch_of_rows, schema_of_rows
from minikafka.spark.source.damage import Damage
from minikafka.spark.source.log_segments_on_disk import DiskPartition, find_partitions
from minikafka.spark.source.partition_bounds import HIGH_WATERMARKS, Bounds
from minikafka.spark.source.source_options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class LostRecords(NamedTuple):
    """That records are lost, or that nobody can say so: `told` names the file and the position (bytes) in it."""

    topic: str
    partition: int
    told: str


def lost_records(partitions: "DataFrame") -> "DataFrame":
    """A row (`LostRecords`) for each log that ends below its high watermark, or whose checkpoint of high watermarks
    cannot be read. `partitions` is the data source's table of that name.
    """
    found = for_each_directory(partitions, _lost_records, schema_of_rows(LostRecords))
    return found.orderBy("topic", "partition", "told")


def _lost_records(directories: Iterator[PartitionDirectory]) -> Iterator[pa.RecordBatch]:
    for _, directory, settings in directories:
        found: list[DiskPartition] = []
        with suppress(IllegalArgumentException):  # it has gone away
            found = find_partitions([directory], settings=settings)
        for partition in found:
            if not partition.segments:
                continue
            bounds = Bounds(SourceOptions.of({"path": partition.directory}))
            lost = bounds.readable(partition).lost
            damages = [each for each in bounds.damages if each.file.endswith(HIGH_WATERMARKS)]
            rows = [_row(*partition.topic_partition, each) for each in (lost, *damages) if each is not None]
            if rows:
                yield batch_of_rows(LostRecords, rows)


def _row(topic: str, partition: int, damage: Damage) -> LostRecords:
    return LostRecords(topic, partition, f"{damage.file}, position {damage.position}: {damage.exception}")
