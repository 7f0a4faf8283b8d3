"""What a read answers: where it begins, and how many bytes it has."""

import random
import re

from minikafka.lab.exercises.exercise import Case, Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, frame
from minikafka.lessons.offset_to_bytes import solutions
from minikafka.witness.log.batch import Batch
from minikafka.witness.log.workload import START_MS, Workload


def _read(counts, start, limit, bound, *, min_one=True) -> WitnessedCase:
    batches, base = [], 0
    for count in counts:
        batches.append((base, base + count - 1, Batch(count).size_in_bytes(START_MS)))
        base += count
    lines = [f"append_as_leader [{count}x10]" for count in counts] + [f"maybe_increment_high_watermark {bound}"]
    flag = str(min_one).lower()
    lines.append(f"read {start} max_length={limit} isolation=high_watermark min_one_message={flag}")
    name = (
        f"read({start}, {limit}, min_one_message={min_one}) below {bound} of batches with {', '.join(map(str, counts))}"
        " records"
    )

    def answer(observations):
        begins, size = re.match(r"(\d+).*?, (\d+) bytes", observations.value(-1, "result")).groups()
        return int(begins), int(size)

    return WitnessedCase(name, (batches, start, limit, min_one, bound), Workload.parse("\n".join(lines)), answer, ())


def _read_by_spark(case: Case) -> tuple[int, int]:
    """Set-wise: positions are running sums, the answer is the lesser of three lengths."""
    batches, start, limit, min_one, bound = case.arguments
    rows = frame(batches, "base BIGINT, last BIGINT, size BIGINT")
    found = rows.sparkSession.sql(
        """WITH placed AS (SELECT *, sum(size) OVER (ORDER BY base) - size AS position FROM {rows}),
                first AS (SELECT * FROM placed WHERE last >= {start} ORDER BY base LIMIT 1),
                room AS (SELECT sum(size) AS bytes FROM placed WHERE base >= (SELECT base FROM first) AND base < {bound})
           SELECT base, least(bytes, if({min_one}, greatest({limit}, size), {limit})) AS bytes FROM first CROSS JOIN room""",
        rows=rows, start=start, bound=bound, min_one=min_one, limit=limit,
    )  # fmt: skip
    return tuple(found.collect()[0])


def _whole_batches(batches, start, max_length, min_one_message, bound):
    first, limit = solutions.answer(batches, start, max_length, min_one_message, bound)
    total = 0
    for base, _, size in batches:
        if base >= first and total + size <= limit:
            total += size
    return first, total


def _whole_batches_but_the_first(batches, start, max_length, min_one_message, bound):
    first, size = solutions.answer(batches, start, max_length, min_one_message, bound)
    return first, _whole_batches(batches, start, max_length, min_one_message, bound)[1] or size


def _begins_behind(batches, start, max_length, min_one_message, bound):
    later = [batch for batch in batches if batch[0] >= start]
    return (
        solutions.answer(later, start, max_length, min_one_message, bound)
        if later and later[0][0] < bound
        else (start, 0)
    )


def _unbounded(batches, start, max_length, min_one_message, bound):
    return solutions.answer(batches, start, max_length, min_one_message, batches[-1][1] + 1)


def _size_of(batches, first):
    return next(size for base, _, size in batches if base == first)


def _one_batch_only(batches, start, max_length, min_one_message, bound):
    first, size = solutions.answer(batches, start, max_length, min_one_message, bound)
    return first, _size_of(batches, first) if min_one_message else size


def _sent_empty(batches, start, max_length, min_one_message, bound):
    first, size = solutions.answer(batches, start, max_length, min_one_message, bound)
    return first, size if size >= _size_of(batches, first) else 0


def _drawn(draw: random.Random) -> WitnessedCase:
    counts = [draw.randint(1, 9) for _ in range(draw.randint(1, 7))]
    bound = sum(counts[: draw.randint(1, len(counts))])
    limit = draw.choice((0, 1, 40, 77, 78, 79, 100, 200, 300, 1000, 1_000_000))
    return _read(counts, draw.randrange(bound), limit, bound, min_one=draw.random() < 0.6)


answered = Exercise(
    "Exercise 1, what a read answers",
    lambda: [
        _read((3, 5, 2, 4), 4, 1_000_000, 14),
        _read((3, 5, 2, 4), 0, 300, 14),
        _read((3, 5, 2, 4), 9, 40, 14),
        _read((3, 5, 2, 4), 9, 40, 14, min_one=False),
        _read((3, 5, 1, 4), 1, 1_000_000, 8),
        _read((3, 5, 2, 4), 2, 100, 3),
    ],
    _read_by_spark,
    solutions.answer,
    drawn=_drawn,
    hints=[
        ("The answer begins at the base offset of the first batch whose last offset is at or above the start."),
        "From there it has all bytes up to the bound, or only as many as the limit if that is less. It may cut the "
        "last batch.",
        "With min_one_message the limit is at least the size of the first batch.",
    ],
    beliefs=[
        Belief(
            lambda batches, start, *rest: (start, solutions.answer(batches, start, *rest)[1]),
            "You begin at the start offset. A read begins at the begin of the batch that holds it (since 4.0 the "
            "metadata have this offset, too).",
        ),
        Belief(
            _whole_batches,
            "You end with a whole batch. Kafka counts bytes and may cut the last batch anywhere; the reader ignores "
            "the incomplete batch.",
        ),
        Belief(
            _whole_batches_but_the_first,
            "You end with a whole batch if there is one. Kafka counts bytes and may cut any last batch, not only the "
            "first.",
        ),
        Belief(
            _begins_behind,
            "You begin with the first batch whose base offset is at or above the start. The start may be inside the "
            "batch before it: compare with the last offset.",
        ),
        Belief(
            lambda batches, start, limit, _, bound: solutions.answer(
                batches, start, limit, min_one_message=False, bound=bound
            ),
            "You never exceed the limit. With min_one_message the first batch is complete; otherwise a reader with a "
            "small limit could never continue.",
        ),
        Belief(
            lambda batches, start, limit, min_one, bound: solutions.answer(batches, start, limit, min_one, bound + 1),
            "You include the bound. It is exclusive: the batch that begins there is not in the answer.",
        ),
        Belief(
            _sent_empty,
            "You return 0 bytes if the first batch is cut. The broker does this later; the read itself returns the "
            "bytes up to the limit.",
        ),
        Belief(_unbounded, "You read beyond the bound. A consumer gets nothing at or above it."),
        Belief(
            _one_batch_only,
            "You return only one batch. min_one_message is a minimum, not a maximum: the answer has as many bytes as "
            "the limit allows, but at least that batch.",
        ),
    ],
)
