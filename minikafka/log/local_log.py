"""The segments of a log as a sequence: append, read, roll, flush, truncate."""

import logging
import operator
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.errors import (
    IllegalStateException,
    KafkaException,
    KafkaStorageException,
    OffsetOutOfRangeException,
)
from minikafka.common.java.java_numbers import to_long
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.own_process import OwnProcess
from minikafka.common.scheduler import Scheduler
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.index.offset_index import OffsetPosition
from minikafka.log.index.transaction_index import AbortedTxn
from minikafka.log.log_config import LogConfig
from minikafka.log.log_file_utils import (
    DELETED_FILE_SUFFIX,
    FUTURE_DIR_SUFFIX,
    log_file,
    offset_index_file,
    time_index_file,
    transaction_index_file,
)
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.log_segment import LogSegment
from minikafka.log.log_segments import LogSegments
from minikafka.log.maybe_handle_io_exception import maybe_handle_io_exception
from minikafka.log.segment_files import delete_segment_files
from minikafka.record.format.memory_records import MemoryRecords

logger = logging.getLogger(__name__)

SegmentDeletionReason = Callable[[list[LogSegment]], None]
"""Writes to the broker's own log why segments go. Kafka: `SegmentDeletionReason`."""


class LocalLog:
    """An append-only sequence of segments, with the two offsets that concern files: log end and recovery point.

    Invariants:

    - There is always at least one segment. The last one is the *active* segment, and only it is appended to.
    - `log_end_offset_metadata` is the next offset to be written and its place: the active segment's base offset and
      size. Each append, roll and truncation sets it.
    - `recovery_point` <= log end offset, and everything below the recovery point is on the device.

    `Log` knows what offsets mean to readers (log start, high watermark, last stable offset), and it holds the lock:
    this class is not thread-safe.

    Kafka: `LocalLog`.
    """

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        segments: LogSegments,
        *,
        recovery_point: int,
        next_offset_metadata: LogOffsetMetadata,
        scheduler: Scheduler,
        time: Time,
        topic_partition: TopicPartition,
        log_dir_failure_channel: LogDirFailureChannel,
    ):
        # The partition's directory under its present name.
        self.dir = directory
        # The settings in force; `Log.update_config` replaces them.
        self.config = config
        self.segments = segments
        # Everything below this offset is on the device.
        self.recovery_point = recovery_point
        # The next offset, the base offset of the active segment, and the size of that in bytes.
        self.log_end_offset_metadata = next_offset_metadata
        self.scheduler = scheduler
        self.time = time
        self.topic_partition = topic_partition
        self.log_dir_failure_channel = log_dir_failure_channel
        # What the lines in the broker's own log begin with.
        self.log_ident = f"[LocalLog partition={topic_partition}, dir={directory}] "
        # The log directory (one of `log.dirs`): what goes offline when the disk fails.
        self.parent_dir = directory.parent
        # The end of many error messages.
        self.location = f"{topic_partition} in dir {self.parent_dir}"
        # When the recovery point was last raised, in ms.
        self.last_flush_time = time.milliseconds()
        self.own_process = OwnProcess()
        # True after `close_handlers` and deletion: nothing can be done with the log any more.
        self._is_memory_mapped_buffer_closed = False

    @property
    def name(self) -> str:
        """The directory's name. Kafka: `LocalLog.name`."""
        return self.dir.name

    @property
    def is_future(self) -> bool:
        """True while this log is built up to replace another one. Kafka: `LocalLog.isFuture`."""
        return self.dir.name.endswith(FUTURE_DIR_SUFFIX)

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record will get. Kafka: `LocalLog.logEndOffset`."""
        return self.log_end_offset_metadata.message_offset

    @property
    def unflushed_messages(self) -> int:
        """Offsets from the recovery point to the log end. Kafka: `LocalLog.unflushedMessages`."""
        return self.log_end_offset_metadata.message_offset - self.recovery_point

    def check_if_memory_mapped_buffer_closed(self) -> None:
        """Raise KafkaStorageException after `close_handlers` and deletion.

        Kafka: `LocalLog.checkIfMemoryMappedBufferClosed`.
        """
        if self._is_memory_mapped_buffer_closed:
            raise KafkaStorageException(f"The memory mapped buffer for log of {self.topic_partition} is already closed")

    # Appending and reading

    def append(self, last_offset: int, records: MemoryRecords) -> None:
        """Append `records`, whose last offset (inclusive) is `last_offset`, to the active segment.

        Raises LogSegmentOffsetOverflowException, OSError. Kafka: `LocalLog.append`.
        """
        # 1. Write.
        self.segments.active_segment.append(last_offset, records)
        # 2. Move the log end.
        self.update_log_end_offset(to_long(last_offset + 1))

    def update_log_end_offset(self, end_offset: int) -> None:
        """Set the next offset, and lower a recovery point above it. Kafka: `LocalLog.updateLogEndOffset`."""
        active = self.segments.active_segment
        self.log_end_offset_metadata = LogOffsetMetadata(end_offset, active.base_offset, active.size)
        if self.recovery_point > end_offset:
            self.recovery_point = end_offset

    def read(
        self,
        start_offset: int,
        max_length: int,
        max_offset_metadata: LogOffsetMetadata,
        *,
        min_one_message: bool,
        include_aborted_txns: bool,
    ) -> FetchDataInfo:
        """Read from the batch that holds `start_offset` up to the bound `max_offset_metadata` (exclusive).

        The result has at most `max_length` bytes and may cut the last batch short; with `min_one_message` the first
        batch is whole, however large. Raises OffsetOutOfRangeException for a start above the log end or below the first
        segment, KafkaStorageException. Kafka: `LocalLog.read`.
        """
        with self.maybe_handle_io_exception(f"Exception while reading from {self.location}", is_change=False):
            # 1. Find the segment: the last one that begins at or below the start.
            segment = self.segments.floor_segment(start_offset)
            end_offset = self.log_end_offset_metadata.message_offset
            if start_offset > end_offset or segment is None:
                raise OffsetOutOfRangeException(
                    f"Received request for offset {start_offset} for partition {self.topic_partition}, "
                    f"but we only have log segments upto {end_offset}."
                )

            # 2. At the bound, and above it, there is nothing to read yet.
            max_offset, max_segment_base_offset, max_position_on_its_segment = max_offset_metadata
            if start_offset == max_offset:
                return self._empty_fetch_data_info(max_offset_metadata, include_aborted_txns)
            if start_offset > max_offset:
                start_metadata = self.convert_to_offset_metadata_or_throw(start_offset)
                return self._empty_fetch_data_info(start_metadata, include_aborted_txns)

            # 3. Read from it. If it has nothing at or above the start, go on to the next segment.
            while segment is not None:
                # 4. Up to which byte of this segment the bound allows to read; None if its place is not known.
                if segment.base_offset < max_segment_base_offset:
                    max_position = segment.size
                elif segment.base_offset == max_segment_base_offset and not max_offset_metadata.message_offset_only:
                    max_position = max_position_on_its_segment
                else:
                    max_position = None

                # 5. The bytes from a batch on, as a view of the file.
                fetch_data_info = segment.read(start_offset, max_length, max_position, min_one_message=min_one_message)
                if fetch_data_info is not None:
                    # 6. The aborted transactions among them, for a reader of committed records.
                    if include_aborted_txns:
                        self._add_aborted_transactions(start_offset, segment, fetch_data_info)
                    return fetch_data_info
                segment = self.segments.higher_segment(segment.base_offset)

            # 7. Every record from the start on was compacted away.
            return FetchDataInfo(self.log_end_offset_metadata, MemoryRecords.EMPTY)

    def convert_to_offset_metadata_or_throw(self, offset: int) -> LogOffsetMetadata:
        """The base offset and the place of the batch that holds `offset`; finding them costs a read of one byte.

        Raises OffsetOutOfRangeException. Kafka: `LocalLog.convertToOffsetMetadataOrThrow`.
        """
        return self.read(
            offset, 1, self.log_end_offset_metadata, min_one_message=False, include_aborted_txns=False
        ).fetch_offset_metadata

    def collect_aborted_transactions(
        self, log_start_offset: int, base_offset: int, upper_bound_offset: int
    ) -> list[AbortedTxn]:
        """Aborted transactions that overlap [`log_start_offset`, `upper_bound_offset`).

        The search begins in the segment that holds `base_offset`. Kafka: `LocalLog.collectAbortedTransactions`.
        """
        segment = self.segments.floor_segment(base_offset)
        if segment is None:
            return []
        return list(self._collect_aborted_transactions(log_start_offset, upper_bound_offset, segment))

    def _add_aborted_transactions(self, start_offset: int, segment: LogSegment, fetch_data_info: FetchDataInfo) -> None:
        """Add to a read the aborted transactions that overlap it. Kafka: `LocalLog.addAbortedTransactions`."""
        metadata = fetch_data_info.fetch_offset_metadata
        start = OffsetPosition(metadata.message_offset, metadata.relative_position_in_segment)
        # 1. An offset above all that was read: from an index entry behind it, or else the segment's end.
        upper_bound_offset = segment.fetch_upper_bound_offset(start, fetch_data_info.records.size_in_bytes)
        if upper_bound_offset is None:
            higher = self.segments.higher_segment(segment.base_offset)
            upper_bound_offset = self.log_end_offset if higher is None else higher.base_offset
        # 2. Collect the aborted transactions that overlap it, from this segment on, until an entry ends the search.
        aborted_txns = self._collect_aborted_transactions(start_offset, upper_bound_offset, segment)
        # 3. Give the consumer producer and first offset of each; the marker tells it where the transaction ends.
        fetch_data_info.aborted_transactions = [txn.as_aborted_transaction for txn in aborted_txns]

    def _collect_aborted_transactions(
        self, start_offset: int, upper_bound_offset: int, segment: LogSegment
    ) -> Iterable[AbortedTxn]:
        for candidate in [segment, *self.segments.higher_segments(segment.base_offset)]:
            search_result = candidate.collect_aborted_txns(start_offset, upper_bound_offset)
            yield from search_result.aborted_transactions
            if search_result.is_complete:
                return

    def _empty_fetch_data_info(self, metadata: LogOffsetMetadata, include_aborted_txns: bool) -> FetchDataInfo:
        return FetchDataInfo(metadata, MemoryRecords.EMPTY, aborted_transactions=[] if include_aborted_txns else None)

    # Rolling and flushing

    def roll(self, expected_next_offset: int = 0) -> LogSegment:
        """Start a new active segment at max(`expected_next_offset`, log end offset); the old one becomes read-only.

        An empty active segment at that offset is replaced. Raises KafkaException when another segment begins there or
        when it would lie below the active one, KafkaStorageException. Kafka: `LocalLog.roll`.
        """
        with self.maybe_handle_io_exception(f"Error while rolling log segment for {self.location}"):
            self.check_if_memory_mapped_buffer_closed()
            # 1. The base offset of the new segment.
            new_offset = max(expected_next_offset, self.log_end_offset)
            active = self.segments.active_segment
            start_ms = self.time.hi_res_clock_ms()

            # 2. If an empty active segment begins there, replace it.
            if self.segments.contains(new_offset):
                if active.base_offset != new_offset or active.size != 0:
                    raise KafkaException(
                        f"Trying to roll a new log segment for topic partition {self.topic_partition} with start "
                        f"offset {new_offset} =max(provided offset = {expected_next_offset}, LEO = "
                        f"{self.log_end_offset}) while it already exists. Existing segment is "
                        f"{self.segments.get(new_offset)}."
                    )
                new_segment = self._replace_empty_active_segment(active, new_offset, expected_next_offset)
            else:
                if new_offset < active.base_offset:
                    raise KafkaException(
                        f"Trying to roll a new log segment for topic partition {self.topic_partition} with start "
                        f"offset {new_offset} =max(provided offset = {expected_next_offset}, LEO = "
                        f"{self.log_end_offset}) lower than start offset of the active segment {active}"
                    )
                # 3. Delete files of that name that an earlier run left behind.
                self._delete_left_over_files(new_offset)
                # 4. Give the old segment its last time index entry, and cut its indexes and log to their contents.
                active.on_become_inactive_segment()
                # 5. Add the new segment, which is the active one from here on.
                new_segment = self._open_segment(new_offset)

            # 6. The log end now lies on the new segment; its offset stays.
            self.update_log_end_offset(self.log_end_offset)
            elapsed_ms = self.time.hi_res_clock_ms() - start_ms
            logger.info("%sRolled new log segment at offset %s in %s ms.", self.log_ident, new_offset, elapsed_ms)
            return new_segment

    def create_and_delete_segment(
        self, new_offset: int, segment_to_delete: LogSegment, reason: SegmentDeletionReason, *, async_delete: bool
    ) -> LogSegment:
        """Replace the active segment by an empty one at `new_offset`; there is an active segment at every moment.

        Raises OSError. Kafka: `LocalLog.createAndDeleteSegment`.
        """
        if new_offset == segment_to_delete.base_offset:
            segment_to_delete.change_file_suffixes("", DELETED_FILE_SUFFIX)
        new_segment = self._open_segment(new_offset)
        reason([segment_to_delete])
        if new_offset != segment_to_delete.base_offset:
            self.segments.remove(segment_to_delete.base_offset)
        delete_segment_files(self, [segment_to_delete], async_delete=async_delete)
        return new_segment

    def flush(self, offset: int) -> None:
        """Force all segments that overlap [recovery point, `offset`) to the device, with the names of new files.

        The recovery point stays until `mark_flushed` moves it. Raises OSError. Kafka: `LocalLog.flush`.
        """
        recovery_point = self.recovery_point
        if recovery_point > offset:
            return
        segments = self.segments.values(recovery_point, offset)
        for segment in segments:
            segment.flush()
        # A segment that begins at or above the recovery point is new: its files' names must reach the device too.
        if any(segment.base_offset >= recovery_point for segment in segments):
            file_ops.flush_dir_if_exists(self.dir)

    def mark_flushed(self, offset: int) -> None:
        """Raise the recovery point to `offset` unless it is that high. Kafka: `LocalLog.markFlushed`."""
        self.check_if_memory_mapped_buffer_closed()
        if offset > self.recovery_point:
            self.recovery_point = operator.index(offset)
            self.last_flush_time = self.time.milliseconds()

    def _open_segment(self, base_offset: int) -> LogSegment:
        segment = LogSegment.open(self.dir, base_offset, self.config, self.time, preallocate=self.config.preallocate)
        self.segments.add(segment)
        return segment

    def _replace_empty_active_segment(
        self, active: LogSegment, new_offset: int, expected_next_offset: int
    ) -> LogSegment:
        # This happens when an index has no room for a single entry, so that it is full while the segment is empty.
        logger.warning(
            "%sTrying to roll a new log segment with start offset %s=max(provided offset = %s, LEO = %s) while it "
            "already exists and is active with size 0. Size of time index: %s, size of offset index: %s.",
            self.log_ident,
            new_offset,
            expected_next_offset,
            self.log_end_offset,
            active.time_index.entries,
            active.offset_index.entries,
        )
        reason = self._deleting_as("part of log roll")
        return self.create_and_delete_segment(new_offset, active, reason, async_delete=True)

    def _delete_left_over_files(self, base_offset: int) -> None:
        for name in (log_file, offset_index_file, time_index_file, transaction_index_file):
            file = name(self.dir, base_offset)
            if file_ops.delete_if_exists(file):
                logger.warning("%sNewly rolled segment file %s already exists; deleting it first", self.log_ident, file)

    # Truncating and deleting

    def truncate_to(self, target_offset: int) -> list[LogSegment]:
        """Cut off all batches that hold `target_offset` or higher offsets; the log then ends at `target_offset`.

        Returns the segments that went as a whole, whose files are deleted later. Raises OSError.
        Kafka: `LocalLog.truncateTo`.
        """
        deletable = self.segments.filter(lambda segment: segment.base_offset > target_offset)
        reason = self._deleting_as("part of log truncation")
        self.remove_and_delete_segments(deletable, reason, async_delete=True)
        self.segments.active_segment.truncate_to(target_offset)
        self.update_log_end_offset(target_offset)
        return deletable

    def truncate_fully_and_start_at(self, new_offset: int) -> list[LogSegment]:
        """Start an empty segment at `new_offset` and return all old segments, whose files are deleted later.

        Raises KafkaStorageException. Kafka: `LocalLog.truncateFullyAndStartAt`.
        """
        with self.maybe_handle_io_exception(f"Error while truncating the entire log for {self.location}"):
            self.check_if_memory_mapped_buffer_closed()
            segments = list(self.segments.values())
            if segments:
                reason = self._deleting_as("part of log truncation")
                self.remove_and_delete_segments(segments[:-1], reason, async_delete=True)
                # The last one goes after its successor has come, so that there is always an active segment.
                self.create_and_delete_segment(new_offset, segments[-1], reason, async_delete=True)
            self.update_log_end_offset(new_offset)
            return segments

    def remove_and_delete_segments(
        self, segments: Collection[LogSegment], reason: SegmentDeletionReason, *, async_delete: bool
    ) -> None:
        """Remove segments from the log, rename their files and delete them: later if `async_delete`, else at once.

        A read that is under way is not disturbed, because its file stays open. Raises OSError.
        Kafka: `LocalLog.removeAndDeleteSegments`.
        """
        to_delete = list(segments)
        if not to_delete:
            return
        reason(to_delete)
        for segment in to_delete:
            self.segments.remove(segment.base_offset)
        delete_segment_files(self, to_delete, async_delete=async_delete)

    def delete_all_segments(self) -> list[LogSegment]:
        """Delete all segments at once and return them; no other operation is possible afterwards.

        Raises KafkaStorageException. Kafka: `LocalLog.deleteAllSegments`.
        """
        with self.maybe_handle_io_exception(f"Error while deleting all segments for {self.location}"):
            segments = list(self.segments.values())
            reason = self._deleting_as("the log has been deleted")
            self.remove_and_delete_segments(segments, reason, async_delete=False)
            self._is_memory_mapped_buffer_closed = True
            return segments

    def delete_empty_dir(self) -> None:
        """Delete the directory of a log whose segments are deleted.

        Raises IllegalStateException if they are not, KafkaStorageException. Kafka: `LocalLog.deleteEmptyDir`.
        """
        with self.maybe_handle_io_exception(f"Error while deleting dir for {self.location}"):
            if not self.segments.is_empty:
                raise IllegalStateException(
                    f"Can not delete directory when {self.segments.number_of_segments} segments are still present"
                )
            if not self._is_memory_mapped_buffer_closed:
                raise IllegalStateException(
                    f"Can not delete directory when memory mapped buffer for log of {self.topic_partition} is still "
                    "open."
                )
            file_ops.delete_directory(self.dir)

    # Closing and renaming

    def close(self) -> None:
        """Close all segments, the active one's indexes cut to what they hold. Raises KafkaStorageException.

        Kafka: `LocalLog.close`.
        """
        with self.maybe_handle_io_exception(f"Error while renaming dir for {self.location}"):
            self.check_if_memory_mapped_buffer_closed()
            self.segments.close()

    def close_handlers(self) -> None:
        """Release all files without writing, because the directory is offline. Kafka: `LocalLog.closeHandlers`."""
        self.segments.close_handlers()
        self._is_memory_mapped_buffer_closed = True

    def rename_dir(self, name: str) -> bool:
        """Rename the directory; False if it has that name already. Raises KafkaStorageException.

        Kafka: `LocalLog.renameDir`.
        """
        message = f"Error while renaming dir for {self.topic_partition} in log dir {self.parent_dir}"
        with self.maybe_handle_io_exception(message):
            renamed = self.dir.parent / name
            file_ops.atomic_move_with_fallback(self.dir, renamed)
            if renamed == self.dir:
                return False
            self.dir = renamed
            self.segments.update_parent_dir(renamed)
            return True

    def maybe_handle_io_exception(self, message: str, *, is_change: bool = True) -> maybe_handle_io_exception:
        """A block in which an OSError takes the log directory offline and becomes a KafkaStorageException.

        `is_change`: whether the block changes the log. Raises KafkaStorageException for a change in a forked process:
        it and the process that opened the log would write over each other. Kafka: `UnifiedLog.maybeHandleIOException`.
        """
        if is_change:
            self.own_process.require("The log of", self.location)
        return maybe_handle_io_exception(self.log_dir_failure_channel, self.parent_dir, message, is_change)

    def _deleting_as(self, cause: str) -> SegmentDeletionReason:
        def log_reason(to_delete: list[LogSegment]) -> None:
            logger.info("%sDeleting segments as %s: %s", self.log_ident, cause, ", ".join(map(str, to_delete)))

        return log_reason
