"""Workloads of connections, drawn by chance."""

import random

from minikafka.witness.connections.workload import JUNK, ConnectionOperation, ConnectionWorkload, framed_request


def draw_connection_workload(
    seed: int, operations: int = 40, *, connections: int = 3, junk: float = 0.0, split: float = 0.5
):
    """A workload of about so many operations on so many connections.

    `junk`: how likely an operation brings bytes that are no request; `split`: how likely a request comes in pieces.
    """
    return _Drawer(seed, connections, junk, split).drawn(operations)


class _Drawer:
    """Knows what each connection has sent, so that requests are mostly answered when they are in work."""

    def __init__(self, seed: int, connections: int, junk: float, split: float):
        self._random = random.Random(seed)
        self._junk, self._split = junk, split
        self._names = [chr(ord("A") + number) for number in range(connections)]
        self._queues: dict[str, list[int]] = {name: [] for name in self._names}  # sent, not answered
        self._rest: dict[str, tuple[int, int]] = {}  # a request of which only so many bytes have come
        self._next = 1

    def drawn(self, operations: int) -> ConnectionWorkload:
        """The workload."""
        lines: list[ConnectionOperation] = []
        while len(lines) < operations and self._names:
            lines.append(ConnectionOperation.parse(self._line()))
        return ConnectionWorkload(tuple(lines))

    def _line(self) -> str:
        name = self._random.choice(self._names)
        queue = self._queues[name]
        if queue and self._random.random() < 0.55:
            return self._ended(name, queue)
        if name not in self._rest and self._random.random() < self._junk:
            self._forget(name)
            return f"junk {name} {self._random.choice(sorted(JUNK))}"
        return self._sent(name)

    def _ended(self, name: str, queue: list[int]) -> str:
        if len(queue) > 1 and self._random.random() < 0.1:
            return f"answer {queue[-1]}"  # it is not in work
        number, chance = queue.pop(0), self._random.random()
        if chance < 0.05:
            self._forget(name)
            return f"close {number}"
        return f"no_response {number}" if chance < 0.2 else f"answer {number}"

    def _sent(self, name: str) -> str:
        words = []
        if name in self._rest:
            number, come = self._rest.pop(name)
            words.append(self._piece(name, number, come))
        while name not in self._rest and (not words or self._random.random() < 0.4):
            number, self._next = self._next, self._next + 1
            words.append(self._piece(name, number, 0))
        return f"send {name} {' '.join(words)}"

    def _piece(self, name: str, number: int, come: int) -> str:
        size = len(framed_request(number))
        if size - come > 1 and self._random.random() < self._split:
            end = self._random.randrange(come + 1, size)
            self._rest[name] = number, end
            return f"{number}[{come or ''}:{end}]"
        self._queues[name].append(number)
        return f"{number}[{come}:]" if come else f"{number}"

    def _forget(self, name: str) -> None:
        self._names.remove(name)
        self._rest.pop(name, None)
