"""The high watermark that a leader's knowledge of its followers allows."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from minikafka.common.topic_partition import TopicPartition
from minikafka.lab.exercises.asked import AskedCase, answers_of, judged_by_spark, jvm_of
from minikafka.lab.exercises.exercise import Belief, Exercise
from minikafka.lab.exercises.solutions import replication as solutions
from minikafka.witness.workload import START_MS

FENCED = 3
"""The broker of the cases that is fenced; all others may join the in-sync replicas."""

MAX_LAG = 30_000
"""replica.lag.time.max.ms of the cases."""

NOW = START_MS + 100_000
"""When the cases are asked, in ms since 1970."""


@dataclass(frozen=True)
class FollowerSeen:
    """What the leader knows of a follower: the end that its last fetch named (−1: no fetch yet), when it was last
    caught up (ms), and whether it may join the in-sync replicas.
    """

    broker_id: int
    log_end_offset: int
    last_caught_up_time_ms: int
    eligible: bool


@dataclass(frozen=True)
class LeaderSeen:
    """A partition at its leader, broker 0: offsets, the committed `isr`, the `maximal_isr` (the ISR with a member that
    was proposed), the least size of the ISR, and the followers.
    """

    high_watermark: int
    log_end_offset: int
    isr: frozenset[int]
    maximal_isr: frozenset[int]
    min_isr: int
    replica_lag_time_max_ms: int
    remote_replicas: tuple[FollowerSeen, ...]


def _leader(
    name: str,
    *followers: tuple[int, int, int],
    isr: str = "012",
    maximal: str = "",
    end: int = 8,
    mark: int = 0,
    min_isr: int = 1,
) -> tuple[str, LeaderSeen]:
    """A case. `followers`: (broker id, end, ms since it was last caught up)."""
    committed = frozenset(map(int, isr))
    seen = tuple(FollowerSeen(b, last, NOW - ago, b != FENCED) for b, last, ago in followers)
    return name, LeaderSeen(mark, end, committed, frozenset(map(int, maximal)) or committed, min_isr, MAX_LAG, seen)


_ASKED = (
    _leader("all in sync", (1, 5, 100), (2, 3, 100)),
    _leader("the leader alone", isr="0"),
    _leader("one has not fetched", (1, 5, 100), (2, -1, 100)),
    _leader("an end below the mark", (1, 5, 100), (2, 3, 100), mark=4),
    _leader("2 left long ago", (1, 6, 100), (2, 3, 60_000), isr="01"),
    _leader("2 is out of the ISR and catching up", (1, 6, 100), (2, 3, 10_000), isr="01"),
    _leader("3 is fenced, and was there just now", (1, 6, 100), (3, 3, 10_000), isr="01"),
    _leader("3 is fenced, and in the ISR", (1, 6, 100), (3, 3, 10_000), isr="013"),
    _leader("to the millisecond", (1, 6, 100), (2, 3, 30_000), isr="01"),
    _leader("a millisecond later", (1, 6, 100), (2, 3, 30_001), isr="01"),
    _leader("2 is proposed", (1, 6, 100), (2, 3, 60_000), isr="01", maximal="012"),
    _leader("below the minimum", (1, 6, 60_000), (2, 3, 60_000), isr="0", min_isr=2, mark=2),
    _leader("below the minimum, 1 is proposed", (1, 6, 100), isr="0", maximal="01", min_isr=2, mark=2),
    _leader("exactly the minimum", (1, 6, 100), (2, 3, 60_000), isr="01", min_isr=2, mark=2),
)


@cache
def _spark_says() -> dict[int, int]:
    leaders = [
        (number, seen.high_watermark, seen.log_end_offset, len(seen.isr) >= seen.min_isr)
        for number, (_, seen) in enumerate(_ASKED)
    ]
    followers = [
        (n, f.log_end_offset, f.broker_id in seen.maximal_isr, NOW - f.last_caught_up_time_ms, f.eligible)
        for n, (_, seen) in enumerate(_ASKED)
        for f in seen.remote_replicas
    ]
    return answers_of(
        """SELECT number, greatest(mark, IF(enough, min(least(leader.end, coalesce(follower.end, leader.end))), mark))
           FROM {leaders} leader
           LEFT JOIN (SELECT * FROM {followers} WHERE counts OR eligible AND ago <= {max_lag}) follower USING (number)
           GROUP BY number, mark, enough""",
        leaders=(leaders, "number INT, mark BIGINT, end BIGINT, enough BOOLEAN"),
        followers=(followers, "number INT, end BIGINT, counts BOOLEAN, ago BIGINT, eligible BOOLEAN"),
        max_lag=MAX_LAG,
    )


def _case(number: int) -> AskedCase:
    name, seen = _ASKED[number]
    followers = ", ".join(
        f"{f.broker_id} ends at {f.log_end_offset}, caught up {NOW - f.last_caught_up_time_ms} ms ago"
        for f in seen.remote_replicas
    )
    isr = "".join(map(str, sorted(seen.isr)))

    def answered(factory: Any) -> int:
        kafka = jvm_of(factory)
        return (_minikafka_says() if kafka is None else _kafka_says(kafka))[number]

    words = f"{name} (ISR {isr}, at least {seen.min_isr}; leader ends at {seen.log_end_offset}; {followers or 'alone'})"
    return AskedCase(words, (seen, NOW), lambda: _spark_says()[number], answered)


@cache
def _minikafka_says() -> list[int]:
    """The answers of a leader that leads in all cases at once."""
    from minikafka.broker.cluster import Cluster
    from minikafka.lab.stage.workbench import scratch

    cluster = Cluster(scratch("cluster"), start_ms=START_MS)
    for broker in range(FENCED + 1):
        cluster.start(broker)
    for number, (_, seen) in enumerate(_ASKED):
        replicas = [0, *(replica.broker_id for replica in seen.remote_replicas)]
        cluster.create_topic(_topic(number), replicas, min__insync__replicas=seen.min_isr)
    cluster.crash(FENCED)
    cluster.fence(FENCED)
    manager = cluster.brokers[0].replica_manager
    return [
        _minikafkas_mark(manager.get_partition_or_exception(TopicPartition(_topic(number), 0)), seen)
        for number, (_, seen) in enumerate(_ASKED)
    ]


def _minikafkas_mark(partition: Any, seen: LeaderSeen) -> int:
    """The mark after `Partition._maybe_increment_leader_hw` in the state `seen`."""
    from minikafka.cluster.partition_state import CommittedPartitionState, PendingExpandIsr
    from minikafka.lab.stage.workbench import records
    from minikafka.log.append_origin import AppendOrigin
    from minikafka.log.log_offset_metadata import LogOffsetMetadata
    from minikafka.metadata.leader_recovery_state import LeaderRecoveryState

    for _ in range(seen.log_end_offset):
        partition.append_records_to_leader(records(), AppendOrigin.CLIENT, 1)
    if seen.remote_replicas:
        partition.log.update_high_watermark(seen.high_watermark)
    for follower in seen.remote_replicas:
        if follower.log_end_offset >= 0:
            end = LogOffsetMetadata(follower.log_end_offset)
            replica = partition.get_replica(follower.broker_id)
            replica.update_fetch_state_or_throw(end, 0, follower.last_caught_up_time_ms, 0, -1)
    partition.partition_state = CommittedPartitionState(seen.isr, LeaderRecoveryState.RECOVERED)
    for proposed in seen.maximal_isr - seen.isr:
        partition.partition_state = PendingExpandIsr(proposed, None, partition.partition_state)
    partition._maybe_increment_leader_hw(partition.log, NOW)
    return partition.log.high_watermark


def _kafka_says(kafka: Any) -> list[int]:
    """The answers of a broker of Kafka's that leads in all cases at once; it is started once for a JVM."""
    from minikafka.lab.exercises.replication.kafka_partitions import KafkaPartitions
    from minikafka.lab.stage.workbench import scratch

    if (found := vars(kafka).get("_counted_ends")) is not None:
        return found
    partitions = KafkaPartitions(kafka, 0, scratch("0"), (1, 2, FENCED))
    partitions.controller.fence(FENCED, True)
    for number, (_, seen) in enumerate(_ASKED):
        replicas = [0, *(replica.broker_id for replica in seen.remote_replicas)]
        partitions.controller.create_topic(_topic(number), [replicas], {"min.insync.replicas": seen.min_isr})
        partitions.controller.change_partition(_topic(number), 0, isr=sorted(seen.isr))
    with partitions:
        found = [partitions.mark_of(_topic(number), seen, NOW) for number, (_, seen) in enumerate(_ASKED)]
    kafka._counted_ends = found
    return found


def _topic(number: int) -> str:
    return f"mark{number}"


def _mark(
    *,
    enough=lambda partition: len(partition.isr) >= partition.min_isr,
    counts=lambda partition, replica: replica.broker_id in partition.maximal_isr,
    waits=lambda partition, replica, now: (
        replica.eligible and now - replica.last_caught_up_time_ms <= partition.replica_lag_time_max_ms
    ),
    known=lambda replica: True,
    choose=min,
    never_falls=max,
):
    """A wrong answer, where not told otherwise the right one."""

    def maybe_increment_leader_hw(partition, now):
        if not enough(partition):
            return partition.high_watermark
        ends = [
            replica.log_end_offset
            for replica in partition.remote_replicas
            if (counts(partition, replica) or waits(partition, replica, now)) and known(replica)
        ]
        return never_falls(partition.high_watermark, choose([partition.log_end_offset, *ends]))

    return maybe_increment_leader_hw


counted_end = Exercise(
    "Exercise 2, the least end that counts",
    lambda: [_case(number) for number in range(len(_ASKED))],
    judged_by_spark,
    solutions.maybe_increment_leader_hw,
    hints=[
        "First: is the committed ISR (`isr`) smaller than `min_isr`? Then the mark stays where it is.",
        "Which followers count? Those in `maximal_isr`, and those that are about to join: eligible, and caught up at most"
        " `replica_lag_time_max_ms` before `now`.",
        "The least end of the leader and of those; −1 is an end like any other. And the mark never falls: max(…).",
    ],
    beliefs=[
        Belief(
            _mark(waits=lambda *_: False),
            "You wait for the ISR alone. A live follower that is about to join holds the mark back as well, or it could"
            " never reach it.",
        ),
        Belief(
            _mark(waits=lambda partition, replica, now: replica.eligible),
            "You wait for every follower that may join, however far behind it is. It counts while it was caught up within"
            " `replica_lag_time_max_ms`.",
        ),
        Belief(
            _mark(
                waits=lambda partition, replica, now: (
                    now - replica.last_caught_up_time_ms <= partition.replica_lag_time_max_ms
                )
            ),
            "You wait for a follower that may not join. A fenced broker holds nothing back, unless it is in the ISR.",
        ),
        Belief(
            _mark(
                waits=lambda partition, replica, now: (
                    replica.eligible and now - replica.last_caught_up_time_ms < partition.replica_lag_time_max_ms
                )
            ),
            "You stop waiting too early. At exactly `replica_lag_time_max_ms` a follower is still caught up.",
        ),
        Belief(
            _mark(counts=lambda partition, replica: replica.broker_id in partition.isr),
            "You leave out a member that was proposed. Until the controller has answered, the stricter set counts: the"
            " maximal ISR.",
        ),
        Belief(
            _mark(enough=lambda partition: True),
            "Your mark moves below the minimum. It stands still while the ISR is smaller than min.insync.replicas.",
        ),
        Belief(
            _mark(enough=lambda partition: len(partition.maximal_isr) >= partition.min_isr),
            "You count a proposed member into the minimum. There the committed ISR counts: the stricter set again.",
        ),
        Belief(
            _mark(known=lambda replica: replica.log_end_offset >= 0),
            "You leave out a member of the ISR that has not fetched yet. Nobody knows what it has: the mark waits.",
        ),
        Belief(_mark(never_falls=lambda mark, end: end), "Your mark falls. On a leader it only rises."),
        Belief(
            _mark(choose=max),
            "You take the greatest end. What only one replica has is lost with that one.",
        ),
    ],
)
