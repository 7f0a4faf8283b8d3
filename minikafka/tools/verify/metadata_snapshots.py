"""What Kafka does with the snapshots beside the metadata log when it opens that log."""

from pathlib import Path
from typing import NamedTuple

from minikafka.common import file_ops
from minikafka.common.errors import IllegalStateException, StringIndexOutOfBoundsException
from minikafka.common.java.java_file_names import name_in_java
from minikafka.common.java.java_numbers import parse_int, parse_long
from minikafka.log.log import Log
from minikafka.log.log_file_utils import is_log_file, offset_from_file
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.control_record import ControlRecordType

PARTIAL_SUFFIX, DELETE_SUFFIX, _SUFFIX = ".checkpoint.part", ".checkpoint.deleted", ".checkpoint"
_OFFSET_WIDTH, _EPOCH_WIDTH = 20, 10


class SnapshotId(NamedTuple):
    """A snapshot has what lies below `offset`, whose last record has the leader epoch `epoch`.

    Kafka: `OffsetAndEpoch`, which orders by the epoch first.
    """

    epoch: int
    offset: int


class SnapshotPath(NamedTuple):
    """A file with a snapshot; `is_left_over`: one that is not finished, or is about to be deleted.

    Kafka: `SnapshotPath`.
    """

    path: Path
    snapshot_id: SnapshotId
    is_left_over: bool


def recover_snapshots(log: Log) -> list[SnapshotPath]:
    """Delete the snapshots that the metadata log does not need; returns the others, ascending.

    Raises as `sorted_out` does, before anything is deleted. Kafka: `KafkaRaftLog.recoverSnapshots`.
    """
    retained, others = sorted_out(log.dir, log.log_start_offset)
    for each in others:
        file_ops.delete_if_exists(each.path)
    return retained


def require_snapshots(directory: Path) -> None:
    """Raises as `sorted_out` does where no start succeeds with the snapshots of a metadata log that is not open."""
    starts = (offset_from_file(path) for path in directory.iterdir() if is_log_file(path))
    sorted_out(directory, min(starts, default=0))


def sorted_out(directory: Path, log_start_offset: int) -> tuple[list[SnapshotPath], list[SnapshotPath]]:
    """The snapshots that a metadata log with this start needs, ascending, and the others.

    Raises IllegalStateException where none reaches the log's start, NumberFormatException and
    StringIndexOutOfBoundsException for a name without an offset and an epoch, and OSError.
    """
    found = [snapshot for path in sorted(directory.iterdir()) if (snapshot := parse(path)) is not None]
    retained = sorted(
        (each for each in found if not (each.is_left_over or each.snapshot_id.offset < log_start_offset)),
        key=lambda each: each.snapshot_id,
    )
    if log_start_offset > 0 and not retained:
        raise IllegalStateException(
            "Inconsistent snapshot state: there must be a snapshot at an offset larger then the current log start "
            f"offset {log_start_offset}, but the latest snapshot is Optional.empty"
        )
    return retained, [each for each in found if each not in retained]


def truncate_to_latest_snapshot(log: Log, snapshots: list[SnapshotPath]) -> None:
    """Where the latest of the `snapshots` is ahead of the log, let the log begin, empty, at its offset, and delete the
    earlier ones. A follower that is killed after it has fetched a snapshot leaves such a log.

    Kafka: `KafkaRaftLog.truncateToLatestSnapshot`.
    """
    if not snapshots:
        return
    *earlier, (_, latest, _) = snapshots
    if latest > SnapshotId(log.latest_epoch or 0, log.log_end_offset):
        log.truncate_fully_and_start_at(latest.offset)
        for each in earlier:
            file_ops.delete_if_exists(each.path)


def parse(path: Path) -> SnapshotPath | None:
    """The snapshot by the file's name, None for another file.

    Raises NumberFormatException, StringIndexOutOfBoundsException. Kafka: `Snapshots.parse`.
    """
    name = name_in_java(path.name)
    is_left_over = name.endswith((PARTIAL_SUFFIX, DELETE_SUFFIX))
    if not is_left_over and not name.endswith(_SUFFIX):
        return None
    end = _OFFSET_WIDTH + 1 + _EPOCH_WIDTH
    offset = parse_long(_part(name, 0, _OFFSET_WIDTH))
    epoch = parse_int(_part(name, _OFFSET_WIDTH + 1, end))
    return SnapshotPath(path, SnapshotId(epoch, offset), is_left_over)


def _part(name: str, begin: int, end: int) -> str:
    """Java: `String.substring`."""
    if end > len(name):
        raise StringIndexOutOfBoundsException(f"begin {begin}, end {end}, length {len(name)}")
    return name[begin:end]


def is_whole(snapshot: Path) -> bool:
    """Whether a snapshot ends with its footer: else a start reads what there is, and knows nothing of the rest.

    Raises OSError, IllegalStateException for one without its header, and what a damaged batch raises. Kafka:
    `RecordsSnapshotReader.nextBatch`.
    """
    kinds = []
    records = FileRecords.open(snapshot, mutable=False)
    try:
        for batch in records.batches():
            first = next(iter(batch), None) if batch.is_control_batch else None
            kinds.append(None if first is None else ControlRecordType.parse(first.key))
    finally:
        records.close_handlers()
    if not kinds or kinds[0] is not ControlRecordType.SNAPSHOT_HEADER:
        raise IllegalStateException("First batch is not a control batch with a snapshot header")
    return kinds[-1] is ControlRecordType.SNAPSHOT_FOOTER
