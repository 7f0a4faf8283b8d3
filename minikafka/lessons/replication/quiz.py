"""What the quiz asks about the lesson *Replication*."""

from minikafka.lab.stage.replication import Replication
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FIRST, Question
from minikafka.lab.teaching.quiz.small_runs import alone


def mark_below_the_minimum() -> int:
    """Where the high watermark stands after a record with `acks=1`, when one is replicated from before."""
    few = alone()
    few.append("y", acks=1)
    return few.lane(0).high_watermark


def rounds_until_answered() -> int:
    """After how many rounds of fetches `acks=all` is answered."""
    orders = Replication(3, min_isr=2)
    asked = orders.append("a")
    for rounds in range(1, 5):
        orders.fetch()
        if asked.answer == "NONE":
            return rounds
    raise AssertionError("nobody is answered")


def in_sync_after_silence() -> int:
    """How many of three brokers are in sync when all had everything, and nobody has fetched for a minute."""
    quiet = Replication(3)
    quiet.append("a")
    quiet.fetch()
    quiet.fetch()
    quiet.sleep(60)
    return len(quiet.isr)


def what_stops_both() -> str:
    """What has changed where consumers stand still and `acks=all` is refused, while the leader is up."""
    few = alone()
    refused = few.append("x").answer
    return "isr" if refused == "NOT_ENOUGH_REPLICAS" and len(few.isr) < 2 and few.leader == 0 else "none"


QUESTIONS = (
    Question(
        COMPUTE,
        "Who is in sync",
        "Three replicas, `min.insync.replicas=2`. One record is on all of them, and the high watermark is 1. Both"
        " followers die and leave the ISR; then a producer with `acks=1` writes a record. Where is the high watermark"
        " afterwards?",
        mark_below_the_minimum,
        "Below the minimum the mark stands still, whatever producers ask for.",
        card="Below `min.insync.replicas` the mark stands still",
    ),
    Question(
        CHOOSE,
        "One round late",
        "Three replicas in sync, a record with `acks=all`. After how many rounds, in each of which every follower"
        " fetches once, is the producer answered?",
        rounds_until_answered,
        "The first fetch brings the record. Only the next one, which asks for what follows, tells the leader that it"
        " has arrived.",
        {1: "one", 2: "two", 3: "three"},
        card="A follower tells how far it is by the offset that it asks for",
        replies={
            1: "In the first round the followers ask for the record. The leader does not know yet that they got it.",
            3: "So long it takes until the followers hear of the new high watermark. The producer need not wait for"
            " that.",
        },
    ),
    Question(
        COMPUTE,
        "Who is in sync",
        "All three replicas have everything. For a minute nothing is appended and nobody fetches"
        " (`replica.lag.time.max.ms` is 30 seconds, and the controller hears from everybody). How many are in the ISR?",
        in_sync_after_silence,
        "What counts is how long a follower was behind. A follower that has every record is not behind.",
        card="One that has every record is not behind, even if it does not fetch",
    ),
    Question(
        FIRST,
        "Who is in sync",
        "Your broker shows a partition whose consumers stand still and whose producers with `acks=all` get"
        " `NOT_ENOUGH_REPLICAS`; all brokers are up. What do you look at first?",
        what_stops_both,
        "Too small an ISR explains both. Then ask why the others are not in it: do they fetch, and are they behind?",
        {
            "isr": "the ISR, and since when it is so small",
            "none": "whether an election is under way, without a leader yet",
            "lso": "the last stable offset of the partition",
        },
        card="Below `min.insync.replicas` the mark stands still, and `acks=all` is refused",
        replies={
            "none": "A leader says `NOT_ENOUGH_REPLICAS`, so there is one.",
            "lso": "An open transaction holds back `read_committed` consumers, and no producer.",
        },
    ),
)
