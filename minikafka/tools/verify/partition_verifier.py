"""What `minikafka verify` checks in a partition's directory besides its segments: names, snapshots, epochs.

After that, the partition is loaded in a rehearsal, and each finding is reported with what became of it there.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from minikafka.checkpoint.leader_epoch_checkpoint_file import (
    LEADER_EPOCH_CHECKPOINT_FILENAME,
)
from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE
from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME, PartitionMetadataFile
from minikafka.common.errors import IOException, KafkaException
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import (
    CLEANED_FILE_SUFFIX,
    DELETED_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    PRODUCER_SNAPSHOT_FILE_SUFFIX,
    SWAP_FILE_SUFFIX,
    filename_prefix_from_offset,
    is_log_file,
    log_file,
    offset_from_file,
    transaction_index_file,
)
from minikafka.log.partition_files import (
    FILE_SUFFIXES,
    INDEX_FILE_SUFFIXES,
    WHOLE_FILE_SUFFIXES,
    look_into,
    passed_over,
)
from minikafka.raft.quorum_state_store import QUORUM_STATE_NAME, require_readable
from minikafka.tools.checkpoints import beyond_the_end, require_storable
from minikafka.tools.dump_log.cluster_messages import newest_snapshot
from minikafka.tools.failure import TOLD, describe
from minikafka.tools.read_bounded import raise_of_the_machine, require_bounded
from minikafka.tools.recover.cluster_settings import cluster_settings_in
from minikafka.tools.recover.undo import NOT_OF_A_RUN_HERE, UNDO, is_of_a_run_here
from minikafka.tools.verify.epoch_comparison import EpochComparison
from minikafka.tools.verify.findings import NO_START, Fate, Finding, NextStart, Note, OpenFinding, VerifiedBatch
from minikafka.tools.verify.metadata_snapshots import PARTIAL_SUFFIX, is_whole, parse
from minikafka.tools.verify.offset_gaps import OffsetGaps
from minikafka.tools.verify.rehearsal import Outcome, Rehearsal
from minikafka.tools.verify.segment_verifier import (
    ScannedSegment,
    SegmentScan,
    SegmentToVerify,
    verify_segment,
    waits_for_deletion,
)
from minikafka.tools.verify.snapshot_comparison import SnapshotComparison

# The last one, and the checkpoints, are in the directory of the metadata log only.
_KNOWN_NAMES = (LEADER_EPOCH_CHECKPOINT_FILENAME, PARTITION_METADATA_FILE_NAME, QUORUM_STATE_NAME)
_METADATA_SNAPSHOT = re.compile(r"\d{20}-\d{10}\.checkpoint", re.ASCII)
_NAME_IN_CHECKPOINTS = (
    Fate.OFFLINE,
    "it is loaded, and the checkpoints that name it then take the directory offline at the start after that",
)
_NOT_FORETOLD = "not foretold, as not all of the partition could be read"


def base_offsets_of(names: Iterable[str]) -> list[int]:
    """The base offsets of the segments among a partition's files, ascending."""
    offsets = (offset_in_name(name) for name in names if name.endswith(LOG_FILE_SUFFIX))
    return sorted(offset for offset in offsets if offset is not None)


def offset_in_name(name: str) -> int | None:
    """The offset in a file's name, if it stands there in the form that Kafka writes; None otherwise."""
    try:
        offset = offset_from_file(Path(name))
    except ValueError:
        return None
    return offset if name.partition(".")[0] == filename_prefix_from_offset(offset) else None


class PartitionVerifier:
    """Reads a partition's directory once and reports everything that Kafka would not have left there like that.

    - Not one byte is changed; not even a missing checkpoint file is created.
    - Batches are the truth; indexes, snapshots and epochs are measured against them, in one walk over all segments. So
      an abort is missed in the transaction index of its marker's segment wherever the records lie.
    - What cannot be known is not reported: a producer that a snapshot lacks may have expired, what happened below the
      first segment or the first epoch is gone, a batch that a snapshot knows may have been compacted away. Offsets may
      have been, too, unless the topic's settings say `cleanup.policy=delete`; where nobody knows, there is a note.
    - A directory that waits for its deletion is not closed properly and no longer has epochs.
    - What Kafka's next start will do is not predicted by rules: a rehearsal shows it. Whatever the rehearsal changes in
      a segment is reported, even if nothing else is wrong with the segment.

    `report(finding)` is called for each finding, `unread(line)` for what cannot be read (the rest is still checked, but
    no fate is predicted then), `note(note)` for what may be sound, `advance(bytes)` for the bytes read of the `.log`
    files. `noted`: what the checkpoints beside the directory say of it, see `LogDir.noted_of`. `scan` takes the place
    of `verify_segment`, for segments that were read elsewhere.
    """

    def __init__(
        self,
        directory: Path,
        next_start: NextStart,
        *,
        report: Callable[[Finding], None],
        unread: Callable[[str], None],
        note: Callable[[Note], None] = lambda note: None,
        advance: Callable[[int], None] = lambda size: None,
        noted: Mapping[str, int] = MappingProxyType({}),
        scan: SegmentScan = verify_segment,
        follow_links: bool = False,
    ):
        self._directory = directory
        self._waits_for_deletion = waits_for_deletion(directory)
        self._is_metadata_log = directory.absolute().name == CLUSTER_METADATA_DIRECTORY
        self._next_start = next_start
        self._report = report
        self._unread = unread
        self._note = note
        self._advance = advance
        self._noted = noted
        self._scan = scan
        self._follow_links = follow_links
        self._open_findings: list[OpenFinding] = []
        self._all_read = True
        self._open_transactions: dict[int, int] = {}  # producer → first offset, of the segments that were looked at
        self._ended_transactions: set[int] = set()  # producers of which a marker was met
        self._knows_transactions = False  # all, from the first one on
        self._room_at: dict[str, int] = {}  # where in a segment room for later batches begins

    def verify(self) -> None:
        """Look at everything. Raises OSError when the directory cannot be listed."""
        files, objections = look_into(self._directory, follow_links=self._follow_links)
        self._refused = {file.name for file, _ in objections}
        for file, objection in objections:
            self._could_not_read(describe(IOException(f"{file} {objection}")))
        for what in passed_over(self._directory):
            self._found(OpenFinding(self._directory, None, None, what, fate=(Fate.STAYS, "it stays")))
        try:
            require_storable(parse_topic_partition_name(self._directory.absolute()))
        except KafkaException as error:
            self._found(OpenFinding(self._directory, None, None, describe(error), fate=_NAME_IN_CHECKPOINTS))
        if self._next_start.why_stray is not None:
            fate = Fate.PUT_ASIDE, "it is put aside as a stray, and the broker has no such partition"
            self._found(OpenFinding(self._directory, None, None, self._next_start.why_stray, fate=fate))
        names = {file.name for file in files}
        base_offsets = base_offsets_of(names)
        self._verify_names(sorted(names), set(base_offsets))
        if os.path.lexists(self._directory / UNDO) and not self._reading(is_of_a_run_here, self._directory):
            stays = Fate.STAYS, "it stays"
            self._found(OpenFinding(self._directory / UNDO, None, None, NOT_OF_A_RUN_HERE, fate=stays))
        snapshots = {
            offset: self._directory / name
            for name in names
            if name.endswith(PRODUCER_SNAPSHOT_FILE_SUFFIX) and (offset := offset_in_name(name)) is not None
        }
        self._snapshots = SnapshotComparison(
            snapshots, base_offsets[0] if base_offsets else 0, self._found, self._reading
        )
        self._epochs = EpochComparison(
            self._directory / LEADER_EPOCH_CHECKPOINT_FILENAME,
            self._found,
            None if self._is_metadata_log else self._next_start.log_start_offset,
        )
        if LEADER_EPOCH_CHECKPOINT_FILENAME in names:
            self._reading(self._epochs.read)
        log_end_offset = self._verify_segments(base_offsets, names)
        self._snapshots.finish(log_end_offset)
        if LEADER_EPOCH_CHECKPOINT_FILENAME in names:
            self._epochs.finish(log_end_offset, self._waits_for_deletion)
            if (note := self._epochs.note_of(self._directory)) is not None:
                self._note(note)
        elif log_end_offset and base_offsets:
            self._found(OpenFinding(self._epochs.file, None, None, "the file is missing"))
        if PARTITION_METADATA_FILE_NAME in names:
            self._reading(self._verify_partition_metadata, self._directory / PARTITION_METADATA_FILE_NAME)
        if self._is_metadata_log:
            self._verify_what_a_start_reads(names)
        self._foretell(files)

    def _verify_what_a_start_reads(self, names: set[str]) -> None:
        """Of the metadata log: the state of the quorum, the newest snapshot, the messages. Kafka: `MetadataLoader`."""
        quorum_state = self._directory / QUORUM_STATE_NAME
        if QUORUM_STATE_NAME in names and self._reading(require_bounded, quorum_state):
            self._reading(self._read_by_a_start, quorum_state, require_readable)
        if not self._all_read or self._open_findings:
            return
        if (newest := newest_snapshot(names)) is not None:
            snapshot = self._directory / newest
            if self._reading(self._read_by_a_start, snapshot, is_whole) is False:
                fate = Fate.STAYS, "it stays, and the broker knows nothing of what is missing"
                self._found(OpenFinding(snapshot, None, None, "the snapshot ends before its footer", fate=fate))
        self._reading(self._read_by_a_start, self._directory, lambda path: cluster_settings_in(path.absolute().parent))

    def _read_by_a_start(self, path: Path, read: Callable[[Path], object]) -> object:
        """What `read` returns; None after an exception that ends the start, which is told."""
        try:
            return read(path)
        except TOLD as error:
            raise_of_the_machine(error, path)
            self._found(OpenFinding(path, None, None, describe(error), fate=NO_START))
            return None

    def _verify_segments(self, base_offsets: list[int], names: set[str]) -> int:
        """The log end offset, as far as batches can be read."""
        expected_offset = base_offsets[0] if base_offsets else 0
        self._gaps = OffsetGaps(max(expected_offset, self._next_start.log_start_offset))
        is_sound, self._knows_transactions = True, base_offsets[:1] == [0]
        for base, next_base in pairwise([*base_offsets, None]):
            if is_sound and (gap := self._next_start.gap(expected_offset, base)):
                self._found(OpenFinding(log_file(self._directory, base), None, base, gap))
            if not is_sound:  # what is wrong with the segment before is told
                self._gaps.pass_untold(base)
            found_before = len(self._open_findings)
            segment = SegmentToVerify(self._directory, base, next_base, max(expected_offset, base))
            listeners = self._found, self._meet, self._advance
            scanned = self._reading(self._scan, segment, names, self._next_start, *listeners)
            if scanned is not None and scanned.is_preallocated:
                self._room_at[log_file(self._directory, base).name] = scanned.end
            is_sound = scanned is not None and len(self._open_findings) == found_before
            if base > expected_offset and not self._next_start.config.compact:  # markers are missing, too
                self._forget_transactions()
            self._follow_transactions(base, scanned)
            expected_offset = max(expected_offset, base, (scanned and scanned.next_offset) or 0)
        if base_offsets:
            self._gaps.pass_batch(base_offsets[-1], base_offsets[-1])  # it may be empty
            if not self._next_start.knows_policy and (note := self._gaps.note_of(self._directory)):
                self._note(note)
            start = {LOG_START_OFFSET_CHECKPOINT_FILE: self._next_start.log_start_offset}
            for what in beyond_the_end(start, expected_offset).values():
                self._found(OpenFinding(log_file(self._directory, base_offsets[0]), None, None, what))
            for name, what in beyond_the_end(self._noted if self._all_read else {}, expected_offset).items():
                self._found(OpenFinding(self._directory.parent / name, None, None, what))
        return expected_offset

    def _follow_transactions(self, base_offset: int, scanned: ScannedSegment | None) -> None:
        """Tell of an abort that a segment's transaction index lacks or names wrongly, by what was open before; note
        what is open behind the segment. Nothing is known behind one that was not read whole: a marker may be there.
        """
        if scanned is not None:
            self._verify_aborts(base_offset, scanned)
        if scanned is None or not scanned.is_whole:
            self._forget_transactions()
            return
        for producer_id in scanned.ended:
            self._open_transactions.pop(producer_id, None)
        for producer_id, first in zip(scanned.open, scanned.open_offsets, strict=True):
            self._open_transactions.setdefault(producer_id, first)
        self._ended_transactions.update(scanned.ended)

    def _verify_aborts(self, base_offset: int, scanned: ScannedSegment) -> None:
        """Compare the aborts of a segment with its transaction index."""
        ended_at = dict(zip(scanned.ended, scanned.ended_at, strict=True))
        here = zip(scanned.aborts, scanned.aborted_producers, scanned.firsts_here, scanned.stables_here, strict=True)
        by_index = zip(scanned.firsts_named, scanned.stables_named, strict=True)
        for (offset, producer_id, first, stable), named in zip(here, by_index, strict=True):
            # What was open before the segment, and still is at the marker.
            open_before = {p: o for p, o in self._open_transactions.items() if ended_at.get(p, offset) >= offset}
            # Else the transaction may have records before those that were looked at.
            is_known = self._knows_transactions or producer_id in open_before
            is_known |= producer_id in self._ended_transactions or ended_at[producer_id] < offset
            first = open_before.pop(producer_id, first)
            stable = min(open_before.values(), default=stable)
            if first >= 0 and (told := self._wrong_entry(offset, producer_id, first, stable, named, is_known)):
                file = transaction_index_file(self._directory, base_offset)
                self._found(OpenFinding(file, None, offset, *told))

    def _wrong_entry(
        self, offset: int, producer_id: int, first: int, stable: int, named: tuple[int, int], is_known: bool
    ) -> tuple[str, str] | None:
        """What is wrong with an abort's entry, and what readers make of it; None for nothing.

        `offset`: the marker's; `first`: that of the transaction's first record, where that `is_known`; `stable`: the
        last stable offset behind the marker; `named`: both by the entry, -1 without one. Compaction takes records away.
        Kafka: `ProducerStateManager.lastStableOffset`.
        """
        first_named, stable_named = named
        is_whole = self._next_start.leaves_no_gaps
        if first_named < 0:
            what = f"no entry names the transaction of producer {producer_id} that was aborted at offset {offset}"
            return what, ", and committed readers get its records"
        # What no abort can have is told already.
        if first < first_named <= offset or (first_named < first and is_known and is_whole):
            what = f"the transaction that was aborted at offset {offset} begins at offset {first}, by its entry at"
            return f"{what} {first_named}", ", and committed readers follow it"
        if stable < stable_named <= offset + 1 or (stable_named < stable and self._knows_transactions and is_whole):
            what = f"behind the abort at offset {offset} the last stable offset is {stable}, by its entry"
            return f"{what} {stable_named}", ", and committed readers follow it"
        return None

    def _forget_transactions(self) -> None:
        self._open_transactions.clear()
        self._ended_transactions.clear()
        self._knows_transactions = False

    def _meet(self, batch: VerifiedBatch) -> None:
        self._gaps.pass_batch(batch.base_offset, batch.last_offset + 1)
        self._snapshots.pass_batch(batch)
        self._epochs.pass_batch(batch)

    # ---- what could be read

    def _found(self, open_finding: OpenFinding) -> None:
        if open_finding.file.name not in self._refused:  # it is there, whatever it is
            self._open_findings.append(open_finding)

    def _could_not_read(self, line: str) -> None:
        self._all_read = False
        self._unread(line)

    def _reading(self, read: Callable, *arguments):
        """What `read` returns; None after an error of the machine, which is reported as unread."""
        try:
            return read(*arguments)
        except (OSError, MemoryError) as error:
            self._could_not_read(describe(error))

    # ---- names

    def _verify_names(self, names: list[str], base_offsets: set[int]) -> None:
        for name in names:
            file = self._directory / name
            what = self._what_is_wrong_with_name(name, base_offsets)
            if what:
                self._found(OpenFinding(file, None, None, what, may_raise=self._exceptions_of_name(name)))

    def _what_is_wrong_with_name(self, name: str, base_offsets: set[int]) -> str | None:
        if name in (*_KNOWN_NAMES, UNDO) or (self._is_metadata_log and _METADATA_SNAPSHOT.fullmatch(name)):
            return None
        if self._is_metadata_log and name.endswith(PARTIAL_SUFFIX):
            return "left over from a snapshot that was not finished"
        if name.endswith(DELETED_FILE_SUFFIX):
            return "left over from a deletion"
        if name.endswith(CLEANED_FILE_SUFFIX):
            return "left over from cleaning that did not end"
        if name.endswith(SWAP_FILE_SUFFIX):
            return "left over from a replacement of segments"
        if name in (f"{LEADER_EPOCH_CHECKPOINT_FILENAME}.tmp", f"{PARTITION_METADATA_FILE_NAME}.tmp"):
            return "left over from writing a file that was not finished"
        if name.endswith(WHOLE_FILE_SUFFIXES):
            if offset_in_name(name) is None:
                return "its name has no offset of 20 digits"
            if name.endswith(INDEX_FILE_SUFFIXES) and offset_in_name(name) not in base_offsets:
                return "an index without its log file"
            return None
        return "no file of Kafka's"

    def _exceptions_of_name(self, name: str) -> tuple[str, ...]:
        """The exceptions of a load that looks for an offset in such a name."""
        try:
            if self._is_metadata_log:
                parse(Path(name))
            if name.endswith(FILE_SUFFIXES):
                offset_from_file(Path(name))
        except (ValueError, IndexError) as error:
            return (type(error).__name__,)
        return ()

    def _verify_partition_metadata(self, file: Path) -> None:
        require_bounded(file)
        try:
            PartitionMetadataFile(file).read()
        except TOLD as error:
            raise_of_the_machine(error, file)
            self._found(OpenFinding(file, None, None, describe(error), may_raise=(type(error).__name__,)))

    # ---- what becomes of it

    def _foretell(self, files: list[Path]) -> None:
        outcome = None
        if self._all_read:
            try:
                rehearsal = Rehearsal(self._directory, files, self._next_start, with_snapshots=self._is_metadata_log)
                outcome = rehearsal.run()
            except (OSError, MemoryError) as error:
                self._could_not_read(f"{self._directory}: the load cannot be rehearsed: {describe(error)}")
        if outcome is None:
            for open_finding in self._open_findings:
                self._report(Finding(*open_finding[:4], Fate.UNTOLD, _NOT_FORETOLD))
            return
        findings = [outcome.finding(open_finding) for open_finding in self._open_findings]
        for finding in findings:
            self._report(finding)
        told = {(finding.file.name, finding.fate) for finding in findings}
        for open_finding in (*self._changes_of_segments(outcome, told), *self._snapshots_that_go(outcome)):
            self._report(outcome.finding(open_finding))
        if outcome.error is not None and not any(finding.fate is Fate.LOAD_FAILS for finding in findings):
            what = " ".join(f"{outcome.error}: {outcome.message}".splitlines())
            accused = min(outcome.accuses, default=None)
            file = self._directory / accused if accused else self._directory
            self._report(Finding(file, None, None, what, Fate.LOAD_FAILS, f"the load fails with {outcome.error}"))

    def _snapshots_that_go(self, outcome: Outcome) -> Iterator[OpenFinding]:
        """Of the metadata log; each is told here only."""
        for name in sorted(outcome.deleted):
            if _METADATA_SNAPSHOT.fullmatch(name):
                what = "the log begins beyond this snapshot"
                yield OpenFinding(self._directory / name, None, None, what)

    def _changes_of_segments(self, outcome: Outcome, told: set[tuple[str, Fate]]) -> Iterator[OpenFinding]:
        """What the load changes in segments although nothing in them explains it."""
        for name, size in sorted(outcome.cut.items()):
            if (name, Fate.CUT) not in told and self._room_at.get(name) != size:
                yield OpenFinding(self._directory / name, size, None, "from here on the load takes nothing")
        for name in sorted(outcome.split):
            if (name, Fate.SPLIT) not in told:
                yield OpenFinding(self._directory / name, None, None, "its offsets do not fit one segment")
        why = "a .swap file takes its place, or the log begins beyond it"
        if self._is_metadata_log and outcome.log_start_offset == outcome.log_end_offset:
            why = f"the latest snapshot is ahead of the log, which then begins at offset {outcome.log_start_offset}"
        first_cut = min(filter(outcome.ends_the_log, outcome.cut), default="~")
        for name in sorted(outcome.deleted):
            if is_log_file(Path(name)) and not name > first_cut and (name, Fate.DELETED) not in told:
                yield OpenFinding(self._directory / name, None, None, why)
