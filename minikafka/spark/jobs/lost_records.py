"""Partitions whose log ends below the high watermark that their broker noted: records are lost.

A query up to the high watermark meets this itself, and it is a damage. One that reads to the log end never asks where
the high watermark was, so its sums would look whole: here is what to say beside them.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from minikafka.common.errors import IllegalArgumentException
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
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


def lost_records(partitions: "DataFrame", paths: Sequence[str] = ()) -> "DataFrame":
    """A row (`LostRecords`) for each log that ends below its high watermark, or whose checkpoint of high watermarks
    cannot be read. `partitions` is the data source's table of that name. A log of which `paths` name segments is passed
    over unless the last one is among them.
    """
    tell = partial(_lost_records, paths=tuple(paths))
    found = for_each_directory(partitions, tell, schema_of_rows(LostRecords))
    return found.orderBy("topic", "partition", "told")


def _lost_records(directories: Iterator[PartitionDirectory], paths: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
    not_to_the_end: set[str] | None = None
    for _, directory, settings in directories:
        if not_to_the_end is None:
            not_to_the_end = _without_their_last_segment(paths, settings)
        if directory in not_to_the_end:
            continue
        for partition in _found([directory], settings):
            if not partition.segments:
                continue
            bounds = Bounds(SourceOptions.of({"path": partition.directory}))
            lost = bounds.readable(partition).lost
            damages = [each for each in bounds.damages if each.file.endswith(HIGH_WATERMARKS)]
            rows = [_row(*partition.topic_partition, each) for each in (lost, *damages) if each is not None]
            if rows:
                yield batch_of_rows(LostRecords, rows)


def _without_their_last_segment(paths: Sequence[str], settings: Mapping[str, str]) -> set[str]:
    """The directories of which the paths name segments, and not the last one."""
    if not any(path.endswith(LOG_FILE_SUFFIX) or set(os.path.basename(path)) & set("*?[{") for path in paths):
        return set()  # only such a name, or a pattern, can lead to a segment
    return {each.directory for each in _found(list(paths), settings) if each.segments[-1:] != each.chosen[-1:]}


def _found(paths: list[str], settings: Mapping[str, str]) -> list[DiskPartition]:
    with suppress(IllegalArgumentException):  # it has gone away
        return find_partitions(paths, settings=settings)
    return []


def _row(topic: str, partition: int, damage: Damage) -> LostRecords:
    return LostRecords(topic, partition, f"{damage.file}, position {damage.position}: {damage.exception}")
