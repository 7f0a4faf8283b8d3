"""What the quiz asks about the lesson *The produce purgatory*."""

from minikafka.lab.stage.produce_path import ProducePath
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, Question


def records_after_a_retry() -> int:
    """How many records are there after a time-out, a retry without producer id, and two fetches."""
    path = ProducePath(2, min_isr=2)
    path.in_sync()
    path.produce(("orders-0", "a"), timeout_ms=100)
    path.sleep(100)
    path.produce(("orders-0", "a"))
    path.fetch(1)
    path.fetch(1)
    return len(path.values())


def told_when_the_isr_shrinks() -> str:
    """What a request is told that waits when the only follower dies, and nobody comes back in time."""
    path = ProducePath(2, min_isr=2)
    path.in_sync()
    waits = path.produce(("orders-0", "a"), timeout_ms=100)
    path.dies(1)
    path.sleep(100)
    return waits.parts["orders-0"].error


QUESTIONS = (
    Question(
        COMPUTE,
        "Three ways out",
        "A request with one record and `acks=all` times out. The producer, which is not idempotent, sends the record"
        " again; then the follower fetches twice. How many records are in the log?",
        records_after_a_retry,
        "A time-out takes nothing back. It says: I do not know yet.",
        card="No answer takes records out of the log again",
    ),
    Question(
        CHOOSE,
        "The minimum, before and after",
        "Two replicas, `min.insync.replicas=2`. The leader has appended a record with `acks=all`; then the follower"
        " dies, leaves the ISR and does not come back. What is the producer told?",
        told_when_the_isr_shrinks,
        "Below the minimum the high watermark stands still: the request is never checked a second time, so the timer"
        " answers.",
        {
            "NONE": "success: every replica in sync has the record",
            "NOT_ENOUGH_REPLICAS": "`NOT_ENOUGH_REPLICAS`",
            "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "`NOT_ENOUGH_REPLICAS_AFTER_APPEND`",
            "REQUEST_TIMED_OUT": "`REQUEST_TIMED_OUT`",
        },
        card="Below the minimum the mark stands still, so a request that waits is answered by the timer",
        replies={
            "NONE": "One replica in sync is below the minimum, and there the high watermark stands still.",
            "NOT_ENOUGH_REPLICAS": "So a request is refused before anything is appended.",
            "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "For that, the high watermark must have reached the required offset"
            " before the ISR shrank.",
        },
    ),
)
