"""The job `verify`: the findings of `minikafka verify`, from many segments at a time.

The verifier of `minikafka.tools` does all the looking. Tasks look at segments, each by itself, and note what they find
and which batches they meet; then each partition is verified as always, but for its segments, whose notes are read out
instead. A segment is looked at a second time only if its notes may not hold: where the one before it reaches into it,
or where something could not be read.

Notes of batches are short: of neighbouring batches only what the rest of a directory, its snapshots and epochs, can be
compared with. The rehearsal of a partition's load stays one task's work; it reads a partition whole after an unclean
stop.

The verifier reads files of a disk. A partition in an object store is therefore copied whole to the disk of the worker
that looks at it, and removed again: there must be room for the largest partition, as often as a worker has cores. Its
segments are not spread over tasks, so that each byte is asked for once. What tiered storage has is no partition's
directory, and is not verified.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from minikafka.checkpoint.leader_epoch_checkpoint_file import (
    LEADER_EPOCH_CHECKPOINT_FILENAME,
    LeaderEpochCheckpointFile,
)
from minikafka.log.log_config import LogConfig
from minikafka.log.log_file_utils import PRODUCER_SNAPSHOT_FILE_SUFFIX
from minikafka.log.partition_files import look_into
from minikafka.spark.jobs.row_type import batch_of_rows, schema_of_rows
from minikafka.spark.source.directory_on_disk import DirectoryOnDisk
from minikafka.spark.source.range_rows import carried_settings
from minikafka.tools.failure import TOLD, describe
from minikafka.tools.read_bounded import read_bounded
from minikafka.tools.recover.offline_log import config_of
from minikafka.tools.verify.findings import NOTE, Finding, NextStart, Note, OpenFinding, VerifiedBatch
from minikafka.tools.verify.log_dir_state import LogDir
from minikafka.tools.verify.log_dir_verifier import allow_many_open_files, partitions_of, report_beside
from minikafka.tools.verify.partition_verifier import PartitionVerifier, base_offsets_of, offset_in_name
from minikafka.tools.verify.segment_verifier import ScannedSegment, SegmentToVerify, verify_segment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS_AT_A_TIME = 10_000


def verify(pieces: "DataFrame", *, configs: tuple[str, ...] = (), follow_links: bool = False) -> "DataFrame":
    """A row for each finding and each note, in the order of `minikafka verify`.

    | column | type | meaning |
    |---|---|---|
    | `file` | string | |
    | `position` | bigint | bytes from the file's beginning, null where there is none |
    | `offset` | bigint | null where there is none |
    | `what` | string | what is wrong; of what could not be read, why |
    | `fate` | string | what Kafka's next start does, by the names of `findings.Fate`, or `note`; null: not read |
    | `nextStart` | string | the same in words, null for a note |

    `pieces` is the data source's table `verify`. `configs`: settings of the topics, as `K=V`. `follow_links`: read
    files that are symbolic links. Of what could not be read there is no more than the line that `minikafka verify`
    prints, in `what`.
    """
    config_of(configs)  # raises here, not in a worker
    settings = _Settings(configs, follow_links, carried_settings(pieces.schema))

    def findings_of(notes):  # without hints: PySpark looks for them at run time, and trips over `partial`
        return _findings(notes, settings)

    notes = pieces.mapInArrow(partial(_notes, settings=settings), schema_of_rows(_Note))
    findings = notes.groupBy("number").applyInArrow(findings_of, schema_of_rows(_Row))
    return findings.orderBy("unread", "number", "place").drop("unread", "number", "place")


def how_many_are_sound(pieces: "DataFrame") -> str:
    """The line of `minikafka verify` for partitions of which `verify` tells nothing."""
    count = pieces.where("partition").select("directory").distinct().count()
    return f"{count} partition{'s' if count != 1 else ''} sound"


class _Settings(NamedTuple):
    configs: tuple[str, ...]
    follow_links: bool
    storage: Mapping[str, str]


class _Note(NamedTuple):
    """What a task notes of a piece: a finding, batches met, or how far a segment's sound part goes.

    `number`, `directory`, `partition`, `segment`: the piece. `place`: notes of a piece are in this order. Then the
    fields of `OpenFinding`, of `VerifiedBatch` and, last of a segment, of `ScannedSegment`. There are no notes of a
    segment that could not be read; that of a piece without a segment is empty.
    """

    number: int
    directory: str
    partition: bool
    segment: int | None
    place: int
    # OpenFinding; the names of exceptions have blanks between them
    file: str | None = None
    position: int | None = None
    offset: int | None = None
    what: str | None = None
    if_it_stays: str | None = None
    may_raise: str | None = None
    # VerifiedBatch
    base_offset: int | None = None
    last_offset: int | None = None
    leader_epoch: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    last_sequence: int | None = None
    size: int | None = None
    # ScannedSegment
    end: int | None = None
    next_offset: int | None = None
    is_preallocated: bool | None = None
    is_whole: bool | None = None
    open: list[int] | None = None
    open_offsets: list[int] | None = None
    ended: list[int] | None = None
    ended_at: list[int] | None = None
    aborts: list[int] | None = None
    aborted_producers: list[int] | None = None
    firsts_here: list[int] | None = None
    stables_here: list[int] | None = None
    firsts_named: list[int] | None = None
    stables_named: list[int] | None = None


class _Row(NamedTuple):
    """The columns of the answer, and what brings them into order."""

    unread: bool
    number: int
    place: int
    file: str | None
    position: int | None
    offset: int | None
    what: str
    fate: str | None
    nextStart: str | None


# ---- the segments, each by itself


def _notes(batches: Iterator[pa.RecordBatch], settings: _Settings) -> Iterator[pa.RecordBatch]:
    allow_many_open_files()
    config = config_of(settings.configs)
    taken: list[_Note] = []
    surroundings: _Surroundings | None = None
    for piece in (row for batch in batches for row in batch.to_pylist()):
        number, directory, is_partition, segment = piece.values()
        about = _Note(number, directory, is_partition, segment, place=-1)
        if segment is None:
            taken.append(about)
            continue
        try:
            if surroundings is None or surroundings.directory != Path(directory):
                surroundings = _Surroundings(Path(directory), config, settings)
            taken += surroundings.notes_of(segment, about)
        except TOLD:
            continue  # what is wrong is told when the whole partition is looked at
        if len(taken) >= _ROWS_AT_A_TIME:
            yield batch_of_rows(_Note, taken)
            taken = []
    yield batch_of_rows(_Note, taken)


class _Surroundings:
    """What must be known of a partition's directory before a segment of it is looked at."""

    def __init__(self, directory: Path, config: LogConfig, settings: _Settings):
        """Raises OSError for what cannot be listed."""
        self.directory = directory
        self._next_start = LogDir(directory.parent).next_start_of(directory, config)
        self._names = {file.name for file in look_into(directory, follow_links=settings.follow_links).files}
        self._base_offsets = base_offsets_of(self._names)
        self._cuts = sorted({*_snapshot_offsets(self._names), *_epoch_starts(directory, self._names)})

    def notes_of(self, base_offset: int, about: _Note) -> list[_Note]:
        """What is to be noted of a segment, in order. Raises OSError, MemoryError for what cannot be read."""
        following = self._base_offsets[bisect_right(self._base_offsets, base_offset) :]
        segment = SegmentToVerify(self.directory, base_offset, next(iter(following), None), base_offset)
        taker = _NoteTaker(about, self._cuts)
        listeners = taker.report, taker.meet, lambda size: None
        scanned = verify_segment(segment, self._names, self._next_start, *listeners)
        return taker.finish(scanned)


def _snapshot_offsets(names: set[str]) -> Iterator[int]:
    for name in names:
        offset = offset_in_name(name) if name.endswith(PRODUCER_SNAPSHOT_FILE_SUFFIX) else None
        if offset is not None:
            yield offset


def _epoch_starts(directory: Path, names: Collection[str]) -> list[int]:
    """Where epochs begin by the checkpoint; none where it cannot be read, since no batch is compared with it then.

    `names`: those of the files in the directory, among which a pipe is not.
    """
    file = directory / LEADER_EPOCH_CHECKPOINT_FILENAME
    if file.name not in names:
        return []
    try:
        read_bounded(file)
        return [entry.start_offset for entry in LeaderEpochCheckpointFile(file).read()]
    except TOLD:
        return []


class _NoteTaker:
    """Notes findings and batches in the order in which they are met.

    Neighbouring batches of one epoch become one batch without a producer, and behind it stands the last batch of each
    producer. That is all that snapshots and epochs are compared with, unless an offset of these, one of the ascending
    `cuts`, lies between the batches. `about` is a note of the piece.
    """

    def __init__(self, about: _Note, cuts: list[int]):
        self._about = about
        self._cuts = cuts
        self._notes: list[_Note] = []
        self._run: VerifiedBatch | None = None
        self._last_of_producers: dict[int, VerifiedBatch] = {}

    def report(self, finding: OpenFinding) -> None:
        """A finding, which is not yet followed by the batch that has it."""
        self._end_run()
        file, position, offset, what, if_it_stays, may_raise, _ = finding
        self._note(
            file=str(file), position=position, offset=offset, what=what, if_it_stays=if_it_stays,
            may_raise=" ".join(may_raise),
        )  # fmt: skip

    def meet(self, batch: VerifiedBatch) -> None:
        """The next batch."""
        run = self._run
        if run is None or not self._goes_on(run, batch):
            self._end_run()
            self._run = run = batch._replace(producer_id=-1, marker=None)
        else:
            self._run = run._replace(last_offset=batch.last_offset, size=run.size + batch.size)
        if batch.producer_id >= 0 and batch.marker is None:
            self._last_of_producers[batch.producer_id] = batch

    def finish(self, scanned: ScannedSegment) -> list[_Note]:
        """All notes, in order."""
        self._end_run()
        self._note(**scanned._asdict())
        return self._notes

    def _goes_on(self, run: VerifiedBatch, batch: VerifiedBatch) -> bool:
        if batch.leader_epoch != run.leader_epoch or batch.base_offset != run.last_offset + 1:
            return False
        first_cut = bisect_right(self._cuts, run.base_offset)
        is_cut = first_cut < len(self._cuts) and self._cuts[first_cut] <= batch.last_offset
        return batch.base_offset <= batch.last_offset and not is_cut

    def _end_run(self) -> None:
        met = [] if self._run is None else [self._run, *self._last_of_producers.values()]
        for batch in met:
            facts = batch._asdict()
            del facts["marker"]  # there is none
            self._note(**facts)
        self._run = None
        self._last_of_producers.clear()

    def _note(self, **fields: Any) -> None:
        self._notes.append(self._about._replace(place=len(self._notes), **fields))


# ---- a partition, or a directory that was named


def _findings(notes: pa.Table, settings: _Settings) -> pa.Table:
    number, directory, is_partition = (notes.column(name)[0].as_py() for name in ("number", "directory", "partition"))
    findings: list[Finding] = []
    remarks: list[Note] = []
    unread: list[str] = []
    on_disk = DirectoryOnDisk(directory, settings.storage, is_partition=is_partition)
    allow_many_open_files()
    try:
        with on_disk as path:
            if is_partition:
                log_dir = LogDir(path.parent)
                PartitionVerifier(
                    path,
                    log_dir.next_start_of(path, config_of(settings.configs)),
                    noted=log_dir.noted_of(path),
                    report=findings.append,
                    unread=unread.append,
                    note=remarks.append,
                    scan=_Recital(notes),
                    follow_links=settings.follow_links,
                ).verify()
            else:
                if partitions_of(path, findings.append, unread.append) == [path]:
                    report_beside([path], findings.append, unread.append)
    except TOLD as error:
        unread.append(f"{directory}: {describe(error)}" if is_partition else describe(error))
    named = on_disk.named
    rows = [
        _Row(False, number, place, named(str(file)), position, offset, named(what), fate.value, named(next_start))
        for place, (file, position, offset, what, fate, next_start) in enumerate(findings)
    ]
    rows += [
        _Row(False, number, len(findings) + place, named(str(file)), None, offset, what, NOTE, None)
        for place, (file, offset, what) in enumerate(remarks)
    ]
    rows += [_Row(True, number, place, None, None, None, named(line), None, None) for place, line in enumerate(unread)]
    return pa.Table.from_batches([batch_of_rows(_Row, rows)])


class _Recital:
    """Reads out the notes of segments, as if they were looked at now."""

    def __init__(self, notes: pa.Table):
        self._notes: dict[int, list[_Note]] = {}
        rows = notes.sort_by([("segment", "ascending"), ("place", "ascending")])
        for note in (_Note(**row) for row in rows.to_pylist()):
            if note.segment is not None:
                self._notes.setdefault(note.segment, []).append(note)

    def __call__(
        self,
        segment: SegmentToVerify,
        files: set[str],
        next_start: NextStart,
        report: Callable[[OpenFinding], None],
        meet: Callable[[VerifiedBatch], None],
        advance: Callable[[int], None],
    ) -> ScannedSegment:
        notes = self._notes.pop(segment.base_offset, None)
        if notes is None or segment.expected_offset != segment.base_offset:
            return verify_segment(segment, files, next_start, report, meet, advance)
        *before, end = notes
        for note in before:
            fields = note._asdict()
            if note.file is not None:
                what = {name: fields[name] for name in ("position", "offset", "what", "if_it_stays")}
                report(OpenFinding(Path(note.file), **what, may_raise=tuple(fields["may_raise"].split())))
            else:
                facts = {name: fields[name] for name in VerifiedBatch._fields if name != "marker"}
                meet(VerifiedBatch(**facts, marker=None))
        fields = end._asdict()
        return ScannedSegment(**{name: fields[name] for name in ScannedSegment._fields})
