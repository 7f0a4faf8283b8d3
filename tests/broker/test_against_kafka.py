"""The answers of KafkaApis are Kafka's own, byte by byte: drawn requests of all kinds and versions to both."""

import random
import re

import pytest

from minikafka.broker.broker import Broker
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.network.request import NoBytes
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.kafka.kafka_cluster import KafkaCluster
from minikafka.witness.replicas.scripted_controller import ScriptedController, directory_id, fixed_id

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

START_MS = 1_000_000
TOPICS = {"orders": 3, "t": 2, "lagging": 1, "__consumer_offsets": 1, "far-away": 2, "a.b_c": 1}
UNKNOWN_TOPICS = ("missing", "not/legal", "x" * 250, "")
UNKNOWN_ID = fixed_id("nothing", 9)
SETTINGS = {
    "log.cleaner.enable": False,
    "log.index.size.max.bytes": 1024,
    "replica.fetch.backoff.ms": 0,
    "replica.fetch.wait.max.ms": 0,
    "auto.create.topics.enable": False,
    "max.incremental.fetch.session.cache.slots": 0,  # test_fetch_sessions_against_kafka.py has sessions
}


class TheirRecords:
    """A controller for our brokers: what a workload has written, and nothing else."""

    def __init__(self, scripted):
        self._scripted = scripted

    def records_after(self, offset):
        return self._scripted.records[offset + 1 :]


class BothSides:
    """Brokers 0 and 1 of either kind, with the same metadata. Broker 0 leads all but `far-away`."""

    def __init__(self, kafka, directory, settings=SETTINGS):
        self.script = ScriptedController()
        self.time = ManualTime(START_MS)
        self.kafkas = KafkaCluster(kafka, directory / "kafka", START_MS)
        self.ours = {}
        for broker_id in (0, 1):
            epoch = self.script.register_broker(broker_id)
            for side in ("kafka", "ours"):
                log_dir = directory / side / str(broker_id)
                log_dir.mkdir(parents=True)
                (log_dir / "meta.properties").write_text(
                    f"version=1\nnode.id={broker_id}\ncluster.id=minikafka\ndirectory.id={directory_id(broker_id)}\n"
                )
            self.kafkas.start(
                broker_id,
                epoch,
                {
                    "process.roles": "broker",
                    "node.id": broker_id,
                    "controller.quorum.voters": "100@localhost:9093",
                    "controller.listener.names": "CONTROLLER",
                    "listeners": f"PLAINTEXT://localhost:{9100 + broker_id}",
                    "log.dirs": directory / "kafka" / str(broker_id),
                    **settings,
                },
            )
            self.ours[broker_id] = Broker(
                broker_id,
                [directory / "ours" / str(broker_id)],
                TheirRecords(self.script),
                time=self.time,
                scheduler=ManualScheduler(self.time),
                settings=settings,
                find_peer=self.ours.get,
                incarnation_id=fixed_id("incarnation", broker_id),
                cluster_id="minikafka",
            )
            self.ours[broker_id].broker_epoch = epoch
        for name, partitions in TOPICS.items():
            places = [[1, 0] if name == "far-away" else [0, 1]] * partitions
            self.script.create_topic(name, places, {"min.insync.replicas": 2 if name == "lagging" else 1})
        self.ids = {name: self.script.partitions[name, 0].topic_id for name in TOPICS}
        for broker_id, broker in self.ours.items():
            self.kafkas.publish(broker_id, self.script.records)
            broker.publish()
        self._waiting = {}

    def follow(self):
        for broker_id, broker in self.ours.items():
            self.kafkas.follow(broker_id)
            broker.follow_once()

    def sleep(self, ms):
        self.kafkas.sleep(ms)
        for _ in range(ms):
            self.time.sleep(1)

    def handle(self, broker_id, request):
        self._waiting[self.kafkas.handle(broker_id, request)] = (self.ours[broker_id].handle(request), request)

    def compare(self):
        """Both sides have answered the same requests with the same bytes; returns these."""
        answers = self.kafkas.take_answers()
        for number, (ticket, request) in list(self._waiting.items()):
            assert ticket.done == (number in answers), (request.hex(), answers.get(number))
            if ticket.done:
                del self._waiting[number]
                our_answer, kafkas = (as_text(answer, request) for answer in (ticket.result, answers[number]))
                assert our_answer == kafkas, first_difference(str(our_answer), str(kafkas))
        return answers

    def close(self):
        for broker_id, broker in self.ours.items():
            self.kafkas.crash(broker_id)
            broker.crash()


def first_difference(ours, theirs):
    at = next((n for n, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    return f"ours {ours[max(at - 300, 0) : at + 200]}\nKafka {theirs[max(at - 50, 0) : at + 200]}"


def as_text(answer, request):
    """An answer as what it says, which is easier to compare by eye, and its bytes.

    Kafka names any alive broker as the controller, for which it throws dice.
    """
    if isinstance(answer, NoBytes):
        return {NoBytes.NO_RESPONSE: "none", NoBytes.CLOSE: "close"}[answer]
    if isinstance(answer, str):
        return answer
    api, version = ApiKeys(int.from_bytes(request[:2], "big")), int.from_bytes(request[2:4], "big")
    correlation_id, body = parse_response(api, version, answer)
    if api is ApiKeys.METADATA:
        body.controller_id = 0
        return correlation_id, str(body)
    return correlation_id, re.sub("<memory at 0x[0-9a-f]+>", "records", str(body)), bytes(answer).hex()


class RequestDrawer:
    """Draws requests about topics that are there, and some that are not."""

    def __init__(self, seed, ids):
        self.draw = random.Random(seed)
        self.ids = ids

    def request(self):
        api = self.draw.choice((ApiKeys.PRODUCE,) * 4 + tuple(self.MAKERS))
        lowest, highest = api.stable_versions
        version = self.draw.randint(lowest, highest)
        body = self.MAKERS[api](self, version)
        client_id = self.draw.choice(("c", "c", "", "__admin_client"))
        return request_bytes(api, version, body, correlation_id=self.draw.getrandbits(31), client_id=client_id)

    def topics(self):
        known = self.draw.sample(list(TOPICS), self.draw.randint(0, len(TOPICS)))
        if self.draw.random() < 0.3:
            known.insert(self.draw.randint(0, len(known)), self.draw.choice(UNKNOWN_TOPICS))
        return known

    def indexes(self):
        return [self.draw.choice((0, 0, 0, 1, 2, 7, -1)) for _ in range(self.draw.choice((0, 1, 1, 2, 3)))]

    def named(self, name, by_id):
        return {"topic_id": self.ids.get(name, UNKNOWN_ID)} if by_id else {}

    def records(self):
        draw = self.draw
        compression = draw.choice((CompressionType.NONE,) * 4 + (CompressionType.ZSTD, CompressionType.GZIP))
        records = [SimpleRecord(START_MS, None, b"v" * draw.randrange(20)) for _ in range(draw.randint(1, 3))]
        if draw.random() < 0.2:
            arguments = (compression, draw.randrange(2), 0, draw.choice((0, 3)), *records)
            data = bytes(MemoryRecords.with_idempotent_records(*arguments).buffer)
        else:
            data = bytes(MemoryRecords.with_records(compression, *records, initial_offset=0).buffer)
        match draw.randrange(16):
            case 0:
                return b""
            case 1:
                return data + data
            case 2:
                return data[:16] + b"\1" + data[17:]  # an old format
            case 3:
                return data[:-1]
            case 4:
                return data[:40] + b"\xff" + data[41:]  # the checksum is wrong
        return data

    def produce(self, version):
        make = request_class(ApiKeys.PRODUCE)
        topic, partition = make.TopicProduceData, make.TopicProduceData.PartitionProduceData
        body = make(acks=self.draw.choice((1, 1, 1, 0, -1, 2)), timeout_ms=self.draw.choice((0, 5, 30)))
        for name in self.topics():
            data = [partition(index=index, records=self.records()) for index in self.indexes()]
            names = self.named(name, version >= 13) or {"name": name}
            body.topic_data.append(topic(partition_data=data, **names))
        return body

    def fetch(self, version):
        draw, make = self.draw, request_class(ApiKeys.FETCH)
        topic, partition = make.FetchTopic, make.FetchTopic.FetchPartition
        body = make(
            max_wait_ms=draw.choice((0, 0, 10)),
            min_bytes=draw.choice((0, 1, 500)),
            isolation_level=draw.choice((0, 1)),
            rack_id="" if version < 11 else draw.choice(("", "r")),
        )
        if version >= 3:
            body.max_bytes = draw.choice((1, 200, 1 << 20))
        if version >= 7:
            body.session_epoch = draw.choice((-1, -1, 0, 3))
            body.session_id = draw.choice((0, 0, 8))
        replica = draw.choice((-1, -1, -1, 1, 5))
        if version >= 15:
            body.replica_state = make.ReplicaState(replica_id=replica, replica_epoch=draw.choice((-1, 21, 20)))
        else:
            body.replica_id = replica
        for name in self.topics():
            asked = [
                partition(
                    partition=index,
                    fetch_offset=draw.choice((0, 0, 1, 2, 5, 100, -1)),
                    partition_max_bytes=draw.choice((1, 100, 1 << 20)),
                    current_leader_epoch=draw.choice((-1, -1, 0, 1)),
                    last_fetched_epoch=draw.choice((-1, 0, 1)) if version >= 12 else -1,
                )
                for index in self.indexes()
            ]
            names = self.named(name, version >= 13) or {"topic": name}
            body.topics.append(topic(partitions=asked, **names))
        return body

    def list_offsets(self, version):
        draw, make = self.draw, request_class(ApiKeys.LIST_OFFSETS)
        topic, partition = make.ListOffsetsTopic, make.ListOffsetsTopic.ListOffsetsPartition
        body = make(replica_id=draw.choice((-1, -1, -2, 1)), isolation_level=draw.choice((0, 1)) if version >= 2 else 0)
        for name in self.topics():
            asked = [
                partition(
                    partition_index=index,
                    timestamp=draw.choice((-1, -2, -3, -4, -5, -6, -7, 0, START_MS, START_MS + 1)),
                    current_leader_epoch=draw.choice((-1, -1, 0, 1)),
                )
                for index in self.indexes()
            ]
            body.topics.append(topic(name=name, partitions=asked))
        return body

    def metadata(self, version):
        draw, make = self.draw, request_class(ApiKeys.METADATA)
        body = make(topics=[])
        if version >= 4:
            body.allow_auto_topic_creation = draw.random() < 0.5
        if version >= 8:
            body.include_topic_authorized_operations = draw.random() < 0.5
        if 8 <= version <= 10:
            body.include_cluster_authorized_operations = draw.random() < 0.5
        if version >= 1 and draw.random() < 0.15:
            body.topics = None
            return body
        by_id = version >= 10 and draw.random() < 0.4
        for name in self.topics()[: 4 if by_id else 9]:
            names = {"topic_id": self.ids.get(name, UNKNOWN_ID)} if by_id else {}
            names["name"] = None if by_id and draw.random() < 0.9 else name
            body.topics.append(make.MetadataRequestTopic(**names))
        return body

    def delete_records(self, version):
        draw, make = self.draw, request_class(ApiKeys.DELETE_RECORDS)
        topic = make.DeleteRecordsTopic
        body = make(timeout_ms=draw.choice((0, 10)))
        for name in self.topics():
            asked = [
                topic.DeleteRecordsPartition(partition_index=index, offset=draw.choice((0, 1, 2, -1, -2, 1000)))
                for index in self.indexes()
            ]
            body.topics.append(topic(name=name, partitions=asked))
        return body

    def offset_for_leader_epoch(self, version):
        draw, make = self.draw, request_class(ApiKeys.OFFSET_FOR_LEADER_EPOCH)
        topic = make.OffsetForLeaderTopic
        body = make()
        for name in self.topics():
            asked = [
                topic.OffsetForLeaderPartition(
                    partition=index, current_leader_epoch=draw.choice((-1, 0, 1)), leader_epoch=draw.choice((-1, 0, 1))
                )
                for index in self.indexes()
            ]
            body.topics.append(topic(topic=name, partitions=asked))
        return body

    MAKERS = {
        ApiKeys.PRODUCE: produce,
        ApiKeys.FETCH: fetch,
        ApiKeys.LIST_OFFSETS: list_offsets,
        ApiKeys.METADATA: metadata,
        ApiKeys.DELETE_RECORDS: delete_records,
        ApiKeys.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch,
    }


@pytest.fixture
def both(kafka, tmp_path):
    both = BothSides(kafka, tmp_path)
    yield both
    both.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_drawn_requests_get_the_same_bytes(both, seed):
    drawer = RequestDrawer(seed, both.ids)
    for _ in range(150):
        both.handle(drawer.draw.choice((0, 0, 0, 1)), drawer.request())
        both.compare()
        if drawer.draw.random() < 0.3:
            both.follow()
            both.compare()
        if drawer.draw.random() < 0.2:
            both.sleep(drawer.draw.choice((1, 6, 40)))
            both.compare()
