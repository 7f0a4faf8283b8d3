"""Workloads of a fetch session, drawn by chance."""

import random

from minikafka.witness.sessions.workload import SessionOperation, SessionWorkload

_HAPPENS = ("append", "mark", "delete", "fail", "heal", "ask_another", "cut")
_WEIGHTS = (6, 3, 2, 1, 2, 1, 1)


def draw_session_workload(seed: int, operations: int = 40, *, partitions: int = 4, fetches: float = 0.4):
    """A workload of so many operations on so many partitions. `fetches`: how likely an operation is a fetch."""
    drawn = random.Random(seed)
    lines = [f"fetch {' '.join(map(str, drawn.sample(range(partitions), max(partitions // 2, 1))))}"]
    while len(lines) < operations:
        if drawn.random() < fetches:
            named = drawn.sample(range(partitions), drawn.choice((0, 0, 0, 1, 2)) % (partitions + 1))
            forgotten = [f"-{number}" for number in range(partitions) if drawn.random() < 0.06]
            lines.append(" ".join(("fetch", *map(str, named), *forgotten)))
            continue
        kind = drawn.choices(_HAPPENS, _WEIGHTS)[0]
        count = f" {drawn.randint(1, 3)}" if kind == "append" else ""
        lines.append(f"{kind} {drawn.randrange(partitions)}{count}")
    return SessionWorkload(tuple(map(SessionOperation.parse, lines)))
