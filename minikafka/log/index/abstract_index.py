"""What the two memory-mapped indexes of a segment have in common."""

import logging
import os
import struct
import sys
from pathlib import Path
from struct import Struct
from typing import Protocol, TypeAlias

from minikafka.common import file_ops
from minikafka.common.at_hand import HAS_MAPPINGS
from minikafka.common.errors import (
    BufferOverflowException,
    IllegalArgumentException,
    IllegalStateException,
    IndexOffsetOverflowException,
    IndexOutOfBoundsException,
    InternalError,
    NullPointerException,
)
from minikafka.common.java.java_numbers import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, to_long
from minikafka.common.plain_ways import CopiedFile
from minikafka.record.files.file_channel import FileChannel

logger = logging.getLogger(__name__)

_RELATIVE_OFFSET = Struct(">i")
_WARM_BYTES = 8192
_LARGEST_READ = 256 * 1024 * 1024
_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
_Contents: TypeAlias = "file_ops.Mapping | bytes"
# A mapping needs no descriptor, but only from Python 3.13 on can it be made without one.
_MAP_OPTIONS = {"trackfd": False} if sys.version_info >= (3, 13) else {}


class Column(Protocol):
    """One number of each entry: `Struct` reads such a column, and so does whatever unpacks like one."""

    def unpack_from(self, buffer: _Contents, offset: int, /) -> tuple[int, ...]:
        """A tuple of the number that begins at byte `offset`. Raises struct.error behind the end."""


class AbstractIndex:
    """A file of fixed-size entries in ascending order, mapped into memory, with a binary search.

    Invariants:

    - A new file has its full length, `max_index_size` rounded down to whole entries, all zeros; it is cut to
      `entries * ENTRY_SIZE` when the segment stops growing (`trim_to_valid_size`).
    - The number of entries is not on disk. Opening counts every whole slot of the file, so that an index that was not
      trimmed, as after a crash, seems to be full of zeros until it is rebuilt.
    - Entries are only added at the end and only removed from the end.
    - An entry's offset is stored relative to `base_offset`, in 0 … 2147483647.

    The zeros of a growing file are a hole, as in Kafka: no blocks of the disk belong to them. Before its first entry, a
    page's blocks are allocated, because a write into a mapping that gets no block does not raise an error but a signal
    (SIGBUS), which ends Python. Java turns it into an InternalError, which is raised here when the disk is full. In a
    file system in memory (tmpfs) a read of a hole needs a block as well, so that holes are read without the mapping.

    Simpler than Kafka: there are no locks, because changes happen under the log's lock, a reader takes the mapping and
    the number of entries once, and a mapping that was replaced or closed stays until its last reader is done. A reader
    may still see an entry that is removed at that moment, as in Kafka.

    After `close` or `close_handler` the contents cannot be reached: NullPointerException.

    Kafka: `AbstractIndex`.
    """

    ENTRY_SIZE = 0

    def __init__(self, file: Path, base_offset: int, max_index_size: int, *, writable: bool = True):
        # Its present name; it changes with the segment's.
        self.file = file
        self.base_offset = base_offset
        # Bytes of the file while the segment grows, before rounding down to whole entries.
        self.max_index_size = max_index_size
        newly_created = file_ops.create_file_if_missing(file)
        self._writable = writable
        fd = _open(file, writable=writable)
        try:
            if newly_created:
                if max_index_size < self.ENTRY_SIZE:
                    raise IllegalArgumentException(f"Invalid max index size: {max_index_size}")
                file_ops.preallocate(fd, self._round_down(max_index_size))
                file_ops.allocate_open(fd, 0, _PAGE_SIZE)
            # Bytes of the file.
            self.length = os.fstat(fd).st_size
            # The contents; None when closed.
            self._mmap: _Contents | None = _map(fd, self.length, writable=writable)
            # Up to this byte a read through the mapping needs no new block: the first hole, if the file has any.
            self._backed_end = self.length if isinstance(self._mmap, bytes) else file_ops.first_hole(fd, self.length)
        finally:
            os.close(fd)
        # How many whole slots there are, and how many of them hold an entry.
        self.max_entries = self.length // self.ENTRY_SIZE
        self.entries = 0 if newly_created else self.max_entries
        # The byte that the next entry is written at, and up to where blocks of the disk are known to be allocated.
        self._position = self.entries * self.ENTRY_SIZE
        self._room_end = 0
        # Why an entry was not written: the cause of what is refused since then.
        self._failed_write: InternalError | None = None
        # A search compares relative offsets, unless a long overflows when the base is added to one of them.
        overflows = not LONG_MIN <= base_offset + INT_MIN <= base_offset + INT_MAX <= LONG_MAX
        self._offset_column: Column = _OverflowingOffsets(base_offset) if overflows else _RELATIVE_OFFSET
        self._offset_origin = 0 if overflows else base_offset

    @property
    def is_full(self) -> bool:
        """True when no slot is left. Kafka: `AbstractIndex.isFull`."""
        return self.entries >= self.max_entries

    @property
    def size_in_bytes(self) -> int:
        """Bytes that hold entries. Kafka: `AbstractIndex.sizeInBytes`."""
        return self.entries * self.ENTRY_SIZE

    def update_parent_dir(self, parent_dir: Path) -> None:
        """Note that the partition's directory was renamed. Kafka: `AbstractIndex.updateParentDir`."""
        self.file = parent_dir / self.file.name

    def resize(self, new_size: int) -> bool:
        """Give file and mapping `new_size` bytes, rounded down to whole entries; False if that is their size already.

        Raises IllegalArgumentException, after cutting the file, when the entries do not fit any more: a log does not
        open after `segment.index.bytes` was made smaller than the active segment's index. The next entry is then
        written to the first byte. Kafka: `AbstractIndex.resize`.
        """
        rounded_new_size = self._round_down(new_size)
        if self.length == rounded_new_size:
            return False
        self._mapping()
        fd = file_ops.open_file(self.file)
        try:
            file_ops.truncate(fd, rounded_new_size)
            if rounded_new_size > self.length:
                file_ops.allocate_open(fd, self._position - self._position % _PAGE_SIZE, _PAGE_SIZE)
            self.length = rounded_new_size
            self._mmap = _map(fd, rounded_new_size, writable=True)
        finally:
            os.close(fd)
        self.max_entries = rounded_new_size // self.ENTRY_SIZE
        self._room_end = 0
        self._backed_end = min(self._backed_end, rounded_new_size)
        position = self._position
        if position > rounded_new_size:
            self._position = 0
            raise IllegalArgumentException(
                f"newPosition > limit: ({position} > {rounded_new_size})"
            ) from self._failed_write
        return True

    def rename_to(self, file: Path) -> None:
        """Rename the index file; `self.file` is `file` even if that raises OSError. Kafka: `AbstractIndex.renameTo`."""
        try:
            file_ops.atomic_move_with_fallback(self.file, file, need_flush_parent_dir=False)
        finally:
            self.file = file

    def flush(self) -> None:
        """Force the entries to the device. Kafka: `AbstractIndex.flush`."""
        mapping = self._mapping()
        if not isinstance(mapping, bytes):  # an empty file is not mapped
            file_ops.flush_mapped(mapping, self.file)

    def delete_if_exists(self) -> bool:
        """Close the mapping and delete the file; False if there was none. Kafka: `AbstractIndex.deleteIfExists`."""
        self.close_handler()
        return file_ops.delete_if_exists(self.file)

    def trim_to_valid_size(self) -> None:
        """Cut the file behind the last entry. Kafka: `AbstractIndex.trimToValidSize`."""
        if self._mmap is not None:
            self.resize(self.size_in_bytes)

    def close(self) -> None:
        """Trim the file, then close the mapping. Kafka: `AbstractIndex.close`."""
        self.trim_to_valid_size()
        self.close_handler()

    def close_handler(self) -> None:
        """Close the mapping and leave the file as it is. Kafka: `AbstractIndex.closeHandler`."""
        self._mmap = None

    def reset(self) -> None:
        """Remove all entries and give the file its full size. Kafka: `AbstractIndex.reset`."""
        self.truncate()
        self.resize(self.max_index_size)

    def truncate(self) -> None:
        """Remove all entries; the file's size stays. Kafka: `AbstractIndex.truncate`."""
        self._truncate_to_entries(0)

    def relative_offset(self, offset: int) -> int:
        """`offset - base_offset`; raises IndexOffsetOverflowException outside 0 … 2147483647.

        Kafka: `AbstractIndex.relativeOffset`.
        """
        relative = to_long(offset - self.base_offset)
        if not 0 <= relative <= INT_MAX:
            raise IndexOffsetOverflowException(f"Integer overflow for offset: {offset} ({self.file.absolute()})")
        return relative

    def can_append_offset(self, offset: int) -> bool:
        """True when `offset` fits an entry of this index. Kafka: `AbstractIndex.canAppendOffset`."""
        relative = offset - self.base_offset  # Java's wraps where it does not fit into 64 bits
        return 0 <= relative <= INT_MAX or 0 <= to_long(relative) <= INT_MAX

    def _truncate_to_entries(self, entries: int) -> None:
        raise NotImplementedError

    def _set_entries(self, entries: int) -> None:
        """Set the number of entries; the next one is written behind them."""
        self.entries = entries
        self._position = entries * self.ENTRY_SIZE
        self._room_end = 0

    def _check_position(self) -> None:
        """Raises IllegalStateException after an entry failed half-way: more was written than the entries."""
        if self.entries * self.ENTRY_SIZE != self._position:
            raise IllegalStateException(
                f"{self.entries} entries but file position in index is {self._position}"
            ) from self._failed_write

    def _put(self, data: bytes) -> None:
        """Write `data` where the last write ended.

        Raises InternalError when the disk has no block for it. The position has moved nevertheless, as Java's has by
        then, so each later entry is refused: the log's records, whose batch is in the file, must not go on without it.
        """
        mapping, position = self._mapping(), self._position
        end = position + len(data)
        if end > len(mapping) or isinstance(mapping, bytes):
            raise BufferOverflowException(f"{self.file.absolute()} has no room for an entry at byte {position}")
        self._position = end
        if end > self._room_end:
            self._make_room(mapping, position, end)
        file_ops.write_mapped(mapping, position, data, self.file)

    def _make_room(self, mapping: file_ops.Mapping, start: int, end: int) -> None:
        """Allocate blocks of the disk for the pages of bytes `start` … `end` (exclusive). Raises InternalError."""
        start -= start % _PAGE_SIZE
        room_end = min(end + -end % _PAGE_SIZE, self.length)
        try:
            file_ops.allocate(mapping, start, room_end - start, self.file)
        except OSError as error:
            self._failed_write = InternalError(f"{error.strerror}: {self.file.absolute()}")
            raise self._failed_write from error
        self._room_end = room_end
        self._backed_end = max(self._backed_end, room_end)

    def _read(self, entry: Struct, position: int) -> tuple[int, ...]:
        """The fields of `entry` at byte `position`.

        Raises IndexOutOfBoundsException beyond the end of the file, where only a failed `resize` leaves entries.
        """
        mapping, end = self._mapping(), position + entry.size
        try:
            if end > self._backed_end:
                return entry.unpack(self._read_from_file(position, end))
            return entry.unpack_from(mapping, position)
        except struct.error:
            raise IndexOutOfBoundsException(f"{self.file.absolute()} has no entry at byte {position}") from None

    def _contents(self) -> tuple[_Contents, int]:
        """What the entries can be read from, the mapping unless some of them are in a hole; and how many they are."""
        mapping, entries = self._mapping(), self.entries
        end = entries * self.ENTRY_SIZE
        return mapping if end <= self._backed_end else self._read_from_file(0, end), entries

    def _read_from_file(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end` (exclusive), as far as the file has them. Raises OSError."""
        channel = FileChannel(_open(self.file, writable=self._writable))
        try:
            return channel.read(start, end - start)
        finally:
            channel.close()

    def _mapping(self) -> _Contents:
        mapping = self._mmap
        if mapping is None:
            raise NullPointerException(f"The memory mapped buffer of index {self.file.absolute()} is closed")
        return mapping

    def _round_down(self, size: int) -> int:
        return size // self.ENTRY_SIZE * self.ENTRY_SIZE

    def _largest_lower_bound_slot_for(self, column: Column, column_start: int, target: int) -> int:
        """The slot of the largest entry whose column is ≤ `target`; -1 if there is none.

        `column` reads the column at byte `column_start` of an entry. Kafka: `AbstractIndex.largestLowerBoundSlotFor`.
        """
        contents, entries = self._contents()
        if entries == 0:
            return -1
        slot, _ = self.index_slot_range_for(contents, entries, column, column_start, target)
        return slot

    def _smallest_upper_bound_slot_for(self, column: Column, column_start: int, target: int) -> int:
        """The slot of the smallest entry whose column is ≥ `target`; -1 if there is none.

        Kafka: `AbstractIndex.smallestUpperBoundSlotFor`.
        """
        contents, entries = self._contents()
        if entries == 0:
            return -1
        slot, exact = self.index_slot_range_for(contents, entries, column, column_start, target)
        if exact:
            return slot
        return -1 if slot == entries - 1 else slot + 1

    def index_slot_range_for(
        self, mapping: _Contents, entries: int, column: Column, column_start: int, target: int
    ) -> tuple[int, bool]:
        """The largest slot whose column is ≤ `target` (-1: none), and whether the search met an equal one.

        The last 8 KiB are searched first, since nearly all searches end in these pages, which are in the cache. In a
        sorted index that does not change the result; in a damaged one it does, and so it must be done here too.
        Kafka: `AbstractIndex.indexSlotRangeFor`.
        """
        size, unpack_from = self.ENTRY_SIZE, column.unpack_from
        try:
            first_hot_entry = max(0, entries - 1 - _WARM_BYTES // size)
            if unpack_from(mapping, first_hot_entry * size + column_start)[0] < target:
                low, high = first_hot_entry, entries - 1
            elif unpack_from(mapping, column_start)[0] > target:
                return -1, False
            else:
                low, high = 0, first_hot_entry
            while low < high:
                middle = (low + high + 1) >> 1
                found = unpack_from(mapping, middle * size + column_start)[0]
                if found > target:
                    high = middle - 1
                elif found < target:
                    low = middle
                else:
                    return middle, True
            return low, False
        except struct.error:
            raise IndexOutOfBoundsException(f"{self.file.absolute()} is shorter than its {entries} entries") from None


class _OverflowingOffsets:
    """The offsets of entries, absolute and as a `long` holds them: beyond 2^63 - 1 they are negative, as in Kafka."""

    def __init__(self, base_offset: int):
        self._base_offset = base_offset

    def unpack_from(self, buffer: _Contents, offset: int, /) -> tuple[int, ...]:
        return (to_long(self._base_offset + _RELATIVE_OFFSET.unpack_from(buffer, offset)[0]),)


def _open(file: Path, *, writable: bool) -> int:
    return file_ops.open_file(file, create=False) if writable else os.open(file, os.O_RDONLY | os.O_CLOEXEC)


def _map(fd: int, length: int, *, writable: bool) -> _Contents:
    """Map `length` bytes of the file; an empty file cannot be mapped.

    An index that is not writable is read instead: its owner may cut it meanwhile, and then a mapping would end this
    process. If its size is absurd, it is mapped nevertheless.
    """
    if length == 0:
        return b""
    if not writable and length <= _LARGEST_READ:
        return os.pread(fd, length, 0)
    if not HAS_MAPPINGS:
        return CopiedFile(fd, length)
    import mmap

    try:
        return mmap.mmap(fd, length, access=mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ, **_MAP_OPTIONS)
    except OSError as error:
        raise file_ops.named(error, fd) from None
