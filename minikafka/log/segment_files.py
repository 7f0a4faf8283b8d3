"""Deletes, splits and replaces files of segments so that a crash at any moment leaves a log that can be loaded.

The files of a segment are renamed in two ways:

- *Deleting*: `N.log` becomes `N.log.deleted` (likewise the indexes) and is removed after `file.delete.delay.ms`, so
  that reads that are under way can finish.
- *Replacing* (compaction, splitting): new segments are written as `N.log.cleaned` and renamed to `N.log.swap` from the
  highest offset down. Then the old ones are renamed to `.deleted`, and the new ones lose their suffix. As long as there
  is a `.cleaned` file, nothing has been replaced, and the loader drops the new files; once all of them are called
  `.swap`, the loader finishes the replacement.

An OSError is raised as it is: a caller turns it into KafkaStorageException unless the log is only being loaded.

Kafka: the static methods of `LocalLog`.
"""

import logging
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple, Protocol

from minikafka.common.errors import IllegalArgumentException, IllegalStateException, NoSuchElementException
from minikafka.common.file_ops import flush_dir
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import Scheduler
from minikafka.common.time import SystemTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_config import LogConfig
from minikafka.log.log_file_utils import CLEANED_FILE_SUFFIX, DELETED_FILE_SUFFIX, SWAP_FILE_SUFFIX, is_log_file
from minikafka.log.log_segment import LogSegment
from minikafka.log.log_segments import LogSegments
from minikafka.log.maybe_handle_io_exception import maybe_handle_io_exception
from minikafka.log.producer.producer_state_manager import ProducerStateManager

logger = logging.getLogger(__name__)


class SegmentOwner(Protocol):
    """What the functions here ask of the owner of the segments: a `LocalLog`, or a `LogLoader` while it loads."""

    dir: Path
    topic_partition: TopicPartition
    config: LogConfig
    scheduler: Scheduler
    log_dir_failure_channel: LogDirFailureChannel
    log_ident: str


class SplitSegmentResult(NamedTuple):
    """The segments that were deleted and those that replaced them. Kafka: `LocalLog.SplitSegmentResult`."""

    deleted_segments: list[LogSegment]
    new_segments: list[LogSegment]


def delete_segment_files(owner: SegmentOwner, segments: Collection[LogSegment], *, async_delete: bool) -> None:
    """Rename the files of `segments` to `.deleted`, then delete them: later if `async_delete`, else at once.

    Raises OSError when a file cannot be renamed and is still there. Kafka: `LocalLog.deleteSegmentFiles`.
    """
    for segment in segments:
        if not segment.has_suffix(DELETED_FILE_SUFFIX):
            segment.change_file_suffixes("", DELETED_FILE_SUFFIX)
    parent_dir = owner.dir.parent

    def delete_segments() -> None:
        logger.info("%sDeleting segment files %s", owner.log_ident, ", ".join(map(str, segments)))
        message = f"Error while deleting segments for {owner.topic_partition} in dir {parent_dir}"
        with maybe_handle_io_exception(owner.log_dir_failure_channel, parent_dir, message):
            for segment in segments:
                segment.delete_if_exists()

    if async_delete:
        owner.scheduler.schedule_once("delete-file", delete_segments, owner.config.file_delete_delay_ms)
    else:
        delete_segments()


def delete_producer_snapshots(
    owner: SegmentOwner,
    producer_state_manager: ProducerStateManager,
    segments: Collection[LogSegment],
    *,
    async_delete: bool,
) -> None:
    """Rename the snapshots at the base offsets of `segments` to `.deleted`, then delete them.

    They are deleted later if `async_delete`, else at once. Raises OSError. Kafka: `UnifiedLog.deleteProducerSnapshots`.
    """
    marked = [producer_state_manager.remove_and_mark_snapshot_for_deletion(s.base_offset) for s in segments]
    snapshots = [snapshot for snapshot in marked if snapshot is not None]
    parent_dir = owner.dir.parent

    def delete_snapshots() -> None:
        message = f"Error while deleting producer state snapshots for {owner.topic_partition} in dir {parent_dir}"
        with maybe_handle_io_exception(owner.log_dir_failure_channel, parent_dir, message):
            for snapshot in snapshots:
                snapshot.delete_if_exists()

    if async_delete:
        owner.scheduler.schedule_once("delete-producer-snapshot", delete_snapshots, owner.config.file_delete_delay_ms)
    else:
        delete_snapshots()


def create_new_cleaned_segment(directory: Path, config: LogConfig, base_offset: int) -> LogSegment:
    """An empty segment whose files end in `.cleaned`; files that an earlier attempt left are deleted.

    As in Kafka, it has the machine's clock, whatever clock the log has. Kafka: `LocalLog.createNewCleanedSegment`.
    """
    LogSegment.delete_files_if_exist(directory, base_offset, CLEANED_FILE_SUFFIX)
    return LogSegment.open(
        directory,
        base_offset,
        config,
        SystemTime(),
        preallocate=config.preallocate,
        file_suffix=CLEANED_FILE_SUFFIX,
    )


def split_overflowed_segment(
    owner: SegmentOwner, existing_segments: LogSegments, segment: LogSegment
) -> SplitSegmentResult:
    """Replace `segment`, whose offsets overflow, by segments that hold the same batches without overflow.

    Raises IllegalArgumentException when it does not overflow, IllegalStateException when a batch fits no new segment,
    because it begins below the segment's base offset, NoSuchElementException when the file ends with an incomplete
    batch. Kafka: `LocalLog.splitOverflowedSegment`.
    """
    source = segment.log
    if not is_log_file(source.file):
        raise IllegalArgumentException(f"Cannot split file {source.file.absolute()}")
    if not segment.has_overflow():
        raise IllegalArgumentException(
            "Split operation is only permitted for segments with overflow, and the problem path "
            f"is {source.file.absolute()}"
        )
    logger.info("%sSplitting overflowed segment %s", owner.log_ident, segment)
    new_segments: list[LogSegment] = []
    try:
        # 1. Copy the batches into new segments, starting another one where offsets would overflow again.
        position = 0
        while position < source.size_in_bytes:
            first_batch = next(source.batches_from(position), None)
            if first_batch is None:
                raise NoSuchElementException(f"No whole batch at position {position} of {source.file.absolute()}")
            new_segment = create_new_cleaned_segment(owner.dir, owner.config, first_batch.base_offset)
            new_segments.append(new_segment)
            bytes_appended = new_segment.append_from_file(source, position)
            if bytes_appended == 0:
                raise IllegalStateException(f"Failed to append records from position {position} in {segment}")
            position += bytes_appended

        # 2. Complete them: trim the indexes, flush, and give them the date of the segment they come from.
        for new_segment in new_segments:
            new_segment.on_become_inactive_segment()
            new_segment.flush()
            new_segment.set_last_modified(segment.last_modified)
        total_size = sum(new_segment.log.size_in_bytes for new_segment in new_segments)
        if total_size != source.size_in_bytes:
            raise IllegalStateException(
                f"Inconsistent segment sizes after split before: {source.size_in_bytes} after: {total_size}"
            )

        # 3. Replace the old one.
        logger.info("%sReplacing overflowed segment %s with split segments %s", owner.log_ident, segment, new_segments)
        deleted_segments = replace_segments(owner, existing_segments, new_segments, [segment])
        return SplitSegmentResult(deleted_segments, new_segments)
    except Exception:
        for new_segment in new_segments:
            new_segment.close()
            new_segment.delete_if_exists()
        raise


def replace_segments(
    owner: SegmentOwner,
    existing_segments: LogSegments,
    new_segments: Collection[LogSegment],
    old_segments: Collection[LogSegment],
) -> list[LogSegment]:
    """Replace `old_segments` by `new_segments`, whose files are still called `.cleaned`, safely against a crash.

    Returns the old segments whose base offset no new segment has. Kafka: `LocalLog.replaceSegments`.
    """
    new_segments = sorted(new_segments, key=_base_offset)
    # Retention may have removed some old segments since the caller looked; their files are already being deleted.
    old_segments = sorted((s for s in old_segments if existing_segments.contains(s.base_offset)), key=_base_offset)

    # 1. Rename from the highest offset down. If a crash leaves a `.cleaned` file, a load drops all new segments.
    for segment in reversed(new_segments):
        segment.change_file_suffixes(CLEANED_FILE_SUFFIX, SWAP_FILE_SUFFIX)
        existing_segments.add(segment)

    # 2. Take the old segments out of the log, and rename their files to `.deleted`.
    new_base_offsets = {segment.base_offset for segment in new_segments}
    deleted_not_replaced = []
    for segment in old_segments:
        if segment.base_offset != new_segments[0].base_offset:
            existing_segments.remove(segment.base_offset)
        delete_segment_files(owner, [segment], async_delete=True)
        if segment.base_offset not in new_base_offsets:
            deleted_not_replaced.append(segment)

    # 3. Give the new files their final names.
    for segment in new_segments:
        segment.change_file_suffixes(SWAP_FILE_SUFFIX, "")

    # 4. Flush the directory: the names are on the device.
    flush_dir(owner.dir)
    return deleted_not_replaced


def _base_offset(segment: LogSegment) -> int:
    return segment.base_offset
