"""One segment of a log: a file of batches, and the indexes that point into it."""

import logging
import operator
import os
import re
from pathlib import Path
from typing import NamedTuple

from minikafka.common import file_ops
from minikafka.common.errors import (
    CorruptRecordException,
    IllegalArgumentException,
    InvalidRecordException,
    IOException,
    LogSegmentOffsetOverflowException,
)
from minikafka.common.java.java_numbers import INT_MAX, LONG_MAX, to_long
from minikafka.common.time import Time
from minikafka.log import log_file_utils
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.index.lazy_index import LazyIndex
from minikafka.log.index.offset_index import OffsetIndex, OffsetPosition
from minikafka.log.index.time_index import UNKNOWN, TimeIndex, TimestampOffset
from minikafka.log.index.transaction_index import AbortedTxn, TransactionIndex, TxnIndexSearchResult
from minikafka.log.leader_epoch_file_cache import LeaderEpochFileCache
from minikafka.log.log_config import LogConfig
from minikafka.log.log_file_utils import DELETED_FILE_SUFFIX, replace_suffix
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.log.producer.producer_state_manager import ProducerStateManager
from minikafka.record.files.file_records import FileRecords, LogOffsetPosition, TimestampAndOffset
from minikafka.record.format.batch import Batch
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record_batch import MAGIC_VALUE_V2

logger = logging.getLogger(__name__)

_COPY_BUFFER_SIZE = 1024 * 1024
_FUTURE_DIR_PATTERN = re.compile(r"(\S+)-(\S+)\.(\S+)-future")


class RollParams(NamedTuple):
    """What decides whether an append needs a new segment: the limits, the append's measures and the clock.

    Times in ms, sizes in bytes; `max_offset_in_messages` is the append's last offset (inclusive). Kafka: `RollParams`.
    """

    max_segment_ms: int
    max_segment_bytes: int
    max_timestamp_in_messages: int
    max_offset_in_messages: int
    messages_size: int
    now: int


class LogSegment:
    """The batches from `base_offset` up to the next segment's base offset, and three indexes of them.

    Invariants:

    - All offsets lie in `base_offset` … `base_offset` + 2147483647, so that the indexes can hold them in 32 bits.
    - Batches are only added at the end; `truncate_to` and `recover` cut whole batches off the end.
    - `.index` and `.timeindex` get an entry for a batch when more than `index_interval_bytes` were appended since the
      last entry (counted in memory only: from 0 after opening). Both can be rebuilt from the `.log`.
    - The largest timestamp so far and its offset are kept in memory; the first use reads them from the time index.

    On disk: `<base offset>.log`, `.index`, `.timeindex`, and `.txnindex` once a transaction was aborted in the segment.
    The first use of the two indexes makes their files, which have their full size while the segment grows.

    The log's lock keeps changes apart; `read`, `translate_offset` and the other look-ups may run during a change.

    Kafka: `LogSegment`.
    """

    __slots__ = (
        "log",
        "txn_index",
        "base_offset",
        "index_interval_bytes",
        "roll_jitter_ms",
        "_lazy_offset_index",
        "_lazy_time_index",
        "_time",
        "_created",
        "_rolling_based_timestamp",
        "_max_timestamp_and_offset_so_far",
        "_bytes_since_last_index_entry",
    )

    def __init__(
        self,
        log: FileRecords,
        lazy_offset_index: LazyIndex[OffsetIndex],
        lazy_time_index: LazyIndex[TimeIndex],
        txn_index: TransactionIndex,
        *,
        base_offset: int,
        index_interval_bytes: int,
        roll_jitter_ms: int,
        time: Time,
    ):
        # The batches.
        self.log = log
        self.txn_index = txn_index
        # No offset in the segment is below this one; it names the files.
        self.base_offset = operator.index(base_offset)
        self.index_interval_bytes = index_interval_bytes
        # By so many ms the segment is rolled earlier than its age demands.
        self.roll_jitter_ms = roll_jitter_ms
        # Both are opened, or made, when they are first needed.
        self._lazy_offset_index = lazy_offset_index
        self._lazy_time_index = lazy_time_index
        self._time = time
        # When this object was made (ms), from which an age without timestamps is counted.
        self._created = time.milliseconds()
        # The largest timestamp of the first batch; None until it is needed, or without a batch.
        self._rolling_based_timestamp: int | None = None
        # The largest timestamp and the last offset of its batch; UNKNOWN until it is needed.
        self._max_timestamp_and_offset_so_far = UNKNOWN
        self._bytes_since_last_index_entry = 0

    @staticmethod
    def open(
        directory: Path,
        base_offset: int,
        config: LogConfig,
        time: Time,
        *,
        file_already_exists: bool = False,
        preallocate: bool = False,
        file_suffix: str = "",
    ) -> "LogSegment":
        """Open the segment's files in `directory`; a missing `.log` is made, at full length if `preallocate`.

        Raises OSError. Kafka: `LogSegment.open`.
        """
        offset_index_file = log_file_utils.offset_index_file(directory, base_offset, file_suffix)
        time_index_file = log_file_utils.time_index_file(directory, base_offset, file_suffix)
        return LogSegment(
            FileRecords.open(
                log_file_utils.log_file(directory, base_offset, file_suffix),
                file_already_exists=file_already_exists,
                init_file_size=config.init_file_size,
                preallocate=preallocate,
            ),
            LazyIndex(OffsetIndex, offset_index_file, base_offset, config.max_index_size),
            LazyIndex(TimeIndex, time_index_file, base_offset, config.max_index_size),
            TransactionIndex(base_offset, log_file_utils.transaction_index_file(directory, base_offset, file_suffix)),
            base_offset=base_offset,
            index_interval_bytes=config.index_interval,
            roll_jitter_ms=config.random_segment_jitter(),
            time=time,
        )

    @staticmethod
    def delete_files_if_exist(directory: Path, base_offset: int, file_suffix: str = "") -> None:
        """Delete the files of a segment with this base offset. Kafka: the static `LogSegment.deleteIfExists`."""
        file_ops.delete_if_exists(log_file_utils.offset_index_file(directory, base_offset, file_suffix))
        file_ops.delete_if_exists(log_file_utils.time_index_file(directory, base_offset, file_suffix))
        file_ops.delete_if_exists(log_file_utils.transaction_index_file(directory, base_offset, file_suffix))
        file_ops.delete_if_exists(log_file_utils.log_file(directory, base_offset, file_suffix))

    @property
    def offset_index(self) -> OffsetIndex:
        """The offset index, which the first use opens or makes. Kafka: `LogSegment.offsetIndex`."""
        return self._lazy_offset_index.get()

    @property
    def offset_index_file(self) -> Path:
        """The path of the offset index, whether it exists or not. Kafka: `LogSegment.offsetIndexFile`."""
        return self._lazy_offset_index.file

    @property
    def time_index(self) -> TimeIndex:
        """The time index, which the first use opens or makes. Kafka: `LogSegment.timeIndex`."""
        return self._lazy_time_index.get()

    @property
    def time_index_file(self) -> Path:
        """The path of the time index, whether it exists or not. Kafka: `LogSegment.timeIndexFile`."""
        return self._lazy_time_index.file

    @property
    def size(self) -> int:
        """Bytes of batches. Kafka: `LogSegment.size`."""
        return self.log.size_in_bytes

    @property
    def max_timestamp_so_far(self) -> int:
        """The largest timestamp (ms), -1 if there is none. Kafka: `LogSegment.maxTimestampSoFar`."""
        return self.read_max_timestamp_and_offset_so_far().timestamp

    @property
    def largest_record_timestamp(self) -> int | None:
        """The largest timestamp (ms), None without one. Kafka: `LogSegment.largestRecordTimestamp`."""
        timestamp = self.max_timestamp_so_far
        return timestamp if timestamp >= 0 else None

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp (ms), or the time of the file's last change without one.

        Kafka: `LogSegment.largestTimestamp`.
        """
        timestamp = self.max_timestamp_so_far
        return timestamp if timestamp >= 0 else self.last_modified

    @property
    def last_modified(self) -> int:
        """When the `.log` file was last changed (ms since 1970), 0 if it is gone. Kafka: `LogSegment.lastModified`."""
        return self.log.last_modified

    def set_last_modified(self, ms: int) -> None:
        """Set the time of the last change (ms) of the `.log` and both index files. Raises FileNotFoundError.

        Kafka: `LogSegment.setLastModified`.
        """
        for file in (self.log.file, self.offset_index_file, self.time_index_file):
            os.utime(file, ns=(os.stat(file).st_atime_ns, ms * 1_000_000))

    @property
    def deleted(self) -> bool:
        """True when none of the segment's files exists. Kafka: `LogSegment.deleted`."""
        files = (self.log.file, self.offset_index_file, self.time_index_file, self.txn_index.file)
        return not any(file.exists() for file in files)

    def should_roll(self, roll_params: RollParams) -> bool:
        """True when an append needs a new segment, by size, by age, for a full index or for an offset beyond 32 bits.

        Kafka: `LogSegment.shouldRoll`.
        """
        # 1. Is it old enough?
        waited_ms = self.time_waited_for_roll(roll_params.now, roll_params.max_timestamp_in_messages)
        reached_roll_ms = waited_ms > roll_params.max_segment_ms - self.roll_jitter_ms
        # 2. Roll by size, by age, for a full index, or for an offset too far away.
        size = self.log.size_in_bytes
        offset_index = self._lazy_offset_index.get()
        return (
            size > roll_params.max_segment_bytes - roll_params.messages_size
            or (size > 0 and reached_roll_ms)
            or offset_index.is_full
            or self._lazy_time_index.get().is_full
            or not offset_index.can_append_offset(roll_params.max_offset_in_messages)
        )

    def resize_indexes(self, size: int) -> None:
        """Give both indexes `size` bytes, rounded down to whole entries. Kafka: `LogSegment.resizeIndexes`."""
        self.offset_index.resize(size)
        self.time_index.resize(size)

    def sanity_check(self, *, time_index_file_newly_created: bool) -> None:
        """Refuse a segment without an offset index or with a bad transaction index; empty a new time index.

        The entries of the offset and time index are not examined. Raises FileNotFoundError and CorruptIndexException.
        Kafka: `LogSegment.sanityCheck`.
        """
        # 1. Without an offset index the segment must be recovered.
        if not self.offset_index_file.exists():
            raise FileNotFoundError(f"Offset index file {self.offset_index_file.absolute()} does not exist")
        # 2. A time index that was missing is new and has no entries.
        if time_index_file_newly_created:
            self.time_index.resize(0)
        # 3. Of the three indexes only the transaction index has its entries examined.
        self.txn_index.sanity_check()

    def read_max_timestamp_and_offset_so_far(self) -> TimestampOffset:
        """The largest timestamp and the last offset of its batch. After opening this is the time index's last entry.

        Kafka: `LogSegment.readMaxTimestampAndOffsetSoFar`.
        """
        if self._max_timestamp_and_offset_so_far is UNKNOWN:
            self._max_timestamp_and_offset_so_far = self.time_index.last_entry
        return self._max_timestamp_and_offset_so_far

    def append(self, largest_offset: int, records: MemoryRecords) -> None:
        """Append the batches of `records`, whose last offset is `largest_offset`, and index those that are due.

        Raises LogSegmentOffsetOverflowException when that offset does not fit the indexes, OSError from the disk.
        Kafka: `LogSegment.append`.
        """
        if records.size_in_bytes <= 0:
            return
        # 1. the last offset must fit 32 bits relative to the base
        self._ensure_offset_in_range(largest_offset)
        # 2. write the bytes
        physical_position = self.log.size_in_bytes
        self.log.append(records)
        for batch in records.batches():
            batch_max_timestamp = batch.max_timestamp
            # 3. keep the largest timestamp, and the last offset of its batch
            if batch_max_timestamp > self.read_max_timestamp_and_offset_so_far()[0]:
                self._max_timestamp_and_offset_so_far = TimestampOffset(batch_max_timestamp, batch.last_offset)
            # 4. index this batch if enough bytes came before it
            if self._bytes_since_last_index_entry > self.index_interval_bytes:
                self.offset_index.append(batch.last_offset, physical_position)
                self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far())
                self._bytes_since_last_index_entry = 0
            # 5. count its bytes
            size_in_bytes = batch.size_in_bytes
            physical_position += size_in_bytes
            self._bytes_since_last_index_entry += size_in_bytes

    def append_from_file(self, records: FileRecords, start: int) -> int:
        """Append the batches of a file from byte `start` to its end, or to an offset that does not fit the indexes.

        Returns the bytes appended. Kafka: `LogSegment.appendFromFile`.
        """
        position = start
        while position < start + records.size_in_bytes:
            bytes_appended = self._append_chunk_from_file(records, position)
            if bytes_appended == 0:
                break
            position += bytes_appended
        return position - start

    def update_txn_index(self, completed_txn: CompletedTxn, last_stable_offset: int) -> None:
        """Add an aborted transaction to the index; committed ones are not kept. Kafka: `LogSegment.updateTxnIndex`."""
        if completed_txn.is_aborted:
            self.txn_index.append(AbortedTxn.of(completed_txn, last_stable_offset))

    def translate_offset(self, offset: int, starting_file_position: int = 0) -> LogOffsetPosition | None:
        """The place of the first batch whose last offset is ≥ `offset`, None beyond the last batch.

        The search starts at the indexed position, or at `starting_file_position` if that lies further on; a batch at
        or before the target must start there. Kafka: `LogSegment.translateOffset`.
        """
        mapping = self._lazy_offset_index.get().lookup(offset)
        return self.log.search_for_offset_from_position(offset, max(mapping.position, starting_file_position))

    def read(
        self,
        start_offset: int,
        max_size: int,
        max_position: int | None = INT_MAX,
        *,
        min_one_message: bool = False,
    ) -> FetchDataInfo | None:
        """At most `max_size` bytes from the batch with `start_offset` on, up to byte `max_position` (exclusive).

        None when the segment has no offset ≥ `start_offset`. With `min_one_message` the first batch is whole, however
        large; without, `max_size` 0 reads no records. Nor does `max_position` None, which forbids all reading.
        Raises IllegalArgumentException for a negative `max_size`. Kafka: `LogSegment.read`.
        """
        if max_size < 0:
            raise IllegalArgumentException(f"Invalid max size {max_size} for log read from segment {self.log}")
        # 1. Where to begin: the index names a place; from there on, the first batch that ends at or above the start.
        start = self.translate_offset(start_offset)
        if start is None:
            return None
        offset, position, first_batch_size = start
        # 2. The answer begins with that batch, and so at its base offset.
        offset_metadata = LogOffsetMetadata(offset, self.base_offset, position)
        # 3. How much: the limit, or the whole first batch if that is larger and min_one_message is set.
        adjusted_max_size = max(max_size, first_batch_size) if min_one_message else max_size
        if adjusted_max_size == 0 or max_position is None:
            return FetchDataInfo(offset_metadata, MemoryRecords.EMPTY)
        # 4. But nothing at or beyond the bound.
        fetch_size = min(max_position - position, adjusted_max_size)
        # 5. Return a view of these bytes of the file; none of them is read here.
        records = self.log.slice(position, fetch_size)
        return FetchDataInfo(offset_metadata, records, adjusted_max_size < first_batch_size)

    def fetch_upper_bound_offset(self, start_offset_position: OffsetPosition, fetch_size: int) -> int | None:
        """An offset that is certainly beyond a read of `fetch_size` bytes, None if the index ends before it.

        Kafka: `LogSegment.fetchUpperBoundOffset`.
        """
        upper_bound = self.offset_index.fetch_upper_bound_offset(start_offset_position, fetch_size)
        return None if upper_bound is None else upper_bound.offset

    def recover(self, producer_state_manager: ProducerStateManager, leader_epoch_cache: LeaderEpochFileCache) -> int:
        """Rebuild the indexes from the `.log`, and cut that at the first damaged batch.

        The producers' state must be that of the base offset; each good batch updates it and the leader epochs.
        Returns how many bytes were cut off. Raises LogSegmentOffsetOverflowException when an offset does not fit
        the indexes.
        Kafka: `LogSegment.recover`.
        """
        # 1. empty the indexes
        self.offset_index.reset()
        self.time_index.reset()
        self.txn_index.reset()
        valid_bytes = 0
        last_index_entry = 0
        self._max_timestamp_and_offset_so_far = UNKNOWN
        max_timestamp = self.max_timestamp_so_far
        smallest_offset, largest_offset = self.base_offset, self.base_offset + INT_MAX
        index_interval_bytes = self.index_interval_bytes
        latest_epoch = leader_epoch_cache.latest_epoch
        map_end_offset = None
        try:
            for batch in self.log.whole_batches():
                # 2. the batch must be whole, its CRC right, its offsets in range
                batch.ensure_valid()
                last_offset = batch.last_offset
                if not smallest_offset <= last_offset <= largest_offset:
                    self._ensure_offset_in_range(last_offset)
                # 3. keep the largest timestamp
                if batch.max_timestamp > max_timestamp:
                    max_timestamp = batch.max_timestamp
                    self._max_timestamp_and_offset_so_far = TimestampOffset(max_timestamp, last_offset)
                # 4. index it if enough bytes came before it
                if valid_bytes - last_index_entry > index_interval_bytes:
                    self.offset_index.append(last_offset, valid_bytes)
                    self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far())
                    last_index_entry = valid_bytes
                valid_bytes += batch.size_in_bytes
                # 5. leader epoch and producer state
                if batch.magic >= MAGIC_VALUE_V2:
                    epoch = batch.partition_leader_epoch
                    if epoch >= 0 and (latest_epoch is None or epoch > latest_epoch):
                        leader_epoch_cache.assign(epoch, batch.base_offset)
                        latest_epoch = epoch
                    if batch.has_producer_id:
                        self._update_producer_state(producer_state_manager, batch)
                    map_end_offset = last_offset + 1
        except (CorruptRecordException, InvalidRecordException) as error:
            logger.warning(
                "Found invalid messages in log segment %s at byte offset %d: %s",
                self.log.file.absolute(),
                valid_bytes,
                error,
            )
        if map_end_offset is not None:
            producer_state_manager.update_map_end_offset(to_long(map_end_offset))
        # 6. cut the file there, and the indexes behind their last entry
        truncated = self.log.size_in_bytes - valid_bytes
        self.log.truncate_to(valid_bytes)
        self.offset_index.trim_to_valid_size()
        self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far(), skip_full_check=True)
        self.time_index.trim_to_valid_size()
        self._lazy_offset_index.let_go()
        self._lazy_time_index.let_go()
        return truncated

    def has_overflow(self) -> bool:
        """True when the last offset does not fit the indexes. Kafka: `LogSegment.hasOverflow`."""
        next_offset = self.read_next_offset()
        return next_offset > self.base_offset and not self.offset_index.can_append_offset(next_offset - 1)

    def collect_aborted_txns(self, fetch_offset: int, upper_bound_offset: int) -> TxnIndexSearchResult:
        """The aborted transactions of this segment that overlap [`fetch_offset`, `upper_bound_offset`).

        See `TransactionIndex.collect_aborted_txns`. Kafka: `LogSegment.collectAbortedTxns`.
        """
        return self.txn_index.collect_aborted_txns(fetch_offset, upper_bound_offset)

    def truncate_to(self, offset: int) -> int:
        """Cut off the batch with `offset`, all later ones and their index entries; returns the number of bytes cut.

        The indexes get their full size again, since the segment becomes the active one. Kafka: `LogSegment.truncateTo`.
        """
        # 1. find the place while the index still leads there
        mapping = self.translate_offset(offset)
        offset_index, time_index = self.offset_index, self.time_index
        # 2. cut the indexes, then make them as long as a growing segment needs them
        offset_index.truncate_to(offset)
        time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        offset_index.resize(offset_index.max_index_size)
        time_index.resize(time_index.max_index_size)
        # 3. cut the file
        bytes_truncated = 0 if mapping is None else self.log.truncate_to(mapping.position)
        # 4. forget what was known of the batches that are gone
        if self.log.size_in_bytes == 0:
            self._created = self._time.milliseconds()
            self._rolling_based_timestamp = None
        self._bytes_since_last_index_entry = 0
        if self.max_timestamp_so_far >= 0:
            self._max_timestamp_and_offset_so_far = self._read_largest_timestamp()
        return bytes_truncated

    def read_next_offset(self) -> int:
        """The offset that the next batch would get, found by reading from the last index entry to the end.

        Kafka: `LogSegment.readNextOffset`.
        """
        fetch_data = self.read(self.offset_index.last_offset, self.log.size_in_bytes)
        if fetch_data is None:
            return self.base_offset
        last_batch = fetch_data.records.last_batch()
        return self.base_offset if last_batch is None else last_batch.next_offset

    def flush(self) -> None:
        """Force the `.log` and the indexes to the device. Raises OSError. Kafka: `LogSegment.flush`."""
        self.log.flush()
        self._lazy_offset_index.flush()
        self._lazy_time_index.flush()
        self.txn_index.flush()

    def update_parent_dir(self, directory: Path) -> None:
        """Note that the partition's directory was renamed. Kafka: `LogSegment.updateParentDir`."""
        self.log.update_parent_dir(directory)
        self._lazy_offset_index.update_parent_dir(directory)
        self._lazy_time_index.update_parent_dir(directory)
        self.txn_index.update_parent_dir(directory)

    def change_file_suffixes(self, old_suffix: str, new_suffix: str) -> None:
        """Rename all files, `.log` first. Raises IllegalArgumentException when a name does not end with `old_suffix`,
        OSError when a rename fails. Kafka: `LogSegment.changeFileSuffixes`.
        """
        self.log.rename_to(replace_suffix(self.log.file, old_suffix, new_suffix))
        self._lazy_offset_index.rename_to(replace_suffix(self.offset_index_file, old_suffix, new_suffix))
        self._lazy_time_index.rename_to(replace_suffix(self.time_index_file, old_suffix, new_suffix))
        self.txn_index.rename_to(replace_suffix(self.txn_index.file, old_suffix, new_suffix))

    def has_suffix(self, suffix: str) -> bool:
        """True when the names of all files end with `suffix`. Kafka: `LogSegment.hasSuffix`."""
        files = (self.log.file, self.offset_index_file, self.time_index_file, self.txn_index.file)
        return all(file.name.endswith(suffix) for file in files)

    def on_become_inactive_segment(self) -> None:
        """Finish a segment that another one follows: add the last time entry, cut indexes and `.log` to what they hold.

        Kafka: `LogSegment.onBecomeInactiveSegment`.
        """
        self.time_index.maybe_append(*self.read_max_timestamp_and_offset_so_far(), skip_full_check=True)
        self.offset_index.trim_to_valid_size()
        self.time_index.trim_to_valid_size()
        self.log.trim()

    def time_waited_for_roll(self, now: int, message_timestamp: int) -> int:
        """Ms from the first batch's timestamp to `message_timestamp`, or from opening to `now` without timestamps.

        Kafka: `LogSegment.timeWaitedForRoll`.
        """
        if self._rolling_based_timestamp is None:
            self._load_first_batch_timestamp()
        timestamp = self._rolling_based_timestamp
        if timestamp is not None and timestamp >= 0:
            return message_timestamp - timestamp
        return now - self._created

    def get_first_batch_timestamp(self) -> int:
        """The largest timestamp (ms) of the first batch, 2⁶³-1 without one.

        Kafka: `LogSegment.getFirstBatchTimestamp`.
        """
        if self._rolling_based_timestamp is None:
            self._load_first_batch_timestamp()
        timestamp = self._rolling_based_timestamp
        return timestamp if timestamp is not None and timestamp >= 0 else LONG_MAX

    def find_offset_by_timestamp(self, timestamp_ms: int, starting_offset: int) -> TimestampAndOffset | None:
        """The first record with a timestamp ≥ `timestamp_ms` and an offset ≥ `starting_offset`, None without one.

        Kafka: `LogSegment.findOffsetByTimestamp`.
        """
        # 1. The time index gives an offset: all records before its batch are older.
        timestamp_offset = self.time_index.lookup(timestamp_ms)
        # 2. The offset index gives a byte at or before that batch.
        position = self.offset_index.lookup(max(timestamp_offset.offset, starting_offset)).position
        # 3. From there on, look at record after record.
        return self.log.search_for_timestamp(timestamp_ms, position, starting_offset)

    def close(self) -> None:
        """Add the last time entry if the largest timestamp is known, trim the indexes, close all files.

        Each file is closed even if another one fails; the first OSError is raised. Kafka: `LogSegment.close`.
        """
        if self._max_timestamp_and_offset_so_far is not UNKNOWN:
            try:
                self.time_index.maybe_append(*self._max_timestamp_and_offset_so_far, skip_full_check=True)
            except Exception as error:
                logger.warning("Failed to add the last time index entry of %s: %s", self, error)
        first_error = None
        for part in (self._lazy_offset_index, self._lazy_time_index, self.log, self.txn_index):
            try:
                part.close()
            except OSError as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error

    def close_handlers(self) -> None:
        """Close all files without writing, because the disk may have failed. Kafka: `LogSegment.closeHandlers`."""
        closers = (
            self._lazy_offset_index.close_handler,
            self._lazy_time_index.close_handler,
            self.log.close_handlers,
            self.txn_index.close,
        )
        for close in closers:
            try:
                close()
            except Exception:
                logger.warning("Failed to close a file of %s", self, exc_info=True)

    def delete_if_exists(self) -> None:
        """Delete all files, `.log` first. Each is tried before the first error is raised, as IOException.

        Kafka: `LogSegment.deleteIfExists`.
        """
        first_error = None
        for delete, file_type, file in (
            (self.log.delete_if_exists, "log", self.log.file),
            (self._lazy_offset_index.delete_if_exists, "offset index", self.offset_index_file),
            (self._lazy_time_index.delete_if_exists, "time index", self.time_index_file),
            (self.txn_index.delete_if_exists, "transaction index", self.txn_index.file),
        ):
            try:
                if delete():
                    logger.info("Deleted %s %s.", file_type, file.absolute())
                else:
                    _delete_where_future_replica_went(file)
            except OSError as error:
                first_error = first_error or IOException(f"Delete of {file_type} {file.absolute()} failed: {error}")
        if first_error is not None:
            raise first_error

    def __str__(self) -> str:
        return (
            f"LogSegment(baseOffset={self.base_offset}, size={self.size}, lastModifiedTime={self.last_modified},"
            f" largestRecordTimestamp={self._max_timestamp_and_offset_so_far.timestamp})"
        )

    __repr__ = __str__

    def _ensure_offset_in_range(self, offset: int) -> None:
        if not self._lazy_offset_index.get().can_append_offset(offset):
            raise LogSegmentOffsetOverflowException(self, offset)

    def _append_chunk_from_file(self, records: FileRecords, position: int) -> int:
        """Append up to 1 MiB of batches that fit, or one larger batch; returns how many bytes."""
        bytes_to_append = 0
        max_offset = -1
        for batch in records.batches_from(position):
            size = batch.size_in_bytes
            if not self.offset_index.can_append_offset(batch.last_offset) or (
                bytes_to_append > 0 and bytes_to_append + size >= _COPY_BUFFER_SIZE
            ):
                break
            max_offset = batch.last_offset
            bytes_to_append += size
        if bytes_to_append > 0:
            chunk = MemoryRecords.readable_records(records.read(position, bytes_to_append))
            self.append(max_offset, chunk)
        return bytes_to_append

    def _update_producer_state(self, producer_state_manager: ProducerStateManager, batch: Batch) -> None:
        append_info = producer_state_manager.prepare_update(batch.producer_id, AppendOrigin.REPLICATION)
        completed_txn = append_info.append(batch, None)
        producer_state_manager.update(append_info)
        if completed_txn is not None:
            last_stable_offset = producer_state_manager.last_stable_offset(completed_txn)
            self.update_txn_index(completed_txn, last_stable_offset)
            producer_state_manager.complete_txn(completed_txn)

    def _read_largest_timestamp(self) -> TimestampOffset:
        """The largest timestamp of the time index's last entry and of the batches behind it."""
        last_entry = self.time_index.last_entry
        position = self.offset_index.lookup(last_entry.offset).position
        after_last_entry = self.log.largest_timestamp_after(position)
        if after_last_entry.timestamp > last_entry.timestamp:
            return TimestampOffset(after_last_entry.timestamp, after_last_entry.offset)
        return last_entry

    def _load_first_batch_timestamp(self) -> None:
        for batch in self.log.batches():
            self._rolling_based_timestamp = batch.max_timestamp
            break


def _delete_where_future_replica_went(file: Path) -> None:
    """Delete a `.deleted` file of a `-future` directory that has become the partition's own directory by now."""
    match = _FUTURE_DIR_PATTERN.fullmatch(str(file.parent))
    if match is not None and file.name.endswith(DELETED_FILE_SUFFIX):
        file_ops.delete_if_exists(Path(f"{match[1]}-{match[2]}", file.name))
