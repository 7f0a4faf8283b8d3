"""What is known of each segment of a partition without reading its records, as rows for jobs."""

import os
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from minikafka.log.log_config import LogConfig
from minikafka.spark.jobs.byte_ranges import PartitionDirectory, sound
from minikafka.spark.jobs.row_type import batch_of_rows
from minikafka.spark.jobs.settings_beside import settings_beside
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.local_storage import LocalStorage
from minikafka.spark.source.log_identity import noted_topic_id
from minikafka.spark.source.log_segments_on_disk import DiskPartition, DiskSegment, find_partitions
from minikafka.spark.source.partition_bounds import Bounds, largest_timestamp
from minikafka.spark.source.source_options import SourceOptions


class SegmentFacts(NamedTuple):
    """A segment, and the bounds of its log.

    `nextOffset`: the base offset of the next segment, None for the last one. `size`: bytes. `newest`: the largest
    timestamp of its records (ms), or else when the file was last changed (0: it is gone; None: it is an object); None
    also where the segment cannot be read. `logStart`, `highWatermark`, `logEnd`: offsets, by the checkpoints beside the
    partition as far as they know it. `topicId`: that in the partition's directory, None if it says none.
    `settingsKnown`: whether the metadata log beside the partition names its topic; `deletes`, `retentionBytes` and
    `retentionMs` are what that says of the topic, None for nothing.
    """

    topic: str
    partition: int
    segment: str
    baseOffset: int
    nextOffset: int | None
    size: int
    newest: int | None
    newestIsOfRecord: bool
    logStart: int
    highWatermark: int
    logEnd: int
    topicId: str | None
    settingsKnown: bool
    deletes: bool | None
    retentionBytes: int | None
    retentionMs: int | None


def segment_facts(directories: Iterator[PartitionDirectory], mode: str) -> Iterator[pa.RecordBatch]:
    """A row for each segment, in order. Raises CorruptRecordException, in mode FAILFAST, for what cannot be read."""
    for _, directory, settings in directories:
        for partition in find_partitions([directory], settings=settings):
            if partition.segments:
                yield batch_of_rows(SegmentFacts, list(_facts(partition, settings_beside(partition, mode), mode)))


def _facts(partition: DiskPartition, own: dict[str, object] | None, mode: str) -> Iterator[SegmentFacts]:
    bounds = Bounds(SourceOptions.of({"path": partition.directory}))
    readable = bounds.readable(partition)
    last = partition.segments[-1]
    log_end = bounds.log_end(last)
    list(sound(bounds.damages, mode))
    topic_id = noted_topic_id(partition.storage, partition.directory)
    config = LogConfig(own or {})
    rules = {
        "cleanup.policy": config.delete,
        "retention.bytes": config.retention_size,
        "retention.ms": config.retention_ms,
    }
    told = [value if name in (own or {}) else None for name, value in rules.items()]
    for segment in partition.segments:
        newest = _newest_record(segment, mode)
        is_of_record = newest is not None and newest >= 0
        yield SegmentFacts(
            *partition.topic_partition, segment.path, segment.base_offset, segment.end_offset, segment.size,
            newest if newest is None or is_of_record else _last_change(segment), is_of_record,
            readable.start, readable.end, last.base_offset if log_end is None else log_end,
            topic_id, own is not None, *told,
        )  # fmt: skip


def _newest_record(segment: DiskSegment, mode: str) -> int | None:
    try:
        return largest_timestamp(segment)
    except DAMAGE as error:
        list(sound([Damage.of(segment.path, 0, error)], mode))
        return None


def _last_change(segment: DiskSegment) -> int | None:
    """When the file was last changed, in ms; None where the storage does not say."""
    if not isinstance(segment.storage, LocalStorage):
        return None
    try:
        return os.stat(segment.path).st_mtime_ns // 1_000_000
    except FileNotFoundError:
        return 0
