"""What `minikafka verify` looks at in one segment: its batches, its indexes, its transaction index."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from minikafka.common.errors import CorruptIndexException, CorruptRecordException, KafkaException
from minikafka.log.index.offset_index import OffsetIndex
from minikafka.log.index.time_index import TimeIndex
from minikafka.log.index.transaction_index import TransactionIndex
from minikafka.log.log_file_utils import (
    DELETE_DIR_SUFFIX,
    log_file,
    offset_index_file,
    time_index_file,
    transaction_index_file,
)
from minikafka.record.control_record import ControlRecordType
from minikafka.record.file_records import FileRecords
from minikafka.record.record_batch import HEADER_SIZE_UP_TO_MAGIC

_MAX_RELATIVE_OFFSET = 2**31 - 1
_SMALLEST_SEGMENT_BYTES = 1 << 20
_CHUNK = 1 << 20


class Finding(NamedTuple):
    """Something that is not as Kafka leaves it: where (byte `position`, `offset`; None where there is none), what it
    is, and what Kafka does about it at its next start."""

    file: Path
    position: int | None
    offset: int | None
    what: str
    next_start: str


class NextStart(NamedTuple):
    """How Kafka will load the partition: `clean` after a clean stop, else scanned from `recovery_point` on."""

    clean: bool
    recovery_point: int
    log_start_offset: int


class BatchFacts(NamedTuple):
    """What of a sound batch the rest of the directory must agree with."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    is_transactional: bool
    marker: ControlRecordType | None
    size: int


@dataclass
class ScannedSegment:
    """A segment's batches: byte position → facts; where the sound part ends (bytes), and its last offset (inclusive)."""

    base_offset: int
    batches: dict[int, BatchFacts] = field(default_factory=dict)
    largest_timestamps: dict[int, int] = field(default_factory=dict)  # last offset → largest timestamp so far
    last_offset: int = -1
    end: int = 0


def waits_for_deletion(directory: Path) -> bool:
    """True for a partition's directory that Kafka has renamed to delete it later; such a log is not closed any more."""
    return directory.absolute().name.endswith(DELETE_DIR_SUFFIX)


class SegmentVerifier:
    """Reads a segment once and compares its indexes with what it holds; changes nothing.

    `is_last`: the segment is the partition's last one. `next_base_offset` is that of the following segment, None for
    the last. `advance(bytes)` is told what was read.
    """

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        next_base_offset: int | None,
        next_start: NextStart,
        report: Callable[[Finding], None],
        advance: Callable[[int], None],
    ):
        self._directory = directory
        self._file = log_file(directory, base_offset)
        self._next_base_offset = next_base_offset
        self._is_last = next_base_offset is None
        self._report = report
        self._advance = advance
        self._scanned = ScannedSegment(base_offset)
        self._next_start = next_start
        self._was_closed = next_start.clean and not waits_for_deletion(directory)
        # Kafka scans the segments from the one that holds the recovery point upward.
        self._recovered = not next_start.clean and (self._is_last or next_base_offset > next_start.recovery_point)

    def verify(self, expected_offset: int) -> ScannedSegment:
        """Look at the segment, whose first offset should not be below `expected_offset`. Raises OSError."""
        self._scan_batches(expected_offset)
        self._verify_offset_index()
        self._verify_time_index()
        self._verify_transaction_index()
        return self._scanned

    # ---- the batches

    def _scan_batches(self, expected_offset: int) -> None:
        scanned = self._scanned
        file_records = FileRecords.open(self._file, mutable=False)
        try:
            size = file_records.size_in_bytes
            for batch in file_records.batches():
                facts = self._verify_batch(batch, scanned.end, expected_offset)
                if facts is None:
                    return
                largest = max(scanned.largest_timestamps.get(scanned.last_offset, -1), batch.max_timestamp)
                scanned.batches[scanned.end] = facts
                scanned.last_offset = facts.last_offset
                scanned.largest_timestamps[facts.last_offset] = largest
                scanned.end += facts.size
                expected_offset = facts.last_offset + 1
                self._advance(facts.size)
            if scanned.end < size:
                self._find_in_log(f"{size - scanned.end} bytes after the last whole batch", None, self._fate_of_tail())
        except CorruptRecordException as error:
            if not self._is_preallocated(size):
                self._find_in_log(str(error), None, self._fate_of_no_batch(size - scanned.end))
        finally:
            file_records.close_handlers()

    def _is_preallocated(self, size: int) -> bool:
        """True if the rest of the file is what `preallocate=true` leaves to later batches, until the log is closed.

        A file smaller than the smallest segment that a topic may be given does not come from this setting.
        """
        if self._was_closed or not self._is_last or size < _SMALLEST_SEGMENT_BYTES:
            return False
        with open(self._file, "rb") as file:
            file.seek(self._scanned.end)
            return not any(chunk.strip(b"\0") for chunk in iter(lambda: file.read(_CHUNK), b""))

    def _verify_batch(self, batch, position: int, expected_offset: int) -> BatchFacts | None:
        """The facts of the batch at `position`; None when nothing behind it can be trusted."""
        try:
            batch.ensure_valid()
        except (KafkaException, IndexError) as error:
            self._find_in_log(f"{type(error).__name__}: {error}", batch.base_offset, self._fate_of_corrupt_batch())
            if self._recovered:
                return None
        facts = self._facts(batch)
        base, last = self._scanned.base_offset, facts.last_offset
        if facts.base_offset < base:
            self._find_in_log(
                f"the batch begins below the segment's base offset {base}", facts.base_offset, self._fate_of_low_batch()
            )
        elif last - base > _MAX_RELATIVE_OFFSET:
            fate = (
                "the segment is split in two or more" if self._recovered else "nothing, until the segment is recovered"
            )
            self._find_in_log(f"offset {last} does not fit a segment that begins at {base}", facts.base_offset, fate)
        elif facts.base_offset < expected_offset:
            self._find_in_log(f"offset {expected_offset} or above was due", facts.base_offset, "nothing: it stays")
        if not self._is_last and last >= self._next_base_offset:
            self._find_in_log(
                f"the batch reaches into the next segment, which begins at {self._next_base_offset}",
                facts.base_offset,
                "nothing: it stays",
            )
        return facts

    def _facts(self, batch) -> BatchFacts:
        marker = None
        try:
            if batch.magic == 2:
                batch.columns()
                if batch.is_control_batch:
                    marker = next((ControlRecordType.parse(record.key) for record in batch), None)
            else:
                list(batch)
        except (RuntimeError, ValueError, OSError, IndexError) as error:
            self._find_in_log(
                f"its records cannot be read: {type(error).__name__}: {error}",
                batch.base_offset,
                "it stays, and consumers fail on it",
            )
        is_new = batch.magic == 2
        return BatchFacts(
            base_offset=batch.base_offset,
            last_offset=batch.last_offset,
            leader_epoch=batch.partition_leader_epoch if is_new else -1,
            producer_id=batch.producer_id if is_new else -1,
            producer_epoch=batch.producer_epoch if is_new else -1,
            last_sequence=batch.last_sequence if is_new else -1,
            is_transactional=is_new and batch.is_transactional,
            marker=marker,
            size=batch.size_in_bytes,
        )

    def _find_in_log(self, what: str, offset: int | None, next_start: str) -> None:
        self._report(Finding(self._file, self._scanned.end, offset, what, next_start))

    def _cut(self) -> str:
        later = "" if self._is_last else ", and every later segment is deleted"
        return f"the segment is cut here{later}"

    def _fate_of_corrupt_batch(self) -> str:
        if self._recovered:
            return self._cut()
        reason = "a clean start checks no batch" if self._next_start.clean else "it lies below the recovery point"
        return f"it stays ({reason}), and consumers fail on it"

    def _fate_of_tail(self) -> str:
        return self._cut() if self._recovered else "they stay in the file, and no offset belongs to them"

    def _fate_of_no_batch(self, rest: int) -> str:
        if self._recovered:
            return self._cut()
        if self._is_last and rest > HEADER_SIZE_UP_TO_MAGIC:
            return "the load fails with CorruptRecordException"
        return "it stays, and readers fail here"

    def _fate_of_low_batch(self) -> str:
        return "the load fails with IllegalArgumentException" if self._recovered else "nothing: it stays"

    # ---- the indexes

    def _verify_offset_index(self) -> None:
        file = offset_index_file(self._directory, self._scanned.base_offset)
        index = self._open_index(file, OffsetIndex, "the segment is recovered, which makes the index anew")
        if index is None:
            return
        try:
            previous = -1
            for n in range(index.entries):
                entry = index.entry(n)
                if self._is_end_of_entries(n, entry.offset, entry.position, file, n * 8):
                    return
                batch = self._scanned.batches.get(entry.position)
                if batch is None or batch.last_offset != entry.offset:
                    at = "no batch begins" if batch is None else f"the batch ends at offset {batch.last_offset}"
                    what = f"the entry points to byte {entry.position}, where {at}"
                    self._find(file, n * 8, entry.offset, what)
                elif entry.offset <= previous:
                    self._find(file, n * 8, entry.offset, f"offsets must grow, and the entry before has {previous}")
                previous = entry.offset
        finally:
            index.close_handler()

    def _verify_time_index(self) -> None:
        file = time_index_file(self._directory, self._scanned.base_offset)
        fate = "the index is made anew" if self._recovered else "an empty index is made and stays empty"
        index = self._open_index(file, TimeIndex, fate)
        if index is None:
            return
        try:
            previous = -1
            for n in range(index.entries):
                entry = index.entry(n)
                if self._is_end_of_entries(n, entry.offset, entry.timestamp, file, n * 12):
                    return
                largest = self._scanned.largest_timestamps.get(entry.offset)
                if largest is None:
                    self._find(file, n * 12, entry.offset, "no batch ends at the entry's offset")
                elif largest != entry.timestamp:
                    what = f"the entry says {entry.timestamp} ms, the largest timestamp up to there is {largest} ms"
                    self._find(file, n * 12, entry.offset, what)
                elif entry.timestamp <= previous:
                    self._find(file, n * 12, entry.offset, f"timestamps must grow, and the entry before has {previous}")
                previous = entry.timestamp
        finally:
            index.close_handler()

    def _open_index(self, file: Path, index_class: type, fate_if_missing: str) -> OffsetIndex | TimeIndex | None:
        """The index to compare, or None with the reason reported: it is missing, or has a torn entry at its end."""
        if not file.exists():
            # A segment without bytes may not have used its index yet, and what is recovered gets a new one anyway.
            if self._scanned.end and not (self._is_last and self._recovered):
                self._report(Finding(file, None, None, "the index is missing", fate_if_missing))
            return None
        index = index_class(file, self._scanned.base_offset, -1, writable=False)
        if index.length % index.ENTRY_SIZE:
            self._find(file, index.length, None, f"{index.length} bytes are no multiple of {index.ENTRY_SIZE}")
        return index

    def _is_end_of_entries(self, n: int, offset: int, number: int, file: Path, position: int) -> bool:
        """True at a slot of zeros, which reads as the base offset: an index that was not cut to its entries."""
        untrimmed = self._is_last and not self._was_closed
        if offset != self._scanned.base_offset or (n == 0 and (number or not untrimmed)):
            return False
        if not untrimmed:
            self._find(file, position, None, "the index ends in empty slots: it was not trimmed")
        return True

    def _find(self, file: Path, position: int | None, offset: int | None, what: str) -> None:
        fate = "the index is built anew" if self._recovered else "it stays: an index is not checked at a start"
        self._report(Finding(file, position, offset, what, fate))

    # ---- the transaction index

    def _verify_transaction_index(self) -> None:
        file = transaction_index_file(self._directory, self._scanned.base_offset)
        aborts = {
            batch.last_offset: batch
            for batch in self._scanned.batches.values()
            if batch.marker is ControlRecordType.ABORT
        }
        if not file.exists():
            return
        fate = "the index is built anew" if self._recovered else "it stays, and committed readers follow it"
        try:
            index = TransactionIndex(self._scanned.base_offset, file)
            try:
                index.sanity_check()
                entries = index.all_aborted_txns()
            finally:
                index.close()
        except CorruptIndexException as error:
            self._report(Finding(file, None, None, str(error), "the segment is recovered, which makes the index anew"))
            return
        except (KafkaException, ValueError) as error:
            self._report(Finding(file, None, None, f"{type(error).__name__}: {error}", fate))
            return
        for n, entry in enumerate(entries):
            marker = aborts.get(entry.last_offset)
            if marker is None or marker.producer_id != entry.producer_id:
                what = f"no abort marker of producer {entry.producer_id} lies at offset {entry.last_offset}"
            elif not 0 <= entry.first_offset <= entry.last_offset:
                what = f"the transaction begins at offset {entry.first_offset} and ends at {entry.last_offset}"
            elif not 0 <= entry.last_stable_offset <= entry.last_offset + 1:
                what = f"its last stable offset {entry.last_stable_offset} is none that an abort there can lead to"
            else:
                continue
            self._report(Finding(file, n * entry.TOTAL_SIZE, entry.last_offset, what, fate))
        torn = file.stat().st_size % 34
        if torn:
            self._report(
                Finding(file, file.stat().st_size - torn, None, f"{torn} bytes after the last entry", "they stay")
            )
