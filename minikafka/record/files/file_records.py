"""Record batches in a file."""

import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from minikafka.common import file_ops
from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.record.files.file_channel import FileChannel, HasFileno
from minikafka.record.files.file_channel_record_batch import FileChannelRecordBatch, file_batches, whole_batches
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import AnyRecord
from minikafka.record.format.record_batch import NO_PARTITION_LEADER_EPOCH, NO_TIMESTAMP, RecordBatch
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch


class LogOffsetPosition(NamedTuple):
    """Where a batch lies: its base offset, byte position in the file, and size.

    Kafka: `FileRecords.LogOffsetPosition`.
    """

    offset: int
    position: int
    size: int

    @staticmethod
    def from_batch(batch: FileChannelRecordBatch) -> "LogOffsetPosition":
        """Where `batch` lies. Kafka: `LogOffsetPosition.fromBatch`."""
        return LogOffsetPosition(batch.base_offset, batch.position, batch.size_in_bytes)


class TimestampAndOffset(NamedTuple):
    """A timestamp in ms, the offset that has it, the leader epoch if known. Kafka: `FileRecords.TimestampAndOffset`."""

    timestamp: int
    offset: int
    leader_epoch: int | None


class FileRecords:
    """The batches of a log file, or of a part of it (a slice), which may end with an incomplete batch.

    - Bytes below `size_in_bytes` never change: appending adds after them, truncating takes from the end.
    - A preallocated file is longer than `size_in_bytes` until it is trimmed.
    - A slice is a fixed range that shares the open file; it does not see what is appended later.
    - No file is larger than 2147483647 bytes.

    Kafka: `FileRecords`.
    """

    __slots__ = ("file", "channel", "start", "end", "is_slice", "size_in_bytes")

    def __init__(self, file: Path, channel: FileChannel, start: int, end: int, *, is_slice: bool):
        """Bytes `start` … `end` (exclusive) of the open file. `FileRecords.open` and `slice` make these."""
        self.file = file  # its present path
        self.channel = channel  # shared with all slices
        self.start = start  # bytes from the beginning of the file; 0 unless this is a slice
        self.end = end  # exclusive; an open end is INT_MAX
        self.is_slice = is_slice
        self.size_in_bytes = end - start  # of a slice: the size of the file does not matter to a view
        """Bytes that hold batches. Kafka: `FileRecords.sizeInBytes`."""
        if is_slice:
            return
        size = channel.size
        if size > INT_MAX:
            raise KafkaException(
                f"The size of segment {file} ({size}) is larger than the maximum allowed segment size of {INT_MAX}"
            )
        self.size_in_bytes = min(size, end) - start

    @staticmethod
    def open(
        file: Path,
        *,
        mutable: bool = True,
        file_already_exists: bool = False,
        init_file_size: int = 0,
        preallocate: bool = False,
    ) -> "FileRecords":
        """Open `file`, or create it if `mutable`; with `preallocate`, a new one gets `init_file_size` bytes at once.

        Raises FileNotFoundError, and KafkaException for a file larger than 2147483647 bytes.
        Kafka: `FileRecords.open`.
        """
        if not mutable:
            channel = FileChannel(os.open(file, os.O_RDONLY | os.O_CLOEXEC))
        else:
            channel = FileChannel(file_ops.open_file(file))
            if preallocate and not file_already_exists:
                channel.preallocate(init_file_size)
        end = 0 if preallocate and not file_already_exists else INT_MAX
        try:
            return FileRecords(file, channel, 0, end, is_slice=False)
        except KafkaException:
            channel.close()
            raise

    # Reading

    def read(self, position: int, size: int) -> bytearray:
        """At most `size` bytes from `position` on, relative to this slice's start. Kafka: `FileRecords.readInto`."""
        buffer = bytearray(size)
        count = self.read_into(buffer, position)
        del buffer[count:]
        return buffer

    def read_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """Fill `buffer` from `position` on, relative to this slice's start; returns how many bytes there were.

        Kafka: `FileRecords.readInto`.
        """
        return self.channel.read_into(buffer, position + self.start)

    def to_memory_records(self) -> MemoryRecords:
        """All batches, read into memory."""
        return MemoryRecords.readable_records(self.read(0, self.size_in_bytes))

    def slice(self, position: int, size: int) -> "FileRecords":
        """A fixed view on at most `size` bytes from `position` on, relative to this slice's start.

        Raises IllegalArgumentException for negative arguments or a position beyond the end. Kafka: `FileRecords.slice`.
        """
        available = self._available_bytes(position, size)
        start = self.start + position
        return FileRecords(self.file, self.channel, start, start + available, is_slice=True)

    def _available_bytes(self, position: int, size: int) -> int:
        current_size = self.size_in_bytes
        if position < 0:
            raise IllegalArgumentException(f"Invalid position: {position} in read from {self}")
        if position > current_size:
            raise IllegalArgumentException(f"Slice from position {position} exceeds end position of {self}")
        if size < 0:
            raise IllegalArgumentException(f"Invalid size: {size} in read from {self}")
        return min(operator.index(size), current_size - position)

    def batches(self) -> Iterator[FileChannelRecordBatch]:
        """The complete batches, of which only headers are read; see `file_batches`. Kafka: `FileRecords.batches`."""
        return self.batches_from(self.start)

    def whole_batches(self) -> Iterator[RecordBatch | LegacyRecordBatch]:
        """The complete batches, read as a whole; see `whole_batches`. Kafka: `FileRecords.batches`."""
        return whole_batches(self, self.start, self.end if self.is_slice else self.size_in_bytes)

    def batches_from(self, start: int) -> Iterator[FileChannelRecordBatch]:
        """The complete batches from byte `start` of the file on. Kafka: `FileRecords.batchesFrom`."""
        return file_batches(self, start, self.end if self.is_slice else self.size_in_bytes)

    def records(self) -> Iterator[AnyRecord]:
        """The records of all batches. Kafka: `AbstractRecords.records`."""
        for batch in self.batches():
            yield from batch

    def first_batch(self) -> FileChannelRecordBatch | None:
        """The first batch, None when there is no complete one. Kafka: `AbstractRecords.firstBatch`."""
        return next(self.batches(), None)

    def last_batch(self) -> FileChannelRecordBatch | None:
        """The last complete batch, None when there is none. Kafka: `AbstractRecords.lastBatch`."""
        last = None
        for last in self.batches():
            pass
        return last

    def search_for_offset_from_position(self, target_offset: int, starting_position: int) -> LogOffsetPosition | None:
        """The first batch from a byte position on whose last offset is at least `target_offset`; None if there is none.

        A last offset costs a read of the header, so it is only looked at where base offsets do not decide.
        Kafka: `FileRecords.searchForOffsetFromPosition`.
        """
        previous = None
        for batch in self.batches_from(starting_position):
            # 1. Does a batch begin at the offset? Then it is this one.
            base_offset = batch.base_offset
            if base_offset == target_offset:
                return LogOffsetPosition.from_batch(batch)
            # 2. Does it begin after the offset? Then it is the batch before, if that one reaches so far; else this one.
            if base_offset > target_offset:
                if previous is not None and previous.last_offset >= target_offset:
                    return LogOffsetPosition.from_batch(previous)
                return LogOffsetPosition.from_batch(batch)
            # 3. It begins below the offset: remember it, and look at the next one.
            previous = batch
        # 4. No more batches: it is the last one, if that one reaches the offset.
        if previous is not None and previous.last_offset >= target_offset:
            return LogOffsetPosition.from_batch(previous)
        return None

    def search_for_timestamp(
        self, target_timestamp: int, starting_position: int, starting_offset: int
    ) -> TimestampAndOffset | None:
        """The first record from a byte position on with a timestamp (ms) and offset at least as large as those given.

        Kafka: `FileRecords.searchForTimestamp`.
        """
        for batch in self.batches_from(starting_position):
            if batch.max_timestamp >= target_timestamp:
                for record in batch:
                    if record.timestamp >= target_timestamp and record.offset >= starting_offset:
                        leader_epoch = _maybe_leader_epoch(batch.partition_leader_epoch)
                        return TimestampAndOffset(record.timestamp, record.offset, leader_epoch)
        return None

    def largest_timestamp_after(self, starting_position: int) -> TimestampAndOffset:
        """The largest timestamp of a batch from a byte position on, and that batch's last offset; (-1, -1) for none.

        Kafka: `FileRecords.largestTimestampAfter`.
        """
        max_timestamp = NO_TIMESTAMP
        shallow_offset_of_max_timestamp = -1
        leader_epoch_of_max_timestamp = NO_PARTITION_LEADER_EPOCH
        for batch in self.batches_from(starting_position):
            timestamp = batch.max_timestamp
            if timestamp > max_timestamp:
                max_timestamp = timestamp
                shallow_offset_of_max_timestamp = batch.last_offset
                leader_epoch_of_max_timestamp = batch.partition_leader_epoch
        return TimestampAndOffset(
            max_timestamp, shallow_offset_of_max_timestamp, _maybe_leader_epoch(leader_epoch_of_max_timestamp)
        )

    def write_to(self, destination: HasFileno, offset: int, length: int) -> int:
        """Send at most `length` bytes from `offset` on, relative to this slice's start, to a socket or file.

        The system copies them (sendfile). Returns how many bytes it took. Raises KafkaException when the file was cut
        below this slice's end. Kafka: `FileRecords.writeTo`.
        """
        new_size = min(self.channel.size, self.end) - self.start
        old_size = self.size_in_bytes
        if new_size < old_size:
            raise KafkaException(
                f"Size of FileRecords {self.file.absolute()} has been truncated during write: "
                f"old size {old_size}, new size {new_size}"
            )
        return self.channel.transfer_to(destination, self.start + offset, min(length, old_size - offset))

    # Changing the file

    def append(self, records: MemoryRecords) -> int:
        """Write `records` after the last batch; returns how many bytes they have. Kafka: `FileRecords.append`.

        Raises IllegalArgumentException when the file would grow beyond 2147483647 bytes.
        """
        size, position = records.size_in_bytes, self.size_in_bytes
        if size > INT_MAX - position:
            raise IllegalArgumentException(
                f"Append of size {size} bytes is too large for segment with current file position at {position}"
            )
        written = self.channel.write(records.buffer, position)
        self.size_in_bytes += written
        return written

    def truncate_to(self, target_size: int) -> int:
        """Cut the file to `target_size` bytes and return how many were cut off. Kafka: `FileRecords.truncateTo`.

        Raises KafkaException when `target_size` is negative or above the present size.
        """
        original_size = self.size_in_bytes
        if target_size > original_size or target_size < 0:
            raise KafkaException(
                f"Attempt to truncate log segment {self.file} to {target_size} bytes failed, "
                f"size of this log segment is {original_size} bytes."
            )
        if target_size < self.channel.size:
            self.channel.truncate(target_size)
            self.size_in_bytes = target_size
        return original_size - target_size

    def trim(self) -> None:
        """Cut off what was preallocated and not used. Kafka: `FileRecords.trim`."""
        self.truncate_to(self.size_in_bytes)

    def flush(self) -> None:
        """Force the file down to the device. Kafka: `FileRecords.flush`."""
        self.channel.force()

    def close(self) -> None:
        """Flush, trim and close the file; does nothing when it is closed. Kafka: `FileRecords.close`."""
        if not self.channel.is_open:
            return
        self.flush()
        self.trim()
        self.channel.close()

    def close_handlers(self) -> None:
        """Close the file without a write, as when the disk has failed. Kafka: `FileRecords.closeHandlers`."""
        self.channel.close()

    def delete_if_exists(self) -> bool:
        """Close and delete the file; False when it was gone already. Kafka: `FileRecords.deleteIfExists`."""
        self.channel.close()
        return file_ops.delete_if_exists(self.file)

    def rename_to(self, file: Path) -> None:
        """Move the file to that path; it counts as moved even when that fails. Kafka: `FileRecords.renameTo`."""
        try:
            file_ops.atomic_move_with_fallback(self.file, file, need_flush_parent_dir=False)
        finally:
            self.file = file

    def update_parent_dir(self, parent_dir: Path) -> None:
        """Note that the directory was renamed. Kafka: `FileRecords.updateParentDir`."""
        self.file = parent_dir / self.file.name

    @property
    def last_modified(self) -> int:
        """The file's modification time in ms, 0 when it is gone. Kafka: `File.lastModified`."""
        try:
            return os.stat(self.file).st_mtime_ns // 1_000_000
        except FileNotFoundError:
            return 0

    def __repr__(self) -> str:
        return f"FileRecords(size={self.size_in_bytes}, file={self.file}, start={self.start}, end={self.end})"


def _maybe_leader_epoch(leader_epoch: int) -> int | None:
    return None if leader_epoch == NO_PARTITION_LEADER_EPOCH else leader_epoch
