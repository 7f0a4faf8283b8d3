"""A broker put together by somebody else: listeners, connections, and who is told of answers."""

import pytest

from minikafka.broker.broker import Broker
from minikafka.common.endpoint import Endpoint
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.metadata.controller import Controller
from minikafka.metadata.creatable_topic import creatable_topic
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.network.request import LOCALHOST, NoBytes
from minikafka.server.in_process_send import InProcessSend
from tests.broker.three_brokers import Produce, batch, produced

Metadata = request_class(ApiKeys.METADATA)
LISTENERS = [Endpoint("INSIDE", "10.0.0.1", 19092), Endpoint("OUTSIDE", "kafka.example", 9093)]


class Witness:
    """Allows everything, and notes from where it was asked, and through which listener."""

    def __init__(self):
        self.seen = set()

    def authorize(self, request, actions):
        self.seen.add((request.client_address, request.listener_name))
        return [True] * len(actions)

    def authorize_by_resource_type(self, request, operation, resource_type):
        return True


class HandStartedCluster:
    """A controller and its brokers, which are started by hand."""

    def __init__(self, directory):
        self.directory = directory
        self.time = ManualTime(1_000_000)
        self.controller = Controller(seed=7)
        self.brokers = {}

    def make(self, broker_id=0, **settings):
        self.brokers[broker_id] = Broker(
            broker_id,
            [self.directory / str(broker_id)],
            self.controller,
            time=self.time,
            scheduler=ManualScheduler(self.time),
            incarnation_id=f"{broker_id:021d}A",
            **settings,
        )
        return self.brokers[broker_id]


@pytest.fixture
def cluster(tmp_path):
    cluster = HandStartedCluster(tmp_path)
    yield cluster
    for broker in cluster.brokers.values():
        broker.crash()


def asked_for_metadata():
    return request_bytes(ApiKeys.METADATA, 9, Metadata(topics=None), correlation_id=1, client_id="c")


def test_clients_are_told_of_the_listener_that_they_come_through(cluster):
    with pytest.raises(IllegalArgumentException, match="The valid options .* are INSIDE,OUTSIDE"):
        cluster.make(listeners=LISTENERS)
    names = {
        "inter.broker.listener.name": "INSIDE",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }
    broker = cluster.make(listeners=LISTENERS, settings=names)
    broker.startup()
    for name, host, port in [(None, "10.0.0.1", 19092), ("OUTSIDE", "kafka.example", 9093)]:
        ticket = broker.handle(asked_for_metadata(), listener_name=name)
        (node,) = parse_response(ApiKeys.METADATA, 9, ticket.result)[1].brokers
        assert (node.host, node.port) == (host, port)


def test_without_listeners_it_is_on_localhost(cluster):
    broker = cluster.make(3)
    broker.startup()
    (node,) = parse_response(ApiKeys.METADATA, 9, broker.handle(asked_for_metadata()).result)[1].brokers
    assert (node.node_id, node.host, node.port) == (3, "localhost", 9095)


def test_the_authorizer_sees_from_where_a_request_comes(cluster):
    witness = Witness()
    broker = cluster.make(authorizer=witness)
    broker.startup()
    broker.handle(asked_for_metadata())
    broker.handle(asked_for_metadata(), client_address="192.0.2.7")
    assert witness.seen == {("127.0.0.1", "PLAINTEXT"), ("192.0.2.7", "PLAINTEXT")}


def test_whoever_waits_for_an_answer_is_told_of_it(cluster):
    broker, told = cluster.make(), []
    broker.startup()
    request = broker.receive(asked_for_metadata(), told.append, "PLAINTEXT", LOCALHOST)
    assert request.is_answered and [bytes(answer) for answer in told] == [broker.handle(asked_for_metadata()).result]
    assert broker.receive(b"no request", told.append, "PLAINTEXT", LOCALHOST) is None and told[1:] == [NoBytes.CLOSE]


def test_an_answer_that_comes_later_is_told_later(cluster):
    brokers = [cluster.make(broker_id, find_peer=cluster.brokers.get) for broker_id in range(2)]
    for broker in brokers:
        broker.startup()
    cluster.controller.create_topics([creatable_topic("t", assignments=[(0, [0, 1])])])
    for broker in brokers:
        broker.publish()
    told = []
    body = Produce(acks=-1, timeout_ms=1000, topic_data=[produced(9, "t", 0, batch())])
    data = request_bytes(ApiKeys.PRODUCE, 9, body, correlation_id=1, client_id="c")
    brokers[0].receive(bytearray(data), told.append, "PLAINTEXT", LOCALHOST)
    assert not told
    for _ in range(3):
        brokers[1].follow_once()
    assert len(told) == 1


def test_followers_use_the_connections_that_they_are_given(cluster):
    connected = []

    def connect(leader, fetcher_id):
        connected.append((leader.id, leader.host, leader.port, fetcher_id))
        return InProcessSend(leader, "mine", cluster.brokers.get)

    brokers = [cluster.make(0), cluster.make(1, connect=connect)]
    for broker in brokers:
        broker.startup()
    cluster.controller.create_topics([creatable_topic("t", assignments=[(0, [0, 1])])])
    for broker in brokers:
        broker.publish()
    assert connected == [(0, "localhost", 9092, 0)]


def test_a_broker_takes_part_only_once_it_is_unfenced(cluster):
    broker = cluster.make()
    broker.register()
    broker.publish()
    assert not broker.is_running and not broker.metadata_cache.has_alive_broker(0)
    broker.unfence()
    assert broker.is_running and broker.metadata_cache.has_alive_broker(0)
