"""Ranges of a log's offsets that are in no batch."""

from pathlib import Path

from minikafka.tools.verify.findings import Note


class OffsetGaps:
    """Follows the batches of a log, and keeps the first range that is in none of them, and how many there are.

    `due`: the next offset that a batch should have.
    """

    def __init__(self, due: int):
        self._due = due
        self._first: tuple[int, int] | None = None
        self._count = 0

    def pass_batch(self, base_offset: int, next_offset: int) -> None:
        """A batch from `base_offset` up to `next_offset` (exclusive); without any offset, the place of one."""
        if base_offset > self._due:
            self._first = self._first or (self._due, base_offset - 1)
            self._count += 1
        self.pass_untold(next_offset)

    def pass_untold(self, next_offset: int) -> None:
        """Up to `next_offset` (exclusive) nobody can say what was there."""
        self._due = max(self._due, next_offset)

    def note_of(self, partition: Path) -> Note | None:
        """What is to be said of the partition in this directory; None where all offsets are in batches."""
        if self._first is None:
            return None
        first, last = self._first
        others = self._count - 1
        more = f" and {others} more range{'s' if others > 1 else ''}" if others else ""
        what = f"offsets {first} to {last}{more} are in no batch: normal for a compacted topic, a loss for any other"
        return Note(partition, first, what)
