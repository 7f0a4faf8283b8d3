"""The sparse index: which batches have an entry."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, judged_by_spark
from minikafka.lessons.segments import solutions
from minikafka.lessons.segments.exercises.observed import appends, batch_bytes


def _indexed(counts, *, start: int, interval: int) -> WitnessedCase:
    workload = appends(f"index.interval.bytes={interval}", counts, start)
    batches, log_end = [], start
    for count in counts:
        log_end += count
        batches.append((log_end - 1, batch_bytes(count)))

    def entries(observations):
        found = observations.value(-1, "index_entries")
        return [(offset - start, position) for offset, position in found]

    name = f"{len(counts)} batches from offset {start}, index.interval.bytes {interval}"
    return WitnessedCase(name, (start, batches, interval), workload, entries)


def _index_absolute(base_offset, batches, interval):
    return [
        (relative + base_offset, position)
        for relative, position in solutions.index_entries(base_offset, batches, interval)
    ]


def _index_first_offsets(base_offset, batches, interval):
    starts = {0: base_offset}
    position = 0
    for last_offset, bytes_ in batches:
        position += bytes_
        starts[position] = last_offset + 1
    return [
        (starts[position] - base_offset, position)
        for _, position in solutions.index_entries(base_offset, batches, interval)
    ]


def _entries_by(*, counts_itself: bool = False, counts_anew: bool = True, counts_the_indexed: bool = True):
    """A wrong answer: the bytes since the last entry are counted in another way than Kafka's.

    `counts_itself`: with those of the batch itself; `counts_anew`: from 0 after an entry; `counts_the_indexed`: with
    those of the batch that got the entry.
    """

    def entries(base_offset, batches, interval):
        found, since_entry, position = [], 0, 0
        for last_offset, bytes_ in batches:
            indexed = since_entry + (bytes_ if counts_itself else 0) > interval
            if indexed:
                found.append((last_offset - base_offset, position))
                since_entry = 0 if counts_anew else since_entry
            since_entry += bytes_ if counts_the_indexed or not indexed else 0
            position += bytes_
        return found

    return entries


def _index_at_the_interval(base_offset, batches, interval):
    return solutions.index_entries(base_offset, batches, interval - 1)


def _index_batch_ends(base_offset, batches, interval):
    ends, position = {}, 0
    for _, bytes_ in batches:
        ends[position] = position + bytes_
        position += bytes_
    return [(relative, ends[at]) for relative, at in solutions.index_entries(base_offset, batches, interval)]


def _index_every_batch(base_offset, batches, interval):
    positions = [sum(size for _, size in batches[:number]) for number in range(len(batches))]
    return [(last - base_offset, position) for (last, _), position in zip(batches, positions, strict=True)]


def _drawn(draw: random.Random) -> WitnessedCase:
    """Intervals are often just what some batches have, or a byte more or less."""
    counts = tuple(draw.randint(1, 9) for _ in range(draw.randint(1, 12)))
    interval = max(0, sum(map(batch_bytes, counts[: draw.randint(0, 4)])) + draw.choice((-1, 0, 0, 1, 40)))
    return _indexed(counts, start=draw.choice((0, 40, 2**31, 2**40)), interval=interval)


sparse_index = Exercise(
    "Exercise 2, the sparse index",
    lambda: [
        _indexed((3, 3, 3, 3, 3, 3, 3, 3), start=0, interval=2 * batch_bytes(3)),
        # Two batches are one byte more than the interval.
        _indexed((3, 3, 3, 3, 3), start=0, interval=2 * batch_bytes(3) - 1),
        _indexed((1, 2, 3, 4, 5, 6, 7, 8), start=40, interval=224),
        _indexed((10, 1, 1, 1, 10, 1), start=1000, interval=100),
    ],
    judged_by_spark,
    solutions.index_entries,
    drawn=_drawn,
    hints=[
        "Count the bytes since the last entry. The count starts at 0, so the first batch never gets an entry.",
        "Check `since_entry > interval` before you add this batch's own bytes.",
        "An entry is (last offset of the batch - base offset, position at which the batch begins).",
    ],
    beliefs=[
        Belief(
            _index_absolute,
            "Your index holds absolute offsets. Kafka's holds offsets relative to the segment's base offset, in 4 "
            "bytes.",
        ),
        Belief(
            _index_first_offsets,
            "Your entries hold the first offset of a batch. Since Kafka 2.0 an entry holds its last offset.",
        ),
        Belief(
            _index_batch_ends,
            "You write the position at which a batch ends. An entry has the position at which the batch begins: a "
            "reader starts there.",
        ),
        Belief(
            _entries_by(counts_anew=False),
            "You never set the count back: from the first entry on, each batch gets one. After an entry the count "
            "starts again from 0.",
        ),
        Belief(
            _entries_by(counts_itself=True, counts_the_indexed=False),
            "You count a batch before you decide about its entry. Kafka decides first: only bytes before the batch "
            "count.",
        ),
        Belief(
            _index_at_the_interval,
            "You write an entry at exactly index.interval.bytes. There must be more bytes than that: `>`.",
        ),
        Belief(
            _entries_by(counts_the_indexed=False),
            "You do not count the bytes of a batch that gets an entry. The count is set to 0 first, then that batch "
            "is counted.",
        ),
        Belief(
            _index_every_batch, "You index every batch. The index is sparse: one entry for each index.interval.bytes."
        ),
    ],
)
