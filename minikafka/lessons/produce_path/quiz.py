"""What the quiz asks about the lesson *The produce path*."""

from minikafka.lab.stage.produce_path import ProducePath
from minikafka.lab.teaching.quiz.question import CHOOSE, Question
from minikafka.lab.teaching.quiz.small_runs import alone


def told_below_the_minimum() -> tuple[str, str]:
    """What `acks=all` and `acks=1` are told when one replica is in sync and the minimum is 2."""
    few = alone()
    return few.append("x").answer, few.append("y", acks=1).answer


def answer_to_acks_0() -> str:
    """What a producer with `acks=0` gets for a request of which one partition does not exist."""
    path = ProducePath(2)
    path.in_sync()
    return path.produce(("orders-0", "a"), ("orders-9", "b"), acks=0).answer


QUESTIONS = (
    Question(
        CHOOSE,
        "Below the minimum",
        "Three replicas, `min.insync.replicas=2`, and only the leader is left in sync. What are a producer with"
        " `acks=all` and one with `acks=1` told?",
        told_below_the_minimum,
        "The minimum protects those who ask for it. The other record is in the log of one broker, and its producer is"
        " content.",
        {
            ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"): "both: `NOT_ENOUGH_REPLICAS`",
            ("REQUEST_TIMED_OUT", "NONE"): "`REQUEST_TIMED_OUT`, and success",
            ("NONE", "NONE"): "both: success",
            ("NOT_ENOUGH_REPLICAS", "NONE"): "`NOT_ENOUGH_REPLICAS`, and success",
        },
        card="appended; `NONE` at once, but no consumer sees it yet … nothing is appended: `NOT_ENOUGH_REPLICAS`",
        replies={
            ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"): "With `acks=1` the leader does not ask how many are in"
            " sync.",
            ("REQUEST_TIMED_OUT", "NONE"): "The leader asks before it appends, and refuses at once.",
            ("NONE", "NONE"): "With `acks=all` the leader counts who is in sync: one is fewer than two.",
        },
    ),
    Question(
        CHOOSE,
        "What acks=0 never tells",
        "A request with `acks=0` for two partitions, one of which does not exist. What does the producer get?",
        answer_to_acks_0,
        "No word about which partition failed or why. The other partition's record was appended all the same.",
        {
            "nothing": "nothing",
            "an error": "an error for one partition",
            "connection closed": "its connection is closed",
        },
        card="With `acks=0` a failure closes the connection; only the broker's server log says what failed",
        replies={
            "nothing": "So it is when all goes well.",
            "an error": "With `acks=0` there is no response in which it could stand.",
        },
    ),
)
