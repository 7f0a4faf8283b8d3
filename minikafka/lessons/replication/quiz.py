"""What the quiz asks about the lesson *Replication and leader epochs*."""

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


def cut_after_an_unclean_election() -> tuple[str, ...]:
    """What broker 0 has after it came back behind a leader from outside of the ISR, and fetched."""
    from minikafka.lab.stage.replication import unclean_election
    from minikafka.lessons.replication.replica_lanes import ReplicaLanes

    parted = Replication(2, min_isr=1, unclean=True)
    unclean_election(ReplicaLanes(parted))
    if (parted.values(1), parted.leader) != (["a", "c"], 1):
        raise AssertionError("the question speaks of another election")
    parted.fetch(0)
    parted.fetch(0)
    return tuple(parted.values(0))


def isr_when_the_last_one_dies() -> tuple[tuple[int, ...], ...]:
    """The ISR after its last member has died, at the feature's levels 0 and 1."""
    found = []
    for level in (0, 1):
        last = Replication(2, eligible_leader_replicas_version=level)
        last.crash(1)
        last.crash(0)
        found.append(tuple(last.isr))
    return tuple(found)


def seen_at_once_after_a_failure() -> tuple[int, int]:
    """How many records a new leader has, and shows, right after the old one has acknowledged the last and died."""
    orders = Replication(3, min_isr=2)
    for value in "ab":
        orders.append(value)
        orders.fetch()
        orders.fetch()
    orders.crash(0)
    return len(orders.values(orders.leader)), len(orders.consumed())


def what_stops_both() -> str:
    """What has changed where consumers stand still and `acks=all` is refused, while the leader is up."""
    few = alone()
    refused = few.append("x").answer
    return "isr" if refused == "NOT_ENOUGH_REPLICAS" and len(few.isr) < 2 and few.leader == 0 else "none"


QUESTIONS = (
    Question(
        COMPUTE,
        "Who is in sync",
        "The same partition had one record on all replicas before. Where is the high watermark after the record with"
        " `acks=1`?",
        mark_below_the_minimum,
        "Below the minimum the mark stands still, whatever producers ask for.",
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
    ),
    Question(
        COMPUTE,
        "Who is in sync",
        "All three replicas have everything. For a minute nothing is appended and nobody fetches"
        " (`replica.lag.time.max.ms` is 30 seconds, and the controller hears from everybody). How many are in the ISR?",
        in_sync_after_silence,
        "What counts is how long a follower was behind. A follower that has every record is not behind.",
    ),
    Question(
        CHOOSE,
        "Who is in sync",
        "Broker 1 is dead, broker 0 alone in the ISR and the leader. Now broker 0 dies, and the controller notices. Who"
        " is in the ISR, in a cluster formatted with 4.0, and in one formatted with 4.3?",
        isr_when_the_last_one_dies,
        "Without eligible leader replicas the last member stays in the ISR, and the partition waits for it. Since 4.1"
        " new clusters have them (`eligible.leader.replicas.version` 1): the ISR is empty, and broker 0 is eligible.",
        {
            ((0,), (0,)): "broker 0; broker 0",
            ((0,), ()): "broker 0; nobody",
            ((), ()): "nobody; nobody",
        },
    ),
    Question(
        CHOOSE,
        "Where two logs part",
        "Both brokers have `a`. Broker 0, alone in the ISR, takes `b` and dies. Broker 1 is elected uncleanly and"
        " takes `c`. Broker 0 comes back and fetches until it has everything. What has it?",
        cut_after_an_unclean_election,
        "It cuts where the leader's epochs say that the logs part, and copies. `b` is lost, although it may have been"
        " acknowledged: the price of an unclean election.",
        {
            ("a", "b"): "a, b",
            ("a", "c"): "a, c",
            ("a", "b", "c"): "a, b, c",
        },
    ),
    Question(
        COMPUTE,
        "One round late",
        "Two records were written one after the other with `acks=all`, each acknowledged after two rounds. Right after"
        " the second answer the leader dies. How many records has the new leader, and how many does it show to a"
        " consumer at once?",
        seen_at_once_after_a_failure,
        "Nothing that was acknowledged is lost. The new leader's mark is a round old; until it has caught up,"
        " consumers wait.",
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
            "none": "whether an election is under way",
            "lso": "the last stable offset",
        },
    ),
)
