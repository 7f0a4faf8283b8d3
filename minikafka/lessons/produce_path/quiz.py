"""What the quiz asks about the lesson *The produce path*."""

from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, Question
from minikafka.lab.teaching.quiz.small_runs import alone
from minikafka.lessons.produce_path.produce_path import ProducePath


def told_below_the_minimum() -> tuple[str, str]:
    """What `acks=all` and `acks=1` are told when one replica is in sync and the minimum is 2."""
    few = alone()
    return few.append("x").answer, few.append("y", acks=1).answer


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


def answer_to_acks_0() -> str:
    """What a producer with `acks=0` gets for a request of which one partition does not exist."""
    path = ProducePath(2)
    path.in_sync()
    return path.produce(("orders-0", "a"), ("orders-9", "b"), acks=0).answer


QUESTIONS = (
    Question(
        CHOOSE,
        "0, 1, all",
        "Three replicas, `min.insync.replicas=2`, and only the leader is left in sync. What are a producer with"
        " `acks=all` and one with `acks=1` told?",
        told_below_the_minimum,
        "The minimum protects those who ask for it. The other record is in the log of one broker, and its producer is"
        " content.",
        {
            ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"): "both: `NOT_ENOUGH_REPLICAS`",
            ("NOT_ENOUGH_REPLICAS", "NONE"): "`NOT_ENOUGH_REPLICAS`, and success",
            ("REQUEST_TIMED_OUT", "NONE"): "`REQUEST_TIMED_OUT`, and success",
            ("NONE", "NONE"): "both: success",
        },
    ),
    Question(
        COMPUTE,
        "Three ways out",
        "A request with one record and `acks=all` times out. The producer, which is not idempotent, sends the record"
        " again; then the follower fetches twice. How many records are in the log?",
        records_after_a_retry,
        "A time-out takes nothing back. It says: I do not know yet.",
    ),
    Question(
        CHOOSE,
        "What acks=0 never tells",
        "A request with `acks=0` for two partitions, one of which does not exist. What does the producer get?",
        answer_to_acks_0,
        "No word about which partition failed or why. The other partition's record was appended all the same.",
        {
            "nothing": "nothing",
            "connection closed": "its connection is closed",
            "an error": "an error for one partition",
        },
    ),
)
