"""What the quiz asks about the lesson *An audit of a log directory*."""

from minikafka.lab.course.places import COURSE
from minikafka.lab.teaching.quiz.question import COMPUTE, Question


def orders_that_must_be_equal() -> int:
    """How many orders of broker 2 lie below the high watermark of both brokers."""
    from minikafka.lab.stage.source_by_hand import Query

    offsets = [
        {row["offset"] for row in Query(COURSE / "data" / "night" / broker / "orders-0").rows()}
        for broker in ("broker-1", "broker-2")
    ]
    return len(offsets[0] & offsets[1])


QUESTIONS = (
    Question(
        COMPUTE,
        "Are the replicas equal?",
        "Broker 1 has 84 `orders`, all below its high watermark. Broker 2 failed with 66, two of them above its own"
        " high watermark. How many orders must be the same on both disks?",
        orders_that_must_be_equal,
        "Copies must be equal below the high watermark of both. A follower's later records may be cut off.",
        card="Two copies are compared below the high watermark of both",
    ),
)
