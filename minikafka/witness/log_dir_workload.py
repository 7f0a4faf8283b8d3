"""The life of a broker's log directory: what is done to its logs, and when the broker stops, is killed and starts."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.java_numbers import LONG_MAX
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_dir_checkpoints import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.witness.batch import Batch
from minikafka.witness.observation import Observations
from minikafka.witness.two_log_managers import OneLogManager
from minikafka.witness.workload import START_MS, WorkloadError

MANAGER_DEFAULTS = {
    "initial_task_delay_ms": 30_000,
    "retention_check_ms": 300_000,
    "flush_check_ms": LONG_MAX,
    "flush_recovery_offset_checkpoint_ms": 60_000,
    "flush_start_offset_checkpoint_ms": 60_000,
}
"""The times (ms) of the log manager's tasks, which a workload may change."""

SECOND = 1_000
"""How many ms the clock moves at a time: tasks run at whole seconds."""

ARGUMENTS = {
    "start": "",
    "stop": "",
    "kill": "",
    "tick": "n",
    "create": "p",
    "append": "pb",
    "roll": "p",
    "delete_records": "pn",
}
"""What each operation takes: a partition (p), a number (n), batches (b)."""


@dataclass(frozen=True)
class LogDirOperation:
    """One line: `append orders-0 [3x100]`, `tick 60000` (ms), `delete_records orders-0 5` (offset), `stop`.

    `start`, `stop` and `kill` are the broker's; `roll` begins a segment at the log's end. All records that are appended
    count as replicated at once.
    """

    kind: str
    partition: str = ""
    number: int = 0
    batches: tuple[Batch, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "LogDirOperation":
        """Read a line. Raises ValueError for one that cannot be read."""
        kind, *words = text.split(maxsplit=2)
        if kind not in ARGUMENTS:
            raise ValueError(f"there is no operation {kind!r}; there are {', '.join(ARGUMENTS)}")
        if len(words) != len(ARGUMENTS[kind]):
            raise ValueError(f"{kind} takes {len(ARGUMENTS[kind])} arguments")
        given = dict(zip(ARGUMENTS[kind], words, strict=True))
        batches = tuple(Batch.parse(batch) for batch in _in_brackets(given.get("b", "")))
        if "p" in given:
            parse_partition(given["p"])
        return cls(kind, given.get("p", ""), int(given.get("n", 0)), batches)

    def __str__(self) -> str:
        said = {"p": self.partition, "n": str(self.number), "b": " ".join(map(str, self.batches))}
        return " ".join([self.kind, *(said[argument] for argument in ARGUMENTS[self.kind])])


@dataclass(frozen=True)
class LogDirWorkload:
    """Settings and operations, one a line; `#` begins a comment:

        manager flush_check_ms=60000
        default flush.ms=100000
        topic audit retention.ms=1000 cleanup.policy=delete
        start
        create orders-0
        append orders-0 [3x100] [2x50]
        tick 60000
        stop

    `manager`: times of the tasks, named as LogManager's arguments (MANAGER_DEFAULTS); `default`: settings of every
    topic; `topic`: those of one. The clock starts at START_MS.
    """

    operations: tuple[LogDirOperation, ...]
    manager: Mapping[str, int] = field(default_factory=dict)
    default: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "LogDirWorkload":
        """Read the text form. Raises WorkloadError with the number of the line that cannot be read."""
        operations: list[LogDirOperation] = []
        manager: dict[str, int] = {}
        default: dict[str, str] = {}
        topics: dict[str, dict[str, str]] = {}
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].strip()
            word, _, rest = line.partition(" ")
            try:
                if word == "manager":
                    manager.update({name: int(value) for name, value in _settings(rest).items()})
                    if unknown := manager.keys() - MANAGER_DEFAULTS.keys():
                        raise ValueError(f"there is no setting {', '.join(sorted(unknown))}")
                elif word == "default":
                    default.update(_settings(rest))
                elif word == "topic":
                    name, _, settings = rest.partition(" ")
                    topics.setdefault(name, {}).update(_settings(settings))
                elif line:
                    operations.append(LogDirOperation.parse(line))
            except ValueError as error:
                raise WorkloadError(f"line {number}: {error} (in: {line})") from None
        return cls(tuple(operations), manager, default, topics)

    def clock(self) -> list[int]:
        """The time (ms) at which each operation is done; for a tick, before it."""
        ticks = [operation.number if operation.kind == "tick" else 0 for operation in self.operations]
        return list(accumulate(ticks, initial=START_MS))[:-1]

    @property
    def partitions(self) -> list[str]:
        """The partitions that are created, sorted."""
        return sorted({operation.partition for operation in self.operations if operation.kind == "create"})

    def topic_setting(self, partition: str, name: str, default: str) -> str:
        """A setting of the partition's topic."""
        topic = parse_partition(partition).topic
        return self.topics.get(topic, {}).get(name, self.default.get(name, default))

    def __len__(self) -> int:
        return len(self.operations)

    def __iter__(self):
        return iter(self.operations)

    def __str__(self) -> str:
        header = [("manager", self.manager), ("default", self.default)]
        header += [(f"topic {name}", settings) for name, settings in self.topics.items()]
        lines = [
            f"{word} " + " ".join(f"{k}={v}" for k, v in settings.items()) for word, settings in header if settings
        ]
        return "\n".join([*lines, *map(str, self.operations)]) + "\n"

    def _repr_html_(self) -> str:
        lines = (f"<td>{i}</td><td><code>{html.escape(str(op))}</code></td>" for i, op in enumerate(self))
        settings = str(self).partition("\n" + str(self.operations[0]))[0] if self.operations else ""
        rows = "".join(f"<tr>{line}</tr>" for line in ("<th>#</th><th>operation</th>", *lines))
        return f'<table class="workload"><caption>{html.escape(settings)}</caption>{rows}</table>'


def parse_partition(text: str) -> TopicPartition:
    """The partition that is written `topic-partition`. Raises ValueError."""
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def run_log_dir(workload: LogDirWorkload, make, directory: Path, witness: str = "minikafka") -> Observations:
    """What a log manager makes of `workload` in the new log directory `directory`, observed after each operation.

    `make`: `LogManager`, or what makes a `KafkaLogManager`. Offsets of partitions are tuples of (partition, offset);
    those of logs are missing while the broker is down, those of a file while the file is missing.
    """
    directory.mkdir(parents=True)
    one = OneLogManager(make, directory.parent, [directory.name], workload.default, **workload.manager)
    one.topic_configs = {name: dict(settings) for name, settings in workload.topics.items()}
    rows = []
    try:
        for operation in workload:
            _apply(one, operation)
            rows.append(_observe(one, directory))
    finally:
        one.kill()
    return Observations(witness, workload, tuple(rows))


def _apply(one: OneLogManager, operation: LogDirOperation) -> None:
    match operation.kind:
        case "start":
            one.start()
            for log in one.manager.all_logs:
                log.update_high_watermark(log.log_end_offset)
        case "stop":
            one.stop()
        case "kill":
            one.kill()
        case "tick":
            for passed in range(0, operation.number, SECOND):  # so that each task runs when it is due
                one.time.sleep(min(SECOND, operation.number - passed))
        case "create":
            one.manager.get_or_create_log(parse_partition(operation.partition), is_new=True)
        case "append":
            one.append(parse_partition(operation.partition), *map(str, operation.batches))
        case "roll":
            one.manager.get_log(parse_partition(operation.partition)).roll()
        case "delete_records":
            log = one.manager.get_log(parse_partition(operation.partition))
            log.maybe_increment_log_start_offset(operation.number, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)
    one.scheduler.run_due_tasks()  # what a roll leaves to the background


def _observe(one: OneLogManager, directory: Path) -> dict:
    row = {
        "recovery_point_file": _offsets(directory / RECOVERY_POINT_CHECKPOINT_FILE),
        "log_start_file": _offsets(directory / LOG_START_OFFSET_CHECKPOINT_FILE),
        "clean_shutdown": CleanShutdownFileHandler(directory).exists(),
    }
    if one.manager is not None:
        logs = sorted((str(log.topic_partition), log) for log in one.manager.all_logs)
        row["log_end_offsets"] = tuple((name, log.log_end_offset) for name, log in logs)
        row["log_start_offsets"] = tuple((name, log.log_start_offset) for name, log in logs)
        row["recovery_points"] = tuple((name, log.recovery_point) for name, log in logs)
        row["segments"] = tuple((name, ",".join(str(s.base_offset) for s in log.log_segments)) for name, log in logs)
    return row


def _offsets(file: Path) -> tuple[tuple[str, int], ...]:
    if not file.exists():
        return ()
    return tuple(sorted((str(partition), offset) for partition, offset in OffsetCheckpointFile(file).read().items()))


def _settings(text: str) -> dict[str, str]:
    settings = {}
    for setting in text.split():
        name, equals, value = setting.partition("=")
        if not equals:
            raise ValueError(f"{setting!r} is not of the form setting=value")
        settings[name] = value
    return settings


def _in_brackets(text: str) -> list[str]:
    """`[a] [b]` as two texts."""
    return [part + "]" for part in text.split("]") if part.strip()]
