"""What a read answers: where it begins, and how many bytes it has."""

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
    hints=[
        (
            "The first batch is the first one whose last offset is not below the start. The answer begins at its base"
            " offset."
        ),
        "From there the bytes up to the bound, or the limit if that is less. A batch at the end may be cut.",
        "With min_one_message the limit is at least the size of the first batch.",
    ],
    beliefs=[
        Belief(
            lambda batches, start, *rest: (start, solutions.answer(batches, start, *rest)[1]),
            "You begin at the start. A read begins with the whole batch that holds it (since 4.0 the metadata say so,"
            " too).",
        ),
        Belief(
            _whole_batches,
            "You end with a whole batch. Kafka counts bytes and cuts the last batch anywhere; the reader drops the rest"
            " of it.",
        ),
        Belief(
            _whole_batches_but_the_first,
            "You end with a whole batch where there is one. Kafka counts bytes and cuts the last batch anywhere, not"
            " only the first.",
        ),
        Belief(
            _begins_behind,
            "You begin with the first batch whose base offset is not below the start. The start may lie inside the "
            "batch before it: look at that one's last offset.",
        ),
        Belief(
            lambda batches, start, limit, _, bound: solutions.answer(
                batches, start, limit, min_one_message=False, bound=bound
            ),
            "You always keep to the limit. With min_one_message the first batch comes whole, or a reader with a small"
            " limit would be stuck.",
        ),
        Belief(
            lambda batches, start, limit, min_one, bound: solutions.answer(batches, start, limit, min_one, bound + 1),
            "You include the bound. It is exclusive: the batch that begins there is not sent.",
        ),
        Belief(
            _sent_empty,
            "You send nothing where the first batch is cut. The broker does so afterwards; the read answers with the"
            " bytes up to the limit.",
        ),
        Belief(_unbounded, "You read past the bound. A consumer gets nothing at or above its mark."),
        Belief(
            _one_batch_only,
            "min_one_message is a floor, not a ceiling: as many bytes as the limit allows, but at least that batch.",
        ),
    ],
)
