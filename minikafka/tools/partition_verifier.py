"""What `minikafka verify` looks at in a partition's directory, besides its segments: names, snapshots, epochs."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from minikafka.checkpoint.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
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
    log_file,
    offset_from_file,
)
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.tools.failure import describe
from minikafka.tools.segment_verifier import (
    BatchFacts,
    Finding,
    NextStart,
    ScannedSegment,
    SegmentVerifier,
    waits_for_deletion,
)

_INDEX_SUFFIXES = (INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX, TXN_INDEX_FILE_SUFFIX)
# The last one, and the checkpoints, are in the directory of the metadata log only.
_KNOWN_NAMES = ("leader-epoch-checkpoint", "partition.metadata", "quorum-state")
_METADATA_SNAPSHOT = re.compile(r"\d{20}-\d{10}\.checkpoint", re.ASCII)
_UNFINISHED_METADATA_SNAPSHOT = ".checkpoint.part"


class PartitionVerifier:
    """Reads a partition's directory once and reports each thing that Kafka would not have left there so.

    - Not one byte is changed, not even a missing checkpoint file is made.
    - Batches are the truth; indexes, snapshots and epochs are measured against them.
    - What cannot be known is not reported: a producer that a snapshot lacks may have expired, what happened below the
      first segment or the first epoch is gone, a batch that a snapshot knows may have been compacted away.
    - A directory that waits for its deletion is not closed and has no epochs any more.

    `report(finding)` is called for each finding, `advance(bytes)` for what was read of the `.log` files.
    """

    def __init__(
        self,
        directory: Path,
        next_start: NextStart,
        report: Callable[[Finding], None],
        advance: Callable[[int], None] = lambda size: None,
    ):
        self._directory = directory
        self._waits_for_deletion = waits_for_deletion(directory)
        self._next_start = next_start
        self._report = report
        self._advance = advance
        self._segments: list[ScannedSegment] = []

    def verify(self) -> None:
        """Look at everything. Raises OSError for what cannot be read."""
        names = sorted(file.name for file in self._directory.iterdir())
        base_offsets = sorted(self._offset(name) for name in names if self._is_of(name, LOG_FILE_SUFFIX))
        self._verify_names(names, set(base_offsets))
        expected_offset = 0
        for base, next_base in pairwise([*base_offsets, None]):
            verifier = SegmentVerifier(self._directory, base, next_base, self._next_start, self._report, self._advance)
            scanned = verifier.verify(max(expected_offset, base))
            self._segments.append(scanned)
            expected_offset = max(expected_offset, scanned.last_offset + 1, base)
        self._log_end_offset = expected_offset
        if base_offsets and self._next_start.log_start_offset > self._log_end_offset:
            self._find(
                log_file(self._directory, base_offsets[0]),
                f"the checkpointed log start offset {self._next_start.log_start_offset} lies beyond the log's end "
                f"{self._log_end_offset}",
                "every segment is deleted, and an empty one begins there",
            )
        self._verify_snapshots(names, base_offsets)
        self._verify_epochs()
        self._verify_partition_metadata()

    # ---- names

    def _verify_names(self, names: list[str], base_offsets: set[int]) -> None:
        cleaned = [self._offset(name) for name in names if self._is_of(name, LOG_FILE_SUFFIX + CLEANED_FILE_SUFFIX)]
        for name in names:
            file = self._directory / name
            if name in _KNOWN_NAMES or self._is_of(name, LOG_FILE_SUFFIX):
                continue
            if name.endswith(DELETED_FILE_SUFFIX):
                self._find(file, "left over from a deletion", "it is deleted")
            elif name.endswith(CLEANED_FILE_SUFFIX):
                self._find(file, "left over from cleaning that did not end", "it is deleted")
            elif name.endswith(SWAP_FILE_SUFFIX):
                undone = bool(cleaned) and (self._offset(name) or 0) >= min(cleaned)
                self._find(
                    file,
                    "left over from a replacement of segments",
                    "it is deleted, the old segments stay" if undone else "the replacement is completed",
                )
            elif name.endswith(_INDEX_SUFFIXES) and self._offset(name) is not None:
                if self._offset(name) not in base_offsets:
                    self._find(file, "an index without its log file", "it is deleted")
            elif name.endswith(_UNFINISHED_METADATA_SNAPSHOT):
                self._find(file, "left over from a snapshot that was not finished", "it is deleted")
            elif not (self._is_of(name, PRODUCER_SNAPSHOT_FILE_SUFFIX) or _METADATA_SNAPSHOT.fullmatch(name)):
                self._find(file, "no file of Kafka's", "it is left alone")

    def _is_of(self, name: str, suffix: str) -> bool:
        return name.endswith(suffix) and self._offset(name) is not None

    @staticmethod
    def _offset(name: str) -> int | None:
        try:
            return offset_from_file(Path(name))
        except ValueError:
            return None

    # ---- producer snapshots

    def _verify_snapshots(self, names: list[str], base_offsets: list[int]) -> None:
        snapshots = {self._offset(name): name for name in names if self._is_of(name, PRODUCER_SNAPSHOT_FILE_SUFFIX)}
        first, last = (base_offsets[0], base_offsets[-1]) if base_offsets else (0, 0)
        for offset, name in sorted(snapshots.items()):
            file = self._directory / name
            try:
                entries = read_snapshot(file)
            except CorruptSnapshotException as error:
                self._find(file, f"CorruptSnapshotException: {error}", "it is deleted, and the one before it is used")
                continue
            if offset > self._log_end_offset:
                self._find(file, f"it lies beyond the log's end {self._log_end_offset}", "it is deleted")
                continue
            # A close makes one at the log's end, which stays until the next but one start.
            is_stray = offset not in base_offsets and offset < last
            fate = (
                "it is deleted" if is_stray else "it is used as it is, if it is the newest one not beyond the log's end"
            )
            batches = self._last_batches_before(offset)
            for entry in entries:
                what = self._what_is_wrong_with(entry, offset, batches.get(entry.producer_id))
                if what and entry.last_data_offset >= first:
                    self._report(Finding(file, None, entry.last_data_offset, what, fate))

    def _last_batches_before(self, offset: int) -> dict[int, BatchFacts]:
        """The last data batch of each producer below `offset`."""
        last = {}
        for segment in self._segments:
            for batch in segment.batches.values():
                if batch.last_offset < offset and batch.producer_id >= 0 and batch.marker is None:
                    last[batch.producer_id] = batch
        return last

    def _what_is_wrong_with(self, entry, snapshot_offset: int, batch: BatchFacts | None) -> str | None:
        """Words for how a producer's entry contradicts `batch`, its last one below the snapshot's offset."""
        last = entry.last_data_offset
        if last >= snapshot_offset:
            return f"producer {entry.producer_id} wrote at offset {last} by the snapshot, which tells what lies below"
        if batch is None or batch.last_offset != last:
            if (batch is None or batch.last_offset < last) and not self._has(last):
                return None  # compaction keeps the last batch of a producer only until the producer has a later one
            found = "none" if batch is None else batch.last_offset
            return f"producer {entry.producer_id} wrote last at offset {last} by the snapshot, {found} by the log"
        if (batch.producer_epoch, batch.last_sequence) != (entry.producer_epoch, entry.last_seq):
            return (
                f"producer {entry.producer_id} has epoch {entry.producer_epoch} and last sequence {entry.last_seq} "
                f"by the snapshot, {batch.producer_epoch} and {batch.last_sequence} by the log"
            )
        return None

    def _has(self, offset: int) -> bool:
        """True if a batch covers the offset; between the batches of a compacted log there are gaps."""
        batches = (batch for segment in self._segments for batch in segment.batches.values())
        return any(batch.base_offset <= offset <= batch.last_offset for batch in batches)

    # ---- leader epochs and the topic's id

    def _verify_epochs(self) -> None:
        file = LeaderEpochCheckpointFile.new_file(self._directory)
        if not file.exists():
            if any(segment.batches for segment in self._segments):
                rebuilt = "an empty file is made" if self._next_start.clean else "it is rebuilt from what is recovered"
                self._find(file, "the file is missing", rebuilt)
            return
        try:
            entries = LeaderEpochCheckpointFile(file).read()
        except (RuntimeError, ValueError) as error:
            self._find(file, describe(error), f"the load fails with {type(error).__name__}")
            return
        for entry, following in pairwise([*entries, None]):
            if following and not (entry.epoch < following.epoch and entry.start_offset < following.start_offset):
                what = f"epoch {following.epoch} from {following.start_offset} does not follow {entry.epoch} from {entry.start_offset}"
                self._find(file, what, "the entries before it that are not below it are dropped")
            if entry.start_offset > self._log_end_offset:
                what = (
                    f"epoch {entry.epoch} begins at {entry.start_offset}, beyond the log's end {self._log_end_offset}"
                )
                self._find(file, what, "the entry is dropped")
        if not self._waits_for_deletion:
            self._verify_epochs_of_batches(file, entries)

    def _verify_epochs_of_batches(self, file: Path, entries: list) -> None:
        told = set()
        batches = [batch for segment in self._segments for batch in segment.batches.values()]
        # Epochs are cut off at a new log start at once; after a kill the start itself may be forgotten.
        first_known = entries[0].start_offset if entries else 0
        # A batch of an old format has no epoch, and Kafka forgets all epochs when it appends one.
        first_known = max([first_known, *(batch.last_offset + 1 for batch in batches if batch.leader_epoch == -1)])
        for batch in batches:
            if batch.base_offset >= first_known:
                epoch = next((e.epoch for e in reversed(entries) if e.start_offset <= batch.base_offset), None)
                if batch.leader_epoch in (-1, epoch) or batch.leader_epoch in told:
                    continue
                told.add(batch.leader_epoch)
                what = f"the batch has leader epoch {batch.leader_epoch}, the checkpoint says {epoch} for its offset"
                self._report(Finding(file, None, batch.base_offset, what, "it stays, if the batch is not recovered"))

    def _verify_partition_metadata(self) -> None:
        file = PartitionMetadataFile.new_file(self._directory)
        if not file.exists():
            return
        try:
            PartitionMetadataFile(file).read()
        except (RuntimeError, ValueError) as error:
            self._find(file, describe(error), f"the load fails with {type(error).__name__}")

    def _find(self, file: Path, what: str, next_start: str) -> None:
        self._report(Finding(file, None, None, what, next_start))
