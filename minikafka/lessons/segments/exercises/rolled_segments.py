"""Rolling: at which offsets segments begin."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, judged_by_spark
from minikafka.lessons.segments import solutions
from minikafka.lessons.segments.exercises.observed import appends, batch_bytes, segment_bases


def _rolled(counts, *, start: int, limit: int) -> WitnessedCase:
    workload = appends(f"internal.segment.bytes={limit}", counts, start)
    sizes = [(count, batch_bytes(count)) for count in counts]
    name = f"{len(counts)} appends from offset {start}, segment.bytes {limit}"
    return WitnessedCase(name, (start, sizes, limit), workload, segment_bases)


def _rolls_if(too_full, *, starts_anew: bool = True, counts_the_first: bool = True):
    """A wrong answer: a segment ends before a batch when `too_full(size, incoming, segment_bytes)`.

    `starts_anew`: a new segment begins with size 0; `counts_the_first`: the batch that begins it adds to its size.
    """

    def base_offsets(first_offset, appends, segment_bytes):
        bases, size, log_end = [first_offset], 0, first_offset
        for count, incoming in appends:
            rolled = too_full(size, incoming, segment_bytes)
            if rolled:
                bases.append(log_end)
                size = 0 if starts_anew else size
            size += incoming if counts_the_first or not rolled else 0
            log_end += count
        return bases

    return base_offsets


def _kafkas_question(size, incoming, segment_bytes):
    return size > segment_bytes - incoming


def _never_rolls(first_offset, appends, segment_bytes):
    return [first_offset]


def _base_is_the_last_offset(first_offset, appends, segment_bytes):
    right = solutions.base_offsets(first_offset, appends, segment_bytes)
    return right[:1] + [base - 1 for base in right[1:]]


def _drawn(draw: random.Random) -> WitnessedCase:
    """Limits are such that a segment is often just full, or one byte too small."""
    counts = tuple(draw.randint(1, 9) for _ in range(draw.randint(1, 12)))
    limit = sum(map(batch_bytes, counts[: draw.randint(1, 4)])) + draw.choice((-1, 0, 0, 1, 40))
    start = draw.choice((0, 0, 10, 2**31, 2**40))
    return _rolled(counts, start=start, limit=max(limit, *map(batch_bytes, counts)))


rolling = Exercise(
    "Exercise 1, rolling",
    lambda: [
        _rolled((3, 5, 2, 10), start=10, limit=353),
        _rolled((5, 5, 5), start=0, limit=146),
        # The second batch is one byte too large for the first segment.
        _rolled((3, 3, 3), start=0, limit=2 * batch_bytes(3) - 1),
        _rolled((1, 9, 2, 2, 7, 1, 1, 8, 3), start=100, limit=400),
        # The second segment, too, is exactly full.
        _rolled((3, 3, 3, 3, 3), start=0, limit=2 * batch_bytes(3)),
    ],
    judged_by_spark,
    solutions.base_offsets,
    drawn=_drawn,
    hints=[
        "Keep two numbers from append to append: the bytes in the active segment, and the log end offset.",
        "Kafka decides before it writes: it rolls if `size > limit - incoming`, where `incoming` is the number of "
        "bytes of the append.",
        "A new segment begins at the log end offset, and its size starts from 0.",
    ],
    beliefs=[
        Belief(
            _rolls_if(lambda size, incoming, limit: size and size >= limit - incoming),
            "You roll if a batch would fill the segment exactly. Kafka's rule is `size > segment.bytes - incoming`: "
            "a segment may be exactly full.",
        ),
        Belief(
            _rolls_if(lambda size, incoming, limit: size >= limit - incoming),
            "You roll if a batch would fill the segment exactly, even an empty one; then two segments have the same "
            "base offset. Kafka's rule is `size > segment.bytes - incoming`.",
        ),
        Belief(
            _rolls_if(_kafkas_question, starts_anew=False),
            "You do not set the size back after a roll. A new segment is empty: its size starts from 0.",
        ),
        Belief(
            _rolls_if(lambda size, incoming, limit: size > limit),
            "You write the batch and roll afterwards. Kafka rolls first, so no segment grows past segment.bytes.",
        ),
        Belief(_never_rolls, "You never roll. A batch that does not fit any more begins a new segment."),
        Belief(
            _rolls_if(_kafkas_question, counts_the_first=False),
            "You do not count the first batch of a new segment. Its bytes are in that segment, too.",
        ),
        Belief(
            _base_is_the_last_offset,
            "Your new segments begin at the last offset that was written. A segment begins at the log end offset, "
            "the offset that the next record gets.",
        ),
    ],
)
