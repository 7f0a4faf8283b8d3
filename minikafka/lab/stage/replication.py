"""A partition on several brokers of one process: whatever happens to it happens when it is told to.

The brokers and their controller are minikafka's own; the clock stands still, and followers fetch when they are let.
"""

from dataclasses import dataclass, replace
from typing import Any

from minikafka.broker.cluster import Cluster
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.error_codes import Errors
from minikafka.common.topic_partition import TopicPartition
from minikafka.lab.stage.replica_moments import HeldRecord, ReplicaLane, ReplicaMoment
from minikafka.lab.stage.workbench import NOON, scratch
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

WAITS = "waits"

_SETTINGS = {"replica.fetch.wait.max.ms": "0", "replica.fetch.backoff.ms": "0"}
_HIGH_WATERMARKS = "replication-offset-checkpoint"


@dataclass
class Sent:
    """A produce request: its `values`, its `acks` (−1: all), and its `answer`: "waits", "NONE" for success, or the name
    of an error; `answered_at` is the second, None while it waits.
    """

    values: tuple[str, ...]
    acks: int
    request: Any
    answer: str = WAITS
    answered_at: int | None = None

    def look(self, second: int) -> None:
        """Note the answer, if there is one by now."""
        if self.answered_at is None and self.request.done:
            self.answer, self.answered_at = Errors(self.request.partition.error_code).name, second

    def __str__(self) -> str:
        return self.answer

    __repr__ = __str__


class Replication:
    """Partition orders-0 with a replica on each of `brokers` brokers; broker 0 leads at first.

    `min_isr`: min.insync.replicas; `unclean`: unclean.leader.election.enable. Metadata reaches every broker at once.
    `eligible_leader_replicas_version`: the level of this feature of the cluster, 1 (as Kafka since 4.1) or 0.
    `narrow`: the answer to a follower's fetch has room for one batch only.
    """

    TOPIC = "orders"

    def __init__(
        self,
        brokers: int = 3,
        *,
        min_isr: int = 1,
        unclean: bool = False,
        eligible_leader_replicas_version: int = 1,
        narrow: bool = False,
    ):
        self.cluster = Cluster(
            scratch("cluster"),
            settings={**_SETTINGS, **({"replica.fetch.response.max.bytes": "1"} if narrow else {})},
            start_ms=NOON,
            eligible_leader_replicas_version=eligible_leader_replicas_version,
        )
        self.brokers = range(brokers)
        self.sent: list[Sent] = []
        self._last_seen: dict[int, ReplicaLane] = {}
        for broker in self.brokers:
            self.cluster.start(broker)
        self.cluster.create_topic(
            self.TOPIC, [*self.brokers], min__insync__replicas=min_isr, unclean__leader__election__enable=unclean
        )

    # What happens

    def append(self, *values: str, acks: int | str = "all") -> Sent:
        """A producer sends one batch of records with these values to the leader. Raises LookupError without one."""
        if not self.has_leader:
            raise LookupError("nobody leads orders-0")
        now, number = self.cluster.time.milliseconds(), -1 if acks == "all" else int(acks)
        written = [SimpleRecord(now, None, value.encode()) for value in values]
        records = MemoryRecords.with_records(Compression.NONE, *written)
        sent = Sent(values, number, self.cluster.produce(self.TOPIC, records.buffer, acks=number))
        self.sent.append(sent)
        self._look()
        return sent

    def committed(self, *values: str) -> "Replication":
        """Append these values, and let all followers fetch until every replica knows that they are committed."""
        self.append(*values)
        for _ in range(3):
            self.fetch()
        return self

    def fetch(self, *brokers: int) -> None:
        """Let each of these brokers fetch once; without any, all that are up."""
        for broker in brokers or self.brokers:
            if self.is_up(broker):
                self.cluster.follow(broker)
        self._look()

    def crash(self, broker: int, *, noticed: bool = True) -> None:
        """A broker is killed; its files stay. `noticed`: the controller learns of it at once, and elects."""
        self._last_seen[broker] = self.lane(broker)
        self.cluster.crash(broker)
        if noticed:
            self.notice(broker)

    def notice(self, broker: int) -> None:
        """The controller learns that a broker is dead, and tells the others what follows from that."""
        self.cluster.fence(broker)
        self._look()

    def start(self, broker: int) -> None:
        """A broker that was killed starts again, on its files."""
        self.cluster.restart(broker)
        del self._last_seen[broker]
        self._look()

    def sleep(self, seconds: int) -> None:
        """Let time pass; what is due in a second is done in it."""
        for _ in range(seconds):
            self.cluster.time.sleep(1000)
            self.cluster.publish()
            self._look()

    # What is seen

    @property
    def second(self) -> int:
        """The seconds since the beginning."""
        return (self.cluster.time.milliseconds() - NOON) // 1000

    @property
    def leader(self) -> int | None:
        """Who leads by the controller; None for nobody."""
        leader = self._registration.leader
        return None if leader < 0 else leader

    @property
    def has_leader(self) -> bool:
        """Whether the leader by the controller is up."""
        return self.leader is not None and self.is_up(self.leader)

    def is_up(self, broker: int) -> bool:
        """Whether a broker runs."""
        return broker not in self._last_seen

    @property
    def leader_epoch(self) -> int:
        """The leader epoch by the controller."""
        return self._registration.leader_epoch

    @property
    def isr(self) -> list[int]:
        """The in-sync replicas by the controller."""
        return sorted(self._registration.isr)

    @property
    def elr(self) -> list[int]:
        """The eligible leader replicas by the controller."""
        return sorted(self._registration.elr)

    @property
    def leader_recovery_state(self) -> str:
        """By the controller: "RECOVERED", or "RECOVERING" after an unclean election."""
        return self._registration.leader_recovery_state.name

    def partition(self, broker: int) -> Any:
        """The `Partition` of a broker that is up."""
        manager = self.cluster.brokers[broker].replica_manager
        return manager.get_partition_or_exception(TopicPartition(self.TOPIC, 0))

    def log(self, broker: int) -> Any:
        """The log of a broker that is up."""
        return self.partition(broker).log

    def values(self, broker: int) -> list[str]:
        """The values of the records that a broker holds."""
        return [record.value for record in self.lane(broker).records]

    def consumed(self) -> list[str]:
        """The values that a consumer gets from the leader, from the log's beginning on."""
        found = MemoryRecords.readable_records(self.cluster.fetch(self.TOPIC, 0).partition.records)
        return [bytes(record.value).decode() for record in found.records()]

    def latest_offset(self) -> int | str:
        """What the leader answers to a consumer that asks for the latest offset: it, or the name of an error."""
        found = self.cluster.list_offsets(self.TOPIC).partition
        return Errors(found.error_code).name if found.error_code else found.offset

    def lane(self, broker: int) -> ReplicaLane:
        """What a broker holds; of one that is down, what lies on its disk."""
        if not self.is_up(broker):
            return self._on_disk(broker)
        log = self.log(broker)
        leads = broker == self.leader
        return ReplicaLane(
            broker,
            "leads" if leads else "follows",
            self._standing(broker),
            tuple(
                HeldRecord(record.offset, batch.partition_leader_epoch, bytes(record.value).decode())
                for segment in log.log_segments
                for batch in segment.log.batches()
                for record in batch
            ),
            log.high_watermark,
            log.log_end_offset,
            None if leads else self._known_end(broker),
            tuple((entry.epoch, entry.start_offset) for entry in log.leader_epoch_cache.epoch_entries),
        )

    def moment(self, caption: str) -> ReplicaMoment:
        """All of it, now."""
        producers = tuple((" ".join(sent.values), sent.answer) for sent in self.sent if sent.acks == -1)
        lanes = tuple(map(self.lane, self.brokers))
        return ReplicaMoment(caption, self.second, self.leader, self.leader_epoch, tuple(self.isr), lanes, producers)

    @property
    def _registration(self) -> Any:
        return self.cluster.registration(self.TOPIC)

    def _look(self) -> None:
        """See who has been answered."""
        for sent in self.sent:
            sent.look(self.second)

    def _leaders_partition(self) -> Any:
        """The leader's partition; None while nobody leads."""
        return self.partition(self.leader) if self.has_leader else None

    def _standing(self, broker: int) -> str:
        partition = self._leaders_partition()
        if partition is None:
            return "in the ISR" if broker in self.isr else "not in the ISR"
        state = partition.partition_state
        if broker in getattr(state, "out_of_sync_replica_ids", ()):
            return "leaving"
        if broker in state.isr:
            return "in the ISR"
        return "joining" if broker in state.maximal_isr else "not in the ISR"

    def _known_end(self, broker: int) -> int | None:
        partition = self._leaders_partition()
        replica = None if partition is None else partition.get_replica(broker)
        end = -1 if replica is None else replica.state_snapshot.log_end_offset
        return None if end < 0 else end

    def _on_disk(self, broker: int) -> ReplicaLane:
        file = self.cluster.directory / f"broker-{broker}" / _HIGH_WATERMARKS
        marks = OffsetCheckpointFile(file).read() if file.exists() else {}
        return replace(
            self._last_seen[broker],
            role="is down",
            standing=self._standing(broker),
            high_watermark=marks.get(TopicPartition(self.TOPIC, 0), 0),
            known_end=self._known_end(broker),
        )


# What a lesson lets happen twice: with a rule, and without it.


def left_and_back(lanes: Any) -> Sent:
    """Two brokers, narrow fetches: `a`, `b` and `c` are acknowledged while broker 1 is down. It is back and has fetched
    `a` when the leader dies. Gives the request that brought `c`.
    """
    replication = lanes.replication
    lanes.after("broker 1 dies", replication.crash, 1)
    replication.append("a")
    replication.append("b")
    sent = lanes.after("a, b and c are appended, each with acks=all", replication.append, "c")
    lanes.after("broker 1 is back", replication.start, 1)
    lanes.after("broker 1 fetches, and gets a", replication.fetch, 1)
    lanes.after("broker 0 dies", replication.crash, 0)
    return sent


def two_failures(lanes: Any) -> Sent:
    """Three brokers: `b` is acknowledged, then the leader dies, and its successor before the last one has fetched
    anything from it. Gives the request that brought `b`.
    """
    replication = lanes.replication
    replication.committed("a")
    lanes.after("all have a, and know that it is committed", replication.sleep, 5)
    sent = lanes.after("b is appended, with acks=all", replication.append, "b")
    lanes.after("both followers fetch b", replication.fetch)
    lanes.after("both fetch again: b is acknowledged", replication.fetch)
    replication.sleep(5)
    lanes.after("broker 0 dies, broker 1 is elected", replication.crash, 0)
    lanes.after("broker 1 dies, and nobody knows yet", replication.crash, 1, noticed=False)
    lanes.after("broker 2 begins to follow broker 1, which does not answer", replication.fetch, 2)
    lanes.after("the controller notices it, broker 2 is elected", replication.notice, 1)
    return sent


def unclean_election(lanes: Any) -> Sent:
    """Two brokers: `b` is written while broker 1 is down, then broker 0 dies, broker 1 is elected although it was in no
    ISR, and takes `c`. Broker 0 comes back. Gives the request that brought `b`.
    """
    replication = lanes.replication
    replication.committed("a")
    lanes.after("both have a", replication.sleep, 5)
    lanes.after("broker 1 dies", replication.crash, 1)
    sent = lanes.after("b is appended", replication.append, "b")
    lanes.after("high watermarks are written to disk", replication.sleep, 5)
    lanes.after("broker 0 dies", replication.crash, 0)
    lanes.after("broker 1 is back, and elected", replication.start, 1)
    lanes.after("c is appended", replication.append, "c")
    lanes.after("broker 0 is back", replication.start, 0)
    return sent


def fast_failovers(lanes: Any) -> None:
    """Two brokers with ten records; then each leads alone for a while, twice broker 1 and once broker 0, and writes at
    offsets at which the other has written, or will. Broker 0 comes back to follow.
    """
    replication = lanes.replication
    for value in "abcdefghij":
        replication.append(value)
    for _ in range(3):
        replication.fetch()
    lanes.after("ten records, on both brokers", replication.sleep, 5)
    lanes.after("broker 0 dies, broker 1 leads", replication.crash, 0)
    replication.append("k")
    lanes.after("k and l are appended", replication.append, "l")
    lanes.after("broker 1 dies", replication.crash, 1)
    lanes.after("broker 0 is back, and leads", replication.start, 0)
    lanes.after("x is appended", replication.append, "x")
    lanes.after("broker 0 dies", replication.crash, 0)
    lanes.after("broker 1 is back, and leads", replication.start, 1)
    lanes.after("m is appended", replication.append, "m")
    lanes.after("broker 0 is back", replication.start, 0)
