"""What a read_committed consumer skips."""

import random
from itertools import accumulate

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, judged_by_spark
from minikafka.lab.stage.readers import log_after
from minikafka.lessons.read import solutions
from minikafka.lessons.read.exercises.stories import TRANSACTIONS, drawn_story, offsets_seen, workload_of
from minikafka.log.fetch_isolation import FetchIsolation


def _batches_of(records) -> list[tuple[list[int], int, str]]:
    rows = []
    for batch in records.batches():
        found = list(batch)
        kind = "data"
        if batch.is_control_batch:
            kind = "commit" if found[0].key[3] else "abort"
        rows.append(([record.offset for record in found], batch.producer_id, kind))
    return rows


def _consumed(name: str, story: str, start: int = 0) -> WitnessedCase:
    """The answer to a read from `start`, which begins a batch, and what an application gets of it."""
    found = log_after(workload_of(story)).read(start, 1_048_576, FetchIsolation.TXN_COMMITTED)
    arguments = (_batches_of(found.records), [tuple(each) for each in found.aborted_transactions])

    def answer(observations):
        return [offset for offset in offsets_seen(observations) if offset >= start]

    return WitnessedCase(name, arguments, workload_of(story, "consume read_committed=true"), answer, TRANSACTIONS)


def _all_data(batches, aborted):
    return [offset for offsets, _, kind in batches if kind == "data" for offset in offsets]


def _never_forgiven(batches, aborted):
    earliest = {each: min(first for producer, first in aborted if producer == each) for each, _ in aborted}
    rows = [(offset, producer) for offsets, producer, kind in batches if kind == "data" for offset in offsets]
    return [offset for offset, producer in rows if producer not in earliest or offset < earliest[producer]]


def _from_its_first_offset_on(batches, aborted):
    """A transaction counts as aborted only if the batch with its first offset is there."""
    begun = {offsets[0] for offsets, _, _ in batches}
    return solutions.visible(batches, [(producer, first) for producer, first in aborted if first in begun])


def _first_batch_only(batches, aborted):
    firsts = {first for _, first in aborted}
    return [offset for offsets, _, kind in batches if kind == "data" and offsets[0] not in firsts for offset in offsets]


def _in_listed_order(batches, aborted):
    """An entry of the list waits for all that stand before it."""
    firsts = accumulate((first for _, first in aborted), max)
    return solutions.visible(batches, [(producer, first) for (producer, _), first in zip(aborted, firsts, strict=True)])


def _markers_too(batches, aborted):
    control = [offset for offsets, _, kind in batches if kind != "data" for offset in offsets]
    return sorted(solutions.visible(batches, aborted) + control)


def _drawn(draw: random.Random) -> WitnessedCase:
    """A read from the beginning, or from any batch."""
    words = [word for word in drawn_story(draw).split() if word != "hw"]
    ends = accumulate(1 if word[-1] in "+-" else int(word.lstrip("p").rpartition(":")[2]) for word in words)
    return _consumed("", " ".join([*words, "hw"]), draw.choice((0, 0, 0, *list(ends)[:-1])))


skipped = Exercise(
    "Exercise 3, what a read_committed consumer skips",
    lambda: [
        _consumed("one aborts, one commits", "p3 7:2 8:2 7- 8+ p2 hw"),
        _consumed("a producer aborts, then commits", "7:2 7:1 7- p1 7:2 7+ 7:1 7- hw"),
        _consumed("the one that began first ends last", "7:1 8:2 7:1 8- p1 7:2 7- 8:1 8+ hw"),
        _consumed("a read from the middle of a transaction", "p1 7:2 7:1 p1 7- p1 hw", start=3),
        _consumed("the producer of the higher id begins first", "8:1 7:2 8:1 7- p1 8- hw"),
    ],
    judged_by_spark,
    solutions.visible,
    drawn=_drawn,
    draws=60,
    hints=[
        "Keep the set of producers that are in an aborted transaction right now, and walk the batches once.",
        "A producer enters the set at its first offset in the list, and leaves it at its abort marker.",
        "The list is in the order of the markers. Sort it by first offset.",
    ],
    beliefs=[
        Belief(
            _all_data,
            "You return aborted records. The broker sends them, too; with the list the consumer skips them.",
        ),
        Belief(
            _never_forgiven,
            "You skip a producer's records for ever. After its abort marker it may begin a new transaction and "
            "commit it.",
        ),
        Belief(
            _from_its_first_offset_on,
            "You wait for the batch that begins at the first offset in the list. A read may begin after that batch, "
            "in the middle of the transaction.",
        ),
        Belief(
            _first_batch_only,
            "You skip only one batch of each transaction. Skip all of the producer's batches up to its abort marker.",
        ),
        Belief(
            lambda batches, aborted: solutions.visible(batches, list(dict(aborted).items())),
            "You keep one aborted transaction of each producer. The list may have several.",
        ),
        Belief(
            _in_listed_order,
            "You use the list as if it were sorted by first offset. It is in the order of the abort markers.",
        ),
        Belief(
            _markers_too,
            "You return markers. The consumer uses control records itself and does not give them to the application.",
        ),
    ],
)
