"""Where a segment ends, found with a few reads: its indexes lead close to its end."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from minikafka.log.log_file_utils import INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX
from minikafka.log.partition_files import objection_to
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
    if there is none. `bytes_behind`: how many bytes follow the last whole batch.
    """

    next_offset: int | None
    last_timestamp: int
    bytes_behind: int


def find_end(log: Path) -> SegmentEnd:
    """The end of the segment with the file `log`; no CRC is checked, and no file is changed.

    An index entry is trusted if there is a batch at the place that it names. Raises OSError, and KafkaException for a
    file of 2 GiB or more.
    """
    records = FileRecords.open(log, mutable=False)
    try:
        base_offset = int(log.name.partition(".")[0])
        entry = _last_entry_of(log.with_suffix(INDEX_FILE_SUFFIX), OFFSET_ENTRY)
        return end_of(records, base_offset, entry, _last_entry_of(log.with_suffix(TIME_INDEX_FILE_SUFFIX), TIME_ENTRY))
    finally:
        records.close_handlers()


def end_of(
    records: FileRecords, base_offset: int, entry: IndexEntry | None, time_entry: IndexEntry | None
) -> SegmentEnd:
    """The end of the segment `records`, with the last entries of its indexes, None where they have none."""
    position = 0
    if entry is not None and _has_batch(records, entry[1], base_offset + entry[0]):
        position = entry[1]
    end, next_offset, last_timestamp = position, None, NO_TIMESTAMP
    for batch in _whole_batches(records, position):
        end = batch.position + batch.size_in_bytes
        next_offset = batch.next_offset
        last_timestamp = max(last_timestamp, batch.max_timestamp)
    if time_entry is not None and next_offset is not None:
        last_timestamp = max(last_timestamp, time_entry[0])
    return SegmentEnd(next_offset, last_timestamp, records.size_in_bytes - end)


def last_entry(read: Callable[[int, int], bytes], size: int, entry: Struct) -> IndexEntry | None:
    """The last entry of an index of `size` bytes, before the zeros that fill it while it is in use; None if none.

    `read(position, size)` reads the file. Every slot before the zeros has an entry, so halving finds where they begin.
    """
    low, high = 0, size // entry.size
    last = None
    while low < high:
        middle = (low + high) // 2
        data = read(middle * entry.size, entry.size)
        if len(data) == entry.size and any(data):
            last, low = entry.unpack(data), middle + 1
        else:
            high = middle
    return last


def first_timestamp(log: Path) -> int:
    """The timestamp of the first record in ms, or its batch's largest if the header has no other; -1 if none.

    In a batch with LogAppendTime the header's base timestamp is the producer's, and no record's.
    """
    records = FileRecords.open(log, mutable=False)
    try:
        for batch in _whole_batches(records, 0):
            header = batch.load_batch_header()
            of_the_producer = batch.timestamp_type is TimestampType.CREATE_TIME
            if isinstance(header, RecordBatch) and of_the_producer and not header.has_delete_horizon:
                return header.base_timestamp
            return batch.max_timestamp
        return NO_TIMESTAMP
    finally:
        records.close_handlers()


def _whole_batches(records: FileRecords, position: int) -> Iterator[FileChannelRecordBatch]:
    """The batches from `position` on, up to one that is cut off or damaged."""
    try:
        for batch in records.slice(position, records.size_in_bytes - position).batches():
            batch.load_batch_header()  # which raises for a negative magic, as nothing before does
            yield batch
    except _UNREADABLE:
        return


def _has_batch(records: FileRecords, position: int, last_offset: int) -> bool:
    """Whether a batch that ends with `last_offset` begins at byte `position`."""
    if not 0 <= position < records.size_in_bytes:
        return False
    try:
        return any(batch.last_offset == last_offset for batch in _first(_whole_batches(records, position)))
    except _UNREADABLE:
        return False


def _first(batches: Iterator[FileChannelRecordBatch]) -> list[FileChannelRecordBatch]:
    for batch in batches:
        return [batch]
    return []


def _last_entry_of(file: Path, entry: Struct) -> IndexEntry | None:
    """The last entry of an index file; None if there is none, or no file."""
    try:
        if objection_to(file) is not None:
            return None
        channel = FileChannel(os.open(file, os.O_RDONLY | os.O_CLOEXEC))
    except FileNotFoundError:
        return None
    try:
        return last_entry(channel.read, channel.size, entry)
    finally:
        channel.close()
