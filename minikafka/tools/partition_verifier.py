"""What `minikafka verify` looks at in a partition's directory, besides its segments: names, snapshots, epochs.

Then it has the partition loaded in a rehearsal, and tells of each finding what became of it there.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from minikafka.checkpoint.leader_epoch_checkpoint_file import (
    LEADER_EPOCH_CHECKPOINT_FILENAME,
    EpochEntry,
    LeaderEpochCheckpointFile,
)
from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME, PartitionMetadataFile
from minikafka.common.errors import CorruptSnapshotException
from minikafka.log.log_file_utils import (
    CLEANED_FILE_SUFFIX,
    DELETED_FILE_SUFFIX,
    INDEX_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    PRODUCER_SNAPSHOT_FILE_SUFFIX,
    SWAP_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    filename_prefix_from_offset,
    is_log_file,
    log_file,
    offset_from_file,
)
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.tools.failure import TOLD, describe, naming
from minikafka.tools.findings import Damage, Fate, Finding, NextStart
from minikafka.tools.partition_files import look_into
from minikafka.tools.read_bounded import of_the_machine, read_bounded, require_bounded
from minikafka.tools.rehearsal import Outcome, Rehearsal
from minikafka.tools.segment_verifier import BatchFacts, SegmentVerifier, waits_for_deletion

_INDEX_SUFFIXES = (INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX, TXN_INDEX_FILE_SUFFIX)
_SUFFIXES_OF_A_STATE = (DELETED_FILE_SUFFIX, CLEANED_FILE_SUFFIX, SWAP_FILE_SUFFIX)
# The last one, and the checkpoints, are in the directory of the metadata log only.
_KNOWN_NAMES = (LEADER_EPOCH_CHECKPOINT_FILENAME, PARTITION_METADATA_FILE_NAME, "quorum-state")
_METADATA_SNAPSHOT = re.compile(r"\d{20}-\d{10}\.checkpoint", re.ASCII)
_UNFINISHED_METADATA_SNAPSHOT = ".checkpoint.part"
_NOT_FORETOLD = "not foretold, as not all of the partition could be read"


class PartitionVerifier:
    """Reads a partition's directory once and reports each thing that Kafka would not have left there so.

    - Not one byte is changed, not even a missing checkpoint file is made.
    - Batches are the truth; indexes, snapshots and epochs are measured against them, in one walk over all segments.
    - What cannot be known is not reported: a producer that a snapshot lacks may have expired, what happened below the
      first segment or the first epoch is gone, a batch that a snapshot knows may have been compacted away.
    - A directory that waits for its deletion is not closed and has no epochs any more.
    - What Kafka's next start does is not foretold by rules: a rehearsal shows it. What that changes in a segment is
      reported, also where nothing else is wrong with it.

    `report(finding)` is called for each finding, `unread(line)` for what cannot be read (the rest is looked at, but
    nothing is foretold then), `advance(bytes)` for what was read of the `.log` files.
    """

    def __init__(
        self,
        directory: Path,
        next_start: NextStart,
        report: Callable[[Finding], None],
        unread: Callable[[str], None],
        advance: Callable[[int], None] = lambda size: None,
        follow_links: bool = False,
    ):
        self._directory = directory
        self._waits_for_deletion = waits_for_deletion(directory)
        self._next_start = next_start
        self._report = report
        self._unread = unread
        self._advance = advance
        self._follow_links = follow_links
        self._damages: list[Damage] = []
        self._all_read = True
        self._room_at: dict[str, int] = {}  # where in a segment room for later batches begins

    def verify(self) -> None:
        """Look at everything. Raises OSError when the directory cannot be listed."""
        files, objections = look_into(self._directory, self._follow_links)
        self._refused = {file.name for file, _ in objections}
        for file, objection in objections:
            self._could_not_read(f"{file} {objection}")
        names = {file.name for file in files}
        base_offsets = sorted(self._offset(name) for name in names if self._is_of(name, LOG_FILE_SUFFIX))
        self._verify_names(sorted(names), set(base_offsets))
        snapshots = {
            self._offset(n): self._directory / n for n in names if self._is_of(n, PRODUCER_SNAPSHOT_FILE_SUFFIX)
        }
        self._snapshots = Snapshots(snapshots, base_offsets[0] if base_offsets else 0, self._found, self._reading)
        self._epochs = Epochs(self._directory / LEADER_EPOCH_CHECKPOINT_FILENAME, self._found)
        if LEADER_EPOCH_CHECKPOINT_FILENAME in names:
            self._reading(self._epochs.read)
        log_end_offset = self._verify_segments(base_offsets, names)
        self._snapshots.finish(log_end_offset)
        if LEADER_EPOCH_CHECKPOINT_FILENAME in names:
            self._epochs.finish(log_end_offset, self._waits_for_deletion)
        elif log_end_offset and base_offsets:
            self._found(Damage(self._epochs.file, None, None, "the file is missing"))
        if PARTITION_METADATA_FILE_NAME in names:
            self._reading(self._verify_partition_metadata, self._directory / PARTITION_METADATA_FILE_NAME)
        self._foretell(files)

    def _verify_segments(self, base_offsets: list[int], names: set[str]) -> int:
        """The log end offset, as far as batches can be read."""
        expected_offset = 0
        for base, next_base in pairwise([*base_offsets, None]):
            verifier = SegmentVerifier(
                self._directory, base, next_base, self._next_start, self._found, self._meet, self._advance
            )
            scanned = self._reading(verifier.verify, max(expected_offset, base), names)
            if scanned is not None and scanned.is_preallocated:
                self._room_at[log_file(self._directory, base).name] = scanned.end
            expected_offset = max(expected_offset, base, (scanned and scanned.next_offset) or 0)
        if base_offsets and self._next_start.log_start_offset > expected_offset:
            start = self._next_start.log_start_offset
            what = f"the checkpointed log start offset {start} lies beyond the log's end {expected_offset}"
            self._found(Damage(log_file(self._directory, base_offsets[0]), None, None, what))
        return expected_offset

    def _meet(self, batch: BatchFacts) -> None:
        self._snapshots.pass_batch(batch)
        self._epochs.pass_batch(batch)

    # ---- what could be read

    def _found(self, damage: Damage) -> None:
        if damage.file.name not in self._refused:  # it is there, whatever it is
            self._damages.append(damage)

    def _could_not_read(self, line: str) -> None:
        self._all_read = False
        self._unread(line)

    def _reading(self, read: Callable, *arguments):
        """What `read` returns; None when it meets an error of the machine, of which a line tells."""
        try:
            return read(*arguments)
        except (OSError, MemoryError) as error:
            self._could_not_read(describe(error))

    # ---- names

    def _verify_names(self, names: list[str], base_offsets: set[int]) -> None:
        for name in names:
            file = self._directory / name
            if name.endswith(_UNFINISHED_METADATA_SNAPSHOT):
                what = "left over from a snapshot that was not finished"
                self._found(Damage(file, None, None, what, fate=(Fate.DELETED, "it is deleted")))
                continue
            what = self._what_is_wrong_with_name(name, base_offsets)
            if what:
                self._found(Damage(file, None, None, what, may_raise=self._exceptions_of_name(name)))

    def _what_is_wrong_with_name(self, name: str, base_offsets: set[int]) -> str | None:
        if name in _KNOWN_NAMES or _METADATA_SNAPSHOT.fullmatch(name):
            return None
        if name.endswith(DELETED_FILE_SUFFIX):
            return "left over from a deletion"
        if name.endswith(CLEANED_FILE_SUFFIX):
            return "left over from cleaning that did not end"
        if name.endswith(SWAP_FILE_SUFFIX):
            return "left over from a replacement of segments"
        if name in (f"{LEADER_EPOCH_CHECKPOINT_FILENAME}.tmp", f"{PARTITION_METADATA_FILE_NAME}.tmp"):
            return "left over from writing a file that was not finished"
        if name.endswith((LOG_FILE_SUFFIX, PRODUCER_SNAPSHOT_FILE_SUFFIX, *_INDEX_SUFFIXES)):
            if self._offset(name) is None:
                return "its name has no offset of 20 digits"
            if name.endswith(_INDEX_SUFFIXES) and self._offset(name) not in base_offsets:
                return "an index without its log file"
            return None
        return "no file of Kafka's"

    def _exceptions_of_name(self, name: str) -> tuple[str, ...]:
        """What a load throws that asks such a name for its offset."""
        if not name.endswith((LOG_FILE_SUFFIX, PRODUCER_SNAPSHOT_FILE_SUFFIX, *_INDEX_SUFFIXES, *_SUFFIXES_OF_A_STATE)):
            return ()
        try:
            offset_from_file(Path(name))
        except ValueError as error:
            return (type(error).__name__,)
        return ()

    def _is_of(self, name: str, suffix: str) -> bool:
        return name.endswith(suffix) and self._offset(name) is not None

    @staticmethod
    def _offset(name: str) -> int | None:
        """The offset in a name that has it in the form in which Kafka writes it."""
        try:
            offset = offset_from_file(Path(name))
        except ValueError:
            return None
        return offset if name.partition(".")[0] == filename_prefix_from_offset(offset) else None

    def _verify_partition_metadata(self, file: Path) -> None:
        require_bounded(file)
        try:
            PartitionMetadataFile(file).read()
        except TOLD as error:
            _raise_of_the_machine(error, file)
            self._found(Damage(file, None, None, describe(error), may_raise=(type(error).__name__,)))

    # ---- what becomes of it

    def _foretell(self, files: list[Path]) -> None:
        outcome = None
        if self._all_read:
            try:
                outcome = Rehearsal(self._directory, files, self._next_start).run()
            except (OSError, MemoryError) as error:
                self._could_not_read(f"{self._directory}: the load cannot be rehearsed: {describe(error)}")
        if outcome is None:
            for damage in self._damages:
                self._report(Finding(*damage[:4], Fate.UNTOLD, _NOT_FORETOLD))
            return
        findings = [outcome.finding(damage) for damage in self._damages]
        for finding in findings:
            self._report(finding)
        told = {(finding.file.name, finding.fate) for finding in findings}
        for damage in self._changes_of_segments(outcome, told):
            self._report(outcome.finding(damage))
        if outcome.error is not None and not any(finding.fate is Fate.LOAD_FAILS for finding in findings):
            what = " ".join(f"{outcome.error}: {outcome.message}".splitlines())
            accused = min(outcome.accuses, default=None)
            file = self._directory / accused if accused else self._directory
            self._report(Finding(file, None, None, what, Fate.LOAD_FAILS, f"the load fails with {outcome.error}"))

    def _changes_of_segments(self, outcome: Outcome, told: set[tuple[str, Fate]]) -> Iterator[Damage]:
        """What the load changes in segments although nothing in themselves explains it."""
        for name, size in sorted(outcome.cut.items()):
            if (name, Fate.CUT) not in told and self._room_at.get(name) != size:
                yield Damage(self._directory / name, size, None, "from here on the load takes nothing")
        for name in sorted(outcome.split):
            if (name, Fate.SPLIT) not in told:
                yield Damage(self._directory / name, None, None, "its offsets do not fit one segment")
        first_cut = min(filter(outcome.ends_the_log, outcome.cut), default="~")
        for name in sorted(outcome.deleted):
            if is_log_file(Path(name)) and not name > first_cut and (name, Fate.DELETED) not in told:
                yield Damage(
                    self._directory / name, None, None, "a .swap file takes its place, or the log begins beyond it"
                )


class Snapshots:
    """The producer snapshots of a partition, each compared with the batches that lie before it.

    The last batch of each producer is kept up to date while batches pass; a snapshot is looked at when the first batch
    at or above it comes. `files` are told by their offsets, `first_offset` is that of the log; `reading` calls a
    function that may meet an error of the machine.
    """

    def __init__(
        self,
        files: dict[int, Path],
        first_offset: int,
        report: Callable[[Damage], None],
        reading: Callable[..., object],
    ):
        self._waiting = sorted(files.items(), reverse=True)
        self._first_offset = first_offset
        self._report = report
        self._reading = reading
        self._last_batches: dict[int, BatchFacts] = {}
        self._covered = OffsetRanges()

    def pass_batch(self, batch: BatchFacts) -> None:
        """The next batch of the log."""
        while self._waiting and self._waiting[-1][0] <= batch.last_offset:
            self._reading(self._compare, *self._waiting.pop())
        if batch.base_offset <= batch.last_offset:
            self._covered.add(batch.base_offset, batch.last_offset)
        if batch.producer_id >= 0 and batch.marker is None:
            self._last_batches[batch.producer_id] = batch

    def finish(self, log_end_offset: int) -> None:
        """All batches have passed."""
        while self._waiting:
            offset, file = self._waiting.pop()
            if offset > log_end_offset:
                self._report(Damage(file, None, None, f"it lies beyond the log's end {log_end_offset}"))
            else:
                self._reading(self._compare, offset, file)

    def _compare(self, offset: int, file: Path) -> None:
        try:
            with naming(file):
                entries = read_snapshot(require_bounded(file))
        except CorruptSnapshotException as error:
            self._report(Damage(file, None, None, f"CorruptSnapshotException: {error}"))
            return
        for entry in entries:
            what = self._what_is_wrong_with(entry, offset)
            if what and entry.last_data_offset >= self._first_offset:
                self._report(Damage(file, None, entry.last_data_offset, what))

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
    """Which offsets have batches: ranges without a gap between, of which a log that is not compacted has one."""

    def __init__(self):
        self._starts: list[int] = []
        self._ends: list[int] = []  # exclusive

    def add(self, first: int, last: int) -> None:
        """Add `first` … `last`. What lies before the last range is not made part of another, which does no harm."""
        if self._ends and self._starts[-1] <= first <= self._ends[-1]:
            self._ends[-1] = max(self._ends[-1], last + 1)
        elif not self._ends or first > self._ends[-1]:
            self._starts.append(first)
            self._ends.append(last + 1)

    def __contains__(self, offset: int) -> bool:
        found = bisect_right(self._starts, offset) - 1
        return found >= 0 and offset < self._ends[found]


class Epochs:
    """The leader epochs of `file`, compared with those that the batches have.

    - Epochs are cut off at a new log start at once; after a kill the start itself may be forgotten.
    - A batch of an old format has no epoch, and Kafka forgets all epochs when it appends one.
    """

    def __init__(self, file: Path, report: Callable[[Damage], None]):
        self.file = file
        self._report = report
        self._entries: list[EpochEntry] | None = None
        self._starts: list[int] = []
        self._contradictions: dict[int, Damage] = {}  # by the epoch of the batch

    def read(self) -> None:
        """Read the file. Raises OSError."""
        data = read_bounded(self.file)
        try:
            self._entries = LeaderEpochCheckpointFile(self.file).read()
        except TOLD as error:
            _raise_of_the_machine(error, self.file)
            self._report(Damage(self.file, None, None, describe(error), may_raise=(type(error).__name__,)))
            return
        self._starts = [entry.start_offset for entry in self._entries]
        lines = ["0", str(len(self._entries)), *(f"{entry.epoch} {entry.start_offset}" for entry in self._entries)]
        if data and data != "".join(f"{line}\n" for line in lines).encode():
            self._report(Damage(self.file, None, None, "it can be read, but Kafka writes it otherwise"))

    def pass_batch(self, batch: BatchFacts) -> None:
        """The next batch of the log."""
        if batch.leader_epoch == -1:
            self._contradictions = {e: d for e, d in self._contradictions.items() if d.offset > batch.last_offset}
            return
        first_known = self._starts[0] if self._starts else 0
        if self._entries is None or batch.base_offset < first_known or batch.leader_epoch in self._contradictions:
            return
        found = bisect_right(self._starts, batch.base_offset) - 1
        epoch = self._entries[found].epoch if found >= 0 else None
        if epoch != batch.leader_epoch:
            what = f"the batch has leader epoch {batch.leader_epoch}, the checkpoint says {epoch} for its offset"
            self._contradictions[batch.leader_epoch] = Damage(self.file, None, batch.base_offset, what)

    def finish(self, log_end_offset: int, waits_for_deletion: bool) -> None:
        """All batches have passed."""
        for entry, following in pairwise([*(self._entries or []), None]):
            if following and not (entry.epoch < following.epoch and entry.start_offset < following.start_offset):
                what = (
                    f"epoch {following.epoch} from {following.start_offset} does not follow {entry.epoch} "
                    f"from {entry.start_offset}"
                )
                self._report(Damage(self.file, None, None, what))
            if entry.start_offset > log_end_offset:
                what = f"epoch {entry.epoch} begins at {entry.start_offset}, beyond the log's end {log_end_offset}"
                self._report(Damage(self.file, None, None, what))
        if any(entry.epoch < 0 or entry.start_offset < 0 for entry in self._entries or []):
            what = "it has a negative epoch or offset"
            self._report(Damage(self.file, None, None, what, may_raise=("IllegalArgumentException",)))
        if not waits_for_deletion:
            for damage in self._contradictions.values():
                self._report(damage)


def _raise_of_the_machine(error: BaseException, file: Path) -> None:
    """Raise what is behind `error` if that tells nothing of the file's bytes."""
    if of_the_machine(error):
        cause = error.__cause__ or error
        with naming(file):
            raise cause
