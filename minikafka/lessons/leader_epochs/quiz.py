"""What the quiz asks about the lesson *Leader epochs*."""

from minikafka.lab.stage.replication import Replication, unclean_election
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, Question
from minikafka.lab.widgets.replica_lanes import ReplicaLanes


def seen_at_once_after_a_failure() -> tuple[int, int]:
    """How many records a new leader has, and shows, right after the old one has acknowledged the last and died."""
    orders = Replication(3, min_isr=2)
    for value in "ab":
        orders.append(value)
        orders.fetch()
        orders.fetch()
    orders.crash(0)
    return len(orders.values(orders.leader)), len(orders.consumed())


def isr_when_the_last_one_dies() -> tuple[tuple[int, ...], ...]:
    """The ISR after its last member has died, at the feature's levels 0 and 1."""
    found = []
    for level in (0, 1):
        last = Replication(2, eligible_leader_replicas_version=level)
        last.crash(1)
        last.crash(0)
        found.append(tuple(last.isr))
    return tuple(found)


def cut_after_an_unclean_election() -> tuple[str, ...]:
    """What broker 0 has after it came back behind a leader from outside of the ISR, and fetched."""
    parted = Replication(2, min_isr=1, unclean=True)
    unclean_election(ReplicaLanes(parted))
    if (parted.values(1), parted.leader) != (["a", "c"], 1):
        raise AssertionError("the question speaks of another election")
    parted.fetch(0)
    parted.fetch(0)
    return tuple(parted.values(0))


QUESTIONS = (
    Question(
        COMPUTE,
        "A new leader's mark",
        "Three replicas are in sync. Two records were written one after the other with `acks=all`, each acknowledged"
        " after two rounds. Right after the second answer the leader dies. How many records has the new leader, and how"
        " many of them can a consumer read before any follower has fetched from the new leader?",
        seen_at_once_after_a_failure,
        "Nothing that was acknowledged is lost. The new leader's mark is a round old; until it has caught up,"
        " consumers wait.",
        card="A new leader's mark is late. Consumers wait for a round, and nothing committed is lost",
    ),
    Question(
        CHOOSE,
        "Nobody is in sync",
        "Broker 1 is dead, broker 0 alone in the ISR and the leader. Now broker 0 dies, and the controller notices. Who"
        " is in the ISR, in a cluster formatted with 4.0, and in one formatted with 4.3?",
        isr_when_the_last_one_dies,
        "Without eligible leader replicas the last member stays in the ISR, and the partition waits for it. Since 4.1"
        " new clusters have them (`eligible.leader.replicas.version` 1): the ISR is empty, and broker 0 is eligible.",
        {
            ((), ()): "nobody; nobody",
            ((0,), (0,)): "broker 0; broker 0",
            ((0,), ()): "broker 0; nobody",
        },
        card="Without the ELR the last member of the ISR stays in it. With the ELR (clusters formatted with 4.1 or"
        " later) the ISR may be empty",
        replies={
            ((), ()): "Without the ELR nobody could be elected cleanly from an empty ISR.",
            ((0,), (0,)): "A cluster formatted with 4.1 or later has the ELR, so the ISR may be empty.",
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
        card="has more of an epoch than its leader has | where the epoch ends on the leader",
        replies={
            ("a", "b"): "A follower does as its leader: it cuts what the leader does not have.",
            ("a", "b", "c"): "`b` and `c` have the same offset, and a follower does not merge.",
        },
    ),
)
