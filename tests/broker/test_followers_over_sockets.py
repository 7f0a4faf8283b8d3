"""Three brokers, each with its sockets and its fetchers' threads: records are replicated by themselves, over TCP."""

import threading
import time
from contextlib import ExitStack, suppress

import pytest
from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from minikafka.broker.broker import Broker
from minikafka.common.scheduler import KafkaScheduler
from minikafka.common.time import SystemTime
from minikafka.common.topic_partition import TopicPartition as Partition
from minikafka.common.uuid import random_uuid
from minikafka.metadata.controller import Controller
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.network.server.socket_server import SocketServer
from minikafka.network.server.socket_server_config import SocketServerConfig
from minikafka.server.broker_blocking_sender import BrokerBlockingSender
from tests.librdkafka_clients import Consumer, Producer

PATIENCE_S = 30
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "replica.fetch.backoff.ms": "100",
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "200",
}


class Node:
    """A broker that does everything by itself, but for the controller, which it shares."""

    def __init__(self, number, directory, controller):
        self._scheduler = KafkaScheduler()
        self._scheduler.startup()
        self.sockets = SocketServer(SocketServerConfig(SETTINGS), SystemTime(), self._handle)
        self.sockets.open()
        self.broker = Broker(
            number,
            [directory / f"broker-{number}"],
            controller,
            time=SystemTime(),
            scheduler=self._scheduler,
            settings=SETTINGS,
            connect=lambda leader, fetcher: BrokerBlockingSender(leader, f"follower-{number}", self.broker.config),
            fetchers_have_threads=True,
            listeners=self.sockets.endpoints,
            incarnation_id=random_uuid(),
        )
        self.broker.startup()
        self._scheduler.schedule("publish-metadata", self.broker.publish, 20, 20)
        self.sockets.start()

    def _handle(self, data, channel, answer):
        self.broker.receive(data, answer, channel.listener_name, channel.client_address)
        self.broker.publish()

    @property
    def address(self):
        return f"127.0.0.1:{self.sockets.endpoints[0].port}"

    def log(self, topic):
        return self.broker.log_manager.get_log(Partition(topic, 0))

    def kill(self):
        self.sockets.shutdown()
        self.broker.crash()

    def stop(self):
        self.sockets.shutdown()
        self.broker.shutdown()


@pytest.fixture
def controller():
    return Controller(SETTINGS, seed=1)


@pytest.fixture
def nodes(tmp_path, controller):
    """Three nodes, and a topic of which each has a replica; `nodes` has those that run."""
    nodes = {number: Node(number, tmp_path, controller) for number in range(3)}
    yield nodes
    for node in nodes.values():
        node.kill()


def make_topic(controller, nodes, **configs):
    topic = creatable_topic("shop", 1, 3, configs={"min.insync.replicas": "2", **configs})
    assert controller.create_topics([topic])[0].error_code == 0
    for node in nodes.values():
        node.broker.publish()
    return leader_of(controller)


def leader_of(controller):
    return controller.image.topics.get_topic("shop").partitions[0].leader


def wait_until(holds):
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def addresses(nodes):
    return ",".join(node.address for node in nodes.values())


def values_in(address, count):
    consumer = Consumer({"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition("shop", 0, OFFSET_BEGINNING)])
    found, deadline = [], time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        found += [each.value() for each in consumer.consume(1000, 0.2) if each.error() is None]
    consumer.close()
    return found


@pytest.mark.slow
def test_what_is_acknowledged_is_on_all_three(nodes, controller):
    make_topic(controller, nodes)
    producer = Producer({"bootstrap.servers": addresses(nodes), "acks": "all", "linger.ms": 0})
    for number in range(200):
        producer.produce("shop", b"%d" % number)
        assert producer.flush(PATIENCE_S) == 0 if number % 20 == 0 else True
    assert producer.flush(PATIENCE_S) == 0
    wait_until(lambda: {node.log("shop").high_watermark for node in nodes.values()} == {200})
    first, *others = (node.log("shop").dir / "00000000000000000000.log" for node in nodes.values())
    assert [other.read_bytes() for other in others] == [first.read_bytes()] * 2
    names = {thread.name for thread in threading.enumerate()}
    leader = leader_of(controller)
    assert f"ReplicaFetcher-0-{leader}" in names
    # A broker that stops in order leaves no thread behind.
    with ExitStack() as stopped:
        for number in [number for number in nodes if number != leader]:
            stopped.callback(nodes.pop(number).stop)
    assert not [thread for thread in threading.enumerate() if thread.name == f"ReplicaFetcher-0-{leader}"]


@pytest.mark.slow
def test_a_leader_that_is_killed_under_load_costs_no_record(nodes, controller):
    leader = make_topic(controller, nodes)
    acknowledged = []

    def note(error, sent):
        if error is None:
            acknowledged.append(sent.value())

    settings = {"enable.idempotence": True, "linger.ms": 0, "retry.backoff.ms": 50, "log_level": 0}
    producer = Producer({"bootstrap.servers": addresses(nodes), **settings})
    began, sent = time.monotonic(), 0
    while time.monotonic() < began + 3:
        with suppress(BufferError):  # its queue is full
            producer.produce("shop", b"%d" % sent, on_delivery=note)
            sent += 1
        producer.poll(0.002)
        if leader in nodes and time.monotonic() > began + 1:
            nodes.pop(leader).kill()
            controller.fence_broker(leader)
    assert producer.flush(PATIENCE_S) == 0
    assert leader_of(controller) in nodes and acknowledged == [b"%d" % number for number in range(sent)]
    assert values_in(addresses(nodes), sent) == acknowledged


@pytest.mark.slow
def test_a_follower_that_was_away_comes_back_into_the_isr(nodes, controller, tmp_path):
    leader = make_topic(controller, nodes)
    away = next(number for number in nodes if number != leader)
    nodes.pop(away).kill()
    controller.fence_broker(away)
    producer = Producer({"bootstrap.servers": addresses(nodes), "acks": "all"})
    for number in range(50):
        producer.produce("shop", b"%d" % number)
    assert producer.flush(PATIENCE_S) == 0
    nodes[away] = Node(away, tmp_path, controller)
    wait_until(lambda: away in controller.image.topics.get_topic("shop").partitions[0].isr)
    assert nodes[away].log("shop").log_end_offset == 50
