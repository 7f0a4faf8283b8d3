"""A partition's leader epochs, compared with its batches."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from minikafka.checkpoint.leader_epoch_checkpoint_file import EpochEntry, LeaderEpochCheckpointFile
from minikafka.tools.failure import TOLD, describe
from minikafka.tools.read_bounded import raise_of_the_machine, read_bounded
from minikafka.tools.verify.findings import Note, OpenFinding, VerifiedBatch


class EpochComparison:
    """The leader epochs of `file`, compared with those that the batches have.

    - Epochs are cut off at a new log start at once, whereas a kill may lose the start itself. Then there are batches
      before the first epoch, from `log_start_offset` on, also after later clean stops. None: nobody knows it.
    - A batch of an old format has no epoch, and Kafka forgets all epochs when it appends one.
    """

    def __init__(self, file: Path, report: Callable[[OpenFinding], None], log_start_offset: int | None):
        self.file = file
        self._report = report
        self._log_start_offset = log_start_offset
        self._before_first: VerifiedBatch | None = None  # the first batch there
        self._entries: list[EpochEntry] | None = None
        self._starts: list[int] = []
        self._contradictions: dict[int, OpenFinding] = {}  # by the epoch of the batch

    def read(self) -> None:
        """Read the file. Raises OSError."""
        data = read_bounded(self.file)
        try:
            self._entries = LeaderEpochCheckpointFile(self.file).read()
        except TOLD as error:
            raise_of_the_machine(error, self.file)
            self._report(OpenFinding(self.file, None, None, describe(error), may_raise=(type(error).__name__,)))
            return
        self._starts = [entry.start_offset for entry in self._entries]
        lines = ["0", str(len(self._entries)), *(f"{entry.epoch} {entry.start_offset}" for entry in self._entries)]
        if data and data != "".join(f"{line}\n" for line in lines).encode():
            self._report(OpenFinding(self.file, None, None, "it can be read, but Kafka writes it otherwise"))

    def pass_batch(self, batch: VerifiedBatch) -> None:
        """The next batch of the log."""
        if batch.leader_epoch == -1:
            self._contradictions = {e: d for e, d in self._contradictions.items() if d.offset > batch.last_offset}
            self._before_first = None
            return
        if self._entries is None or batch.leader_epoch in self._contradictions:
            return
        if self._starts and batch.base_offset < self._starts[0]:
            start = self._log_start_offset
            if start is not None and start <= batch.last_offset and start < self._starts[0]:
                self._before_first = self._before_first or batch
            return
        found = bisect_right(self._starts, batch.base_offset) - 1
        epoch = self._entries[found].epoch if found >= 0 else None
        if epoch != batch.leader_epoch:
            what = f"the batch has leader epoch {batch.leader_epoch}, the checkpoint says {epoch} for its offset"
            self._contradictions[batch.leader_epoch] = OpenFinding(self.file, None, batch.base_offset, what)

    def note_of(self, partition: Path) -> Note | None:
        """What is to be said of batches before the first epoch; None where there are none."""
        batch = self._before_first
        if batch is None:
            return None
        what = (
            f"the batch has leader epoch {batch.leader_epoch}, and {self.file.name} begins at offset "
            f"{self._starts[0]}: normal where a kill has lost a log start, else epochs are lost"
        )
        return Note(partition, batch.base_offset, what)

    def finish(self, log_end_offset: int, waits_for_deletion: bool) -> None:
        """All batches have passed."""
        for entry, following in pairwise([*(self._entries or []), None]):
            if following and not (entry.epoch < following.epoch and entry.start_offset < following.start_offset):
                what = (
                    f"epoch {following.epoch} from {following.start_offset} does not follow {entry.epoch} "
                    f"from {entry.start_offset}"
                )
                self._report(OpenFinding(self.file, None, None, what))
            if entry.start_offset > log_end_offset:
                what = f"epoch {entry.epoch} begins at {entry.start_offset}, beyond the log's end {log_end_offset}"
                self._report(OpenFinding(self.file, None, None, what))
        if any(entry.epoch < 0 or entry.start_offset < 0 for entry in self._entries or []):
            what = "it has a negative epoch or offset"
            self._report(OpenFinding(self.file, None, None, what, may_raise=("IllegalArgumentException",)))
        if not waits_for_deletion:
            for open_finding in self._contradictions.values():
                self._report(open_finding)
