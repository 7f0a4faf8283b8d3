"""Kafka's brokers and ours side by side, with the same metadata: each request goes to both."""

import re

from minikafka.broker.broker import Broker
from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.messages.cluster_metadata import ConfigRecord
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes
from minikafka.network.request import NoBytes
from minikafka.witness.kafka.kafka_cluster import KafkaCluster
from minikafka.witness.replicas.differ import plain
from minikafka.witness.replicas.scripted_controller import ScriptedController, directory_id, fixed_id
from minikafka.witness.unordered_lists import UNORDERED, sort_unordered
from tests.broker.drawn_admin_requests import MASKED

START_MS = 1_000_000
TOPICS = {"orders": 3, "t": 2, "lagging": 1, "__consumer_offsets": 1, "far-away": 2, "a.b_c": 1}
SETTINGS = {
    "log.cleaner.enable": False,
    "log.index.size.max.bytes": 1024,
    "replica.fetch.backoff.ms": 0,
    "replica.fetch.wait.max.ms": 0,
    "auto.create.topics.enable": False,
    "max.incremental.fetch.session.cache.slots": 0,  # test_fetch_sessions_against_kafka.py has sessions
    "listener.name.inside.max.connections": 7,
    "listener.name.inside.ssl.key.password": "secret",
    "a.setting.of.my.own": "also secret",
}
OF_ALL_BROKERS = {"log.retention.minutes": "90", "unclean.leader.election.enable": "false", "node.id": "7"}
OF_BROKER_0 = {
    "log.flush.interval.ms": "999999",
    "compression.zstd.level": "x",
    "listener.name.a.ssl.keystore.type": "Z",
}
OF_TOPICS = {
    "lagging": {"min.insync.replicas": 2, "retention.ms": 1000, "cleanup.policy": "compact,delete"},
    "t": {"min.insync.replicas": 1, "internal.segment.bytes": 3_000_000, "min.cleanable.dirty.ratio": "1e-8"},
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
            settings = {
                "process.roles": "broker",
                "controller.quorum.voters": "100@localhost:9093",
                "controller.listener.names": "CONTROLLER",
                "listeners": f"PLAINTEXT://localhost:{9100 + broker_id}",
                **settings,
            }
            logs = {"node.id": broker_id, "log.dirs": directory / "kafka" / str(broker_id)}
            self.kafkas.start(broker_id, epoch, {**settings, **logs})
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
        for broker, changed in (("", OF_ALL_BROKERS), ("0", OF_BROKER_0)):
            for name, value in changed.items():
                resource = {"resource_type": ConfigResourceType.BROKER, "resource_name": broker}
                self.script.records.append(ConfigRecord(**resource, name=name, value=value))
        for name, partitions in TOPICS.items():
            places = [[1, 0] if name == "far-away" else [0, 1]] * partitions
            self.script.create_topic(name, places, OF_TOPICS.get(name, {"min.insync.replicas": 1}))
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
        """Give both a request; returns our broker's ticket."""
        ticket = self.ours[broker_id].handle(request)
        self._waiting[self.kafkas.handle(broker_id, request)] = ticket, request
        return ticket

    def ask(self, broker_id, api, version, body):
        """The body of our answer, which is also Kafka's."""
        ticket = self.handle(broker_id, request_bytes(api, version, body, correlation_id=1, client_id="c"))
        self.compare()
        return parse_response(api, version, ticket.result)[1]

    def compare(self):
        """Both sides have answered the same requests, and with the same; returns Kafka's answers."""
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
    """An answer as what it says, which is easier to compare by eye, and its bytes unless something in it is masked.

    Lists in the order of Kafka's hash maps are sorted.
    """
    if isinstance(answer, NoBytes):
        return {NoBytes.NO_RESPONSE: "none", NoBytes.CLOSE: "close"}[answer]
    if isinstance(answer, str):
        return answer
    api, version = ApiKeys(int.from_bytes(request[:2], "big")), int.from_bytes(request[2:4], "big")
    correlation_id, body = parse_response(api, version, answer)
    if api in MASKED:
        MASKED[api](body)
    sort_unordered(api, body)
    text = re.sub("<memory at 0x[0-9a-f]+>", "records", str(body))
    if api in MASKED:
        return correlation_id, text
    return correlation_id, text, (len(answer), plain(body)) if api in UNORDERED else bytes(answer).hex()
