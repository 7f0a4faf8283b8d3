"""Workloads of a log directory, drawn from a seed: logs grow, roll and go; the broker stops, is killed and starts.

Ticks lie beside the moments at which tasks run, and offsets to delete up to beside the bases of segments.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from minikafka.witness.log.batch import Batch
from minikafka.witness.log_dir.workload import LogDirOperation, LogDirWorkload

WEIGHTS = {
    "append": 26,
    "tick": 20,
    "roll": 12,
    "delete_records": 8,
    "create": 4,
    "delete": 2,
    "kill": 3,
    "stop": 4,
}
"""How often each operation is drawn while the broker is up. One that is down starts, mostly at once."""

TOPICS: Mapping[str, Mapping[str, str]] = {
    "audit": {"retention.ms": "100000"},
    "orders": {"flush.ms": "90000"},
    "state": {"cleanup.policy": "compact,delete", "retention.ms": "50000"},
    "users": {"retention.bytes": "300", "flush.ms": "20000"},
}
"""The topics and their settings."""

SMALL_INDEXES: Mapping[str, str] = {"segment.index.bytes": "1200"}
"""So that comparing the files of many small logs takes no longer than writing them."""

_TICKS_MS = (1_000, 29_000, 30_000, 60_000, 60_000, 61_000, 90_000, 300_000)


def draw_log_dir_workload(seed: int, size: int = 40, **knobs) -> LogDirWorkload:
    """Draw a workload of about `size` operations from `seed`. The knobs are those of `LogDirDrawer`."""
    drawer = LogDirDrawer(seed, **knobs)
    operations = drawer.beginning()
    while len(operations) < size:
        operations.append(drawer.operation())
    return LogDirWorkload(tuple(operations), drawer.manager, SMALL_INDEXES, TOPICS)


@dataclass
class _Drawn:
    """A log as far as the drawer knows: its end, and where its segments begin."""

    end: int = 0
    bases: list[int] = field(default_factory=lambda: [0])


@dataclass
class LogDirDrawer:
    """Draws one operation after the other; the same seed and knobs give the same.

    `weights`: changes to WEIGHTS. `fixed`: times (ms) of the log manager's tasks that are not drawn.
    """

    seed: int
    weights: Mapping[str, float] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self):
        self._random = random.Random(self.seed)
        self.manager = {
            "flush_check_ms": self._random.choice([20_000, 60_000]),
            "retention_check_ms": self._random.choice([60_000, 300_000]),
            **self.fixed,
        }
        self._logs: dict[str, _Drawn] = {}
        self._is_up = False
        self._kinds, self._weights = zip(*{**WEIGHTS, **self.weights}.items(), strict=True)

    def beginning(self) -> list[LogDirOperation]:
        """The broker starts and has a log of each topic."""
        self._is_up = True
        return [LogDirOperation("start"), *(self._created(f"{topic}-0") for topic in TOPICS)]

    def operation(self) -> LogDirOperation:
        """The next operation."""
        if not self._is_up:
            if self._random.random() < 0.2:
                return LogDirOperation("tick", number=self._random.choice(_TICKS_MS))
            self._is_up = True
            return LogDirOperation("start")
        kind = self._random.choices(self._kinds, self._weights)[0]
        if kind in ("kill", "stop"):
            self._is_up = False
            return LogDirOperation(kind)
        if kind == "tick":
            return LogDirOperation("tick", number=self._random.choice(_TICKS_MS))
        if kind == "create" or not self._logs:
            return self._created(f"{self._random.choice(list(TOPICS))}-{self._random.randrange(3)}")
        name = self._random.choice(list(self._logs))
        if kind == "delete":
            del self._logs[name]
            return LogDirOperation("delete", name)
        return self._of_a_log(kind, name, self._logs[name])

    def _created(self, name: str) -> LogDirOperation:
        self._logs.setdefault(name, _Drawn())
        return LogDirOperation("create", name)

    def _of_a_log(self, kind: str, name: str, log: _Drawn) -> LogDirOperation:
        if kind == "append":
            keys = 2 if "compact" in TOPICS[name.partition("-")[0]].get("cleanup.policy", "") else 0
            batch = Batch(count=self._random.randint(1, 4), sizes=(self._random.choice([10, 100]),), keys=keys)
            batches = (batch,) * self._random.choice([1, 1, 2])
            log.end += len(batches) * batch.count
            return LogDirOperation("append", name, batches=batches)
        if kind == "roll":
            if log.end > log.bases[-1]:
                log.bases.append(log.end)
            return LogDirOperation("roll", name)
        near = self._random.choice([*log.bases, log.end]) + self._random.choice([-1, 0, 0, 1])
        return LogDirOperation("delete_records", name, number=min(max(near, 0), log.end))
