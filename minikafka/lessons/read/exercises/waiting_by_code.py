"""The messages between the high watermark and the log end, by code."""

import random

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.task import Belief
from minikafka.lab.exercises.witnessed import WitnessedCase, judged_by_spark
from minikafka.lab.stage.readers import log_after
from minikafka.lessons.read import solutions
from minikafka.lessons.read.exercises.stories import TRANSACTIONS, drawn_story, offsets_seen, workload_of
from minikafka.log.fetch_isolation import FetchIsolation


def _between(name: str, story: str, config: str = "") -> WitnessedCase:
    told = workload_of(story, "consume", "maybe_increment_high_watermark leo", "consume", config=config)
    log = log_after(workload_of(story, config=config))
    return WitnessedCase(
        name, (log,), told, lambda seen: len(offsets_seen(seen)) - len(offsets_seen(seen, -3)), TRANSACTIONS
    )  # fmt: skip


def _one_read(log):
    batches = list(log.read(log.high_watermark, 1_048_576, FetchIsolation.LOG_END).records.batches())
    return sum(sum(1 for _ in batch) for batch in batches if not batch.is_control_batch)


def _batches_between(log):
    batches = [batch for segment in log.log_segments for batch in segment.log.batches()]
    return sum(batch.base_offset >= log.high_watermark for batch in batches)


def _drawn(draw: random.Random) -> WitnessedCase:
    config = draw.choice(("", "", "internal.segment.bytes=250"))
    return _between("", drawn_story(draw), config)


between_code = Exercise(
    "Exercise 1, between high watermark and log end, by code",
    lambda: [
        _between("plain records", "p3 p2 hw p2 p3"),
        _between("two transactions end there", "p3 hw 7:2 8:3 7- p1 8+"),
        _between("four segments", "p3 p3 hw p3 7:3 7- p3 p3", "internal.segment.bytes=250"),
        _between("nothing waits", "p3 7:2 7+ hw"),
    ],
    judged_by_spark,
    solutions.messages_between,
    drawn=_drawn,
    draws=20,
    hints=[
        "Read with `FetchIsolation.LOG_END` from the high watermark on, and go through the batches of the answer.",
        "A read never goes beyond one segment. Read again from `batch.next_offset` until you are at the log end.",
        "A control batch (`batch.is_control_batch`) uses an offset, but it is not a message.",
    ],
    beliefs=[
        Belief(
            lambda log: log.log_end_offset - log.high_watermark,
            "LEO − HW counts offsets. Markers use offsets, too (and a compacted log has gaps), so there are fewer "
            "messages.",
        ),
        Belief(
            lambda log: max(log.log_end_offset - log.high_watermark - 1, 0),
            "You treat the log end as the last record. It is the offset of the next record; the high watermark is "
            "the first offset that waits.",
        ),
        Belief(_one_read, "You read once. An answer holds batches of one segment only: the reader must ask again."),
        Belief(
            lambda log: 0,
            "Your answer is always 0. A consumer gets nothing from the high watermark on: read with LOG_END, as a "
            "follower does.",
        ),
        Belief(_batches_between, "You count batches. One batch holds several records."),
    ],
)
