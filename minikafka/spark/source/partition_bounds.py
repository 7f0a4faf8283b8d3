"""Which offsets of each partition a query reads."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE, OffsetCheckpointFile
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.topic_partition import TopicPartition
from minikafka.record.files.file_channel_record_batch import FileChannelRecordBatch
from minikafka.record.format.batch_header import CURRENT_MAGIC_VALUE
from minikafka.spark.source.damage import DAMAGE, Damage, is_refused
from minikafka.spark.source.index_entries import time_entries
from minikafka.spark.source.log_segments_on_disk import DiskPartition, DiskSegment, segments_in
from minikafka.spark.source.segment_positions import SegmentPositions, end_of_segment
from minikafka.spark.source.source_options import EARLIEST, LATEST, Border, SourceOptions
from minikafka.spark.source.storage import Storage, joined
from minikafka.spark.source.transactions_on_disk import Aborted, transactions_before

HIGH_WATERMARKS = "replication-offset-checkpoint"
_BEHIND_HIGH_WATERMARK = ": as far as is decided (with bounds=log_end, a query reads on to the log end)"


class PartitionBounds(NamedTuple):
    """What can be read of a partition: offsets from `start` to `end` (exclusive), without those of `aborted`.

    `end` is the high watermark or the log end, and with `read_committed` no more than the last stable offset.
    `whole`: the end is the log's, so what lies behind the last whole batch belongs to what is asked for.
    `unstable`: what hides, from `end` on, which transactions are decided; None for nothing. `lost`: that the log ends
    below the high watermark; None where it does not.
    """

    start: int
    end: int
    aborted: tuple[Aborted, ...]
    whole: bool
    unstable: Damage | None = None
    lost: Damage | None = None


class Hidden(NamedTuple):
    """What a damage hides: offsets below `end_offset`, with which the next sound batch begins; None where none came.

    `is_refused`: whether the machine has refused to read (`damage.is_refused`).
    """

    damage: Damage
    end_offset: int | None = None
    is_refused: bool = False


class Bounds:
    """The bounds of partitions, with each checkpoint file read once; `damages` has those that cannot be read."""

    def __init__(self, options: SourceOptions):
        self.damages: list[Damage] = []
        self._options = options
        self._checkpoints: dict[str, dict[TopicPartition, int] | None] = {}

    def readable(self, partition: DiskPartition) -> PartitionBounds:
        """What can be read of the partition, which has a segment.

        Where the last segment cannot be read, the log ends for us where that begins; and as far as its offsets are
        asked for, it is a damage. So is it where the log ends below the high watermark: a kill leaves in the files what
        the high watermark has passed; a loss of power may not.
        """
        options, log_dir = self._options, os.path.dirname(partition.directory)
        first, last = partition.segments[0], partition.segments[-1]
        log_end = self.log_end(last)
        start_points = self._checkpoint(partition.storage, joined(log_dir, LOG_START_OFFSET_CHECKPOINT_FILE)) or {}
        start = max(first.base_offset, start_points.get(partition.topic_partition, 0))
        high_watermark = None
        if not options.to_log_end:
            high_watermarks = self._checkpoint(partition.storage, joined(log_dir, HIGH_WATERMARKS)) or {}
            high_watermark = high_watermarks.get(partition.topic_partition)
        if high_watermark is None:
            end = last.base_offset if log_end is None else log_end
        else:
            end = high_watermark if log_end is None else min(high_watermark, log_end)
        lost = None
        if high_watermark is not None and log_end is not None and log_end < high_watermark:
            lost = _records_lost(partition, high_watermark, joined(log_dir, HIGH_WATERMARKS))
        whole, aborted, unstable = high_watermark is None, tuple[Aborted, ...](), None
        if options.isolation is IsolationLevel.READ_COMMITTED:
            transactions = transactions_before(partition, end)
            aborted, unstable = transactions.aborted, transactions.damage
            whole = whole and transactions.last_stable_offset == end
            end = transactions.last_stable_offset
        return PartitionBounds(start, max(start, end), aborted, whole, unstable, lost)

    def log_end(self, last: DiskSegment) -> int | None:
        """As `log_end_of`; None, and a damage, where the machine refuses to read the segment: a reader may succeed."""
        try:
            return log_end_of(last)
        except DAMAGE as error:
            self.damages.append(Damage.of(last.path, 0, error))
            return None

    def awaits_high_watermark(self, partition: DiskPartition) -> bool:
        """True when a broker notes high watermarks beside the partition, and has not noted this one's yet."""
        noted = self._checkpoint(partition.storage, joined(os.path.dirname(partition.directory), HIGH_WATERMARKS))
        return not self._options.to_log_end and noted is not None and partition.topic_partition not in noted

    def requested(self, partition: DiskPartition) -> PartitionBounds:
        """What a query reads of the partition; raises IllegalArgumentException where Spark's connector gives up.

        Offsets that are asked for and are not there are a damage.
        """
        readable = self.readable(partition)
        start = self._border(partition, readable, self._options.starting, None)
        end = self._border(partition, readable, self._options.ending, start)
        if start > end:
            raise IllegalArgumentException(
                f"The query of {partition.topic_partition} starts at offset {start}, behind its end {end}"
                + (_BEHIND_HIGH_WATERMARK if end == readable.end and not readable.whole else "")
            )
        if start < readable.start or end > readable.end:
            self.damages.append(offsets_gone(partition, start, end, readable))
        if readable.unstable is not None and end >= readable.end:
            self.damages.append(readable.unstable)
        if readable.lost is not None and end >= readable.end and partition.segments[-1] in partition.chosen:
            self.damages.append(readable.lost)
        start, end = max(start, readable.start), min(end, readable.end)
        return readable._replace(start=start, end=end, whole=readable.whole and end == readable.end)

    def first(self, partition: DiskPartition) -> int:
        """Where a stream starts, whether or not there is such an offset. Raises as `requested`."""
        return self._border(partition, self.readable(partition), self._options.starting, None)

    def _border(self, partition: DiskPartition, readable: PartitionBounds, border: Border, start: int | None) -> int:
        """The end of what is asked for from offset `start` on; where that is None, its start."""
        timestamp = border.timestamp_of(partition.topic_partition)
        if timestamp is not None:
            offset, hidden = first_offset_at(partition, timestamp, readable, check_crcs=self._options.check_crcs)
            # A damage between start and end is told by those who read it, unless only this look met it.
            if hidden is not None and (
                start is None or hidden.is_refused or hidden.end_offset is not None and hidden.end_offset <= start
            ):
                self.damages.append(hidden.damage)
            if offset is None and hidden is None and start is None and not self._options.latest_if_no_offset:
                raise IllegalArgumentException(
                    f"No record of {partition.topic_partition} has the timestamp {timestamp} or a later one; "
                    "startingOffsetsByTimestampStrategy=latest would start at the end"
                )
            return readable.end if offset is None else offset
        offset = border.offset_of(partition.topic_partition)
        if offset == EARLIEST:
            return readable.start
        return readable.end if offset == LATEST else offset

    def _checkpoint(self, storage: Storage, file: str) -> dict[TopicPartition, int] | None:
        """The offsets of a checkpoint file, None where there is none."""
        if file not in self._checkpoints:
            try:
                self._checkpoints[file] = noted_offsets(storage, file)
            except DAMAGE as error:
                self._checkpoints[file] = {}
                self.damages.append(Damage.of(file, 0, error))
        return self._checkpoints[file]


def offsets_gone(partition: DiskPartition, start: int, end: int, readable: PartitionBounds) -> Damage:
    """That of the offsets from `start` to `end` (exclusive) not all are `readable`."""
    told = f"offsets {start} to {end} are asked for, and there are {readable.start} to {readable.end}"
    hint = _BEHIND_HIGH_WATERMARK if end > readable.end and not readable.whole else ""
    return Damage(partition.directory, 0, f"OffsetOutOfRangeException: {told}{hint}")


def _records_lost(partition: DiskPartition, high_watermark: int, file: str) -> Damage | None:
    """That the log ends below the high watermark in `file`; None if it has grown since the partition was found."""
    segments = segments_in(partition.storage, partition.directory)
    if not segments:  # the partition goes away
        return None
    last = segments[-1]
    try:
        end = end_of_segment(last)
    except DAMAGE as error:
        return Damage.of(last.path, 0, error)
    log_end = last.base_offset if end.next_offset is None else end.next_offset
    if log_end >= high_watermark:
        return None
    told = f"the log ends at offset {log_end}, and the high watermark in {file} is {high_watermark}: records are lost"
    return Damage(last.path, last.size - end.bytes_behind, f"OffsetOutOfRangeException: {told}")


def first_offset_at(
    partition: DiskPartition, timestamp: int, bounds: PartitionBounds, *, check_crcs: bool
) -> tuple[int | None, Hidden | None]:
    """The first offset within `bounds` whose record has `timestamp` (ms) or a later one, None for none; and what the
    first damage before it hides, which may be an earlier one.

    Kafka: `UnifiedLog.fetchOffsetByTimestamp`, which fails at a damage, and looks no further than the first segment
    whose largest timestamp is late enough, also where that is of a record below the log start.
    """
    hidden: Hidden | None = None
    for path, found in _batches_and_hidden_at(partition, timestamp, bounds):
        offset = None
        if not isinstance(found, Hidden):
            try:
                offset = _first_in(found, timestamp, bounds.start, check_crcs=check_crcs)
            except DAMAGE as error:
                found = Hidden(Damage.of(path, found.position, error), is_refused=is_refused(error))
        if isinstance(found, Hidden):
            hidden = hidden or found
            continue
        if hidden is not None and hidden.end_offset is None:
            first = found.base_offset if found.magic >= CURRENT_MAGIC_VALUE else found.last_offset
            hidden = hidden._replace(end_offset=first)
        if offset is not None:
            return offset if offset < bounds.end else None, hidden
    return None, hidden


def _batches_and_hidden_at(
    partition: DiskPartition, timestamp: int, bounds: PartitionBounds
) -> Iterator[tuple[str, FileChannelRecordBatch | Hidden]]:
    """Within `bounds`, where a record with `timestamp` (ms) or a later one may be: each with its segment's path."""
    for segment in partition.segments:
        if segment.end_offset is not None and segment.end_offset <= bounds.start:
            continue
        if segment.base_offset >= bounds.end:
            break
        try:
            if not is_older(segment, timestamp):
                with SegmentPositions(segment) as positions:
                    from_offset = max(_offset_before(segment, timestamp), bounds.start)
                    for found, error in positions.batches_and_damages_from(from_offset):
                        if isinstance(found, Damage):
                            found = Hidden(found, is_refused=error is not None and is_refused(error))
                        yield segment.path, found
        except DAMAGE as error:
            yield segment.path, Hidden(Damage.of(segment.path, 0, error), is_refused=is_refused(error))


def is_older(segment: DiskSegment, timestamp: int) -> bool:
    """Whether all records of the segment are earlier than `timestamp` (ms), also those that damage hides.

    Raises OSError.
    """
    end = end_of_segment(segment)
    return (end.is_all_seen or (end.is_confirmed and not segment.is_last)) and end.last_timestamp < timestamp


def _first_in(batch: FileChannelRecordBatch, timestamp: int, start: int, *, check_crcs: bool) -> int | None:
    """The first offset from `start` on in the batch with `timestamp` or a later one. Raises KafkaException."""
    if check_crcs:
        batch.ensure_valid()
    if batch.max_timestamp < timestamp:
        return None
    return next((each.offset for each in batch if each.timestamp >= timestamp and each.offset >= start), None)


def largest_timestamp(segment: DiskSegment) -> int:
    """The largest timestamp in the segment, in ms; -1 for none. Raises OSError."""
    return end_of_segment(segment).last_timestamp


def log_end_of(segment: DiskSegment) -> int | None:
    """The offset after the last whole batch of the log's last segment; None when the file is gone, or no log.

    Raises OSError and KafkaException where the machine refuses to read it.
    """
    try:
        end = end_of_segment(segment).next_offset
    except DAMAGE as error:
        if is_refused(error):
            raise
        return None
    return segment.base_offset if end is None else end


def _offset_before(segment: DiskSegment, timestamp: int) -> int:
    """An offset before which all records of the segment are earlier than `timestamp` (ms), by its time index."""
    try:
        timestamps, offsets = time_entries(segment)
    except DAMAGE:  # without it the look begins earlier
        return segment.base_offset
    slot = int(timestamps.searchsorted(timestamp)) - 1
    return int(offsets[slot]) if slot >= 0 else segment.base_offset


def noted_offsets(storage: Storage, file: str) -> dict[TopicPartition, int] | None:
    """What a checkpoint file says, None where there is none. Raises what `OffsetCheckpointFile.read` does, OSError."""
    try:
        with storage.on_disk(file) as path:
            return OffsetCheckpointFile(path).read()
    except FileNotFoundError:
        return None
