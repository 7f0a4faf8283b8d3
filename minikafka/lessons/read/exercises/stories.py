"""Workloads told in few words, and what a consumer sees of them."""

import random
import re

from minikafka.witness.log.operations import AppendAsLeader
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observations

TRANSACTIONS = ("read_committed",)
"""The names of Spark's queries that know what a consumer sees."""


def workload_of(story: str, *last: str, config: str = "") -> Workload:
    """The workload of a story in few words, with the lines `last` at its end.

    `p3`: three plain records. `7:2`: producer 7 writes two in its transaction. `7-`, `7+`: its abort, its commit.
    `9=2`: producer 9 writes two without a transaction. `hw`: the high watermark goes to the log end.
    """
    lines, sequences = [f"config {config}"] if config else [], {}
    for word in story.split():
        if word == "hw":
            lines.append("maybe_increment_high_watermark leo")
        elif word.startswith("p"):
            lines.append(f"append_as_leader [{word[1:]}x10]")
        elif word[-1] in "+-":
            end = "commit" if word[-1] == "+" else "abort"
            lines.append(f"append_as_leader origin=coordinator transaction_version=0 [{end} pid={word[:-1]} epoch=0]")
        else:
            producer, kind, count = re.split("([:=])", word)
            sequence = sequences.get(producer, 0)
            sequences[producer] = sequence + int(count)
            transactional = " txn" if kind == ":" else ""
            lines.append(f"append_as_leader [{count}x10 pid={producer} epoch=0 seq={sequence}{transactional}]")
    return Workload.parse("\n".join([*lines, *last]))


def drawn_story(draw: random.Random) -> str:
    """A story of plain records and of three producers, whose transactions overlap and mostly end; `hw` stands somewhere
    in it.
    """
    words, open_ones = [], set()
    for _ in range(draw.randint(1, 12)):
        producer = draw.choice((7, 8, 9))
        if producer in open_ones and draw.random() < 0.5:
            open_ones.remove(producer)
            words.append(f"{producer}{draw.choice('+-')}")
        elif draw.random() < 0.7:
            open_ones.add(producer)
            words.append(f"{producer}:{draw.randint(1, 3)}")
        else:
            words.append(f"p{draw.randint(1, 3)}")
    words += [f"{producer}{draw.choice('+-')}" for producer in sorted(open_ones) if draw.random() < 0.8]
    words.insert(draw.randint(0, len(words)), "hw")
    return " ".join(words)


def offsets_seen(observations: Observations, operation: int = -1) -> list[int]:
    """The offsets that the `consume` with this number saw (−1: the last operation), read from text like `0..4 7`."""
    found = []
    for first, last in re.findall(r"(\d+)(?:\.\.(\d+))?", observations.value(operation, "result")):
        found += range(int(first), int(last or first) + 1)
    return found


def records_of(workload: Workload) -> list[tuple[int, int, bool, str | None]]:
    """(offset, producer, transactional, marker) of all records, in a log that accepts each append."""
    rows = []
    for operation in workload:
        for batch in operation.batches if isinstance(operation, AppendAsLeader) else ():
            for _ in range(batch.count):
                rows.append((len(rows), batch.pid, batch.txn or batch.control, batch.marker or None))
    return rows
