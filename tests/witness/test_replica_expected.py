"""The Spark witness of replication: on a workload that is small enough to work out by hand, and on drawn ones."""

import dataclasses
import os

import pytest

from minikafka.cluster.partition import Partition
from minikafka.witness.agreement import agree
from minikafka.witness.kafka.kafka_cluster import KafkaCluster
from minikafka.witness.observation import BLANK
from minikafka.witness.replicas.draw import draw_replica_workload
from minikafka.witness.replicas.expect import OF_A_PARTITION, replica_expected
from minikafka.witness.replicas.minikafka_cluster import MinikafkaCluster
from minikafka.witness.replicas.quantities import replica_quantities
from minikafka.witness.replicas.run import ReplicaRunner
from minikafka.witness.replicas.workload import ReplicaOperation, ReplicaWorkload

WORKLOADS = int(os.environ.get("MINIKAFKA_REPLICA_WORKLOADS", 30))
SIZE = 50

BEGINNING = """
broker replica.lag.time.max.ms=1000
start 0
start 1
start 2
topic t 0,1,2 min.insync.replicas=2
publish 0
publish 1
publish 2
"""

BY_HAND = ReplicaWorkload.parse(
    BEGINNING
    + """
produce 0 t-0 [3x10]                # 7
follow 1
follow 1
follow 2
follow 2                            # 11: the last follower asks for what comes after
produce 0 timeout=400 t-0 [2x10]    # 12
follow 1
follow 1
sleep 500                           # 15: its time is over
sleep 1000                          # 16: follower 2 is behind for more than a second
produce 0 t-0 [1x10]                # 17
answer 0                            # 18: the controller agrees
follow 1
follow 1                            # 20
follow 2
follow 2                            # 22: at the end again: it asks to come back
produce 0 t-0 [1x10]                # 23
follow 1
follow 1                            # 25: but follower 2 counts already
answer 0
follow 2
follow 2                            # 28
change t-0 leader=1
"""
)

_ROLLS_AND_LIMITS = frozenset(
    "internal.segment.bytes segment.ms segment.index.bytes retention.ms retention.bytes index.interval.bytes".split()
)


def followed_workload(seed: int) -> ReplicaWorkload:
    """A workload that Spark can follow for long: few elections, one segment a log, fetches that carry everything."""
    drawn = draw_replica_workload(
        seed,
        SIZE,
        brokers=2 + (seed % 3 > 0),
        weights={"crash": 0.3, "stop": 0.2, "change": 0.4, "delete_topic": 0.1, "answer": 12, "sleep": 16},
    )
    operations = [
        dataclasses.replace(
            operation,
            options={name: value for name, value in operation.options.items() if name not in _ROLLS_AND_LIMITS},
        )
        for operation in drawn
    ]
    settings = {name: value for name, value in drawn.settings.items() if not name.endswith("max.bytes")}
    moved = ReplicaOperation.parse("sleep 1")  # the brokers' tasks find their times when the clock first moves
    brokers = sum(operation.kind == "start" for operation in operations[:3])
    return ReplicaWorkload((*operations[:brokers], moved, *operations[brokers:]), settings)


def observe(workload, cluster, directory, witness):
    """What one of the two kinds of brokers shows, in Spark's quantities."""
    runner = ReplicaRunner(cluster, directory, workload)
    try:
        return replica_quantities(witness, workload, [runner.apply(operation) for operation in workload])
    finally:
        runner.let_go()


def minikafkas(workload, directory):
    return observe(workload, MinikafkaCluster(directory, workload.start_ms), directory, "minikafka")


@pytest.fixture(scope="module")
def by_hand(spark):
    return replica_expected([BY_HAND], spark)[0]


def test_the_high_watermark_waits_for_the_in_sync_replicas(by_hand):
    assert by_hand.column("log_end_offset t-0")[3:29] == [BLANK, *[0] * 3, *[3] * 5, *[5] * 5, *[6] * 6, *[7] * 6]
    high = by_hand.column("high_watermark t-0")
    assert (high[10], high[11], high[17], high[18], high[20], high[27], high[28]) == (0, 3, 3, 5, 6, 6, 7)


def test_a_follower_leaves_the_isr_and_comes_back(by_hand):
    isr, maximal = by_hand.column("isr t-0"), by_hand.column("maximal_isr t-0")
    assert (isr[17], isr[18], isr[25], isr[26]) == ((0, 1, 2), (0, 1), (0, 1), (0, 1, 2))
    assert (maximal[21], maximal[22]) == ((0, 1), (0, 1, 2))
    assert by_hand.value(16, "caught_up t-0")[1] == (2, BY_HAND.start_ms)


def test_who_is_told_what_and_when(by_hand):
    told = {
        number: (by_hand.value(number, "acknowledged t-0"), by_hand.value(number, "timed_out t-0"))
        for number in range(4, 29)
    }
    assert {number: said for number, said in told.items() if any(said)} == {
        11: ((7,), ()),
        15: ((), (12,)),
        20: ((17,), ()),
        28: ((23,), ()),
    }


def test_an_election_is_not_followed(by_hand):
    assert by_hand[29] == {}


def test_minikafka_agrees_on_the_workload_by_hand(by_hand, tmp_path, silent):
    agreement = agree(by_hand, minikafkas(BY_HAND, tmp_path)).check()
    assert agreement.agreed_quantities == [f"{quantity} t-0" for quantity in OF_A_PARTITION]


def test_a_request_waits_for_all_its_partitions(spark, tmp_path, silent):
    """It is blank for all of them once one is unknown; a request with no time left is answered at once."""
    text = (BEGINNING.replace("0,1,2 ", "0,1/0,1 ") + "produce 0 t-0 [1x10] t-1 [2x10]\n" + "follow 1\n" * 2).strip()
    short = "\nproduce 0 timeout=0 t-0 [1x10]"
    workloads = [
        ReplicaWorkload.parse(each) for each in (text + short, text.replace("follow", "change t-1 leader=1\nfollow", 1))
    ]
    answered, unsure = replica_expected(workloads, spark)
    assert answered.value(9, "acknowledged t-0") == answered.value(9, "acknowledged t-1") == (7,)
    assert answered.value(10, "timed_out t-0") == (10,)
    assert unsure.value(7, "acknowledged t-0") == ()
    assert unsure.value(8, "acknowledged t-0") is BLANK and unsure.value(10, "high_watermark t-0") == 1
    assert agree(answered, minikafkas(workloads[0], tmp_path))


@pytest.fixture(scope="module")
def drawn(spark):
    """Drawn workloads, each with what Spark expects of it: one question for all of them."""
    workloads = [followed_workload(seed) for seed in range(WORKLOADS)]
    return list(zip(workloads, replica_expected(workloads, spark), strict=True))


@pytest.mark.slow
def test_minikafka_agrees_on_drawn_workloads(drawn, silent, tmp_path):
    agreements = [
        agree(expected, minikafkas(workload, tmp_path / f"{number}"))
        for number, (workload, expected) in enumerate(drawn)
    ]
    for agreement, (workload, _) in zip(agreements, drawn, strict=True):
        assert agreement, f"{agreement.first_difference}\n{workload}"
    assert sum(agreement.cells for agreement in agreements) > 500 * WORKLOADS


@pytest.mark.slow
def test_kafka_agrees_on_drawn_workloads(drawn, kafka, tmp_path):
    for number, (workload, expected) in enumerate(drawn[: WORKLOADS // 3]):
        directory = tmp_path / f"{number}"
        kafkas = observe(workload, KafkaCluster(kafka, directory, workload.start_ms), directory, "Kafka")
        agreement = agree(expected, kafkas)
        assert agreement, f"{agreement.first_difference}\n{workload}"


@pytest.mark.slow
def test_drawn_workloads_have_what_spark_is_asked_for(drawn):
    said = [row for _, expected in drawn for row in expected.rows]
    of = lambda quantity: [value for row in said for name, value in row.items() if name.startswith(quantity)]  # noqa: E731
    assert sum(map(len, of("acknowledged"))) > WORKLOADS / 4 and sum(map(len, of("timed_out"))) > WORKLOADS / 4
    assert len({len(isr) for isr in of("isr")}) == 3
    assert sum(len(row) for row in said) > 12 * len(said)


@pytest.mark.slow
def test_a_leader_that_counts_itself_alone_is_noticed(drawn, tmp_path, silent, monkeypatch):
    def too_early(self, leader_log, current_time_ms):
        return leader_log.maybe_increment_high_watermark(leader_log.log_end_offset_metadata) is not None

    monkeypatch.setattr(Partition, "_maybe_increment_leader_hw", too_early)
    agreements = (
        agree(expected, minikafkas(workload, tmp_path / f"{number}"))
        for number, (workload, expected) in enumerate(drawn[:10])
    )
    different = next(agreement for agreement in agreements if not agreement)
    assert different.first_difference.quantity.startswith(("high_watermark", "acknowledged"))
