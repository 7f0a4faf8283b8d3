"""Questions about producers' answers, replicas, and what is found on disks."""

from minikafka.lab.course.places import COURSE
from minikafka.lab.stage.produce_path import ProducePath
from minikafka.lab.stage.producers import sent
from minikafka.lab.stage.replication import Replication
from minikafka.lab.stage.workbench import fresh_log
from minikafka.lab.teaching.quiz.question import CHOOSE, COMPUTE, FIRST, Question


def told_below_the_minimum() -> tuple[str, str]:
    """What `acks=all` and `acks=1` are told when one replica is in sync and the minimum is 2."""
    few = _alone()
    return few.append("x").answer, few.append("y", acks=1).answer


def mark_below_the_minimum() -> int:
    """Where the high watermark stands after a record with `acks=1`, when one is replicated from before."""
    few = _alone()
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
    from minikafka.lab.widgets.replica_lanes import ReplicaLanes

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
    few = _alone()
    refused = few.append("x").answer
    return "isr" if refused == "NOT_ENOUGH_REPLICAS" and len(few.isr) < 2 and few.leader == 0 else "none"


def what_makes_leaders_busy() -> str:
    """In which topic a leader writes other bytes for the records than an lz4 producer sent."""
    other = {}
    for codec in ("producer", "lz4", "gzip"):
        log, batch = fresh_log({"compression.type": codec}), sent("40x50 codec=lz4")
        body = bytes(batch.buffer)[61:]
        log.append_as_leader(batch, leader_epoch=0)
        [stored] = log.active_segment.log.batches()
        other[codec] = bytes(stored.load_full_batch().buffer)[61:] != body
    return "codec" if other == {"producer": False, "lz4": False, "gzip": True} else "none"


def segments_for_a_time() -> tuple[int, int]:
    """How many of three segments are read for records before 22:00, and for those from 07:00 on."""
    from minikafka.lab.stage.source_by_hand import Query

    ten = 1_699_999_200_000
    return tuple(
        len(
            Query(COURSE / "data" / "night" / "broker-1", f"topic = 'orders' AND timestamp {condition}")
            .plan()[0]
            .ranges
        )
        for condition in (f"< {ten}", f">= {ten + 9 * 3_600_000}")
    )


def _alone() -> Replication:
    """Three brokers with a minimum of 2 and one record on all of them; then two die."""
    few = Replication(3, min_isr=2)
    few.append("a")
    few.fetch()
    few.fetch()
    few.crash(1)
    few.crash(2)
    return few


QUESTIONS = (
    Question(
        CHOOSE,
        "11",
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
        "12",
        "Who is in sync",
        "The same partition had one record on all replicas before. Where is the high watermark after the record with"
        " `acks=1`?",
        mark_below_the_minimum,
        "Below the minimum the mark stands still, whatever producers ask for.",
    ),
    Question(
        CHOOSE,
        "12",
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
        "11",
        "Three ways out",
        "A request with one record and `acks=all` times out. The producer, which is not idempotent, sends the record"
        " again; then the follower fetches twice. How many records are in the log?",
        records_after_a_retry,
        "A time-out takes nothing back. It says: I do not know yet.",
    ),
    Question(
        CHOOSE,
        "11",
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
    Question(
        COMPUTE,
        "12",
        "Who is in sync",
        "All three replicas have everything. For a minute nothing is appended and nobody fetches"
        " (`replica.lag.time.max.ms` is 30 seconds, and the controller hears from everybody). How many are in the ISR?",
        in_sync_after_silence,
        "What counts is how long a follower was behind. A follower that has every record is not behind.",
    ),
    Question(
        CHOOSE,
        "12",
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
        "12",
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
        "12",
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
        "12",
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
    Question(
        FIRST,
        "04",
        "Compression: source and target",
        "All your producers send lz4, and the processors of leaders are much busier than those of followers. What do"
        " you look at first?",
        what_makes_leaders_busy,
        "Where the topic names another codec, the leader packs every batch anew; followers store what they fetch.",
        {
            "none": "the producers' batch size",
            "codec": "`compression.type` of the topics",
            "fetchers": "`num.replica.fetchers`",
        },
    ),
    Question(
        COMPUTE,
        "13",
        "What a query reads",
        "`orders` of the shop has three segments. In how many of them does a query look that asks for orders before"
        " 22:00, and in how many one that asks for orders from 07:00 on?",
        segments_for_a_time,
        "Files and indexes tell how late a segment reaches, not how early. Only the second condition prunes.",
    ),
)
