"""A story: what is done to a learner's log and to Kafka's, and how stories are drawn."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from minikafka.witness.log.operations import AppendAsLeader, Operation, parse_operation

_NAMES = {"internal.segment.bytes": "segment.bytes"}  # a topic's own setting has a lower bound of a megabyte


class Damage(NamedTuple):
    """A kill, and then damage to the newest segment's `.log`: bytes cut off its end, or a byte changed (counted from
    the end), or bytes of garbage added.
    """

    cut: int = 0
    changed: int = 0
    garbage: int = 0

    def __str__(self) -> str:
        done = {"cut off": self.cut, "from the end changed": self.changed, "of garbage added": self.garbage}
        return "killed; " + ", ".join(f"{count} bytes {words}" for words, count in done.items() if count)

    def done_to(self, log: bytes) -> bytes:
        """What is left of the content of a `.log`."""
        data = bytearray(log)
        if self.changed and self.changed <= len(data):
            data[-self.changed] ^= 1
        return bytes(data[: max(0, len(data) - self.cut)]) + b"\0" * self.garbage


Step = Operation | Damage


@dataclass(frozen=True)
class Story:
    """Settings (Kafka's names) and steps: operations of a workload, and damages. Afterwards the log is closed."""

    config: dict[str, str]
    steps: tuple[Step, ...]

    @property
    def settings(self) -> dict[str, int]:
        """The settings as a learner's log gets them."""
        return {_NAMES.get(name, name): int(value) for name, value in self.config.items()}

    @property
    def settings_in_words(self) -> str:
        """The settings in one line."""
        return ", ".join(f"{name} {value}" for name, value in self.settings.items())


def told_story(lines: str, config: dict[str, str]) -> Story:
    """A story of these steps, a line for each: an operation of a workload, or a damage such as `damage cut=5`."""
    return Story(config, tuple(map(_step, lines.splitlines())))


def _step(line: str) -> Step:
    kind, _, how = line.partition(" ")
    if kind == "damage":
        name, _, count = how.partition("=")
        return Damage(**{name: int(count)})
    return parse_operation(line)


def drawn_story(seed: object, config: dict[str, str], steps: int, kinds: Sequence[str]) -> Story:
    """A story of `steps` steps of these kinds, drawn from `seed`; three appends come first.

    The kinds: append, epoch (an append by the next leader), produce (an append by an idempotent producer), transact (by
    a transactional one), end (a marker that ends a transaction, if one is open), roll, read, reopen, tick, damage.
    """
    rand = random.Random(str(seed))
    producers = _Producers(rand)
    drawn: list[Step] = []
    leader_epoch = 0
    for number in range(steps):
        kind = "append" if number < 3 else rand.choice(kinds)
        leader_epoch += kind == "epoch"
        step = producers.step(kind) if kind in producers.KINDS else _DRAWERS[kind](rand)
        drawn.append(replace(step, leader_epoch=leader_epoch) if isinstance(step, AppendAsLeader) else step)
    return Story(config, tuple(drawn))


class _Producers:
    """Producers that number their records and send nothing twice: some idempotent, some transactional. At times one
    begins anew, between its transactions: with the next epoch, and sequence 0.
    """

    KINDS = ("produce", "transact", "end")
    _IDEMPOTENT, _TRANSACTIONAL = (1, 2, 3), (4, 5, 6)  # small ids: then Java's HashMap has them in ascending order

    def __init__(self, rand: random.Random):
        self._rand = rand
        self._epochs = dict.fromkeys((*self._IDEMPOTENT, *self._TRANSACTIONAL), 0)
        self._next_sequence = dict.fromkeys(self._epochs, 0)
        self._open: set[int] = set()

    def step(self, kind: str) -> Operation:
        """A step of one of KINDS."""
        if kind == "end" and self._open:
            return self._marker(self._rand.choice(sorted(self._open)))
        if kind == "produce":
            return self._batch(self._rand.choice(self._IDEMPOTENT))
        producer_id = self._rand.choice(self._TRANSACTIONAL)
        batch = self._batch(producer_id, " txn")
        self._open.add(producer_id)
        return batch

    def _batch(self, producer_id: int, more: str = "") -> Operation:
        if producer_id not in self._open and self._rand.random() < 0.1:
            self._epochs[producer_id] += 1
            self._next_sequence[producer_id] = 0
        count, sequence = self._rand.randint(1, 4), self._next_sequence[producer_id]
        self._next_sequence[producer_id] += count
        time = self._rand.choice(["", " ts=now-500", " ts=now-900,now+4", " ts=now+2,now-700"])
        epoch = self._epochs[producer_id]
        return parse_operation(
            f"append_as_leader [{count}x30{time} data={sequence} pid={producer_id} epoch={epoch} seq={sequence}{more}]"
        )

    def _marker(self, producer_id: int) -> Operation:
        self._open.remove(producer_id)
        kind, epoch = self._rand.choice(["commit", "abort", "abort"]), self._epochs[producer_id]
        return parse_operation(
            f"append_as_leader origin=coordinator transaction_version=0 [{kind} pid={producer_id} epoch={epoch}]"
        )


def _append(rand: random.Random) -> Operation:
    count, size = rand.randint(1, 5), rand.choice([0, 1, 30, 90])
    time = rand.choice(["", "", " ts=now+500", " ts=now-500,now+3", " ts=now-1000"])
    keys = rand.choice(["", " keys=3"])
    return parse_operation(f"append_as_leader [{count}x{size}{time}{keys} data={rand.randint(0, 99)}]")


def _damage(rand: random.Random) -> Damage:
    return rand.choice([Damage(cut=rand.randint(1, 60)), Damage(changed=rand.randint(1, 40)), Damage(garbage=30)])


def _read(rand: random.Random) -> Operation:
    back, size = rand.randint(0, 12), rand.choice([1, 100, 400, 5000])
    return parse_operation(f"read leo-{back} max_length={size} isolation=log_end")


def _parsed(line: str) -> Any:
    return lambda rand: parse_operation(line)


_DRAWERS = {
    "append": _append,
    "epoch": _append,
    "damage": _damage,
    "read": _read,
    "roll": _parsed("roll leo"),
    "reopen": _parsed("reopen"),
    "tick": _parsed("tick 700"),
}
