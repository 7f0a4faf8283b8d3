"""Where a segment ends, found with a few reads: its indexes lead close to its end."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from minikafka.log.log_file_utils import INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX, is_log_file, offset_from_file
from minikafka.log.partition_files import look_into, objection_to
from minikafka.record.files.file_channel import FileChannel
from minikafka.record.files.file_channel_record_batch import FileChannelRecordBatch
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.record_batch import NO_TIMESTAMP, RecordBatch
from minikafka.record.format.timestamp_type import TimestampType

OFFSET_ENTRY = Struct(">ii")
"""An entry of an offset index: offset relative to the segment's, position."""
TIME_ENTRY = Struct(">qi")
"""An entry of a time index: timestamp in ms, offset relative to the segment's."""
IndexEntry = tuple[int, int]
_UNREADABLE = (RuntimeError, ValueError, IndexError)


class SegmentEnd(NamedTuple):
    """The end of a segment.

    `next_offset`: the offset after the last whole batch, None if there is none. `last_timestamp`: the largest (ms), -1
    if there is none. `bytes_behind`: how many bytes follow the last whole batch. `is_all_seen`: whether no damage that
    was met may hide a batch with a larger timestamp. `is_confirmed`: whether the time index ends with the largest
    timestamp of a batch that is there, so that in a sealed segment none has a larger one.
    """

    next_offset: int | None
    last_timestamp: int
    bytes_behind: int
    is_all_seen: bool
    is_confirmed: bool


def find_end(log: Path) -> SegmentEnd:
    """The end of the segment with the file `log`; no CRC is checked, and no file is changed.

    An index entry is trusted if the batch that it names is there. Raises OSError, and KafkaException for a file of
    2 GiB or more.
    """
    records = FileRecords.open(log, mutable=False)
    try:
        return end_of(
            records,
            int(log.name.partition(".")[0]),
            lambda most: _last_entry_of(log.with_suffix(INDEX_FILE_SUFFIX), OFFSET_ENTRY, most),
            _last_entry_of(log.with_suffix(TIME_INDEX_FILE_SUFFIX), TIME_ENTRY),
        )
    finally:
        records.close_handlers()


def unclosed_segment(directory: Path) -> int | None:
    """The base offset of a partition's newest segment, if it is not as closing leaves it; None if it is, or there is no
    segment. Raises as `find_end`.
    """
    files = look_into(directory, follow_links=True).files if directory.is_dir() else []
    newest = max(filter(is_log_file, files), key=offset_from_file, default=None)
    return None if newest is None or _was_closed(newest) else offset_from_file(newest)


def _was_closed(log: Path) -> bool:
    """Whether the last batch is whole, and no zeros follow the entries of the offset index.

    After a kill, or a disk that was full, one of them does not hold.
    """
    index = log.with_suffix(INDEX_FILE_SUFFIX)
    if index.is_file():
        with open(index, "rb") as file:
            file.seek(-min(OFFSET_ENTRY.size, index.stat().st_size), os.SEEK_END)
            if (last := file.read()) and not any(last):
                return False
    return not find_end(log).bytes_behind


def end_of(
    records: FileRecords,
    base_offset: int,
    offset_entry: Callable[[int | None], IndexEntry | None],
    time_entry: IndexEntry | None,
) -> SegmentEnd:
    """The end of the segment `records`.

    `offset_entry(most)` is its offset index's last entry of an offset up to `most` (None for any), `time_entry` its
    time index's last entry; None where there is none.
    """
    position = _position_of(records, base_offset, offset_entry, None)
    end, next_offset, last_timestamp = position, None, NO_TIMESTAMP
    for batch in _whole_batches(records, position):
        end = batch.position + batch.size_in_bytes
        next_offset = batch.next_offset
        last_timestamp = max(last_timestamp, batch.max_timestamp)
    bytes_behind = records.size_in_bytes - end
    # What lies before `position` has no larger timestamp than the time index tells, up to its last entry's batch.
    seen_to, is_confirmed = 0, False
    if time_entry is not None:
        offset = base_offset + time_entry[1]
        near = _position_of(records, base_offset, offset_entry, time_entry[1])
        holder = next((batch for batch in _whole_batches(records, near) if batch.last_offset >= offset), None)
        is_confirmed = holder is not None and holder.max_timestamp == time_entry[0]
        if holder is not None and is_confirmed:
            last_timestamp = max(last_timestamp, time_entry[0])
            seen_to = min(holder.position, position)
    if seen_to < position:
        for batch in _whole_batches(records, seen_to):
            seen_to = batch.position
            if seen_to >= position:
                break
            last_timestamp = max(last_timestamp, batch.max_timestamp)
    return SegmentEnd(next_offset, last_timestamp, bytes_behind, seen_to == position and not bytes_behind, is_confirmed)


def _position_of(
    records: FileRecords, base_offset: int, offset_entry: Callable[[int | None], IndexEntry | None], most: int | None
) -> int:
    """Where the batch of the last entry of an offset up to `most` begins that has one; 0 where there is none."""
    while (entry := offset_entry(most)) is not None:
        if _has_batch(records, entry[1], base_offset + entry[0]):
            return entry[1]
        most = entry[0] - 1
    return 0


def last_entry(
    read: Callable[[int, int], bytes], size: int, entry: Struct, most: int | None = None
) -> IndexEntry | None:
    """The last entry of an index of `size` bytes, before the zeros that fill it while it is in use; None if none.

    `most`: the last one whose first number is no larger. `read(position, size)` reads the file. Every slot before the
    zeros has an entry, and entries ascend, so halving finds it.
    """
    low, high = 0, size // entry.size
    last = None
    while low < high:
        middle = (low + high) // 2
        data = read(middle * entry.size, entry.size)
        if len(data) == entry.size and any(data) and (most is None or entry.unpack(data)[0] <= most):
            last, low = entry.unpack(data), middle + 1
        else:
            high = middle
    return last


def first_timestamp(log: Path) -> int:
    """The timestamp of the first record in ms, or its batch's largest if the record is damaged; -1 if none. Raises
    OSError.

    Most headers have it as base timestamp. With LogAppendTime that is the producer's, and no record's; with a delete
    horizon it is the horizon; old formats, and a batch from which all records were removed, have none.
    """
    records = FileRecords.open(log, mutable=False)
    try:
        for batch in _whole_batches(records, 0):
            header = batch.load_batch_header()
            if batch.timestamp_type is not TimestampType.CREATE_TIME:
                return batch.max_timestamp
            if isinstance(header, RecordBatch) and header.count and not header.has_delete_horizon:
                return header.base_timestamp
            try:
                for record in batch:
                    return record.timestamp
            except _UNREADABLE as error:
                _raise_what_the_system_says(error)
                return batch.max_timestamp
        return NO_TIMESTAMP
    finally:
        records.close_handlers()


def noted_timestamp(log: Path) -> int | None:
    """The largest timestamp (ms) of a sealed segment, as its time index tells; -1 where that has no entry, None where
    there is no time index. Raises OSError.
    """
    time_index = log.with_suffix(TIME_INDEX_FILE_SUFFIX)
    if not time_index.is_file():
        return None
    entry = _last_entry_of(time_index, TIME_ENTRY)
    return NO_TIMESTAMP if entry is None else entry[0]


def _whole_batches(records: FileRecords, position: int) -> Iterator[FileChannelRecordBatch]:
    """The batches from `position` on, up to one that is cut off or damaged."""
    try:
        for batch in records.slice(position, records.size_in_bytes - position).batches():
            batch.load_batch_header()  # which raises for a negative magic, as nothing before does
            yield batch
    except _UNREADABLE as error:
        _raise_what_the_system_says(error)


def _has_batch(records: FileRecords, position: int, last_offset: int) -> bool:
    """Whether a batch that ends with `last_offset` begins at byte `position`."""
    if not 0 <= position < records.size_in_bytes:
        return False
    try:
        return any(batch.last_offset == last_offset for batch in _first(_whole_batches(records, position)))
    except _UNREADABLE as error:
        _raise_what_the_system_says(error)
        return False


def _raise_what_the_system_says(error: Exception) -> None:
    """Raises the OSError for which a batch could not be read, such as a broken disk's: that is no damage."""
    if isinstance(error.__cause__, OSError) and error.__cause__.errno is not None:
        raise error.__cause__ from None


def _first(batches: Iterator[FileChannelRecordBatch]) -> list[FileChannelRecordBatch]:
    for batch in batches:
        return [batch]
    return []


def _last_entry_of(file: Path, entry: Struct, most: int | None = None) -> IndexEntry | None:
    """The last entry of an index file, as `last_entry` finds it; None if there is none, or no file."""
    try:
        if objection_to(file) is not None:
            return None
        channel = FileChannel(os.open(file, os.O_RDONLY | os.O_CLOEXEC))
    except FileNotFoundError:
        return None
    try:
        return last_entry(channel.read, channel.size, entry, most)
    finally:
        channel.close()
