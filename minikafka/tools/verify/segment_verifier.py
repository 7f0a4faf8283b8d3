"""What `minikafka verify` looks at in one segment: its batches, its indexes, its transaction index."""

import os
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import NamedTuple, Protocol

from minikafka.common.errors import CorruptRecordException, KafkaException
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.log.index.transaction_index import CURRENT_VERSION, TOTAL_SIZE
from minikafka.log.log_file_utils import (
    DELETE_DIR_SUFFIX,
    log_file,
    offset_index_file,
    time_index_file,
    transaction_index_file,
)
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.batch import Batch
from minikafka.record.format.control_record import ControlRecordType
from minikafka.record.format.record_batch import CURRENT_MAGIC_VALUE, MAGIC_VALUE_V2
from minikafka.tools.failure import naming
from minikafka.tools.read_bounded import of_the_machine, read_bounded
from minikafka.tools.verify.findings import NextStart, OpenFinding, VerifiedBatch
from minikafka.tools.verify.index_walk import OffsetIndexWalk, TimeIndexWalk

_SMALLEST_SEGMENT_BYTES = 1 << 20
_CHUNK = 1 << 20
_TXN_ENTRY = Struct(">hqqqq")
_UNREADABLE = (RuntimeError, ValueError, IndexError, OSError)


class ScannedSegment(NamedTuple):
    """Where a segment's sound part ends (bytes), and the offset after its last record, None without any batch.

    `is_preallocated`: what follows is the room that `preallocate=true` reserves for later batches. `is_whole`: nothing
    else follows.

    Of transactions, what must be known together with other segments. `open`: producers whose records here no marker
    follows; `open_offsets`: where these records begin. `ended`: producers with a marker; `ended_at`: the offset of the
    first one of each. The other lists have an element for each abort of a transaction that may have records: `aborts`
    the offset of its marker, `aborted_producers` its producer, `firsts_here` the first offset of its records here,
    `stables_here` the last stable offset as far as this segment tells; `firsts_named` and `stables_named` the same by
    the transaction index. -1 stands for none.
    """

    end: int
    next_offset: int | None
    is_preallocated: bool
    is_whole: bool
    open: list[int]
    open_offsets: list[int]
    ended: list[int]
    ended_at: list[int]
    aborts: list[int]
    aborted_producers: list[int]
    firsts_here: list[int]
    stables_here: list[int]
    firsts_named: list[int]
    stables_named: list[int]


class _Abort(NamedTuple):
    """An abort with its marker at `offset`: an element of the last lists of `ScannedSegment`."""

    offset: int
    producer_id: int
    first: int
    stable: int


class SegmentToVerify(NamedTuple):
    """A segment in its partition: `next_base_offset` is that of the following one, None for the last.

    `expected_offset`: no batch should begin below it.
    """

    directory: Path
    base_offset: int
    next_base_offset: int | None
    expected_offset: int


class SegmentScan(Protocol):
    """What looks at one segment; see `verify_segment`."""

    def __call__(
        self,
        segment: SegmentToVerify,
        files: set[str],
        next_start: NextStart,
        report: Callable[[OpenFinding], None],
        meet: Callable[[VerifiedBatch], None],
        advance: Callable[[int], None],
        /,
    ) -> ScannedSegment: ...


def verify_segment(
    segment: SegmentToVerify,
    files: set[str],
    next_start: NextStart,
    report: Callable[[OpenFinding], None],
    meet: Callable[[VerifiedBatch], None],
    advance: Callable[[int], None],
) -> ScannedSegment:
    """Check a segment, and those of its indexes that are among the directory's `files`.

    Each finding is passed to `report`, each batch to `meet`, the number of bytes read to `advance`. Raises OSError,
    MemoryError for what cannot be read.
    """
    directory, base_offset, next_base_offset, expected_offset = segment
    verifier = SegmentVerifier(
        directory, base_offset, next_base_offset, next_start, report=report, meet=meet, advance=advance
    )
    return verifier.verify(expected_offset, files)


def waits_for_deletion(directory: Path) -> bool:
    """True for a partition's directory that Kafka has renamed to delete it later; such a log is never closed."""
    return directory.absolute().name.endswith(DELETE_DIR_SUFFIX)


class SegmentVerifier:
    """Reads a segment once and compares its indexes with what it holds; changes nothing.

    Indexes are walked beside the batches, entry by entry, so memory does not grow with the segment. No file is mapped,
    because one that is cut in the meantime would end the process.

    `next_base_offset` is that of the following segment, None for the last. Each finding is passed to `report`, each
    batch to `meet`, the number of bytes read to `advance`.
    """

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        next_base_offset: int | None,
        next_start: NextStart,
        *,
        report: Callable[[OpenFinding], None],
        meet: Callable[[VerifiedBatch], None],
        advance: Callable[[int], None],
    ):
        self._directory = directory
        self._base_offset = base_offset
        self._file = log_file(directory, base_offset)
        self._next_base_offset = next_base_offset
        self._is_last = next_base_offset is None
        self._report = report
        self._meet = meet
        self._advance = advance
        self._next_start = next_start
        self._was_closed = next_start.clean and not waits_for_deletion(directory)
        # Kafka scans the segments from the one that holds the recovery point upward.
        self._recovered = not next_start.clean and (self._is_last or next_base_offset > next_start.recovery_point)
        self._end = 0
        self._next_offset = None
        self._is_preallocated = False
        self._is_whole = False
        self._in_transactions: dict[int, int] = {}  # producer → where its open transaction has its first record here
        self._ended: dict[int, int] = {}  # producer → the offset of its first marker here
        self._aborts: list[_Abort] = []

    def verify(self, expected_offset: int, files: set[str]) -> ScannedSegment:
        """Check the segment, whose first offset should not be below `expected_offset`, and those of its indexes that
        are among the directory's `files`. Raises OSError, MemoryError for what cannot be read.
        """
        offset_file = offset_index_file(self._directory, self._base_offset)
        time_file = time_index_file(self._directory, self._base_offset)
        txn_file = transaction_index_file(self._directory, self._base_offset)
        untrimmed = self._is_last and not self._was_closed
        try:
            with naming(self._file):
                file_records = FileRecords.open(self._file, mutable=False)
        except KafkaException as error:
            self._find(str(error), None, may_raise=("KafkaException",))
            return ScannedSegment(0, None, False, False, *([] for _ in range(10)))
        offsets = times = None
        try:
            if offset_file.name in files:
                offsets = OffsetIndexWalk(offset_file, self._base_offset, untrimmed, self._report)
            if time_file.name in files:
                times = TimeIndexWalk(time_file, self._base_offset, untrimmed, self._report)
            aborts = _aborted_txns(txn_file) if txn_file.name in files else b""
            markers = dict.fromkeys(entry[3] for entry in _TXN_ENTRY.iter_unpack(aborts))
            with naming(self._file):
                self._scan_batches(file_records, expected_offset, offsets, times, markers)
            for index, file in ((offsets, offset_file), (times, time_file)):
                if index is not None:
                    index.finish()
                # A segment without bytes may not have used its index yet, and what is recovered gets a new one anyway.
                elif self._end and not (self._is_last and self._recovered):
                    self._report(OpenFinding(file, None, None, "the index is missing"))
        finally:
            file_records.close_handlers()
            for index in (offsets, times):
                if index is not None:
                    index.close()
        if txn_file.name in files:
            self._verify_transaction_index(txn_file, aborts, markers)
        named = {entry[3]: (entry[2], entry[4]) for entry in _TXN_ENTRY.iter_unpack(aborts)}
        by_index = [named.get(abort.offset, (-1, -1)) for abort in self._aborts]
        return ScannedSegment(
            self._end,
            self._next_offset,
            self._is_preallocated,
            self._is_whole,
            open=list(self._in_transactions),
            open_offsets=list(self._in_transactions.values()),
            ended=list(self._ended),
            ended_at=list(self._ended.values()),
            aborts=[abort.offset for abort in self._aborts],
            aborted_producers=[abort.producer_id for abort in self._aborts],
            firsts_here=[abort.first for abort in self._aborts],
            stables_here=[abort.stable for abort in self._aborts],
            firsts_named=[first for first, _ in by_index],
            stables_named=[stable for _, stable in by_index],
        )

    # ---- the batches

    def _scan_batches(
        self, file_records: FileRecords, expected_offset: int, offsets, times, markers: dict[int, int | None]
    ) -> None:
        size = file_records.size_in_bytes
        largest_timestamp = -1
        try:
            for batch in file_records.batches():
                facts = self._verify_batch(batch, expected_offset)
                if facts is None:
                    return
                largest_timestamp = max(largest_timestamp, batch.max_timestamp)
                if offsets is not None:
                    offsets.pass_batch(self._end, facts.last_offset)
                if times is not None:
                    times.pass_batch(facts.last_offset, largest_timestamp)
                if facts.marker is ControlRecordType.ABORT and facts.last_offset in markers:
                    markers[facts.last_offset] = facts.producer_id
                self._follow_transactions(batch, facts)
                self._meet(facts)
                self._end += facts.size
                self._next_offset = facts.last_offset + 1
                expected_offset = max(expected_offset, self._next_offset)
                self._advance(facts.size)
            if self._end < size:
                rest = size - self._end
                self._find(f"{rest} bytes after the last whole batch", None, ", and no offset belongs to these bytes")
            self._is_whole = self._end == size
        except (CorruptRecordException, KafkaException) as error:
            if of_the_machine(error):
                raise error.__cause__ from None
            self._is_preallocated = self._is_whole = self._ends_in_room(size)
            if not self._is_preallocated:
                self._find(str(error), None, ", and readers fail here", ("CorruptRecordException",))

    def _follow_transactions(self, batch: Batch, facts: VerifiedBatch) -> None:
        producer_id, offset = facts.producer_id, facts.last_offset
        if batch.is_control_batch:
            first = self._in_transactions.pop(producer_id, -1)
            if facts.marker is ControlRecordType.ABORT and (first >= 0 or producer_id not in self._ended):
                stable = min(self._in_transactions.values(), default=offset + 1)
                self._aborts.append(_Abort(offset, producer_id, first, stable))
            self._ended.setdefault(producer_id, offset)
        elif batch.is_transactional and batch.count_or_none:  # the cleaner keeps empty ones
            self._in_transactions.setdefault(producer_id, facts.base_offset)

    def _ends_in_room(self, size: int) -> bool:
        """True if the rest of the file is what `preallocate=true` reserves for later batches until the log is closed.

        A file smaller than the smallest segment that a topic may be given does not come from this setting.
        """
        if self._was_closed or not self._is_last or size < _SMALLEST_SEGMENT_BYTES:
            return False
        with open(self._file, "rb") as file:
            file.seek(self._end)
            return not any(chunk.strip(b"\0") for chunk in iter(lambda: file.read(_CHUNK), b""))

    def _verify_batch(self, batch: Batch, expected_offset: int) -> VerifiedBatch | None:
        """The facts of the batch at `self._end`; None when nothing after it can be trusted."""
        try:
            batch.ensure_valid()
        except (KafkaException, IndexError) as error:
            if of_the_machine(error):
                raise error.__cause__ from None
            reason = "a clean start checks no batch" if self._next_start.clean else "it lies below the recovery point"
            remark = f" ({reason}), and consumers fail on it"
            self._find(f"{type(error).__name__}: {error}", _base_offset(batch), remark, (type(error).__name__,))
            if self._recovered:
                return None
        else:
            if batch.magic > CURRENT_MAGIC_VALUE:  # the checksum does not cover it, and no load looks at it
                what = f"the batch has magic {batch.magic}, above {CURRENT_MAGIC_VALUE}"
                self._find(what, _base_offset(batch), ", and consumers and followers fail on it")
        facts = self._facts(batch)
        base, last = self._base_offset, facts.last_offset
        out_of_range = ("IllegalArgumentException", "IllegalStateException", "IndexOffsetOverflowException")
        if facts.base_offset < base:
            what = f"the batch begins below the segment's base offset {base}"
            self._find(what, facts.base_offset, may_raise=out_of_range)
        elif last < facts.base_offset:
            self._find(f"the batch ends at offset {last}, before it begins", facts.base_offset, may_raise=out_of_range)
        elif last - base > INT_MAX:
            what = f"offset {last} does not fit a segment that begins at {base}"
            self._find(what, facts.base_offset, ", until the segment is recovered", out_of_range)
        elif facts.base_offset < expected_offset:
            self._find(f"offset {expected_offset} or above was due", facts.base_offset)
        elif gap := self._next_start.gap(expected_offset, facts.base_offset):
            self._find(gap, facts.base_offset)
        if not self._is_last and last >= self._next_base_offset:
            what = f"the batch reaches into the next segment, which begins at {self._next_base_offset}"
            self._find(what, facts.base_offset)
        return facts

    def _facts(self, batch: Batch) -> VerifiedBatch:
        is_new = batch.magic >= MAGIC_VALUE_V2
        marker = None
        try:
            batch.check_records()
            if not (is_new or batch.is_compressed):
                message = batch.load_full_batch().outer_record
                for _ in (message.key_range, message.value_range):  # raises where the message is too short for them
                    pass
        except _UNREADABLE as error:
            self._find_unreadable("its records cannot be read", "consumers", batch, error)
        else:
            try:
                if is_new and batch.is_control_batch:
                    marker = next((ControlRecordType.parse(record.key) for record in batch), None)
            except _UNREADABLE as error:
                self._find_unreadable("it is not a marker that can be read", "committed readers", batch, error)
        return VerifiedBatch(
            base_offset=_base_offset(batch),
            last_offset=batch.last_offset,
            leader_epoch=batch.partition_leader_epoch if is_new else -1,
            producer_id=batch.producer_id if is_new else -1,
            producer_epoch=batch.producer_epoch if is_new else -1,
            last_sequence=batch.last_sequence if is_new else -1,
            marker=marker,
            size=batch.size_in_bytes,
        )

    def _find_unreadable(self, what: str, readers: str, batch: Batch, error: Exception) -> None:
        if of_the_machine(error):
            raise error.__cause__ or error
        name = type(error).__name__
        self._find(f"{what}: {name}: {error}", _base_offset(batch), f", and {readers} fail on it", (name,))

    def _find(self, what: str, offset: int | None, if_it_stays: str = "", may_raise: tuple[str, ...] = ()) -> None:
        self._report(OpenFinding(self._file, self._end, offset, what, if_it_stays, may_raise))

    # ---- the transaction index

    def _verify_transaction_index(self, file: Path, entries: bytes, markers: dict[int, int | None]) -> None:
        """Compare the entries with the `markers` of aborts that the batches have: offset → producer id."""
        stays = ", and committed readers follow it"
        seen: set[int] = set()
        for position in range(0, len(entries), TOTAL_SIZE):
            version, producer_id, first, last, last_stable = _TXN_ENTRY.unpack_from(entries, position)
            if version > CURRENT_VERSION:
                what = f"the entry has version {version}, above {CURRENT_VERSION}"
            elif last < self._base_offset:
                what = f"the transaction ends at offset {last}, before the segment begins"
            elif markers[last] != producer_id:
                what = f"no abort marker of producer {producer_id} lies at offset {last}"
            elif not 0 <= first <= last:
                what = f"the transaction begins at offset {first} and ends at {last}"
            elif last in seen:
                what = f"there is an entry of the abort at offset {last} already"
            elif not 0 <= last_stable <= last + 1:
                what = f"no abort there can lead to its last stable offset, {last_stable}"
            else:
                seen.add(last)
                continue
            self._report(OpenFinding(file, position, last, what, stays, ("KafkaException",)))
        torn = os.stat(file).st_size - len(entries)
        if torn:
            self._report(OpenFinding(file, len(entries), None, f"{torn} bytes after the last entry"))


def _aborted_txns(file: Path) -> bytes:
    """The whole entries of a transaction index."""
    data = read_bounded(file)
    return data[: len(data) // TOTAL_SIZE * TOTAL_SIZE]


def _base_offset(batch: Batch) -> int:
    """The first offset of a batch; of a wrapper that cannot be opened, the last."""
    try:
        return batch.base_offset
    except _UNREADABLE as error:
        if of_the_machine(error):
            raise
        return batch.last_offset
