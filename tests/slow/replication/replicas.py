"""Three replicas of one partition with everything that can go wrong around them, for the model checker."""

import shutil
import struct
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from minikafka.broker.broker import Broker
from minikafka.broker.cluster import Cluster
from minikafka.common import file_ops
from minikafka.common.error_codes import Errors
from minikafka.common.topic_partition import TopicPartition
from minikafka.metadata.controller import Controller
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

BROKERS = (0, 1, 2)
MIN_ISR = 2
TOPIC_PARTITION = TopicPartition("t", 0)
SETTINGS = {
    "num.recovery.threads.per.data.dir": "1",  # in the caller's thread, where the effects can be seen
    "log.cleaner.enable": "false",
    "replica.lag.time.max.ms": "10000",
    "replica.fetch.backoff.ms": "0",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
}
TOPIC_SETTINGS = {
    "min.insync.replicas": str(MIN_ISR),
    "segment.bytes": "1048576",
    "internal.segment.bytes": "700",
    "segment.index.bytes": "1024",
}
_HEADER = struct.Struct(">qiibIhi")  # base offset, length, leader epoch, magic, CRC, attributes, last offset delta

Produce = request_class(ApiKeys.PRODUCE)
Fetch = request_class(ApiKeys.FETCH)
DeleteRecords = request_class(ApiKeys.DELETE_RECORDS)


class StoredBatch(NamedTuple):
    """What is compared of a batch: its offsets (both inclusive), its leader's epoch, and the CRC of the rest."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int


class Crash(BaseException):
    """A broker is killed here. No part of the engine catches it: it is no Exception."""

    def __init__(self, broker_id: int):
        super().__init__(broker_id)
        self.broker_id = broker_id


class Line:
    """The way from a follower to a leader, which may lose an answer or deliver a request twice."""

    def __init__(self, replicas: "Replicas", peer: Broker):
        self._replicas = replicas
        self._peer = peer

    @property
    def replica_manager(self):
        return self._peer.replica_manager

    def handle(self, request: bytes):
        if self._replicas.next_fetch == "twice":
            self._peer.handle(request)
        answer = self._peer.handle(request)
        if self._replicas.next_fetch == "lost":
            raise ConnectionError("the answer was lost")
        return answer


class LateChannel:
    """A broker's way to the controller, on which proposals for ISRs wait until somebody lets them through."""

    def __init__(self, replicas: "Replicas"):
        self._replicas = replicas
        self._sent = []

    def send_request(self, request, on_complete) -> None:
        self._sent.append((request, on_complete))
        if not self._replicas.late_controller:
            self.deliver()

    def deliver(self) -> None:
        """Let the controller decide on what has been sent, and the broker know."""
        sent, self._sent = self._sent, []
        for request, on_complete in sent:
            on_complete(self._replicas.controller.alter_partition(request))


class Replicas:
    """Brokers 0, 1 and 2 with one partition, min.insync.replicas=2, no unclean elections; and what may befall them.

    A broker dies in one of two ways. When its process is killed, at any point between two effects on its disk, all that
    it had written stays. When the power of its machine fails, its directory is what it was when the file system last
    wrote back: at the broker's start, or when time last passed.

    So the disk here loses writes in the reverse of their order. One that may lose an earlier write and keep a later one
    leads Kafka astray, for it syncs neither the deletion of the marker of a clean stop nor a truncated log, but does
    sync the epochs that stand in `leader-epoch-checkpoint`: a log that is taken for clean is not recovered, and one
    that lost its truncation ends in an epoch of which its leader knows nothing wrong. Both were found by this model,
    and are not tried any more. What a single log makes of such disks, `tests/slow/crash` tries.

    Kafka acknowledges what several brokers have, synced or not. So what is acknowledged survives any number of kills,
    but only such power failures that leave, among those in the ISR, another broker which still has what it had
    written; and the controller must know of the failure before that broker returns (`may_lose_power`). Beyond that it
    can be lost, by Kafka as well: the last broker in an ISR may come back without its tail and lead, unless eligible
    leader replicas (KIP-966) are on.
    """

    def __init__(self, directory: Path, seed: int = 0, *, eligible_leader_replicas_version: int = 1):
        self.directory = directory
        self.controller = Controller(
            SETTINGS, seed=seed, eligible_leader_replicas_version=eligible_leader_replicas_version
        )
        self.channels: dict[int, LateChannel] = {}
        self.cluster = Cluster(
            directory,
            settings=SETTINGS,
            controller=self.controller,
            start_ms=1_000_000,
            line_to=lambda leader: Line(self, leader),
            channel_of=self.channels.__getitem__,
        )
        self.cluster.publishes_at_once = False
        self.time = self.cluster.time
        self.brokers = self.cluster.brokers
        self.written_back: dict[int, dict[str, bytes]] = {}  # by broker: the files that survive a power failure
        self.next_fetch = ""  # "lost", "twice", or all is well
        self.late_metadata: set[int] = set()  # brokers that do not read the metadata log for now
        self.late_controller = False
        self.waiting: list[tuple[StoredBatch, object]] = []  # acks=all requests without an answer
        self.acknowledged: dict[int, StoredBatch] = {}  # by base offset
        self.consumed: dict[int, StoredBatch] = {}  # what some consumer has seen, by base offset
        self.read_twice_unequal: list[tuple[StoredBatch, StoredBatch]] = []  # what it saw first, and later
        self.deleted_up_to = 0  # consumers' own wish (exclusive)
        self.highest_leader_epoch = self.highest_partition_epoch = -1
        self._starts = 0
        self._values = 0
        self._effects_left: tuple[int, int] | None = None  # (broker, how many effects until it is killed)
        for broker_id in BROKERS:
            self.start(broker_id)
        topic = creatable_topic("t", assignments=[(0, list(BROKERS))], configs=dict(TOPIC_SETTINGS))
        (result,) = self.controller.create_topics([topic])
        assert result.error_code == Errors.NONE, result
        self.publish()

    # Starts and stops

    def start(self, broker_id: int) -> None:
        """Start a broker on what its directory holds; the controller has missed it by now."""
        if self._starts >= len(BROKERS):
            self.controller.fence_broker(broker_id)
        self._starts += 1
        self.channels[broker_id] = LateChannel(self)
        self.late_metadata.discard(broker_id)
        with self.observed():
            self.cluster.start(broker_id)
        self._write_back(broker_id)

    def stop(self, broker_id: int) -> None:
        """Stop a broker in order."""
        with self.observed():
            self.cluster.stop(broker_id)
        self.controller.fence_broker(broker_id)

    def kill(self, broker_id: int) -> None:
        """kill -9: what was written stays. The controller need not know yet."""
        self.cluster.crash(broker_id)

    def may_lose_power(self, broker_id: int) -> bool:
        """Whether this broker's unsynced bytes are also another one's, as far as the controller is concerned."""
        registration = self.registration()
        return broker_id in self.brokers and bool(set(registration.isr) - {broker_id})

    def cut_power(self, broker_id: int) -> None:
        """A power failure, which the controller learns of."""
        log_dir = self.directory / f"broker-{broker_id}"
        self.kill(broker_id)
        shutil.rmtree(log_dir)
        log_dir.mkdir()
        for name, data in self.written_back[broker_id].items():
            path = log_dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        self.controller.fence_broker(broker_id)

    def _write_back(self, broker_id: int) -> None:
        log_dir = self.directory / f"broker-{broker_id}"
        files = (path for path in log_dir.rglob("*") if path.is_file())
        self.written_back[broker_id] = {str(path.relative_to(log_dir)): path.read_bytes() for path in files}

    def die_after(self, broker_id: int, effects: int, step: Callable[[], object]) -> None:
        """Do something during which a broker is killed, once it has had that many effects on its disk."""
        self._effects_left = broker_id, effects
        try:
            step()
        except Crash as crash:
            self.kill(crash.broker_id)
        finally:
            self._effects_left = None

    @contextmanager
    def observed(self):
        """What happens inside may kill a broker."""

        def effect(operation: str, path: Path) -> None:
            for broker_id in self.brokers:
                if str(path).startswith(str(self.directory / f"broker-{broker_id}")):
                    self._maybe_crash(broker_id)

        with file_ops.observe(effect):
            yield

    def _maybe_crash(self, broker_id: int) -> None:
        """Raise Crash if this was the last effect that the broker is allowed."""
        if self._effects_left is not None and self._effects_left[0] == broker_id:
            left = self._effects_left[1]
            self._effects_left = (broker_id, left - 1) if left else None
            if not left:
                raise Crash(broker_id)

    # The controller

    def registration(self):
        """The partition as the controller has it."""
        return self.controller.image.topics.topics_by_name["t"].partitions[0]

    def leader(self) -> Broker | None:
        """The leader by the controller's word, if it is running and knows it."""
        registration = self.registration()
        broker = self.brokers.get(registration.leader)
        partition = broker and broker.replica_manager.online_partition(TOPIC_PARTITION)
        knows = partition and partition.is_leader and partition.leader_epoch == registration.leader_epoch
        return broker if knows else None

    def publish(self) -> None:
        """Let all brokers that are not late read what the controller has decided."""
        with self.observed():
            for broker_id, broker in list(self.brokers.items()):
                if broker_id not in self.late_metadata:
                    broker.publish()

    # Requests

    def send(self, broker_id: int, api_key: ApiKeys, version: int, body):
        request = request_bytes(api_key, version, body, correlation_id=0, client_id="model")
        with self.observed():
            return self.brokers[broker_id].handle(request)

    def produce(self, broker_id: int, records: int, acks: int) -> None:
        """Send a batch of records that no other batch has."""
        partition = self.brokers[broker_id].replica_manager.online_partition(TOPIC_PARTITION)
        base_offset = partition.log.log_end_offset if partition and partition.log else 0
        values = [f"value {self._values + number}".encode() for number in range(records)]
        self._values += records
        data = MemoryRecords.with_records(
            CompressionType.NONE, *(SimpleRecord(self.time.milliseconds(), None, value) for value in values)
        )
        partitions = [Produce.TopicProduceData.PartitionProduceData(index=0, records=data.buffer)]
        topics = [Produce.TopicProduceData(name="t", partition_data=partitions)]
        body = Produce(acks=acks, timeout_ms=30_000, topic_data=topics)
        ticket = self.send(broker_id, ApiKeys.PRODUCE, 11, body)
        if acks == -1:
            appended = [batch for batch in self.batches(broker_id, base_offset) if batch.base_offset == base_offset]
            if appended:
                self.waiting.append((appended[0], ticket))

    def collect_answers(self) -> None:
        """Note which waiting requests have been acknowledged."""
        still = []
        for batch, ticket in self.waiting:
            if not ticket.done:
                still.append((batch, ticket))
            elif isinstance(ticket.result, bytes):
                response = parse_response(ApiKeys.PRODUCE, 11, ticket.result)[1]
                if response.responses[0].partition_responses[0].error_code == Errors.NONE:
                    self.acknowledged[batch.base_offset] = batch
        self.waiting = still

    def delete_records(self, broker_id: int, offset: int) -> None:
        """Ask the leader to forget what is below `offset`."""
        self.deleted_up_to = max(self.deleted_up_to, offset)
        topic = DeleteRecords.DeleteRecordsTopic
        partitions = [topic.DeleteRecordsPartition(partition_index=0, offset=offset)]
        body = DeleteRecords(timeout_ms=1000, topics=[topic(name="t", partitions=partitions)])
        self.send(broker_id, ApiKeys.DELETE_RECORDS, 2, body)

    def follow(self, broker_id: int, how: str = "") -> None:
        """A follower's fetchers go one round, with an answer lost, a request delivered twice, or undisturbed."""
        self.next_fetch = how
        try:
            with self.observed():
                self.brokers[broker_id].follow_once()
        finally:
            self.next_fetch = ""

    def consume(self, broker_id: int) -> None:
        """Let a consumer read all that a broker gives of its partition, be it a follower; and remember."""
        log = self.log_of(broker_id)
        offset = log.log_start_offset if log is not None else 0
        while True:
            asked = Fetch.FetchTopic.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
            body = Fetch(
                max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=[Fetch.FetchTopic(topic="t", partitions=[asked])]
            )
            ticket = self.send(broker_id, ApiKeys.FETCH, 12, body)
            answer = parse_response(ApiKeys.FETCH, 12, ticket.result)[1].responses[0].partitions[0]
            batches = batches_in(bytes(answer.records or b""))
            if answer.error_code != Errors.NONE or not batches:
                return
            for batch in batches:
                known = self.consumed.setdefault(batch.base_offset, batch)
                if known != batch:
                    self.read_twice_unequal.append((known, batch))
            offset = batches[-1].last_offset + 1

    def sleep(self, ms: int) -> None:
        """Let time pass and do what comes due; the file systems write back."""
        with self.observed():
            self.time.sleep(ms)
        for broker_id in self.brokers:
            self._write_back(broker_id)

    def answer_isr_proposals(self) -> None:
        """Let the controller see all proposals that are underway."""
        with self.observed():
            for broker_id, channel in list(self.channels.items()):
                if broker_id in self.brokers:
                    channel.deliver()

    # What is on the disks

    def log_of(self, broker_id: int):
        partition = self.brokers[broker_id].replica_manager.online_partition(TOPIC_PARTITION)
        return partition.log if partition is not None else None

    def batches(self, broker_id: int, from_offset: int = 0) -> list[StoredBatch]:
        """All batches of a broker's log that end at or above an offset."""
        log = self.log_of(broker_id)
        if log is None:
            return []
        found = []
        for segment in log.log_segments:
            found += batches_in(segment.log.file.read_bytes()[: segment.size])
        return [batch for batch in found if batch.last_offset >= from_offset]

    def heal(self) -> None:
        """Everybody is back, hears everything, and has time."""
        self.late_metadata.clear()
        self.late_controller = False
        for broker_id in BROKERS:
            if broker_id not in self.brokers:
                self.start(broker_id)
        for _ in range(12):
            self.answer_isr_proposals()
            self.publish()
            for broker_id in BROKERS:
                self.follow(broker_id)
        self.collect_answers()

    def describe(self) -> str:
        """What the controller and each broker think."""
        lines = [str(self.registration())]
        for broker_id, broker in self.brokers.items():
            partition = broker.replica_manager.online_partition(TOPIC_PARTITION)
            fetcher = broker.replica_manager.replica_fetcher_manager.get_fetcher(TOPIC_PARTITION)
            state = fetcher and fetcher.fetch_state(TOPIC_PARTITION)
            lines.append(
                f"{broker_id} (epoch {broker.broker_epoch}): {partition}, {partition and partition.partition_state},"
                f" {partition and partition.log}, {state}, {partition and [str(r) for r in partition.remote_replicas]}"
            )
        return "\n".join(lines)

    def close(self) -> None:
        for broker_id in list(self.brokers):
            self.kill(broker_id)
        shutil.rmtree(self.directory)


def batches_in(data: bytes) -> list[StoredBatch]:
    """The whole batches in some bytes."""
    batches, position = [], 0
    while position + _HEADER.size <= len(data):
        base_offset, length, leader_epoch, _, crc, _, last_delta = _HEADER.unpack_from(data, position)
        if position + 12 + length > len(data):
            break
        batches.append(StoredBatch(base_offset, base_offset + last_delta, leader_epoch, crc))
        position += 12 + length
    return batches
