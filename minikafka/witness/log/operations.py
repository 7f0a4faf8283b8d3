"""What can be done to a log: for each operation a small frozen dataclass and a readable line of text.

The name of an operation is the name of the method of `Log` that it calls, where there is one. A line is the name, the
fields marked as positional, the others as `field=value` (left out when they have their default), and the batches:

    append_as_leader leader_epoch=2 [3x100 ts=now,now-5 keys=4] [1x20]
    read leo-10 max_length=500 isolation=high_watermark
"""

import re
from dataclasses import MISSING, dataclass, field, fields
from typing import ClassVar

from minikafka.witness.log.batch import Batch
from minikafka.witness.log.file_damage import checked
from minikafka.witness.log.offsets import At

ORIGINS = ("client", "coordinator", "replication", "raft_leader")
ISOLATIONS = ("log_end", "high_watermark", "txn_committed")
REASONS = ("leader_offset_incremented", "segment_deletion", "client_record_deletion", "snapshot_generated")


@dataclass(frozen=True)
class Operation:
    """Something done to a log. `kind` is its name in the text form; `str(operation)` is the line that `parse` reads."""

    kind: ClassVar[str] = ""

    def __post_init__(self):
        for f in fields(self):
            value = _READ[f.type](getattr(self, f.name), f.metadata)
            object.__setattr__(self, f.name, value)

    def __str__(self) -> str:
        words = [self.kind]
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name == "batches":
                continue
            if f.name == "settings":
                words += [f"{name}={setting}" for name, setting in value]
            elif f.metadata.get("positional"):
                words.append(_text(value))
            elif value != f.default:
                words.append(f"{f.name}={_text(value)}")
        return " ".join((*words, *map(str, getattr(self, "batches", ()))))


def _positional(default=MISSING, **metadata):
    return field(default=default, metadata={"positional": True, **metadata})


def _choice(default, *allowed):
    return field(default=default, metadata={"allowed": allowed})


@dataclass(frozen=True)
class AppendAsLeader(Operation):
    """Append `batches` in one call as leader in `leader_epoch`. Kafka: `UnifiedLog.appendAsLeader`.

    `origin`: who sends them (markers come from the coordinator); `transaction_version`: −1 unknown, 0 to 2.
    """

    kind: ClassVar[str] = "append_as_leader"
    batches: tuple[Batch, ...] = (Batch(),)
    leader_epoch: int = 0
    origin: str = _choice("client", *ORIGINS)
    transaction_version: int = -1


@dataclass(frozen=True)
class AppendAsFollower(Operation):
    """Append `batches`, with the offsets that they carry, as a follower. Kafka: `UnifiedLog.appendAsFollower`."""

    kind: ClassVar[str] = "append_as_follower"
    batches: tuple[Batch, ...] = (Batch(),)
    leader_epoch: int = 0


@dataclass(frozen=True)
class Tick(Operation):
    """Let `ms` milliseconds pass and run the tasks that become due (flushing, deleting files, …); 0 runs those already
    due.
    """

    kind: ClassVar[str] = "tick"
    ms: int = _positional(0)

    def __post_init__(self):
        super().__post_init__()
        if self.ms < 0:
            raise ValueError(f"tick {self.ms}: the clock moves forward only")


@dataclass(frozen=True)
class Fetch(Operation):
    """Follower `replica` asks for records from `offset` on, which is its log end offset; then the leader raises its
    high watermark to the smallest log end offset of the in-sync replicas if that is higher.

    Nothing is raised before each in-sync follower has fetched. Kafka: `Partition.fetchRecords`,
    `Partition.maybeIncrementLeaderHW`.
    """

    kind: ClassVar[str] = "fetch"
    replica: int = _positional()
    offset: At = _positional(At("leo", 0))


@dataclass(frozen=True)
class Isr(Operation):
    """Make `replicas` the in-sync followers (`isr -`: none), and raise the high watermark by the new set.

    Kafka: `Partition.isr`.
    """

    kind: ClassVar[str] = "isr"
    replicas: tuple[int, ...] = _positional(())


@dataclass(frozen=True)
class UpdateHighWatermark(Operation):
    """Set the high watermark, up or down, clamped to the log. Kafka: `UnifiedLog.updateHighWatermark`."""

    kind: ClassVar[str] = "update_high_watermark"
    offset: At = _positional()


@dataclass(frozen=True)
class MaybeUpdateHighWatermark(Operation):
    """A follower learns the leader's high watermark. Kafka: `UnifiedLog.maybeUpdateHighWatermark`."""

    kind: ClassVar[str] = "maybe_update_high_watermark"
    offset: At = _positional()


@dataclass(frozen=True)
class MaybeIncrementHighWatermark(Operation):
    """Raise the high watermark, never above the end. Kafka: `UnifiedLog.maybeIncrementHighWatermark`."""

    kind: ClassVar[str] = "maybe_increment_high_watermark"
    offset: At = _positional()


@dataclass(frozen=True)
class Roll(Operation):
    """Begin a new segment at max(log end, `offset`). Kafka: `UnifiedLog.roll`."""

    kind: ClassVar[str] = "roll"
    offset: At = _positional(At("leo", 0))


@dataclass(frozen=True)
class DeleteOldSegments(Operation):
    """Apply the retention rules once: log start offset, size, time. Kafka: `UnifiedLog.deleteOldSegments`."""

    kind: ClassVar[str] = "delete_old_segments"


@dataclass(frozen=True)
class MaybeIncrementLogStartOffset(Operation):
    """Raise the log start offset, as DeleteRecords does. Kafka: `UnifiedLog.maybeIncrementLogStartOffset`."""

    kind: ClassVar[str] = "maybe_increment_log_start_offset"
    offset: At = _positional()
    reason: str = _choice("client_record_deletion", *REASONS)


@dataclass(frozen=True)
class TruncateTo(Operation):
    """Drop all records from `offset` on. Kafka: `UnifiedLog.truncateTo`."""

    kind: ClassVar[str] = "truncate_to"
    offset: At = _positional()


@dataclass(frozen=True)
class TruncateFullyAndStartAt(Operation):
    """Drop everything and begin at `offset`. Kafka: `UnifiedLog.truncateFullyAndStartAt`."""

    kind: ClassVar[str] = "truncate_fully_and_start_at"
    offset: At = _positional()
    log_start_offset: At | None = None


@dataclass(frozen=True)
class Flush(Operation):
    """Force everything up to the log end to the disk. Kafka: `UnifiedLog.flush`."""

    kind: ClassVar[str] = "flush"
    force_flush_active_segment: bool = False


@dataclass(frozen=True)
class Read(Operation):
    """Read from `offset` at most `max_length` bytes, as far as `isolation` allows. Kafka: `UnifiedLog.read`."""

    kind: ClassVar[str] = "read"
    offset: At = _positional()
    max_length: int = 1_048_576
    isolation: str = _choice("log_end", *ISOLATIONS)
    min_one_message: bool = True


@dataclass(frozen=True)
class FetchOffsetByTimestamp(Operation):
    """Find the first offset whose timestamp is ≥ `timestamp` (ms; −1 latest, −2 earliest, −3 largest timestamp).

    Kafka: `UnifiedLog.fetchOffsetByTimestamp`.
    """

    kind: ClassVar[str] = "fetch_offset_by_timestamp"
    timestamp: At = _positional()


@dataclass(frozen=True)
class Count(Operation):
    """Count the records with an offset in [`lower`, `upper`), control records left out, by reading them."""

    kind: ClassVar[str] = "count"
    lower: At = _positional(At("hw", 0))
    upper: At = _positional(At("leo", 0))


@dataclass(frozen=True)
class Consume(Operation):
    """Note what a consumer sees from `offset` on: the offsets of the records up to the high watermark or, for
    `read_committed`, up to the last stable offset and without those of aborted transactions.
    """

    kind: ClassVar[str] = "consume"
    offset: At = _positional(At("start", 0))
    read_committed: bool = False


@dataclass(frozen=True)
class AssignEpochStartOffset(Operation):
    """Note that a leader's epoch begins at `offset`. Kafka: `UnifiedLog.assignEpochStartOffset`."""

    kind: ClassVar[str] = "assign_epoch_start_offset"
    epoch: int = _positional()
    offset: At = _positional(At("leo", 0))


@dataclass(frozen=True)
class EndOffsetForEpoch(Operation):
    """Ask where the epoch ends in this log. Kafka: `UnifiedLog.endOffsetForEpoch`."""

    kind: ClassVar[str] = "end_offset_for_epoch"
    epoch: int = _positional()


@dataclass(frozen=True)
class TakeProducerSnapshot(Operation):
    """Write the producers' state to a snapshot file. Kafka: `UnifiedLog.takeProducerSnapshot`."""

    kind: ClassVar[str] = "take_producer_snapshot"


@dataclass(frozen=True)
class Checkpoint(Operation):
    """Note the recovery point and the log start offset, as the log manager does every minute; an unclean reopen starts
    from the last note. Kafka: `LogManager.checkpointLogRecoveryOffsets`, `checkpointLogStartOffsets`.
    """

    kind: ClassVar[str] = "checkpoint"


@dataclass(frozen=True)
class UpdateConfig(Operation):
    """Change settings of the topic: `update_config cleanup.policy=delete retention.ms=100`.

    A loaded log adopts them at once and keeps them when it is reopened. Kafka: `UnifiedLog.updateConfig`.
    """

    kind: ClassVar[str] = "update_config"
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Clean(Operation):
    """Take one turn of a log cleaner's thread: choose the log if it is dirty enough, compact it, note up to where it is
    clean, and delete what a compacted log has to delete.

    The cleaner's settings (`log.cleaner.dedupe.buffer.size` …) are among those of the workload. A log that cannot be
    cleaned is left alone until it is reopened. Kafka: `LogCleaner.CleanerThread.doWork`.
    """

    kind: ClassVar[str] = "clean"


@dataclass(frozen=True)
class Reopen(Operation):
    """End and load the log again: `clean` closes it first and leaves the mark of a clean shutdown, otherwise the
    process is killed as it stands. In between, files are damaged (`minikafka.witness.log.file_damage`).
    Kafka: `UnifiedLog.close`, `LogLoader.load`.
    """

    kind: ClassVar[str] = "reopen"
    clean: bool = True
    damage: tuple[str, ...] = ()


KINDS: dict[str, type[Operation]] = {cls.kind: cls for cls in Operation.__subclasses__()}


def parse_operation(line: str) -> Operation:
    """The operation that `str(operation)` wrote. Raises ValueError naming the word that is wrong."""
    head, batches = split_batches(line)
    words = head.split()
    if not words or words[0] not in KINDS:
        raise ValueError(f"{' '.join(words[:1])!r} is no operation; there are {', '.join(KINDS)}")
    cls = KINDS[words[0]]
    known = {f.name: f for f in fields(cls)}
    free = [f for f in fields(cls) if f.metadata.get("positional")]
    values = {}
    for word in words[1:]:
        name, equals, text = word.partition("=")
        if "settings" in known and equals:
            values.setdefault("settings", []).append((name, text))
            continue
        if not equals:
            if not free:
                raise ValueError(f"{word!r}: {cls.kind} takes no more than {len(values)} values without a name")
            name, text = free.pop(0).name, word
        if name not in known or name == "batches":
            raise ValueError(f"{word!r}: {cls.kind} has no {name!r}; it has {', '.join(known) or 'no fields'}")
        if name in values:
            raise ValueError(f"{word!r}: {name} is there twice")
        values[name] = text
    if "batches" in known:
        values["batches"] = tuple(map(Batch.parse, batches))
    elif batches:
        raise ValueError(f"{cls.kind} takes no batches")
    missing = [f.name for f in fields(cls) if f.default is MISSING and f.name not in values]
    if missing:
        raise ValueError(f"{cls.kind} needs {', '.join(missing)}")
    return cls(**values)


def split_batches(line: str) -> tuple[str, list[str]]:
    """The words before the first bracket, and what stands in each pair of brackets. Raises ValueError."""
    head, bracket, rest = line.partition("[")
    if not bracket:
        return head, []
    batches = re.findall(r"\[([^\[\]]*)\]", bracket + rest)
    if re.sub(r"\[[^\[\]]*\]", "", bracket + rest).strip():
        raise ValueError("the batches stand at the end of the line, each in its own pair of brackets")
    return head, batches


def _text(value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple) and not isinstance(value, At):
        return ",".join(map(str, value)) or "-"
    return str(value)


def _read_bool(value, _metadata) -> bool:
    if value in (True, False) and not isinstance(value, str):
        return bool(value)
    if value not in ("true", "false"):
        raise ValueError(f"{value!r} is neither true nor false")
    return value == "true"


def _read_int(value, _metadata) -> int:
    try:
        return int(value)
    except (ValueError, TypeError):
        raise ValueError(f"{value!r} is not a number") from None


def _read_str(value, metadata) -> str:
    if value not in metadata["allowed"]:
        raise ValueError(f"{value!r} is none of {', '.join(metadata['allowed'])}")
    return value


def _read_batches(value, _metadata) -> tuple[Batch, ...]:
    batches = (value,) if isinstance(value, (Batch, str)) else value
    return tuple(Batch.parse(batch) if isinstance(batch, str) else batch for batch in batches)


def _read_damages(value, _metadata) -> tuple[str, ...]:
    return tuple(map(checked, value.split(",") if isinstance(value, str) else value))


def _read_replicas(value, _metadata) -> tuple[int, ...]:
    if isinstance(value, str):
        value = [] if value == "-" else value.split(",")
    return tuple(_read_int(replica, _metadata) for replica in value)


_READ = {
    int: _read_int,
    bool: _read_bool,
    str: _read_str,
    At: lambda value, _metadata: At.of(value),
    At | None: lambda value, _metadata: None if value in (None, "-") else At.of(value),
    tuple[Batch, ...]: _read_batches,
    tuple[str, ...]: _read_damages,
    tuple[int, ...]: _read_replicas,
    tuple[tuple[str, str], ...]: lambda value, _metadata: tuple((str(name), str(setting)) for name, setting in value),
}
