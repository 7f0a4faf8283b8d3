"""A partition's producer snapshots, compared with its batches."""

from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

from minikafka.common.errors import CorruptSnapshotException
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.tools.failure import naming
from minikafka.tools.read_bounded import require_bounded
from minikafka.tools.verify.findings import OpenFinding, VerifiedBatch


class SnapshotComparison:
    """The producer snapshots of a partition, each compared with the batches that lie before it.

    The last batch of each producer is kept up to date while batches pass; a snapshot is checked when the first batch at
    or above its offset comes. `files` maps offsets to snapshots, `first_offset` is the log's; `reading` calls a
    function that may meet an error of the machine.
    """

    def __init__(
        self,
        files: dict[int, Path],
        first_offset: int,
        report: Callable[[OpenFinding], None],
        reading: Callable[..., object],
    ):
        self._waiting = sorted(files.items(), reverse=True)
        self._first_offset = first_offset
        self._report = report
        self._reading = reading
        self._last_batches: dict[int, VerifiedBatch] = {}
        self._covered = OffsetRanges()

    def pass_batch(self, batch: VerifiedBatch) -> None:
        """Take in the next batch of the log."""
        while self._waiting and self._waiting[-1][0] <= batch.last_offset:
            self._reading(self._compare, *self._waiting.pop())
        if batch.base_offset <= batch.last_offset:
            self._covered.add(batch.base_offset, batch.last_offset)
        if batch.producer_id >= 0 and batch.marker is None:
            self._last_batches[batch.producer_id] = batch

    def finish(self, log_end_offset: int) -> None:
        """Check what is left, now that all batches have passed."""
        while self._waiting:
            offset, file = self._waiting.pop()
            if offset > log_end_offset:
                self._report(OpenFinding(file, None, None, f"it lies beyond the log's end {log_end_offset}"))
            else:
                self._reading(self._compare, offset, file)

    def _compare(self, offset: int, file: Path) -> None:
        try:
            with naming(file):
                entries = read_snapshot(require_bounded(file))
        except CorruptSnapshotException as error:
            self._report(OpenFinding(file, None, None, f"CorruptSnapshotException: {error}"))
            return
        for entry in entries:
            what = self._what_is_wrong_with(entry, offset)
            if what and entry.last_data_offset >= self._first_offset:
                self._report(OpenFinding(file, None, entry.last_data_offset, what))

    def _what_is_wrong_with(self, entry, snapshot_offset: int) -> str | None:
        """Words for how a producer's entry contradicts its last batch below the snapshot's offset."""
        batch = self._last_batches.get(entry.producer_id)
        last = entry.last_data_offset
        if last >= snapshot_offset:
            return f"producer {entry.producer_id} wrote at offset {last} by the snapshot, which tells what lies below"
        if batch is None or batch.last_offset != last:
            if (batch is None or batch.last_offset < last) and last not in self._covered:
                return None  # compaction keeps the last batch of a producer only until the producer has a later one
            found = "none" if batch is None else batch.last_offset
            return f"producer {entry.producer_id} wrote last at offset {last} by the snapshot, {found} by the log"
        if (batch.producer_epoch, batch.last_sequence) != (entry.producer_epoch, entry.last_seq):
            return (
                f"producer {entry.producer_id} has epoch {entry.producer_epoch} and last sequence {entry.last_seq} "
                f"by the snapshot, {batch.producer_epoch} and {batch.last_sequence} by the log"
            )
        return None


class OffsetRanges:
    """Which offsets have batches, as ranges without gaps; a log that is not compacted has one range."""

    def __init__(self):
        self._starts: list[int] = []
        self._ends: list[int] = []  # exclusive

    def add(self, first: int, last: int) -> None:
        """Add `first` … `last`. What lies before the last range is left out, which does no harm."""
        if self._ends and self._starts[-1] <= first <= self._ends[-1]:
            self._ends[-1] = max(self._ends[-1], last + 1)
        elif not self._ends or first > self._ends[-1]:
            self._starts.append(first)
            self._ends.append(last + 1)

    def __contains__(self, offset: int) -> bool:
        found = bisect_right(self._starts, offset) - 1
        return found >= 0 and offset < self._ends[found]
