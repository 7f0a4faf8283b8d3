"""A log on the disk as the cleaner's rules ask for it: which part of it a round would clean."""

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleanable_offsets import cleanable_offsets
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE
from minikafka.log.cleaner.log_to_clean import LogToClean
from minikafka.log.log_config import LogConfig
from minikafka.spark.jobs.byte_ranges import PartitionDirectory, sound
from minikafka.spark.jobs.row_type import batch_of_rows
from minikafka.spark.jobs.settings_beside import settings_beside
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.log_segments_on_disk import DiskPartition, DiskSegment, find_partitions
from minikafka.spark.source.partition_bounds import Bounds, PartitionBounds, largest_timestamp, log_end_of
from minikafka.spark.source.source_options import SourceOptions
from minikafka.spark.source.storage import joined


class RoundAhead(NamedTuple):
    """The next round of the cleaner over the log in `directory`, as in `LogToClean`.

    It rewrites what lies below `firstUncleanableOffset`, if there are `cleanableBytes`. Tombstones of the old formats
    go from segments whose files were last changed at `legacyHorizon` (ms) or earlier. `minCleanableRatio` is the
    topic's; `settingsKnown`: whether the metadata log beside the partition names its topic.
    """

    directory: str
    topic: str
    partition: int
    firstDirtyOffset: int
    firstUncleanableOffset: int
    cleanBytes: int
    cleanableBytes: int
    legacyHorizon: int
    minCleanableRatio: float
    settingsKnown: bool

    def drops_old_tombstones_of(self, segment: DiskSegment) -> bool:
        """Whether tombstones of the old formats go from this segment."""
        return SegmentToCompact.of(segment).last_modified <= self.legacyHorizon


def rounds_ahead(
    directories: Iterator[PartitionDirectory], *, configs: dict[str, str], now: int, mode: str
) -> Iterator[pa.RecordBatch]:
    """A `RoundAhead` for each log: what a cleaner would do next at the time `now` (ms).

    `configs` come before what the metadata log beside a partition says of its topic. Raises CorruptRecordException, in
    mode FAILFAST, for what cannot be read.
    """
    for _, directory, settings in directories:
        for partition in find_partitions([directory], settings=settings):
            if partition.segments:
                own = settings_beside(partition, mode)
                config = LogConfig({**(own or {}), **configs})
                try:
                    ahead = _round_ahead(partition, config, now, mode, settings_known=own is not None)
                    yield batch_of_rows(RoundAhead, [ahead])
                except DAMAGE as error:
                    list(sound([Damage.of(directory, 0, error)], mode))


def _round_ahead(
    partition: DiskPartition, config: LogConfig, now: int, mode: str, *, settings_known: bool
) -> RoundAhead:
    bounds = Bounds(SourceOptions.of({"path": partition.directory, "isolation.level": "read_committed"}))
    log = LogToCompact(partition, bounds.readable(partition), config)
    list(sound(bounds.damages, mode))
    first_dirty, uncleanable, _ = cleanable_offsets(log, log.last_clean_offset, now)  # type: ignore[arg-type]
    to_clean = LogToClean(log, first_dirty, uncleanable)  # type: ignore[arg-type]
    clean = log.log_segments_between(0, first_dirty)
    return RoundAhead(
        partition.directory,
        *partition.topic_partition,
        to_clean.first_dirty_offset,
        to_clean.first_uncleanable_offset,
        to_clean.clean_bytes,
        to_clean.cleanable_bytes,
        clean[-1].last_modified - config.delete_retention_ms if clean else 0,
        config.min_cleanable_ratio,
        settings_known,
    )


class SegmentToCompact(NamedTuple):
    """A segment, with what the rules ask of a `LogSegment`."""

    base_offset: int
    size: int
    found: DiskSegment

    @staticmethod
    def of(found: DiskSegment) -> "SegmentToCompact":
        """What was found on the disk."""
        return SegmentToCompact(found.base_offset, found.size, found)

    @property
    def largest_timestamp(self) -> int:
        """In ms. Kafka: `LogSegment.largestTimestamp`."""
        timestamp = largest_timestamp(self.found)
        return timestamp if timestamp >= 0 else self.last_modified

    @property
    def last_modified(self) -> int:
        """In ms; 0 for a file that is gone, and for an object. Kafka: `LogSegment.lastModified`."""
        try:
            return os.stat(self.found.path).st_mtime_ns // 1_000_000
        except OSError:
            return 0


class LogToCompact:
    """A log, with what the rules ask of a `Log`."""

    def __init__(self, partition: DiskPartition, bounds: PartitionBounds, config: LogConfig):
        """`bounds`: what a consumer with `read_committed` sees of it.

        A log that ends below its start is the empty one that Kafka's next start makes of it, as for `clean`. Kafka:
        `LogLoader.load`.
        """
        self._partition = partition
        self._segments = [SegmentToCompact.of(each) for each in partition.segments]
        self._base_offsets = [each.base_offset for each in partition.segments]
        log_end = log_end_of(partition.segments[-1])
        self.topic_partition: TopicPartition = partition.topic_partition
        self.name = os.path.basename(partition.directory)
        self.config = config
        self.log_start_offset = bounds.start
        self.log_end_offset = self._base_offsets[-1] if log_end is None else log_end
        if self.log_end_offset < self.log_start_offset:
            self.log_end_offset = self.log_start_offset
            self._segments = [SegmentToCompact(self.log_start_offset, 0, partition.segments[-1])]
            self._base_offsets = [self.log_start_offset]
        self.last_stable_offset = min(bounds.end, self.log_end_offset)

    @cached_property
    def last_clean_offset(self) -> int | None:
        """Where the last round ended, by the checkpoint beside the log; None where it does not say."""
        try:
            checkpoint = joined(os.path.dirname(self._partition.directory), OFFSET_CHECKPOINT_FILE)
            with self._partition.storage.on_disk(checkpoint) as file:
                return OffsetCheckpointFile(file).read().get(self.topic_partition)
        except FileNotFoundError:
            return None

    @property
    def active_segment(self) -> SegmentToCompact:
        """The last segment."""
        return self._segments[-1]

    def log_segments_between(self, from_offset: int, to_offset: int) -> list[SegmentToCompact]:
        """As `Log.log_segments_between`."""
        if from_offset == to_offset:
            return []
        first = max(bisect_right(self._base_offsets, from_offset) - 1, 0)
        return self._segments[first : bisect_left(self._base_offsets, to_offset)]

    def non_active_log_segments_from(self, from_offset: int) -> list[SegmentToCompact]:
        """As `Log.non_active_log_segments_from`."""
        return self._segments[max(bisect_right(self._base_offsets, from_offset) - 1, 0) : -1]
