"""From offsets to positions in a segment's file."""

from pathlib import Path
from struct import Struct
from typing import NamedTuple

from minikafka.common.errors import CorruptIndexException, IllegalArgumentException, InvalidOffsetException
from minikafka.common.java.java_numbers import to_int, to_long
from minikafka.log.index.abstract_index import AbstractIndex

_ENTRY = Struct(">ii")
_INT = Struct(">i")
_RELATIVE_OFFSET = 0
_POSITION = 4


class OffsetPosition(NamedTuple):
    """The last offset of a batch and the byte position of that batch. Kafka: `OffsetPosition`."""

    offset: int
    position: int


class OffsetIndex(AbstractIndex):
    """The `.index` file of a segment: the last offset of some batches, and where those batches begin.

    An entry is 8 bytes: int32 offset - base offset, int32 position in the `.log` file. Since only some batches have an
    entry (the segment adds one after each `index.interval.bytes`), a look-up gives a position at or before the batch.
    Offsets grow from entry to entry.

    Kafka: `OffsetIndex`.
    """

    ENTRY_SIZE = 8

    def __init__(self, file: Path, base_offset: int, max_index_size: int = -1, *, writable: bool = True):
        super().__init__(file, base_offset, max_index_size, writable=writable)
        self.last_offset = self._last_entry().offset

    def sanity_check(self) -> None:
        """Raises CorruptIndexException for a last offset below the base offset, or for a torn entry.

        Kafka: `OffsetIndex.sanityCheck`.
        """
        if self.entries != 0 and self.last_offset < self.base_offset:
            raise CorruptIndexException(
                f"Corrupt index found, index file {self.file.absolute()} has non-zero size but the last offset is"
                f" {self.last_offset} which is less than the base offset {self.base_offset}"
            )
        if self.length % self.ENTRY_SIZE != 0:
            raise CorruptIndexException(
                f"Index file {self.file.absolute()} is corrupt, found {self.length} bytes"
                f" which is neither positive nor a multiple of {self.ENTRY_SIZE}"
            )

    def lookup(self, target_offset: int) -> OffsetPosition:
        """The entry with the largest offset ≤ `target_offset`; (base offset, 0) if there is none.

        Kafka: `OffsetIndex.lookup`.
        """
        slot = self._largest_lower_bound_slot_for(
            self._offset_column, _RELATIVE_OFFSET, target_offset - self._offset_origin
        )
        return OffsetPosition(self.base_offset, 0) if slot == -1 else self._parse_entry(slot)

    def entry(self, n: int) -> OffsetPosition:
        """The entry in slot `n`, counted from 0; raises IllegalArgumentException beyond the last.

        Kafka: `OffsetIndex.entry`.
        """
        if n >= self.entries:
            raise IllegalArgumentException(
                f"Attempt to fetch the {n}th entry from index {self.file.absolute()}, which has size {self.entries}"
            )
        return self._parse_entry(n)

    def fetch_upper_bound_offset(self, fetch_offset: OffsetPosition, fetch_size: int) -> OffsetPosition | None:
        """The first entry of a batch that begins at or behind the `fetch_size` bytes from `fetch_offset` on.

        None when the index ends before that. Batches without an entry may lie between.
        Kafka: `OffsetIndex.fetchUpperBoundOffset`.
        """
        end = to_int(fetch_offset.position + fetch_size)
        slot = self._smallest_upper_bound_slot_for(_INT, _POSITION, end)
        return None if slot == -1 else self._parse_entry(slot)

    def append(self, offset: int, position: int) -> None:
        """Add an entry for the batch at `position` whose last offset is `offset`.

        Raises IllegalArgumentException when full, InvalidOffsetException unless `offset` is larger than the last one,
        IndexOffsetOverflowException when it does not fit. Kafka: `OffsetIndex.append`.
        """
        if self.is_full:
            raise IllegalArgumentException(f"Attempt to append to a full index (size = {self.entries}).")
        if self.entries != 0 and offset <= self.last_offset:
            raise InvalidOffsetException(
                f"Attempt to append an offset {offset} to position {self.entries} no larger than the last offset"
                f" appended ({self.last_offset}) to {self.file.absolute()}"
            )
        self._put(_ENTRY.pack(self.relative_offset(offset), position))
        self.entries += 1
        self.last_offset = offset
        self._check_position()

    def truncate_to(self, offset: int) -> None:
        """Remove the entries with offsets ≥ `offset`. Kafka: `OffsetIndex.truncateTo`."""
        slot = self._largest_lower_bound_slot_for(self._offset_column, _RELATIVE_OFFSET, offset - self._offset_origin)
        if slot < 0:
            self._truncate_to_entries(0)
        else:
            exact = self._read(_INT, slot * self.ENTRY_SIZE)[0] == to_long(offset - self.base_offset)
            self._truncate_to_entries(slot if exact else slot + 1)

    def _truncate_to_entries(self, entries: int) -> None:
        self._set_entries(entries)
        self.last_offset = self._last_entry().offset

    def _last_entry(self) -> OffsetPosition:
        return self._parse_entry(self.entries - 1) if self.entries else OffsetPosition(self.base_offset, 0)

    def _parse_entry(self, n: int) -> OffsetPosition:
        relative, position = self._read(_ENTRY, n * 8)
        return OffsetPosition(to_long(self.base_offset + relative), position)
