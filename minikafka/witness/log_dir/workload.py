"""A broker's log directory: what is done to its logs, and when the broker stops, is killed and starts."""

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate

from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.common.topic_partition import TopicPartition
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.operations import split_batches
from minikafka.witness.log.workload import START_MS, WorkloadError, read_settings

MANAGER_DEFAULTS = {
    "initial_task_delay_ms": 30_000,
    "retention_check_ms": 300_000,
    "flush_check_ms": LONG_MAX,
    "flush_recovery_offset_checkpoint_ms": 60_000,
    "flush_start_offset_checkpoint_ms": 60_000,
}
"""The times (ms) of the log manager's tasks, which a workload may change."""

ARGUMENTS = {
    "start": "",
    "stop": "",
    "kill": "",
    "tick": "n",
    "create": "p",
    "append": "pb",
    "roll": "p",
    "delete_records": "pn",
    "delete": "p",
    "stray": "p",
}
"""What each operation takes: a partition (p), a number (n), batches (b)."""


@dataclass(frozen=True)
class LogDirOperation:
    """One line: `append orders-0 [3x100]`, `tick 60000` (ms), `delete_records orders-0 5` (offset), `stop`.

    `start`, `stop` and `kill` are the broker's; `roll` begins a segment at the log's end; `delete` takes a log out of
    use, as the deletion of its topic does; `stray` puts it aside. All records that are appended count as replicated at
    once.
    """

    kind: str
    partition: str = ""
    number: int = 0
    batches: tuple[Batch, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "LogDirOperation":
        """Read a line. Raises ValueError for one that cannot be read."""
        head, batches = split_batches(text)
        kind, *words = head.split()
        if kind not in ARGUMENTS:
            raise ValueError(f"there is no operation {kind!r}; there are {', '.join(ARGUMENTS)}")
        if len(words) + bool(batches) != len(ARGUMENTS[kind]) or bool(batches) != ("b" in ARGUMENTS[kind]):
            raise ValueError(f"{kind} takes {len(ARGUMENTS[kind])} arguments")
        given = dict(zip(ARGUMENTS[kind], words, strict=False))  # batches come last
        if "p" in given:
            parse_partition(given["p"])
        return cls(kind, given.get("p", ""), int(given.get("n", 0)), tuple(map(Batch.parse, batches)))

    def __str__(self) -> str:
        said = {"p": self.partition, "n": str(self.number), "b": " ".join(map(str, self.batches))}
        return " ".join([self.kind, *(said[argument] for argument in ARGUMENTS[self.kind])])


@dataclass(frozen=True)
class LogDirWorkload:
    """Settings and operations, one a line; `#` begins a comment:

        manager flush_check_ms=60000
        cleaner off
        default flush.ms=100000
        topic audit retention.ms=1000 cleanup.policy=delete
        start
        create orders-0
        append orders-0 [3x100] [2x50]
        tick 60000
        stop

    `manager`: times of the tasks, named as LogManager's arguments (MANAGER_DEFAULTS); `cleaner off`: the manager has
    none (`has_cleaner`); `default`: settings of every topic; `topic`: those of one. The clock starts at START_MS.
    """

    operations: tuple[LogDirOperation, ...]
    manager: Mapping[str, int] = field(default_factory=dict)
    default: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    has_cleaner: bool = True

    @classmethod
    def parse(cls, text: str) -> "LogDirWorkload":
        """Read the text form. Raises WorkloadError with the number of the line that cannot be read."""
        operations: list[LogDirOperation] = []
        manager: dict[str, int] = {}
        default: dict[str, str] = {}
        topics: dict[str, dict[str, str]] = {}
        has_cleaner = True
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].strip()
            word, _, rest = line.partition(" ")
            try:
                if word == "manager":
                    manager.update({name: int(value) for name, value in read_settings(rest).items()})
                    if unknown := manager.keys() - MANAGER_DEFAULTS.keys():
                        raise ValueError(f"there is no setting {', '.join(sorted(unknown))}")
                elif word == "cleaner":
                    if rest != "off":
                        raise ValueError("cleaner takes off")
                    has_cleaner = False
                elif word == "default":
                    default.update(read_settings(rest))
                elif word == "topic":
                    name, _, settings = rest.partition(" ")
                    topics.setdefault(name, {}).update(read_settings(settings))
                elif line:
                    operations.append(LogDirOperation.parse(line))
            except ValueError as error:
                raise WorkloadError(f"line {number}: {error} (in: {line})") from None
        return cls(tuple(operations), manager, default, topics, has_cleaner)

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

    def with_operations(self, operations: Iterable[LogDirOperation]) -> "LogDirWorkload":
        """The same settings with other operations."""
        return replace(self, operations=tuple(operations))

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
        return "\n".join([*lines, *(() if self.has_cleaner else ("cleaner off",)), *map(str, self.operations)]) + "\n"

    def _repr_html_(self) -> str:
        lines = (f"<td>{i}</td><td><code>{html.escape(str(op))}</code></td>" for i, op in enumerate(self))
        settings = str(self).partition("\n" + str(self.operations[0]))[0] if self.operations else ""
        rows = "".join(f"<tr>{line}</tr>" for line in ("<th>#</th><th>operation</th>", *lines))
        return f'<table class="workload"><caption>{html.escape(settings)}</caption>{rows}</table>'


def parse_partition(text: str) -> TopicPartition:
    """The partition that is written `topic-partition`. Raises ValueError."""
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))
