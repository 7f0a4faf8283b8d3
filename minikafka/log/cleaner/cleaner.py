"""Compacts one log: only the latest record of each key stays."""

import logging
from collections.abc import Callable

from minikafka.common.errors import (
    KafkaException,
    LogCleaningAbortedException,
    LogSegmentOffsetOverflowException,
)
from minikafka.common.throttler import Throttler
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaned_transaction_metadata import CleanedTransactionMetadata
from minikafka.log.cleaner.cleaner_stats import CleanerStats
from minikafka.log.cleaner.io_buffer import IoBuffer
from minikafka.log.cleaner.log_cleaner_filter import LogCleanerFilter
from minikafka.log.cleaner.log_to_clean import LogToClean
from minikafka.log.cleaner.segment_grouping import group_segments_by_size
from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap
from minikafka.log.log import Log
from minikafka.log.log_segment import LogSegment
from minikafka.log.segment_files import create_new_cleaned_segment
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record_batch import RecordBatch
from minikafka.record.kernels.batch_run import BatchRun, batch_runs
from minikafka.record.kernels.record_columns import RecordColumns
from minikafka.record.kernels.record_filter import filter_to
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch

logger = logging.getLogger(__name__)

CheckDone = Callable[[TopicPartition], object]
"""Raises an exception when the cleaning of the partition must end."""


class Cleaner:
    """Rewrites a log in two passes: the first notes the latest offset of each key, the second drops what is older.

    - The first pass reads the dirty part and fills the offset map. It ends early when the map is full; the log is then
      clean up to where the pass ended, and the next cleaning goes on from there.
    - The second pass rewrites all segments from the start of the log: each group of segments becomes one new segment,
      which takes their place.
    - The active segment, and everything from the first uncleanable offset on, is never touched.
    - Nothing but segments changes: offsets, leader epochs and the state of the producers stay.

    One thread uses a cleaner at a time. Simpler than Kafka: buffers for decompression are made anew for each batch,
    which nothing on disk shows.

    On disk: `.cleaned` files while a group is rewritten, which are renamed to `.swap` and then lose their suffix
    (`segment_files`). After a failure they stay, and the next cleaning, or the next load of the log, removes them.

    Kafka: `Cleaner`.
    """

    def __init__(
        self,
        id: int,
        offset_map: SkimpyOffsetMap,
        *,
        io_buffer_size: int,
        max_io_buffer_size: int,
        dup_buffer_load_factor: float,
        throttler: Throttler,
        time: Time,
        check_done: CheckDone,
    ):
        """`io_buffer_size`: how many bytes are read, and written, at a time; both buffers grow to `max_io_buffer_size`
        for a batch that needs it. `dup_buffer_load_factor`: the share of the map's slots that may be used, 0 to 1.
        """
        self.id = id
        self.offset_map = offset_map
        self._dup_buffer_load_factor = dup_buffer_load_factor
        self._throttler = throttler
        self._time = time
        self._check_done = check_done
        self._buffer = IoBuffer(io_buffer_size, max_io_buffer_size)
        assert offset_map.slots * dup_buffer_load_factor > 1, (
            "offset map is too small to fit in even a single message, so log cleaning will never make progress. "
            "You can increase log.cleaner.dedupe.buffer.size or decrease log.cleaner.threads"
        )

    def clean(self, cleanable: LogToClean) -> tuple[int, CleanerStats]:
        """Clean a log at the clock's present time; see `do_clean`. Kafka: `Cleaner.clean`."""
        return self.do_clean(cleanable, self._time.milliseconds())

    def do_clean(self, cleanable: LogToClean, current_time: int) -> tuple[int, CleanerStats]:
        """Clean a log; returns the first offset that is still not clean, and what was counted.

        `current_time` (ms) decides which tombstones and markers may go. Raises LogCleaningAbortedException, what
        `check_done` raises, what damaged batches raise, KafkaStorageException and OSError. Kafka: `Cleaner.doClean`.
        """
        log = cleanable.log
        logger.info("Beginning cleaning of log %s", log.name)
        stats = CleanerStats()

        # 1. Magic 0 and 1: tombstones may be removed from segments that were last changed before this time.
        segments = log.log_segments_between(0, cleanable.first_dirty_offset)
        legacy_delete_horizon_ms = segments[-1].last_modified - log.config.delete_retention_ms if segments else 0

        # 2. First pass: the latest offset of each key in the dirty part.
        upper_bound_offset = cleanable.first_uncleanable_offset
        self.build_offset_map(log, cleanable.first_dirty_offset, upper_bound_offset, self.offset_map, stats)
        end_offset = self.offset_map.latest_offset + 1
        stats.index_done()

        # 3. Group neighbouring segments that fit into one.
        transaction_metadata = CleanedTransactionMetadata()
        grouped_segments = group_segments_by_size(
            log.log_segments_between(0, end_offset),
            log.config.segment_size,
            log.config.max_index_size,
            upper_bound_offset,
        )

        # 4. Second pass: write each group anew.
        for group in grouped_segments:
            self.clean_segments(
                log,
                group,
                self.offset_map,
                current_time,
                stats,
                transaction_metadata,
                legacy_delete_horizon_ms,
                upper_bound_offset,
            )

        # 5. Note how full the map became.
        stats.buffer_utilization = self.offset_map.utilization
        stats.all_done()
        return end_offset, stats

    # The first pass

    def build_offset_map(
        self, log: Log, start: int, end: int, offset_map: SkimpyOffsetMap, stats: CleanerStats
    ) -> None:
        """Put the latest offset of each key from `start` up to `end` (exclusive) into the map, as far as it has room.

        The map's `latest_offset` then tells how far that was. Kafka: `Cleaner.buildOffsetMap`.
        """
        # 1. An empty map, and the segments that it must cover.
        offset_map.clear()
        dirty = log.log_segments_between(start, end)
        next_segment_start_offsets = [segment.base_offset for segment in dirty[1:]] + [end]

        # 2. Leave out aborted transactions: an aborted record must not replace an older one.
        transaction_metadata = CleanedTransactionMetadata()
        transaction_metadata.add_aborted_transactions(log.collect_aborted_transactions(start, end))

        # 3. Segment after segment, until the map is full.
        for segment, next_segment_start_offset in zip(dirty, next_segment_start_offsets, strict=False):
            self._check_done(log.topic_partition)
            full = self._build_offset_map_for_segment(
                log.topic_partition,
                segment,
                offset_map,
                start,
                next_segment_start_offset,
                log.config.max_message_size,
                transaction_metadata,
                stats,
            )
            if full:
                logger.debug("Offset map is full, segment with base offset %d is partially mapped", segment.base_offset)
                return

    def _build_offset_map_for_segment(
        self,
        topic_partition: TopicPartition,
        segment: LogSegment,
        offset_map: SkimpyOffsetMap,
        start_offset: int,
        next_segment_start_offset: int,
        max_log_message_size: int,
        transaction_metadata: CleanedTransactionMetadata,
        stats: CleanerStats,
    ) -> bool:
        """Returns whether the map became full. Kafka: `Cleaner.buildOffsetMapForSegment`."""
        position = segment.offset_index.lookup(start_offset).position
        while position < segment.log.size_in_bytes:
            self._check_done(topic_partition)
            try:
                records = self._buffer.read(segment.log, position)
            except OSError as error:
                raise KafkaException(
                    f"Failed to read from segment {segment} of partition {topic_partition} while loading offset map"
                ) from error
            self._throttler.maybe_throttle(records.size_in_bytes)
            bytes_read = 0
            for part in batch_runs(records.buffer):
                if self._put_keys(part, offset_map, start_offset, transaction_metadata, stats):
                    return True
                bytes_read += part.size_in_bytes
            position += bytes_read
            stats.index_bytes_read(bytes_read)
            if bytes_read == 0:
                self._buffer.grow_or_fail(segment.log, position, max_log_message_size, records)
        # If offsets are missing before the next segment, nothing there could be dirty.
        offset_map.update_latest_offset(next_segment_start_offset - 1)
        self._buffer.restore()
        return False

    def _put_keys(
        self,
        part: BatchRun | RecordBatch | LegacyRecordBatch,
        offset_map: SkimpyOffsetMap,
        start_offset: int,
        transaction_metadata: CleanedTransactionMetadata,
        stats: CleanerStats,
    ) -> bool:
        """Put the keys of a batch, or of a run of batches, into the map; returns whether it became full."""
        columns = self._columns_that_count(part, transaction_metadata, stats)
        if columns is not None:
            max_desired_map_size = int(offset_map.slots * self._dup_buffer_load_factor)
            looked_at = offset_map.put_columns(columns, start_offset, max_desired_map_size)
            stats.index_messages_read(looked_at)
            if looked_at < columns.count:
                # The map covers the batches of a run before the one in which it became full.
                covered = part.last_offset_before(looked_at) if isinstance(part, BatchRun) else None
                if covered is not None and covered >= max(start_offset, offset_map.latest_offset):
                    offset_map.update_latest_offset(covered)
                return True
            if columns.error is not None:
                raise columns.error
        if part.last_offset >= start_offset:
            offset_map.update_latest_offset(part.last_offset)
        return False

    def _columns_that_count(
        self,
        part: BatchRun | RecordBatch | LegacyRecordBatch,
        transaction_metadata: CleanedTransactionMetadata,
        stats: CleanerStats,
    ) -> RecordColumns | None:
        """The records whose keys belong in the map; None for a marker and for data of an aborted transaction."""
        if isinstance(part, BatchRun):
            return part.columns
        if part.is_control_batch:
            transaction_metadata.on_control_batch_read(part)
            stats.index_messages_read(1)
            return None
        if transaction_metadata.on_batch_read(part):
            stats.index_messages_read(part.count_or_none or 0)
            return None
        return part.streaming_columns()

    # The second pass

    def clean_segments(
        self,
        log: Log,
        segments: list[LogSegment],
        offset_map: SkimpyOffsetMap,
        current_time: int,
        stats: CleanerStats,
        transaction_metadata: CleanedTransactionMetadata,
        legacy_delete_horizon_ms: int,
        upper_bound_offset_of_cleaning_round: int,
    ) -> None:
        """Write what stays of `segments` into one new segment, and put it in their place.

        `transaction_metadata` goes from group to group. Kafka: `Cleaner.cleanSegments`.
        """
        # 1. A new segment, whose files end in `.cleaned`.
        cleaned = create_new_cleaned_segment(log.dir, log.config, segments[0].base_offset)
        transaction_metadata.cleaned_index = cleaned.txn_index
        try:
            # 2. The last batches of active producers: their headers must stay.
            last_records_of_active_producers = log.last_records_of_active_producers

            for segment, next_segment in zip(segments, [*segments[1:], None], strict=True):
                # 3. Collect the whole segment's aborted transactions: its index is written anew, too.
                # (Kafka reads the segment's end also where it does not need it, and so meets damage there.)
                next_offset = segment.read_next_offset()
                upper_bound_offset = next_offset if next_segment is None else next_segment.base_offset
                transaction_metadata.add_aborted_transactions(
                    log.collect_aborted_transactions(segment.base_offset, upper_bound_offset)
                )

                # 4. Copy the batches and records that stay.
                log_cleaner_filter = LogCleanerFilter(
                    offset_map,
                    retain_legacy_deletes_and_txn_markers=segment.last_modified > legacy_delete_horizon_ms,
                    delete_retention_ms=log.config.delete_retention_ms,
                    transaction_metadata=transaction_metadata,
                    last_records_of_active_producers=last_records_of_active_producers,
                    upper_bound_offset_of_cleaning_round=upper_bound_offset_of_cleaning_round,
                    current_time=current_time,
                )
                try:
                    self._clean_into(
                        log.topic_partition,
                        segment.log,
                        cleaned,
                        log_cleaner_filter,
                        log.config.max_message_size,
                        stats,
                    )
                except LogSegmentOffsetOverflowException as overflow:
                    # 5. Split a segment whose offsets span too wide a range; a later cleaning starts over.
                    logger.info("Caught segment overflow error during cleaning: %s", overflow)
                    log.split_overflowed_segment(segment)
                    raise LogCleaningAbortedException(str(overflow)) from overflow

            # 6. Finish it: last time index entry, files trimmed and flushed, with the age of the last old segment.
            cleaned.on_become_inactive_segment()
            cleaned.flush()
            cleaned.set_last_modified(segments[-1].last_modified)

            # 7. Replace the old segments by it.
            logger.info("Swapping in cleaned segment %s for segment(s) %s in log %s", cleaned, segments, log)
            log.replace_segments([cleaned], segments)
        except LogCleaningAbortedException as aborted:
            try:
                cleaned.delete_if_exists()
            except Exception as error:
                aborted.add_note(f"and then the cleaned segment could not be deleted: {error}")
            raise

    def _clean_into(
        self,
        topic_partition: TopicPartition,
        source_records: FileRecords,
        dest: LogSegment,
        log_cleaner_filter: LogCleanerFilter,
        max_log_message_size: int,
        stats: CleanerStats,
    ) -> None:
        """Append what stays of `source_records` to `dest`. Kafka: `Cleaner.cleanInto`."""
        position = 0
        while position < source_records.size_in_bytes:
            self._check_done(topic_partition)
            records = self._buffer.read(source_records, position)
            self._throttler.maybe_throttle(records.size_in_bytes)
            result = filter_to(records, log_cleaner_filter, self._buffer.size)
            stats.read_messages(result.messages_read, result.bytes_read)
            stats.invalid_messages(result.messages_invalid)
            stats.recopy_messages(result.messages_retained, result.bytes_retained)
            position += result.bytes_read
            if result.output:
                # Nobody else knows about this segment yet, so the log's lock is not needed.
                dest.append(result.max_offset, MemoryRecords.readable_records(result.output))
                self._throttler.maybe_throttle(len(result.output))
            if records.size_in_bytes > 0 and result.bytes_read == 0:
                self._buffer.grow_or_fail(source_records, position, max_log_message_size, records)
        self._buffer.restore()
