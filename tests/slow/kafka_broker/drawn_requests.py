"""Draws requests of all APIs, also such that the controller decides about, for a real broker and ours.

What the brokers of `tests/broker/both_sides.py` compare more closely, because nothing there happens by itself, is here
among the rest: topics come, grow and go between these requests, and settings change.
"""

import time

from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.uuid import ZERO_UUID
from minikafka.metadata.configuration_control_manager import AlterConfigOp
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_class
from tests.broker.request_drawer import UNKNOWN_ID, UNKNOWN_TOPICS, RequestDrawer
from tests.slow.kafka_broker.both_brokers import PATIENCE_S

NODE_ID = 1
MARKER = "marker"
"""A topic whose settings show how far Kafka's broker has read the metadata log."""

TIMEOUT_MS = PATIENCE_S * 1000
TOPIC, BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER
GROUP, METRICS = ConfigResourceType.GROUP, ConfigResourceType.CLIENT_METRICS
DAY_MS = 86_400_000
OF_TOPICS = (
    ("retention.ms", str(9 * DAY_MS)),
    ("retention.ms", "-1"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "delete"),
    ("cleanup.policy", "compact,delete"),
    ("compression.type", "zstd"),
    ("compression.type", "producer"),
    ("max.message.bytes", "200"),
    ("max.message.bytes", "100000"),
    ("min.insync.replicas", "2"),
    ("min.insync.replicas", "1"),
    ("segment.bytes", "2000000"),
    ("message.timestamp.after.max.ms", "5000"),
    ("flush.messages", "3"),
    ("cleanup.policy", "sometimes"),
    ("retention.ms", "x"),
    ("no.such.setting", "1"),
    ("min.insync.replicas", "0"),
    ("flush.messages", None),
)
OF_BROKERS = (
    ("log.retention.ms", str(8 * DAY_MS)),
    ("log.cleanup.policy", "compact,delete"),
    ("message.max.bytes", "50000"),
    ("compression.type", "lz4"),
    ("num.io.threads", "5"),
    ("node.id", "3"),
    ("log.retention.ms", "x"),
    ("no.such.setting", "1"),
    ("log.flush.interval.messages", "0"),
)

OF_GROUPS = (
    ("consumer.session.timeout.ms", "50000"),
    ("consumer.session.timeout.ms", "9"),
    ("share.auto.offset.reset", "by_duration:PT1H"),
    ("streams.num.standby.replicas", "1"),
    ("no.such.setting", "1"),
)
OF_METRICS = (
    ("metrics", "a.,b."),
    ("interval.ms", "500"),
    ("interval.ms", "1"),
    ("match", "client_id=a"),
    ("match", "client=a"),
    ("no.such.setting", "1"),
)


class WholeBrokerDrawer(RequestDrawer):
    """Draws requests about topics that come and go; `ids` has those that are there."""

    def __init__(self, seed):
        super().__init__(seed, {})
        self.names = [f"drawn-{seed}-{letter}" for letter in "abcdef"] + [f"drawn_{seed}.a", f"drawn.{seed}_a"]
        self.start_ms = time.time_ns() // 1_000_000

    def next(self):
        """An API, a version, the body of a request, and who asks."""
        api = self.draw.choice((ApiKeys.PRODUCE,) * 3 + (ApiKeys.CREATE_TOPICS,) * 2 + tuple(self.MAKERS))
        version = self.draw.randint(*api.stable_versions)
        return api, version, self.MAKERS[api](self, version), self.draw.choice(("c", "c", "", "__admin_client"))

    def topics(self):
        known = self.draw.sample(self.names, self.draw.choice((0, 1, 1, 2, 3)))
        if self.draw.random() < 0.2:
            known.insert(self.draw.randint(0, len(known)), self.draw.choice(UNKNOWN_TOPICS))
        return known

    def produce(self, version):
        body = super().produce(version)
        body.acks = self.draw.choice((1, -1, 2))  # with 0 a connection may be closed, and nobody knows when
        body.timeout_ms = TIMEOUT_MS
        return body

    def settings(self, choices):
        return self.draw.sample(choices, self.draw.choice((0, 0, 1, 1, 2)))

    def create_topics(self, version):
        draw, make = self.draw, request_class(ApiKeys.CREATE_TOPICS)
        body = make(topics=[], timeout_ms=TIMEOUT_MS, validate_only=draw.random() < 0.2)
        names = self.topics()
        if draw.random() < 0.1:
            names += names[:1]
        for name in names:
            topic = make.CreatableTopic(name=name)
            topic.num_partitions = draw.choice((1, 2, 3, -1, -1, 0, -2, 20_000))
            topic.replication_factor = draw.choice((1, 1, 1, -1, -1, 0, 2, -2))
            if draw.random() < 0.2:
                places = draw.choice(([[1]], [[1], [1]], [[2]], [[1, 1]], [[]], [[1], []]))
                if draw.random() < 0.7:
                    topic.num_partitions = topic.replication_factor = -1
                topic.assignments = [
                    topic.CreatableReplicaAssignment(partition_index=number + (draw.random() < 0.1), broker_ids=brokers)
                    for number, brokers in enumerate(places)
                ]
            topic.configs = [
                topic.CreatableTopicConfig(name=key, value=value) for key, value in self.settings(OF_TOPICS)
            ]
            body.topics.append(topic)
        return body

    def delete_topics(self, version):
        draw, make = self.draw, request_class(ApiKeys.DELETE_TOPICS)
        body = make(timeout_ms=TIMEOUT_MS, topics=[], topic_names=[])
        names = self.topics()[:2]
        if draw.random() < 0.1:
            names += names[:1]
        if version < 6:
            body.topic_names = names
            return body
        for name in names:
            by_id = draw.random() < 0.5
            topic = make.DeleteTopicState(name=None if by_id else name, topic_id=ZERO_UUID)
            if by_id or draw.random() < 0.1:
                topic.topic_id = self.ids.get(name, UNKNOWN_ID)
            body.topics.append(topic)
        return body

    def create_partitions(self, version):
        draw, make = self.draw, request_class(ApiKeys.CREATE_PARTITIONS)
        topic = make.CreatePartitionsTopic
        body = make(topics=[], timeout_ms=TIMEOUT_MS, validate_only=draw.random() < 0.3)
        for name in self.topics():
            places = draw.choice((None, None, [[1]], [[1], [1]], [[3]], [[]], []))
            assignments = places and [topic.CreatePartitionsAssignment(broker_ids=list(each)) for each in places]
            body.topics.append(topic(name=name, count=draw.choice((2, 3, 4, 5, 1, 0, -1)), assignments=assignments))
        return body

    def resources(self):
        """Topics, brokers, groups and metrics, each once: Kafka fails over its answer for one that is named twice."""
        draw = self.draw
        found = [(TOPIC, name, OF_TOPICS) for name in dict.fromkeys(self.topics())]
        if draw.random() < 0.3:
            found.append((BROKER, draw.choice((str(NODE_ID), "", "7", "x")), OF_BROKERS))
        if draw.random() < 0.3:
            found.append(draw.choice(((GROUP, "g", OF_GROUPS), (METRICS, "m", OF_METRICS), (GROUP, "", OF_GROUPS))))
        return found

    def alter_configs(self, version):
        make = request_class(ApiKeys.ALTER_CONFIGS)
        resource = make.AlterConfigsResource
        body = make(resources=[], validate_only=self.draw.random() < 0.3)
        for kind, name, choices in self.resources():
            configs = [resource.AlterableConfig(name=key, value=value) for key, value in self.settings(choices)]
            body.resources.append(resource(resource_type=kind, resource_name=name, configs=configs))
        return body

    def incremental_alter_configs(self, version):
        draw, make = self.draw, request_class(ApiKeys.INCREMENTAL_ALTER_CONFIGS)
        resource = make.AlterConfigsResource
        body = make(resources=[], validate_only=draw.random() < 0.3)
        for kind, name, choices in self.resources():
            configs = []
            for key, value in self.settings(choices):
                operation = draw.choice((*[AlterConfigOp.SET] * 5, *AlterConfigOp, 9))
                configs.append(resource.AlterableConfig(name=key, config_operation=operation, value=value))
            body.resources.append(resource(resource_type=kind, resource_name=name, configs=configs))
        return body

    def init_producer_id(self, version):
        """Without transactional ids: there are no coordinators of transactions here."""
        draw, make = self.draw, request_class(ApiKeys.INIT_PRODUCER_ID)
        body = make(transactional_id=None, transaction_timeout_ms=draw.choice((1000, 60_000, 0)))
        if version >= 3:
            body.producer_id, body.producer_epoch = draw.choice(((-1, -1), (-1, -1), (5, 0), (5, -1), (-1, 0)))
        return body

    def api_versions(self, version):
        body = request_class(ApiKeys.API_VERSIONS)()
        if version >= 3:
            names = ("a", "a.b-c", "1.0", "", "a b", "-")
            body.client_software_name, body.client_software_version = self.draw.choice(names), self.draw.choice(names)
        return body

    def list_config_resources(self, version):
        draw, make = self.draw, request_class(ApiKeys.LIST_CONFIG_RESOURCES)
        kinds = (*ConfigResourceType, 99)
        return make(resource_types=draw.sample(kinds, draw.choice((0, 1, 2, 3))) if version else [])

    MAKERS = {
        **RequestDrawer.MAKERS,
        ApiKeys.PRODUCE: produce,
        ApiKeys.CREATE_TOPICS: create_topics,
        ApiKeys.DELETE_TOPICS: delete_topics,
        ApiKeys.CREATE_PARTITIONS: create_partitions,
        ApiKeys.ALTER_CONFIGS: alter_configs,
        ApiKeys.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs,
        ApiKeys.INIT_PRODUCER_ID: init_producer_id,
        ApiKeys.API_VERSIONS: api_versions,
        ApiKeys.LIST_CONFIG_RESOURCES: list_config_resources,
    }


CHANGE = {
    ApiKeys.CREATE_TOPICS,
    ApiKeys.DELETE_TOPICS,
    ApiKeys.CREATE_PARTITIONS,
    ApiKeys.ALTER_CONFIGS,
    ApiKeys.INCREMENTAL_ALTER_CONFIGS,
}


def compare_drawn_requests(both, seed, count):
    """Ask both sides `count` requests, and compare each answer."""
    drawer = WholeBrokerDrawer(seed)
    make = request_class(ApiKeys.CREATE_TOPICS)
    topic = make.CreatableTopic(name=MARKER, num_partitions=1, replication_factor=1)
    both.ask(ApiKeys.CREATE_TOPICS, 7, make(topics=[topic], timeout_ms=TIMEOUT_MS))
    await_producer_ids(both)
    caught_up(both, 0)
    for number in range(1, count + 1):
        api, version, body, client_id = drawer.next()
        try:
            both.ask(api, version, body, client_id)
            if api in CHANGE and not getattr(body, "validate_only", False):
                caught_up(both, number)
                drawer.ids = both.learn_ids()
        except AssertionError as difference:
            raise AssertionError(f"request {number} of seed {seed}: {api.name} v{version} {body}") from difference
    both.close()


def await_producer_ids(both):
    """Kafka's broker asks the controller for ids when it needs the first, and lets that producer come again."""
    body = request_class(ApiKeys.INIT_PRODUCER_ID)(transactional_id=None, transaction_timeout_ms=0)
    deadline = time.monotonic() + PATIENCE_S
    while both.kafka.ask(ApiKeys.INIT_PRODUCER_ID, 4, body).error_code:
        assert time.monotonic() < deadline
    both.ours.ask(ApiKeys.INIT_PRODUCER_ID, 4, body)


def caught_up(both, number):
    """Wait until Kafka's broker has done all that the controller has decided.

    It has read the log up to a change that it knows, and has done what it read before that; so a second change tells.
    """
    make = request_class(ApiKeys.INCREMENTAL_ALTER_CONFIGS)
    resource = make.AlterConfigsResource
    asks = request_class(ApiKeys.DESCRIBE_CONFIGS)
    asked = asks.DescribeConfigsResource(
        resource_type=TOPIC, resource_name=MARKER, configuration_keys=["flush.messages"]
    )
    for value in (str(2 * number + 1), str(2 * number + 2)):
        config = resource.AlterableConfig(name="flush.messages", config_operation=AlterConfigOp.SET, value=value)
        marked = resource(resource_type=TOPIC, resource_name=MARKER, configs=[config])
        both.ask(ApiKeys.INCREMENTAL_ALTER_CONFIGS, 1, make(resources=[marked]))
        deadline = time.monotonic() + PATIENCE_S
        while True:
            [result] = both.kafka.ask(ApiKeys.DESCRIBE_CONFIGS, 4, asks(resources=[asked])).results
            if [entry.value for entry in result.configs] == [value]:
                break
            assert time.monotonic() < deadline
