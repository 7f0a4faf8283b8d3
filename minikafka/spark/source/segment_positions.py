"""Where in a segment's file the batches of some offsets lie, by its index; what an index says is checked in the log."""

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minikafka.common.errors import CorruptRecordException
from minikafka.log.log_file_utils import INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX
from minikafka.log.segment_end import OFFSET_ENTRY, TIME_ENTRY, IndexEntry, SegmentEnd, end_of, last_entry
from minikafka.record.files.file_channel_record_batch import FileChannelRecordBatch
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.batch_header import CURRENT_MAGIC_VALUE, HEADER, RECORD_BATCH_OVERHEAD
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.index_entries import offset_entries
from minikafka.spark.source.log_segments_on_disk import DiskSegment, segments_in
from minikafka.spark.source.offset_order import may_overlap_the_next
from minikafka.spark.source.storage import beside

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PositionRange(NamedTuple):
    """Bytes of a segment's file; a batch begins at `start`, and one ends at `end` (exclusive) unless the file does."""

    start: int
    end: int


class SegmentPositions:
    """An open segment and its index."""

    def __init__(self, segment: DiskSegment):
        """Open the file that was found; raises what `DiskSegment.open` raises."""
        self._segment = segment
        self._channel = segment.open()

    def __enter__(self) -> "SegmentPositions":
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    @property
    def size(self) -> int:
        """The bytes of the file when it was found."""
        return self._segment.size

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill `buffer` with the file's bytes from `position` on; returns how many it had. Raises OSError."""
        return self._channel.read_into(buffer, position)

    def end(self) -> SegmentEnd:
        """Where the segment ends, as `find_end` finds it."""
        return end_of(
            self._records(self._segment.size),
            self._segment.base_offset,
            lambda most: self._last_entry(INDEX_FILE_SUFFIX, OFFSET_ENTRY, most),
            self._last_entry(TIME_INDEX_FILE_SUFFIX, TIME_ENTRY),
        )

    def bytes_gone(self) -> str | None:
        """That the indexes of a sealed segment know of batches behind its end; None if they do not, or of the last one.

        A broker writes the indexes of a segment after its batches, and has both on the device once it has sealed it.
        """
        if self._segment.is_last:
            return None
        behind = self._index[1][self._index[1] >= self._segment.size]
        what = None
        if len(behind):
            what = f"its index has an entry for byte {behind[0]}"
        elif not self._segment.size and self._last_entry(TIME_INDEX_FILE_SUFFIX, TIME_ENTRY) is not None:
            what = "its time index has an entry"
        if what is None or not self._is_still_sealed():
            return None
        return f"the sealed segment ends at byte {self._segment.size}, and {what}: batches are gone"

    def records_gone(self, last_offset: int) -> str | None:
        """As `bytes_gone`, for a sealed segment that ends with the offset `last_offset`, by its time index."""
        if self._segment.is_last or self.bytes_gone() is not None:  # which is told when a query is planned
            return None
        entry = self._last_entry(TIME_INDEX_FILE_SUFFIX, TIME_ENTRY)
        known = -1 if entry is None else self._segment.base_offset + entry[1]
        if known <= last_offset or not self._is_still_sealed():
            return None
        return (
            f"the sealed segment ends at offset {last_offset}, and its time index has offset {known}: batches are gone"
        )

    def at_or_before(self, offset: int) -> int:
        """The position of a batch before which all offsets are smaller than `offset`: 0 at worst."""
        slot = self._last_true(int(self._offsets.searchsorted(offset, "right")) - 1)
        return int(self._positions[slot]) if slot >= 0 else 0

    def behind(self, offset: int) -> int:
        """The position of a batch from which on all offsets are at least `offset`: the end of the file at worst."""
        slot = int(self._offsets.searchsorted(offset - 1)) + 1
        return int(self._positions[slot]) if slot < len(self._offsets) and self._is_true(slot) else self._segment.size

    def split(self, whole: PositionRange, size: int) -> list[PositionRange]:
        """`whole` in ranges of at most `size` bytes, as far as the index knows batches so close to each other."""
        ranges, start = [], whole.start
        while whole.end - start > size:
            # The last entry that keeps the range small enough, or else the first one behind its start.
            slot = int(self._positions.searchsorted(start + size, "right")) - 1
            if slot < 0 or self._positions[slot] <= start:
                slot += 1
            while slot < len(self._positions) and not self._is_true(slot):
                slot += 1
            if slot >= len(self._positions) or self._positions[slot] >= whole.end:
                break
            ranges.append(PositionRange(start, int(self._positions[slot])))
            start = int(self._positions[slot])
        return [*ranges, PositionRange(start, whole.end)]

    def base_offset_at(self, position: int) -> int:
        """The first offset of the batch that begins at `position`. Raises KafkaException for damage."""
        for batch in self._records(self._segment.size).batches_from(position):
            return batch.base_offset
        raise CorruptRecordException("the file ends within a batch")

    def next_known(self, position: int) -> int | None:
        """The position of the first batch behind `position` that the index knows, None for none."""
        for slot in range(int(self._positions.searchsorted(position, "right")), len(self._positions)):
            if self._is_true(slot):
                return int(self._positions[slot])
        return None

    def last_known_before(self, position: int) -> tuple[int, int] | None:
        """The last batch that begins before `position` and that the index knows: its last offset, and its position."""
        slot = self._last_true(int(self._positions.searchsorted(position)) - 1)
        return (int(self._offsets[slot]), int(self._positions[slot])) if slot >= 0 else None

    def batches_from(self, offset: int) -> Iterator[FileChannelRecordBatch]:
        """The batches whose last offsets are at least `offset`; an incomplete one ends the iteration.

        Raises KafkaException for damage.
        """
        for batch in self.batches_between(self.at_or_before(offset), self._segment.size):
            if batch.last_offset >= offset:
                yield batch

    def batches_and_damages_from(
        self, offset: int
    ) -> Iterator[tuple[FileChannelRecordBatch | Damage, BaseException | None]]:
        """As `batches_from`, but damage does not end it: the next batch that the index knows follows. With a damage
        comes the exception that told of it, if there was one.

        A batch that reaches behind its segment is one, unless the next segment may have these records, too.
        """
        end = self._segment.end_offset
        position: int | None = self.at_or_before(offset)
        while position is not None:
            try:
                for batch in self.batches_between(position, self._segment.size):
                    if end is not None and batch.last_offset >= end:
                        if not may_overlap_the_next(self._segment):
                            told = f"the batch ends at offset {batch.last_offset}, behind its segment"
                            yield Damage(self._segment.path, batch.position, f"CorruptRecordException: {told}"), None
                    elif batch.last_offset >= offset:
                        yield batch, None
                    position = batch.position + batch.size_in_bytes
                is_the_logs_end = self._segment.is_last and self.next_known(position) is None
                if position == self._segment.size or is_the_logs_end:
                    return
                raise CorruptRecordException("the file ends within a batch")
            except DAMAGE as error:
                yield Damage.of(self._segment.path, position, error), error
                position = self.next_known(position)

    def batches_between(self, start: int, end: int) -> Iterator[FileChannelRecordBatch]:
        """The batches from byte `start` to byte `end` (exclusive); raises as `batches_from`.

        Damage is also a base offset that is out of order (`OffsetOrder`). A batch is given when the next one has been
        seen, for one of two such is wrong.
        """
        held, due = None, self._segment.base_offset
        batches = self._records(end).batches_from(start)
        while True:
            try:
                batch = next(batches, None)
            except DAMAGE:
                if held is not None:
                    yield held
                raise
            if batch is not None:
                first = batch.base_offset if batch.magic >= CURRENT_MAGIC_VALUE else batch.last_offset
                if first < due:
                    raise CorruptRecordException(
                        f"The batch is out of place: it begins at offset {first}, and {due} or above was due"
                    )
            if held is not None:
                yield held
            if batch is None:
                return
            held, due = batch, batch.next_offset

    @property
    def _offsets(self) -> "NDArray[np.int64]":
        return self._entries[0]

    @property
    def _positions(self) -> "NDArray[np.int64]":
        return self._entries[1]

    @cached_property
    def _entries(self) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """What of the index lies within the file."""
        offsets, positions = self._index
        inside = int(positions.searchsorted(self._segment.size))
        return offsets[:inside], positions[:inside]

    @cached_property
    def _index(self) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """The index, which is read when it is first asked for."""
        try:
            return offset_entries(self._segment)
        except DAMAGE:  # then the walk begins at the first batch, as without an index
            return np.empty(0, np.int64), np.empty(0, np.int64)

    def _is_still_sealed(self) -> bool:
        """Whether the file that was found, and no other, lies beside the indexes: compaction renames it before them."""
        now = segments_in(self._segment.storage, os.path.dirname(self._segment.path)) or ()
        return any(
            each.path == self._segment.path and each.identity == self._segment.identity and not each.is_last
            for each in now
        )

    def _records(self, end: int) -> FileRecords:
        return FileRecords(Path(self._segment.path), self._channel, 0, end, is_slice=True)

    def _last_entry(self, suffix: str, entry: Struct, most: int | None = None) -> IndexEntry | None:
        try:
            opened, size = self._segment.storage.open_now(beside(self._segment.path, suffix))
            try:
                return last_entry(opened.read, size, entry, most)
            finally:
                opened.close()
        except DAMAGE:  # there is none, or it cannot be read
            return None

    def _last_true(self, slot: int) -> int:
        """The last of the slots up to this one whose entry is true, -1 for none."""
        while slot >= 0 and not self._is_true(slot):
            slot -= 1
        return slot

    def _is_true(self, slot: int) -> bool:
        """Whether a batch with the last offset of that entry begins where the entry says."""
        head = self._channel.read(int(self._positions[slot]), RECORD_BATCH_OVERHEAD)
        if len(head) < RECORD_BATCH_OVERHEAD:
            return False
        fields = HEADER.unpack(head)
        base_offset, magic, last_offset_delta = fields[0], fields[3], fields[6]
        last_offset = base_offset + last_offset_delta if magic == 2 else base_offset
        return bool(magic in (0, 1, 2) and last_offset == self._offsets[slot])


def batches_from(segment: DiskSegment, offset: int) -> Iterator[FileChannelRecordBatch]:
    """As `SegmentPositions.batches_from`, for one look; also raises what `DiskSegment.open` raises."""
    with SegmentPositions(segment) as positions:
        yield from positions.batches_from(offset)


def end_of_segment(segment: DiskSegment) -> SegmentEnd:
    """As `SegmentPositions.end`; also raises what `DiskSegment.open` raises."""
    with SegmentPositions(segment) as positions:
        return positions.end()
