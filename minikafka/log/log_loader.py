"""Loading a partition's directory: whatever the last process left there becomes a log, or the load fails."""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from minikafka.common import file_ops
from minikafka.common.errors import (
    CorruptIndexException,
    IllegalArgumentException,
    IllegalStateException,
    InvalidOffsetException,
    IOException,
    LogSegmentOffsetOverflowException,
)
from minikafka.common.file_kind import leads_to_file
from minikafka.common.java.java_file_names import is_found_by_java
from minikafka.common.java.java_numbers import LONG_MAX, LONG_MIN
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import Scheduler
from minikafka.common.sorted_map import SortedMap
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.leader_epoch_file_cache import LeaderEpochFileCache
from minikafka.log.log_config import LogConfig
from minikafka.log.log_file_utils import (
    CLEANED_FILE_SUFFIX,
    DELETE_DIR_SUFFIX,
    DELETED_FILE_SUFFIX,
    SWAP_FILE_SUFFIX,
    is_index_file,
    is_log_file,
    log_file,
    offset_from_file,
    replace_suffix,
    time_index_file,
)
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.log_segment import LogSegment
from minikafka.log.log_segments import LogSegments
from minikafka.log.producer.producer_state_manager import ProducerStateManager
from minikafka.log.producer.snapshot_file import SnapshotFile, load_snapshots
from minikafka.log.producer_state_rebuilding import rebuild_producer_state
from minikafka.log.segment_files import delete_producer_snapshots, delete_segment_files, split_overflowed_segment

logger = logging.getLogger(__name__)

R = TypeVar("R")
_RAFT_SNAPSHOT_DELETED_SUFFIX = ".checkpoint.deleted"


class LoadedLogOffsets(NamedTuple):
    """What loading found: the log start offset, the recovery point, and the next offset with its place.

    Kafka: `LoadedLogOffsets`.
    """

    log_start_offset: int
    recovery_point: int
    next_offset_metadata: LogOffsetMetadata


class RecoveryOffsets(NamedTuple):
    """Recovery point and log end offset after recovery. Kafka: `LogLoader.RecoveryOffsets`."""

    new_recovery_point: int
    next_offset: int


class LogLoader:
    """Loads one partition's directory in the phases that `load` numbers.

    - Work that was cut off when the last process ended is undone or completed: `.deleted` and `.cleaned` files go,
      `.swap` files replace what they were made from.
    - After a clean shutdown the files are trusted: only the last batches are read, and no index entry is examined.
    - After an unclean shutdown, segments from the recovery point up are scanned; the log ends before the first bad
      batch.
    - Checkpointed offsets are hints: the log start and the recovery point are adjusted to what the files hold.

    The loader fills `segments`, `leader_epoch_cache` and `producer_state_manager`, which the new log will own.
    `num_remaining_segments` tells a watching thread how many segments the thread of that name has yet to recover.

    Raises what a damaged directory makes Kafka raise. OSErrors are raised as they are, since no log is online yet;
    but an OSError in the recovery of a segment counts as damage in Kafka, whatever its cause, so that sound segments
    are emptied when descriptors run out (EMFILE) or a disk does not answer (EIO). This loader does the same unless
    `stop_at_os_errors`.

    Kafka: `LogLoader`.
    """

    def __init__(
        self,
        directory: Path,
        topic_partition: TopicPartition,
        config: LogConfig,
        *,
        scheduler: Scheduler,
        time: Time,
        log_dir_failure_channel: LogDirFailureChannel,
        had_clean_shutdown: bool,
        segments: LogSegments,
        log_start_offset_checkpoint: int,
        recovery_point_checkpoint: int,
        leader_epoch_cache: LeaderEpochFileCache,
        producer_state_manager: ProducerStateManager,
        num_remaining_segments: dict[str, int] | None = None,
        stop_at_os_errors: bool = False,
    ):
        self.dir = directory
        self.topic_partition = topic_partition
        self.config = config
        self.scheduler = scheduler
        self.time = time
        self.log_dir_failure_channel = log_dir_failure_channel
        # True: the files are as the last process meant to leave them.
        self.had_clean_shutdown = had_clean_shutdown
        # Empty at first; the new log's segments in the end.
        self.segments = segments
        # What the checkpoint files say, 0 where they say nothing.
        self.log_start_offset_checkpoint = log_start_offset_checkpoint
        self.recovery_point_checkpoint = recovery_point_checkpoint
        self.leader_epoch_cache = leader_epoch_cache
        # Empty until the last phase; recovery uses managers of its own.
        self.producer_state_manager = producer_state_manager
        # By the thread's name: how many segments it has yet to recover.
        self.num_remaining_segments = {} if num_remaining_segments is None else num_remaining_segments
        self.stop_at_os_errors = stop_at_os_errors
        # The snapshot files, listed once for all segments that are recovered.
        self._snapshots_of_recovery: SortedMap[SnapshotFile] | None = None
        self.log_ident = f"[LogLoader partition={topic_partition}, dir={directory.parent}] "

    def load(self) -> LoadedLogOffsets:
        """Load the directory; returns the offsets that the new log starts with. Kafka: `LogLoader.load`."""
        # 1. Delete what was to be deleted and what is incomplete. The `.swap` files that remain are complete.
        swap_files = self._remove_temp_files_and_collect_swap_files()

        # 2. Delete the segments that the `.swap` files replace, with their indexes and snapshots.
        self._delete_segments_replaced_by(swap_files)

        # 3. Give the `.swap` files their final names.
        self._rename_swap_files()

        # 4. Open all segments, and recover those whose offset index is missing or whose transaction index is bad.
        self._retry_on_offset_overflow(self._close_and_load_segment_files)

        # 5. Recover what may not have reached the device, and find the log's end. A log to be deleted is left alone.
        if not str(self.dir.absolute()).endswith(DELETE_DIR_SUFFIX):
            new_recovery_point, next_offset = self._retry_on_offset_overflow(self.recover_log)
            self.segments.active_segment.resize_indexes(self.config.max_index_size)
        else:
            if self.segments.is_empty:
                self.segments.add(LogSegment.open(self.dir, 0, self.config, self.time))
            new_recovery_point, next_offset = 0, 0

        # 6. Remove epochs beyond the end or below the start: the file may be older or newer than the log.
        self.leader_epoch_cache.truncate_from_end_async_flush(next_offset)
        new_log_start_offset = max(self.log_start_offset_checkpoint, self.segments.base_offsets[0])
        self.leader_epoch_cache.truncate_from_start_async_flush(self.log_start_offset_checkpoint)

        # 7. Load the producers' states from snapshots and the batches after them.
        if not self.producer_state_manager.is_empty:
            raise IllegalStateException("Producer state must be empty during log initialization")
        self.producer_state_manager.remove_stray_snapshots(self.segments.base_offsets)
        rebuild_producer_state(
            self.producer_state_manager,
            self.segments,
            log_start_offset=new_log_start_offset,
            last_offset=next_offset,
            time=self.time,
            reload_from_clean_shutdown=self.had_clean_shutdown,
            log_prefix=self.log_ident,
        )
        active = self.segments.active_segment
        return LoadedLogOffsets(
            new_log_start_offset,
            new_recovery_point,
            LogOffsetMetadata(next_offset, active.base_offset, active.size),
        )

    # Phases 1 to 3: leftovers

    def _remove_temp_files_and_collect_swap_files(self) -> list[Path]:
        """Delete `.deleted` and `.cleaned` files, and `.swap` files at or above the lowest `.cleaned`.

        A `.cleaned` file shows that a replacement ended before all its files were called `.swap`, since these are
        renamed from the highest offset down. Kafka: `LogLoader.removeTempFilesAndCollectSwapFiles`.
        """
        # 1. Look through the files, and delete `.deleted` ones at once, except those of the metadata log's snapshots.
        swap_files, cleaned_files = [], []
        for file in self._files():
            if not os.access(file, os.R_OK):
                raise IOException(f"Could not read file {file}")
            name = file.name
            if name.endswith(DELETED_FILE_SUFFIX) and not name.endswith(_RAFT_SNAPSHOT_DELETED_SUFFIX):
                file_ops.delete_if_exists(file)
            elif name.endswith(CLEANED_FILE_SUFFIX):
                cleaned_files.append(file)
            elif name.endswith(SWAP_FILE_SUFFIX):
                swap_files.append(file)

        # 2. Delete the `.swap` files of a replacement that was not complete.
        min_cleaned_offset = min(map(offset_from_file, cleaned_files), default=LONG_MAX)
        valid_swap_files = []
        for file in swap_files:
            if offset_from_file(file) >= min_cleaned_offset:
                file_ops.delete_if_exists(file)
            else:
                valid_swap_files.append(file)

        # 3. Delete the `.cleaned` files last: if this load crashes before that, the next one still finds them.
        for file in cleaned_files:
            file_ops.delete_if_exists(file)
        return valid_swap_files

    def _delete_segments_replaced_by(self, swap_files: list[Path]) -> None:
        """Delete all files, except `.swap`, with an offset in [first base offset, last next offset) of `swap_files`."""
        lowest, highest = LONG_MAX, LONG_MIN
        for file in swap_files:
            if not is_log_file(replace_suffix(file, SWAP_FILE_SUFFIX, "")):
                continue
            segment = LogSegment.open(
                self.dir, offset_from_file(file), self.config, self.time, file_suffix=SWAP_FILE_SUFFIX
            )
            logger.info(
                "%sFound log file %s from interrupted swap operation, which is recoverable from %s files by renaming.",
                self.log_ident,
                file,
                SWAP_FILE_SUFFIX,
            )
            lowest = min(segment.base_offset, lowest)
            highest = max(segment.read_next_offset(), highest)
            segment.close_handlers()
        for file in self._files():
            if file.name.endswith(SWAP_FILE_SUFFIX):
                continue
            try:
                offset = offset_from_file(file)
            except IllegalArgumentException:
                continue  # its name has no offset: a checkpoint, or a file of somebody else
            if lowest <= offset < highest:
                logger.info(
                    "%sDeleting segment files %s that is compacted but has not been deleted yet.",
                    self.log_ident,
                    file.name,
                )
                file_ops.delete_if_exists(file)

    def _rename_swap_files(self) -> None:
        for file in self._files():
            if file.name.endswith(SWAP_FILE_SUFFIX):
                logger.info(
                    "%sRecovering file %s by renaming from %s files.", self.log_ident, file.name, SWAP_FILE_SUFFIX
                )
                file_ops.rename(file, replace_suffix(file, SWAP_FILE_SUFFIX, ""))

    # Phase 4: segments

    def _retry_on_offset_overflow(self, function: Callable[[], R]) -> R:
        """Call `function` again and again until no segment's offsets overflow, splitting each segment that does.

        Kafka: `LogLoader.retryOnOffsetOverflow`.
        """
        while True:
            try:
                return function()
            except LogSegmentOffsetOverflowException as overflow:
                if not isinstance(overflow.segment, LogSegment):
                    raise
                logger.info("%sCaught segment overflow error: %s. Split segment and retry.", self.log_ident, overflow)
                result = split_overflowed_segment(self, self.segments, overflow.segment)
                delete_producer_snapshots(self, self.producer_state_manager, result.deleted_segments, async_delete=True)
                self._snapshots_of_recovery = None

    def _close_and_load_segment_files(self) -> None:
        self.segments.close()
        self.segments.clear()
        self._load_segment_files()

    def _load_segment_files(self) -> None:
        """Open each `.log` in the order of offsets; delete indexes without a `.log`.

        Raises LogSegmentOffsetOverflowException, and leaves the segments opened so far open.
        Kafka: `LogLoader.loadSegmentFiles`.
        """
        for file in self._files():
            if is_index_file(file):
                if not log_file(self.dir, offset_from_file(file)).exists():
                    logger.warning(
                        "%sFound an orphaned index file %s, with no corresponding log file.", self.log_ident, file
                    )
                    file_ops.delete_if_exists(file)
            elif is_log_file(file):
                base_offset = offset_from_file(file)
                time_index_newly_created = not time_index_file(self.dir, base_offset).exists()
                segment = LogSegment.open(self.dir, base_offset, self.config, self.time, file_already_exists=True)
                try:
                    segment.sanity_check(time_index_file_newly_created=time_index_newly_created)
                except FileNotFoundError:
                    if self.had_clean_shutdown or segment.base_offset < self.recovery_point_checkpoint:
                        logger.error(
                            "%sCould not find offset index file corresponding to log file %s, recovering segment and "
                            "rebuilding index files...",
                            self.log_ident,
                            file,
                        )
                    self._recover_segment(segment)
                except CorruptIndexException as error:
                    logger.warning(
                        "%sFound a corrupted index file corresponding to log file %s due to %s, recovering segment "
                        "and rebuilding index files...",
                        self.log_ident,
                        file,
                        error,
                    )
                    self._recover_segment(segment)
                self.segments.add(segment)

    # Phase 5: recovery

    def recover_log(self) -> RecoveryOffsets:
        """Scan the segments that may hold bad batches, cut at the first bad one, and make sure that a segment exists.

        Returns the recovery point and the log end offset. Kafka: `LogLoader.recoverLog`.
        """
        # 1. After an unclean stop, scan the segments from the recovery point up.
        if not self.had_clean_shutdown:
            self._recover_unflushed_segments()

        # 2. If the log ends below its start, it has lost segments: delete what is left.
        log_end_offset = self._delete_segments_if_log_start_greater_than_log_end()

        # 3. If no segment is left, make an empty one.
        if self.segments.is_empty:
            base_offset, preallocate = self.log_start_offset_checkpoint, self.config.preallocate
            self.segments.add(LogSegment.open(self.dir, base_offset, self.config, self.time, preallocate=preallocate))

        # 4. Only after a clean stop is everything known to be flushed: the recovery point moves up to the log end.
        if self.had_clean_shutdown and log_end_offset is not None:
            return RecoveryOffsets(log_end_offset, log_end_offset)
        if log_end_offset is None:
            log_end_offset = self.segments.active_segment.read_next_offset()
        return RecoveryOffsets(min(self.recovery_point_checkpoint, log_end_offset), log_end_offset)

    def _recover_unflushed_segments(self) -> None:
        unflushed = list(self.segments.values(self.recovery_point_checkpoint))
        thread_name = threading.current_thread().name
        self.num_remaining_segments[thread_name] = len(unflushed)
        for number, segment in enumerate(unflushed):
            logger.info(
                "%sRecovering unflushed segment %s. %s/%s recovered for %s.",
                self.log_ident,
                segment.base_offset,
                number,
                len(unflushed),
                self.topic_partition,
            )
            try:
                truncated_bytes = self._recover_segment(segment)
            except (InvalidOffsetException, OSError) as error:
                if self.stop_at_os_errors and isinstance(error, OSError):
                    raise
                self._snapshots_of_recovery = None
                logger.warning(
                    "%sFound invalid offset during recovery. Deleting the corrupt segment and creating an empty one "
                    "with starting offset %s",
                    self.log_ident,
                    segment.base_offset,
                )
                truncated_bytes = segment.truncate_to(segment.base_offset)
            if truncated_bytes > 0:
                logger.warning(
                    "%sCorruption found in segment %s, truncating to offset %s",
                    self.log_ident,
                    segment.base_offset,
                    segment.read_next_offset(),
                )
                remaining = unflushed[number + 1 :]
                if remaining:
                    self._remove_and_delete_segments_async(remaining)
                    delete_producer_snapshots(self, self.producer_state_manager, remaining, async_delete=True)
                self.num_remaining_segments[thread_name] = 0
                return
            self.num_remaining_segments[thread_name] = len(unflushed) - number - 1

    def _recover_segment(self, segment: LogSegment) -> int:
        """Scan `segment`, rebuild its indexes and cut it at the first bad batch; returns the number of bytes cut.

        Kafka: `LogLoader.recoverSegment`.
        """
        # 1. Load the producers' states before this segment, into a manager for this purpose. (Kafka lists the directory
        #    anew for each segment; here these managers share one listing.)
        if self._snapshots_of_recovery is None:
            self._snapshots_of_recovery = load_snapshots(self.dir)
        producer_state_manager = ProducerStateManager(
            self.topic_partition,
            self.dir,
            max_transaction_timeout_ms=self.producer_state_manager.max_transaction_timeout_ms,
            producer_state_manager_config=self.producer_state_manager.producer_state_manager_config,
            time=self.time,
            snapshots=self._snapshots_of_recovery,
        )
        rebuild_producer_state(
            producer_state_manager,
            self.segments,
            log_start_offset=self.log_start_offset_checkpoint,
            last_offset=segment.base_offset,
            time=self.time,
            reload_from_clean_shutdown=False,
            log_prefix=self.log_ident,
        )

        # 2. Scan the segment; its batches update producers and epochs.
        bytes_truncated = segment.recover(producer_state_manager, self.leader_epoch_cache)

        # 3. Write a snapshot: the next segment's recovery begins with it.
        producer_state_manager.take_snapshot()
        return bytes_truncated

    def _delete_segments_if_log_start_greater_than_log_end(self) -> int | None:
        """The log end offset, or None without segments, even if that is because all had to be deleted.

        Kafka: `LogLoader.deleteSegmentsIfLogStartGreaterThanLogEnd`.
        """
        if self.segments.is_empty:
            return None
        log_end_offset = self.segments.active_segment.read_next_offset()
        if log_end_offset >= self.log_start_offset_checkpoint:
            return log_end_offset
        logger.warning(
            "%sDeleting all segments because logEndOffset (%s) is smaller than logStartOffset %s. This could happen "
            "if segment files were deleted from the file system.",
            self.log_ident,
            log_end_offset,
            self.log_start_offset_checkpoint,
        )
        self._remove_and_delete_segments_async(list(self.segments.values()))
        self.leader_epoch_cache.clear_and_flush()
        self.producer_state_manager.truncate_fully_and_start_at(self.log_start_offset_checkpoint)
        return None

    def _remove_and_delete_segments_async(self, to_delete: list[LogSegment]) -> None:
        logger.info("%sDeleting segments as part of log recovery: %s", self.log_ident, ", ".join(map(str, to_delete)))
        for segment in to_delete:
            self.segments.remove(segment.base_offset)
        delete_segment_files(self, to_delete, async_delete=True)

    def _files(self) -> list[Path]:
        """The regular files that Java finds in the directory, by name.

        None if it cannot be listed; OSError if `stop_at_os_errors`.
        """
        try:
            with os.scandir(self.dir) as entries:
                names = sorted(entry.name for entry in entries if is_found_by_java(entry.name) and leads_to_file(entry))
            return [self.dir / name for name in names]
        except OSError:
            if self.stop_at_os_errors:
                raise
            return []
