"""What a few brokers that replicate partitions are asked, and what befalls them, as text."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from minikafka.witness.log.batch import Batch
from minikafka.witness.log.offsets import At
from minikafka.witness.log.workload import START_MS, WorkloadError, read_settings

LARGE = 1_048_576


@dataclass(frozen=True)
class Shape:
    """What an operation takes: `arguments` by their place, `options` by name, with defaults; `targets`: partitions.

    `settings`: names that are not among the options are settings of a topic.
    """

    arguments: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    targets: bool = False
    settings: bool = False


_PRODUCE = {"acks": -1, "timeout": 30_000, "version": 13, "client": "client", "transaction": "-"}
_FETCH = {
    "replica": -1,
    "replica_epoch": -1,
    "wait": 0,
    "min": 1,
    "max": LARGE,
    "isolation": 0,
    "version": 18,
    "session": 0,
    "session_epoch": -1,
}

SHAPES = {
    "start": Shape(("broker",)),
    "crash": Shape(("broker",)),
    "stop": Shape(("broker",)),
    "publish": Shape(("broker",)),
    "checkpoint": Shape(("broker",)),
    "follow": Shape(("broker",)),
    "truncate": Shape(("broker",), targets=True),
    "fence": Shape(("broker",)),
    "unfence": Shape(("broker",)),
    "answer": Shape(("broker",), {"error": "NONE", "whole": "NONE"}),
    "sleep": Shape(("ms",)),
    "topic": Shape(("name", "assignment"), settings=True),
    "delete_topic": Shape(("name",)),
    "settings": Shape(("name",), settings=True),
    "change": Shape(
        ("partition",),
        {"leader": "-", "isr": "-", "replicas": "-", "elr": "-", "last_known": "-", "recovering": "false"},
    ),
    "produce": Shape(("broker",), _PRODUCE, targets=True),
    "append": Shape(("broker",), {"acks": -1, "timeout": 30_000, "origin": "COORDINATOR"}, targets=True),
    "fetch": Shape(("broker",), _FETCH, targets=True),
    "list_offsets": Shape(("broker",), {"replica": -1, "isolation": 0, "version": 10}, targets=True),
    "offset_for_leader_epoch": Shape(("broker",), {"replica": -1, "version": 4}, targets=True),
    "delete_records": Shape(("broker",), {"timeout": 30_000, "version": 2}, targets=True),
    "metadata": Shape(("broker",), {"version": 13}, targets=True),
}
"""Every operation: `publish` gives a broker all metadata records that it has not seen; `follow` is a round of its
fetchers; `answer` is what the controller says to its AlterPartition request (each proposal, or the whole, refused with
an error's name); `append` goes straight to `ReplicaManager.appendRecords`, as a coordinator does; the others with
targets are requests, but for `truncate`, which cuts a log as followers did before KIP-101."""

_TARGET_OPTIONS = {"epoch": -1, "last": -1, "start": -1, "max": LARGE}
"""Of a partition in a fetch (its leader's epoch, the last epoch that was fetched, the follower's log start, the most
bytes), list_offsets (leader's epoch) or offset_for_leader_epoch (leader's epoch, and in `last` the one asked about)."""

_PARTITION = re.compile(r".+-\d+")


@dataclass(frozen=True)
class Target:
    """A partition that a request is about, as text `t-0@leo-3:epoch=1:max=500`, and batches for it.

    What follows the @ is an offset (or a timestamp) relative to the log of the broker that is asked, or absolute.
    """

    partition: str
    offset: At = At("", 0)
    options: Mapping[str, int] = field(default_factory=dict)
    batches: tuple[Batch, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Read `str(target)` without its batches. Raises ValueError."""
        place, *options = text.split(":")
        partition, at, offset = place.partition("@")
        if not _PARTITION.fullmatch(partition):
            raise ValueError(f"{partition!r} is no partition, such as t-0")
        read = {name: int(value) for name, value in (option.split("=") for option in options)}
        if unknown := read.keys() - _TARGET_OPTIONS:
            raise ValueError(f"a partition has no {', '.join(unknown)}; it has {', '.join(_TARGET_OPTIONS)}")
        return cls(partition, At.of(offset) if at else At("", 0), read)

    def option(self, name: str) -> int:
        """One of its options, or the default."""
        return self.options.get(name, _TARGET_OPTIONS[name])

    @property
    def topic(self) -> str:
        """The name of the topic."""
        return self.partition.rpartition("-")[0]

    @property
    def number(self) -> int:
        """The number of the partition in its topic."""
        return int(self.partition.rpartition("-")[2])

    def __str__(self) -> str:
        place = "" if self.offset == At("", 0) else f"@{self.offset}"
        options = "".join(f":{name}={value}" for name, value in self.options.items())
        return " ".join([f"{self.partition}{place}{options}", *map(str, self.batches)])


@dataclass(frozen=True)
class ReplicaOperation:
    """One line: its kind, its arguments and options as text, and its targets.

        produce 0 acks=1 t-0 [3x100] t-1 [1x10 codec=gzip]
        fetch 1 version=11 t-0@hw-2
        change t-0 leader=1 isr=1,2

    Options that are left out have the defaults of SHAPES.
    """

    kind: str
    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()

    @classmethod
    def parse(cls, line: str) -> "ReplicaOperation":
        """Read a line. Raises ValueError for one that cannot be read."""
        kind, *words = re.findall(r"\[[^\]]*\]|\S+", line)
        if kind not in SHAPES:
            raise ValueError(f"there is no operation {kind!r}; there are {', '.join(SHAPES)}")
        shape = SHAPES[kind]
        arguments = words[: len(shape.arguments)]
        if len(arguments) < len(shape.arguments):
            raise ValueError(f"{kind} needs {', '.join(shape.arguments)}")
        options: dict[str, str] = {}
        targets: list[Target] = []
        for word in words[len(arguments) :]:
            name, equals, value = word.partition("=")
            if word.startswith("["):
                if not targets:
                    raise ValueError("batches follow the partition that they are for")
                targets[-1] = replace(targets[-1], batches=(*targets[-1].batches, Batch.parse(word)))
            elif equals and "@" not in name and ":" not in name:
                if name not in shape.options and not shape.settings:
                    raise ValueError(f"{kind} has no {name!r}; it has {', '.join(shape.options) or 'no options'}")
                options[name] = value
            elif shape.targets:
                targets.append(Target.parse(word))
            else:
                raise ValueError(f"{kind} takes no {word!r}")
        return cls(kind, tuple(arguments), options, tuple(targets))

    @property
    def broker(self) -> int:
        """The broker that does it."""
        return int(self.arguments[0])

    def option(self, name: str) -> str:
        """An option as text, or its default."""
        return self.options.get(name, str(SHAPES[self.kind].options[name]))

    def number(self, name: str) -> int:
        """An option that is a number."""
        return int(self.option(name))

    def numbers(self, name: str) -> tuple[int, ...] | None:
        """An option that is a list of broker ids (`1,2`; empty: `none`), None where it is not given."""
        text = self.option(name)
        return None if text == "-" else () if text == "none" else tuple(map(int, text.split(",")))

    def __str__(self) -> str:
        options = (f"{name}={value}" for name, value in self.options.items())
        return " ".join([self.kind, *self.arguments, *options, *map(str, self.targets)])


@dataclass(frozen=True)
class ReplicaWorkload:
    """Settings of every broker, and operations, one a line; `#` begins a comment:

        broker replica.lag.time.max.ms=10000
        start 0
        start 1
        topic t 0,1 min.insync.replicas=1
        publish 0
        publish 1
        produce 0 t-0 [3x100]
        follow 1

    A topic's assignment lists the replicas of each partition, `0,1/1,0`; the first of them leads. The clock starts at
    START_MS. Two words among the settings are none of Kafka's brokers: in how many `directories` each keeps its logs
    (1), and `eligible.leader.replicas.version`, the level of this feature of the cluster (0).
    """

    operations: tuple[ReplicaOperation, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "ReplicaWorkload":
        """Read the text form. Raises WorkloadError with the number of the line that cannot be read."""
        settings: dict[str, str] = {}
        operations = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].strip()
            try:
                if line.startswith("broker "):
                    settings |= read_settings(line.removeprefix("broker "))
                elif line:
                    operations.append(ReplicaOperation.parse(line))
            except ValueError as error:
                raise WorkloadError(f"line {number}: {error} (in: {line})") from None
        return cls(tuple(operations), settings)

    @property
    def start_ms(self) -> int:
        """When the clock starts, in ms."""
        return START_MS

    def with_operations(self, operations: Iterable[ReplicaOperation]) -> "ReplicaWorkload":
        """This workload with its operations replaced."""
        return replace(self, operations=tuple(operations))

    def __len__(self) -> int:
        return len(self.operations)

    def __iter__(self) -> Iterator[ReplicaOperation]:
        return iter(self.operations)

    def __str__(self) -> str:
        head = (
            ["broker " + " ".join(f"{name}={value}" for name, value in self.settings.items())] if self.settings else []
        )
        return "\n".join([*head, *map(str, self.operations)]) + "\n"

    def _repr_html_(self) -> str:
        rows = (f"<tr><td>{i}</td><td><code>{html.escape(str(op))}</code></td></tr>" for i, op in enumerate(self))
        return f'<table class="workload"><tr><th>#</th><th>operation</th></tr>{"".join(rows)}</table>'
