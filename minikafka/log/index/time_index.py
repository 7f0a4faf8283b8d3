"""From timestamps to offsets in a segment."""

from pathlib import Path
from struct import Struct
from typing import NamedTuple

from minikafka.common.errors import (
    CorruptIndexException,
    IllegalArgumentException,
    IllegalStateException,
    InvalidOffsetException,
)
from minikafka.common.java.java_numbers import to_long
from minikafka.log.index.abstract_index import AbstractIndex
from minikafka.record.format.record_batch import NO_TIMESTAMP

_ENTRY = Struct(">qi")
_TIMESTAMP = Struct(">q")
_RELATIVE_OFFSET = Struct(">i")


class TimestampOffset(NamedTuple):
    """A timestamp (ms), and an offset up to which no timestamp is larger. Kafka: `TimestampOffset`."""

    timestamp: int
    offset: int


UNKNOWN = TimestampOffset(-1, -1)
"""Stands for "not looked up yet"; compared by identity. Kafka: `TimestampOffset.UNKNOWN`."""


class TimeIndex(AbstractIndex):
    """The `.timeindex` file of a segment: largest timestamps so far, each with the last offset of its batch.

    An entry is 12 bytes: int64 timestamp (ms), int32 offset - base offset. No record up to that offset (inclusive) has
    a larger timestamp. Timestamps grow from entry to entry; offsets never shrink.

    The last slot is reserved for the entry that rolling or closing adds, so the index is full one entry earlier.

    Kafka: `TimeIndex`.
    """

    ENTRY_SIZE = 12

    def __init__(self, file: Path, base_offset: int, max_index_size: int = -1, *, writable: bool = True):
        super().__init__(file, base_offset, max_index_size, writable=writable)
        self.last_entry = self._last_entry_from_index_file()

    @property
    def is_full(self) -> bool:
        """True when only the reserved slot is left. Kafka: `TimeIndex.isFull`."""
        return self.entries >= self.max_entries - 1

    def sanity_check(self) -> None:
        """Raises CorruptIndexException for shrinking timestamps, an offset below the base offset or a torn entry.

        Kafka: `TimeIndex.sanityCheck`.
        """
        last_timestamp, last_offset = self.last_entry
        start = f"Corrupt time index found, time index file ({self.file.absolute()}) has non-zero size but the last"
        if self.entries != 0 and last_timestamp < (first := self._parse_entry(0).timestamp):
            raise CorruptIndexException(
                f"{start} timestamp is {last_timestamp} which is less than the first timestamp {first}"
            )
        if self.entries != 0 and last_offset < self.base_offset:
            raise CorruptIndexException(
                f"{start} offset is {last_offset} which is less than the first offset {self.base_offset}"
            )
        if self.length % self.ENTRY_SIZE != 0:
            raise CorruptIndexException(
                f"Time index file {self.file.absolute()} is corrupt, found {self.length} bytes"
                f" which is neither positive nor a multiple of {self.ENTRY_SIZE}"
            )

    def truncate_to(self, offset: int) -> None:
        """Remove the entries with offsets ≥ `offset`. Kafka: `TimeIndex.truncateTo`."""
        slot = self._largest_lower_bound_slot_for(self._offset_column, 8, offset - self._offset_origin)
        if slot < 0:
            self._truncate_to_entries(0)
        else:
            exact = self._read(_RELATIVE_OFFSET, slot * self.ENTRY_SIZE + 8)[0] == to_long(offset - self.base_offset)
            self._truncate_to_entries(slot if exact else slot + 1)

    def entry(self, n: int) -> TimestampOffset:
        """The entry in slot `n`, counted from 0; raises IllegalArgumentException beyond the last.

        Kafka: `TimeIndex.entry`.
        """
        if n >= self.entries:
            raise IllegalArgumentException(
                f"Attempt to fetch the {n}th entry from time index {self.file.absolute()} which has size {self.entries}"
            )
        return self._parse_entry(n)

    def lookup(self, target_timestamp: int) -> TimestampOffset:
        """The entry with the largest timestamp ≤ `target_timestamp`; (-1, base offset) if there is none.

        Kafka: `TimeIndex.lookup`.
        """
        slot = self._largest_lower_bound_slot_for(_TIMESTAMP, 0, target_timestamp)
        return TimestampOffset(NO_TIMESTAMP, self.base_offset) if slot == -1 else self._parse_entry(slot)

    def maybe_append(self, timestamp: int, offset: int, *, skip_full_check: bool = False) -> None:
        """Add an entry if `timestamp` is larger than the last one; do nothing if it is equal.

        Raises IllegalArgumentException when full (unless `skip_full_check`, which rolling and closing set),
        InvalidOffsetException for an offset below the last entry's, IllegalStateException for a timestamp below the
        last entry's, and IndexOffsetOverflowException when the offset does not fit; each later entry is then refused
        by IllegalStateException.
        Kafka: `TimeIndex.maybeAppend`.
        """
        if not skip_full_check and self.is_full:
            raise IllegalArgumentException(f"Attempt to append to a full time index (size = {self.entries}).")
        last_timestamp, last_offset = self.last_entry
        if self.entries != 0 and offset < last_offset:
            raise InvalidOffsetException(
                f"Attempt to append an offset ({offset}) to slot {self.entries} no larger than the last offset"
                f" appended ({last_offset}) to {self.file.absolute()}"
            )
        if self.entries != 0 and timestamp < last_timestamp:
            raise IllegalStateException(
                f"Attempt to append a timestamp ({timestamp}) to slot {self.entries} no larger than the last"
                f" timestamp appended ({last_timestamp}) to {self.file.absolute()}"
            )
        if timestamp > last_timestamp:
            # Two writes, as in Kafka: an offset that does not fit leaves half an entry, and every later entry is
            # written behind that and then refused.
            self._put(_TIMESTAMP.pack(timestamp))
            self._put(_RELATIVE_OFFSET.pack(self.relative_offset(offset)))
            self.entries += 1
            self.last_entry = TimestampOffset(timestamp, offset)
            self._check_position()

    def resize(self, new_size: int) -> bool:
        """Give file and mapping `new_size` bytes, see `AbstractIndex.resize`, and read the last entry again.

        Kafka: `TimeIndex.resize`.
        """
        if not super().resize(new_size):
            return False
        self.last_entry = self._last_entry_from_index_file()
        return True

    def _truncate_to_entries(self, entries: int) -> None:
        self._set_entries(entries)
        self.last_entry = self._last_entry_from_index_file()

    def _last_entry_from_index_file(self) -> TimestampOffset:
        return self._parse_entry(self.entries - 1) if self.entries else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def _parse_entry(self, n: int) -> TimestampOffset:
        timestamp, relative = self._read(_ENTRY, n * 12)
        return TimestampOffset(timestamp, to_long(self.base_offset + relative))
