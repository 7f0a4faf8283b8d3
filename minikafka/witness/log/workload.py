"""A workload: what is done to one log, with a clock that starts at a fixed time, so that every run is the same."""

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from minikafka.witness.log.operations import AppendAsFollower, AppendAsLeader, Operation, Tick, parse_operation

START_MS = 1_700_000_000_000


class WorkloadError(ValueError):
    """A line of a workload cannot be read; the message begins with its number."""


@dataclass(frozen=True)
class Workload:
    """A topic's settings, the start of the clock in ms, the in-sync followers, and the operations in order.

    As text, one line per operation (`Workload.parse(text) == workload` for `text = str(workload)`); `#` begins a
    comment:

        config internal.segment.bytes=700 index.interval.bytes=100
        start 1700000000000
        isr 1,2
        append_as_leader [3x100] [2x50 ts=now-5]
        fetch 1 leo

    Making, reading, writing or showing a workload needs nothing from `minikafka.log`.
    """

    operations: tuple[Operation, ...] = ()
    config: Mapping[str, str] = field(default_factory=dict)
    start_ms: int = START_MS
    isr: tuple[int, ...] = ()

    def __post_init__(self):
        parsed = (parse_operation(op) if isinstance(op, str) else op for op in self.operations)
        object.__setattr__(self, "operations", tuple(parsed))
        object.__setattr__(self, "config", {str(k): _setting(v) for k, v in self.config.items()})
        object.__setattr__(self, "isr", tuple(self.isr))

    @classmethod
    def parse(cls, text: str) -> "Workload":
        """Read the text form. Raises WorkloadError with the number of the line that cannot be read."""
        header = {}
        operations = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].strip()
            if not line:
                continue
            try:
                word, _, rest = line.partition(" ")
                if word in ("config", "start") or (word == "isr" and not operations and "isr" not in header):
                    if {"start": "start_ms"}.get(word, word) in header and word != "config":
                        raise ValueError(f"{word} is there twice")
                    if operations:
                        raise ValueError(f"{word} stands before the operations")
                    _read_header(header, word, rest)
                else:
                    operations.append(parse_operation(line))
            except ValueError as error:
                raise WorkloadError(f"line {number}: {error} (in: {line})") from None
        return cls(tuple(operations), **header)

    @classmethod
    def load(cls, path) -> "Workload":
        """Read a workload from a file."""
        return cls.parse(Path(path).read_text(encoding="utf-8"))

    def save(self, path) -> None:
        """Write the text form to a file."""
        Path(path).write_text(str(self), encoding="utf-8")

    def clock(self) -> list[int]:
        """The time in ms at which each operation is done (for a tick: before it)."""
        times, now = [], self.start_ms
        for operation in self.operations:
            times.append(now)
            now += max(operation.ms, 0) if isinstance(operation, Tick) else 0
        return times

    def with_operations(self, operations: Iterable[Operation | str]) -> "Workload":
        """This workload with its operations replaced."""
        return replace(self, operations=tuple(operations))

    def __add__(self, operations: Iterable[Operation | str]) -> "Workload":
        return self.with_operations((*self.operations, *operations))

    def shrunk(self, fails) -> "Workload":
        """The smallest workload found for which `fails(workload)` is still true; see `shrunk`."""
        return shrunk(self, fails)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of operations that there are."""
        return frozenset(operation.kind for operation in self.operations)

    @property
    def appends(self) -> list[tuple[int, AppendAsLeader | AppendAsFollower]]:
        """The appends with their numbers, counted from 0."""
        return [(i, op) for i, op in enumerate(self.operations) if isinstance(op, (AppendAsLeader, AppendAsFollower))]

    def __len__(self) -> int:
        return len(self.operations)

    def __iter__(self):
        return iter(self.operations)

    def __str__(self) -> str:
        lines = []
        if self.config:
            lines.append("config " + " ".join(f"{k}={v}" for k, v in self.config.items()))
        lines.append(f"start {self.start_ms}")
        if self.isr or (self.operations and self.operations[0].kind == "isr"):  # a first line `isr` is the header's
            lines.append("isr " + (",".join(map(str, self.isr)) or "-"))
        return "\n".join((*lines, *map(str, self.operations))) + "\n"

    def __repr__(self) -> str:
        return f"<Workload of {len(self)} operations>\n{self}"

    def _repr_html_(self) -> str:
        lines = (f"<td>{i}</td><td><code>{html.escape(str(op))}</code></td>" for i, op in enumerate(self))
        settings = html.escape(" ".join(f"{k}={v}" for k, v in self.config.items()))
        caption = f"start {self.start_ms} ms {settings}" + (f" in-sync followers {self.isr}" if self.isr else "")
        rows = "".join(f"<tr>{line}</tr>" for line in ("<th>#</th><th>operation</th>", *lines))
        return f'<table class="workload"><caption>{caption}</caption>{rows}</table>'


def shrunk(workload, fails):
    """The smallest workload found, by leaving out operations, for which `fails(workload)` is still true.

    Any workload will do that has `operations` and `with_operations`. Relative offsets (`leo-3`) keep what is left
    meaningful. `fails` must be true of `workload` itself.
    """
    operations, chunk = list(workload.operations), max(len(workload.operations) // 2, 1)
    while chunk:
        start = len(operations) - chunk
        while start > -chunk:
            fewer = operations[: max(start, 0)] + operations[start + chunk :]
            if len(fewer) < len(operations) and fails(workload.with_operations(fewer)):
                operations = fewer
            start -= chunk
        chunk //= 2
    return workload.with_operations(operations)


def _setting(value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read_header(header: dict, word: str, rest: str) -> None:
    if word == "start":
        header["start_ms"] = int(rest)
    elif word == "isr":
        header["isr"] = () if rest.strip() == "-" else tuple(int(replica) for replica in rest.split(","))
    else:
        header.setdefault("config", {}).update(read_settings(rest))


def read_settings(text: str) -> dict[str, str]:
    """Settings as they stand in a line, `name=value` each. Raises ValueError."""
    settings = {}
    for setting in text.split():
        name, equals, value = setting.partition("=")
        if not equals:
            raise ValueError(f"{setting!r} is not of the form setting=value")
        settings[name] = value
    return settings
