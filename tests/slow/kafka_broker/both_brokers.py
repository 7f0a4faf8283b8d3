"""A real broker and ours, asked the same over sockets; and what may differ in their answers."""

import itertools
import socket
import time
from contextlib import contextmanager

from minikafka.broker.broker_server import BrokerServer
from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.uuid import uuid_to_bytes
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from minikafka.witness.replicas.differ import plain
from minikafka.witness.unordered_lists import sort_unordered
from tests.broker.both_sides import first_difference
from tests.broker.test_every_api import SERVED
from tests.framed import answered, framed

LOGGER = ConfigResourceType.BROKER_LOGGER
OF_THE_MACHINE = {
    "listeners": "ports",
    "advertised.listeners": "ports",
    "controller.quorum.voters": "ports",
    "log.dirs": "paths",
    "controller.listener.names": "the real broker has a listener for controllers",
    "listener.security.protocol.map": "the real broker has a listener for controllers",
}
PATIENCE_S = 10
SETTINGS = {
    "log.retention.hours": "5",
    "num.io.threads": "4",
    # No retention at a moment of its own; the cleaner's threads, too, delete what has become old.
    "log.initial.task.delay.ms": "86400000",
    "log.cleaner.backoff.ms": "86400000",
}


@contextmanager
def both_brokers(home):
    """A real broker, and ours with the same settings but for those of listeners and directories."""
    with KafkaBroker(home / "kafka", SETTINGS) as broker:
        lines = (home / "kafka" / "server.properties").read_text().splitlines()
        settings = dict(line.split("=", 1) for line in lines)
        settings |= {"listeners": "PLAINTEXT://127.0.0.1:0"}
        of_listeners = "advertised.listeners", "listener.security.protocol.map", "controller.listener.names"
        for name in ("log.dirs", *of_listeners):
            del settings[name]
        server = BrokerServer([home / "ours"], settings)
        server.start()
        yield broker, server
        server.stop()


class OneSide:
    """A broker that is asked by bytes over a socket.

    `ids`: ids of topics as whoever asks has them, and as this broker has them, in bytes.
    """

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.ids = {}
        self._numbers = itertools.count()

    def ask(self, api, version, body, client_id="admin"):
        """The answer's body."""
        number = next(self._numbers)
        data = request_bytes(api, version, body, correlation_id=number, client_id=client_id)
        for asked, own in self.ids.items():
            data = data.replace(asked, own)
        self.socket.sendall(framed(data))
        answer = answered(self.socket)
        for asked, own in self.ids.items():
            answer = answer.replace(own, asked)
        correlation_id, response = parse_response(api, version, answer)
        assert correlation_id == number
        return response

    def close(self):
        self.socket.close()


class BothSides:
    """Kafka and ours, asked in turn."""

    def __init__(self, kafka_port, our_port):
        self.kafka, self.ours = OneSide(kafka_port), OneSide(our_port)

    def ask(self, api, version, body, client_id="admin"):
        """Our answer, which is Kafka's, too, when what `MASKS` names is made equal."""
        kafka, ours = (made_equal(api, side.ask(api, version, body, client_id)) for side in (self.kafka, self.ours))
        assert plain(ours) == plain(kafka), first_difference(str(plain(ours)), str(plain(kafka)))
        return ours

    def ask_again(self, api, version, body):
        """The same for what follows from a change, which Kafka's broker hears of a little later."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            kafka, ours = (made_equal(api, side.ask(api, version, body)) for side in (self.kafka, self.ours))
            if plain(kafka) == plain(ours):
                break
            time.sleep(0.05)
        return self.ask(api, version, body)

    def learn_ids(self):
        """From now on topics have the ids that they have here, in requests and answers of the other side, too."""
        make = request_class(ApiKeys.METADATA)
        body = make(topics=None, allow_auto_topic_creation=False)
        self.kafka.ids = {}
        ours, kafkas = (
            {topic.name: topic.topic_id for topic in side.ask(ApiKeys.METADATA, 12, body).topics}
            for side in (self.ours, self.kafka)
        )
        assert ours.keys() == kafkas.keys()
        self.kafka.ids = {uuid_to_bytes(ours[name]): uuid_to_bytes(kafkas[name]) for name in ours}
        return ours

    def close(self):
        for side in (self.kafka, self.ours):
            side.close()


def made_equal(api, body):
    if api in MASKS:
        MASKS[api](body)
    sort_unordered(api, body)
    return body


def mask_cluster(body):
    """Ids are drawn, ports are free ones."""
    assert len(body.cluster_id) in (0, 22)
    body.cluster_id = ""
    for broker in body.brokers:
        broker.port = 0


def mask_configs(body):
    """Values in `OF_THE_MACHINE`; loggers are Java's and Python's; Kafka's texts about settings are not copied."""
    for result in body.results:
        if result.resource_type == LOGGER:
            result.configs = [each for each in result.configs if each.name == "root"]
        for entry in result.configs:
            entry.documentation = None
            if entry.name in OF_THE_MACHINE:
                entry.value, entry.synonyms, entry.config_source = None, [], 0
            if result.resource_type == LOGGER:
                entry.value = None


def mask_log_dirs(body):
    """Paths and free space."""
    for result in body.results:
        result.log_dir, result.usable_bytes, result.total_bytes = "", 0, 0


def mask_topics(body):
    """Ids are drawn."""
    for topic in body.topics:
        topic.topic_id = ""


def mask_versions(body):
    """What is not served here is not told, and nothing of features."""
    body.api_keys = [row for row in body.api_keys if row.api_key in SERVED]
    body.supported_features, body.finalized_features, body.finalized_features_epoch = [], [], 0


def mask_metadata(body):
    """Ids of clusters are drawn, ports are free ones."""
    assert body.cluster_id is None or len(body.cluster_id) == 22
    body.cluster_id = None
    for broker in body.brokers:
        broker.port = 0


def mask_fetch(body):
    """Ids of sessions are drawn; `tests/broker/test_fetch_sessions_against_kafka.py` compares them."""
    body.session_id = min(body.session_id, 1)


MASKS = {
    ApiKeys.API_VERSIONS: mask_versions,
    ApiKeys.CREATE_TOPICS: mask_topics,
    ApiKeys.DESCRIBE_CLUSTER: mask_cluster,
    ApiKeys.DESCRIBE_CONFIGS: mask_configs,
    ApiKeys.DESCRIBE_LOG_DIRS: mask_log_dirs,
    ApiKeys.DESCRIBE_TOPIC_PARTITIONS: mask_topics,
    ApiKeys.FETCH: mask_fetch,
    ApiKeys.METADATA: mask_metadata,
}
