"""The entries of a segment's indexes, walked beside its batches."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct

from minikafka.tools.read_bounded import require_bounded
from minikafka.tools.verify.findings import OpenFinding

_CHUNK = 1 << 20
MOST_FINDINGS = 100
"""So many entries of one index are told one by one: an index of 10 MiB has nearly a million."""


class IndexWalk:
    """The entries of an index, read piece by piece and compared with the batches that pass.

    `untrimmed`: the index may be longer than its entries, as it is when it was not closed.
    """

    ENTRY: Struct
    STAYS = ": an index is not checked at a start"

    def __init__(self, file: Path, base_offset: int, untrimmed: bool, report: Callable[[OpenFinding], None]):
        self._file = file
        self._base_offset = base_offset
        self._untrimmed = untrimmed
        self._report = report
        self._found = 0
        self._opened = open(require_bounded(file), "rb")
        size = os.fstat(self._opened.fileno()).st_size
        if size % self.ENTRY.size:
            self._find(size, None, f"{size} bytes are no multiple of {self.ENTRY.size}")
        self._entries = self._sound_entries()
        self._next = next(self._entries, None)

    def close(self) -> None:
        """Close the file, and say how many findings were not told."""
        self._opened.close()
        if self._found > MOST_FINDINGS:
            untold = self._found - MOST_FINDINGS
            self._report(OpenFinding(self._file, None, None, f"{untold} more findings in this index", self.STAYS))

    def finish(self) -> None:
        """All batches have passed: no entry should be left."""
        while self._next is not None:
            self._find_without_batch()

    def _advance(self) -> None:
        self._next = next(self._entries, None)

    def _sound_entries(self) -> Iterator[tuple[int, int, int]]:
        """Byte position, offset and the other number of each entry that is in order after the one before it."""
        at, previous = 0, -1
        size = self.ENTRY.size
        while chunk := self._opened.read(_CHUNK // size * size):
            for first, second in self.ENTRY.iter_unpack(chunk[: len(chunk) // size * size]):
                offset, number = self._order(first, second)
                if offset == self._base_offset and not number and (at or self._untrimmed):
                    # A slot of zeros, which reads as the base offset: the index was not cut to its entries.
                    if not self._untrimmed:
                        self._find(at, None, "the index ends in empty slots: it was not trimmed")
                    return
                key = self._key(offset, number)
                if key <= previous:
                    self._find(at, offset, f"{self.KEYS} must grow, and the entry before has {previous}")
                else:
                    previous = key
                    yield at, offset, number
                at += size

    def _find(self, position: int, offset: int | None, what: str) -> None:
        self._found += 1
        if self._found <= MOST_FINDINGS:
            self._report(OpenFinding(self._file, position, offset, what, self.STAYS))


class OffsetIndexWalk(IndexWalk):
    """Entries of an offset index: an offset, and the byte at which the batch that ends there begins."""

    ENTRY = Struct(">ii")
    KEYS = "positions"

    def pass_batch(self, position: int, last_offset: int) -> None:
        """Compare the entry for the batch at byte `position`, if there is one."""
        while self._next is not None and self._next[2] <= position:
            at, offset, points_to = self._next
            if points_to < position:
                self._find_without_batch()
                continue
            if offset != last_offset:
                what = f"the entry points to byte {points_to}, where the batch ends at offset {last_offset}"
                self._find(at, offset, what)
            self._advance()

    def _find_without_batch(self) -> None:
        at, offset, points_to = self._next
        self._find(at, offset, f"the entry points to byte {points_to}, where no batch begins")
        self._advance()

    def _order(self, first: int, second: int) -> tuple[int, int]:
        return self._base_offset + first, second

    def _key(self, offset: int, number: int) -> int:
        return number


class TimeIndexWalk(IndexWalk):
    """Entries of a time index: the largest timestamp so far (ms), and the offset at which its batch ends."""

    ENTRY = Struct(">qi")
    KEYS = "offsets"

    def __init__(self, *arguments):
        self._timestamp = self._largest = -1
        super().__init__(*arguments)

    def pass_batch(self, last_offset: int, largest_timestamp: int) -> None:
        """Compare the entry for the batch that ends at `last_offset`, if there is one."""
        self._largest = largest_timestamp
        while self._next is not None and self._next[1] <= last_offset:
            at, offset, timestamp = self._next
            if offset < last_offset:
                self._find_without_batch()
                continue
            if timestamp != largest_timestamp:
                what = f"the entry says {timestamp} ms, the largest timestamp up to there is {largest_timestamp} ms"
                self._find(at, offset, what)
            elif timestamp <= self._timestamp:
                self._find(at, offset, f"timestamps must grow, and the entry before has {self._timestamp}")
            self._timestamp = timestamp
            self._advance()

    def finish(self) -> None:
        """All batches have passed: no entry should be left, and the last one has the largest timestamp of them.

        Kafka: `LogSegment.onBecomeInactive`, `LogSegment.close`.
        """
        super().finish()
        if not self._untrimmed and not self._found and self._timestamp < self._largest:
            size = os.fstat(self._opened.fileno()).st_size
            self._find(size, None, f"no entry has the segment's largest timestamp, {self._largest} ms")

    def _find_without_batch(self) -> None:
        at, offset, _ = self._next
        self._find(at, offset, "no batch ends at the entry's offset")
        self._advance()

    def _order(self, first: int, second: int) -> tuple[int, int]:
        return self._base_offset + second, first

    def _key(self, offset: int, number: int) -> int:
        return offset
