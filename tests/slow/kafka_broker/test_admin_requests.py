"""A real broker and ours are asked the same by administrators, and answer the same; Kafka's tools work with ours."""

import re

import pytest

from minikafka.common.config_resource import ConfigResourceType
from minikafka.metadata.configuration_control_manager import AlterConfigOp
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import request_class
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.kafka.kafka_tools import run_tool
from tests.slow.kafka_broker.both_brokers import LOGGER, PATIENCE_S, BothSides, both_brokers
from tests.slow.kafka_broker.drawn_requests import compare_drawn_requests

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

TOPIC, BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER
GROUP, METRICS = ConfigResourceType.GROUP, ConfigResourceType.CLIENT_METRICS


@pytest.fixture(scope="module")
def brokers(kafka, tmp_path_factory):
    with both_brokers(tmp_path_factory.mktemp("admin")) as brokers:
        yield brokers


@pytest.fixture(scope="module")
def both(brokers):
    kafka, ours = brokers
    both = BothSides(kafka.port, ours.endpoints[0].port)
    make = request_class(ApiKeys.CREATE_TOPICS)
    topics = [
        make.CreatableTopic(name=name, num_partitions=2, replication_factor=1, configs=configs)
        for name, configs in (
            ("plain", []),
            ("kept", [make.CreatableTopic.CreatableTopicConfig(name="cleanup.policy", value="compact")]),
        )
    ]
    both.ask(ApiKeys.CREATE_TOPICS, 7, make(topics=topics, timeout_ms=PATIENCE_S * 1000))
    return both


def describe(*resources, **options):
    make = request_class(ApiKeys.DESCRIBE_CONFIGS)
    asked = [
        make.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        for kind, name in resources
    ]
    return make(resources=asked, **{"include_synonyms": True, "include_documentation": True, **options})


def incremental(*resources, validate_only=False):
    """`resources`: a kind, a name, and changes: a setting's name, an operation, a value."""
    make = request_class(ApiKeys.INCREMENTAL_ALTER_CONFIGS)
    resource = make.AlterConfigsResource
    return make(
        validate_only=validate_only,
        resources=[
            resource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    resource.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in changes
                ],
            )
            for kind, name, changes in resources
        ],
    )


def legacy(*resources, validate_only=False):
    make = request_class(ApiKeys.ALTER_CONFIGS)
    resource = make.AlterConfigsResource
    return make(
        validate_only=validate_only,
        resources=[
            resource(
                resource_type=kind,
                resource_name=name,
                configs=[resource.AlterableConfig(name=key, value=value) for key, value in settings],
            )
            for kind, name, settings in resources
        ],
    )


EVERYTHING = ((TOPIC, "plain"), (TOPIC, "kept"), (BROKER, "1"), (BROKER, ""), (GROUP, "g"), (METRICS, "m"))
ODD = ((TOPIC, "none"), (TOPIC, "a/b"), (BROKER, "2"), (BROKER, "x"), (GROUP, ""), (METRICS, ""), (LOGGER, "1"))


def test_settings(both):
    for version in (1, 2, 3, 4):
        options = {} if version >= 3 else {"include_documentation": False}
        both.ask_again(ApiKeys.DESCRIBE_CONFIGS, version, describe(*EVERYTHING, *ODD, **options))
    both.ask(ApiKeys.DESCRIBE_CONFIGS, 4, describe((99, "x"), (TOPIC, "plain")))


SET, DELETE, APPEND, SUBTRACT = AlterConfigOp
CHANGES = (
    [(TOPIC, "plain", [("retention.ms", SET, "1000"), ("cleanup.policy", APPEND, "compact")])],
    [(TOPIC, "plain", [("retention.ms", SET, "1000")]), (TOPIC, "kept", [("cleanup.policy", SUBTRACT, "compact")])],
    [(TOPIC, "plain", [("retention.ms", DELETE, None), ("segment.bytes", SET, "2000000")])],
    [(TOPIC, "plain", [("min.insync.replicas", SET, "2"), ("leader.replication.throttled.replicas", APPEND, "0:1")])],
    [(TOPIC, "plain", [("cleanup.policy", SET, "sometimes")]), (TOPIC, "kept", [("flush.ms", SET, "9")])],
    [(TOPIC, "plain", [("no.such.setting", SET, "1")])],
    [(TOPIC, "plain", [("retention.ms", APPEND, "1")])],
    [(TOPIC, "plain", [("retention.ms", SET, None)])],
    [(TOPIC, "plain", [("retention.ms", SET, "x" * 30_000)])],
    [(TOPIC, "plain", [("flush.messages", SET, "5"), ("flush.messages", DELETE, None)])],
    [(TOPIC, "plain", [("flush.messages", SET, "5")]), (TOPIC, "plain", [("flush.ms", SET, "5")]), (TOPIC, "none", [])],
    [(TOPIC, "plain", [("flush.messages", 9, "5")]), (TOPIC, "kept", [("flush.ms", SET, "8")])],
    [(TOPIC, "", [("flush.ms", SET, "5")]), (TOPIC, "none", [("flush.ms", SET, "5")]), (99, "x", []), (0, "y", [])],
    [(BROKER, "1", [("log.retention.ms", SET, "7777777"), ("log.cleanup.policy", APPEND, "compact")])],
    [(BROKER, "1", [("log.retention.ms", SET, "7777777")]), (BROKER, "", [("log.retention.minutes", SET, "3")])],
    [(BROKER, "", [("message.max.bytes", SET, "5000"), ("compression.type", SET, "zstd")])],
    [(BROKER, "", [("log.dirs", SET, "/x"), ("node.id", SET, "3")]), (BROKER, "1", [("message.max.bytes", SET, "x")])],
    [(BROKER, "", [("ssl.keystore.type", SET, "JKS")]), (BROKER, "1", [("ssl.keystore.type", SET, "JKS")])],
    [(BROKER, "", [("listener.name.plaintext.ssl.keystore.type", SET, "JKS")])],
    [(BROKER, "1", [("num.io.threads", SET, "9")])],
    [(BROKER, "1", [("num.io.threads", SET, "1")]), (BROKER, "", [("log.cleaner.threads", SET, "3")])],
    [(BROKER, "1", [("num.io.threads", SET, "0")]), (BROKER, "", [("log.cleaner.threads", SET, "0")])],
    [(BROKER, "2", [("log.retention.ms", SET, "1")]), (BROKER, "x", [("log.retention.ms", SET, "1")])],
    [(BROKER, "1", [("log.retention.ms", SET, "0")]), (BROKER, "", [("compression.type", APPEND, "zstd")])],
    [(BROKER, "1", [("no.such.setting", SET, "1"), ("leader.replication.throttled.rate", SET, "9")])],
    [(BROKER, "1", [("no.such.setting", APPEND, "1")]), (BROKER, "", [("log.retention.bytes", 7, "1")])],
    [(BROKER, "1", [("min.insync.replicas", SET, "2")]), (BROKER, "", [("min.insync.replicas", DELETE, None)])],
    [(BROKER, "", [("min.insync.replicas", SET, "2")])],
    [(BROKER, "1", [("log.cleanup.policy", DELETE, None), ("log.retention.ms", DELETE, None)])],
    [(BROKER, "1", [("log.local.retention.ms", SET, "-1")]), (BROKER, "", [("max.connections", SET, "0")])],
    [(BROKER, "1", [("log.retention.bytes", SET, "10"), ("log.local.retention.bytes", SET, "11")])],
    [(BROKER, "1", [("remote.log.reader.threads", SET, "4")]), (BROKER, "", [("compression.type", SET, "x")])],
    [(BROKER, "1", [("cordoned.log.dirs", SET, "/none")]), (BROKER, "", [("num.network.threads", SET, "99")])],
    [(BROKER, "1", [("listener.name.plaintext.max.connections", SET, "0")])],
    [(BROKER, "1", [("listener.name.plaintext.num.network.threads", SET, "99")])],
    [(BROKER, "1", [("principal.builder.class", SET, "x")])],
    [(BROKER, "1", [("metric.reporters", SET, "x")])],
    [(BROKER, "1", [("log.cleaner.max.compaction.lag.ms", SET, "5000")])],
    [(TOPIC, "plain", [("min.compaction.lag.ms", SET, "6000")])],
    [(BROKER, "1", [("log.cleaner.max.compaction.lag.ms", DELETE, None)])],
    [(BROKER, "1", [("group.consumer.assignment.interval.ms", SET, "99999999")])],
    [(LOGGER, "1", [("root", DELETE, None)]), (LOGGER, "2", []), (LOGGER, "x", [("root", SET, "INFO")])],
    [(LOGGER, "1", [("root", SET, "LOUD")])],
    [(LOGGER, "1", [("no.such.logger", SET, "INFO")])],
    [(LOGGER, "1", [("root", APPEND, "INFO")])],
    [(TOPIC, "plain", [("cleanup.policy", 9, "delete"), ("compression.type", APPEND, "zstd")]), (TOPIC, "none", [])],
    [(GROUP, "g", [("consumer.session.timeout.ms", SET, "50000"), ("share.isolation.level", SET, "read_committed")])],
    [
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "x")]),
        (GROUP, "", [("share.delivery.count.limit", SET, "3")]),
    ],
    [(GROUP, "g", [("consumer.session.timeout.ms", DELETE, None)]), (GROUP, "h", [("share.isolation", SET, "x")])],
    [(GROUP, "g", [("consumer.session.timeout.ms", APPEND, "1")]), (GROUP, "h", [])],
    [
        (
            METRICS,
            "m",
            [("metrics", SET, "a.,b."), ("interval.ms", SET, "100"), ("match", SET, "client_id=a.*,client_id=b")],
        )
    ],
    [(METRICS, "m", [("metrics", APPEND, "c.")]), (METRICS, "n", [("interval.ms", SET, "99")])],
    [(METRICS, "", [("interval.ms", SET, "100")]), (METRICS, "n", [("interval", SET, "100")])],
    [(METRICS, "m", [("metrics", DELETE, None), ("match", SET, "")]), (METRICS, "n", [("metrics", SET, "*, a,,")])],
)


@pytest.mark.parametrize("number", range(len(CHANGES)))
@pytest.mark.parametrize("validate_only", [True, False])
def test_changes(both, number, validate_only):
    body = incremental(*CHANGES[number], validate_only=validate_only)
    both.ask(ApiKeys.INCREMENTAL_ALTER_CONFIGS, 1 - number % 2, body)
    both.ask_again(ApiKeys.DESCRIBE_CONFIGS, 4, describe(*EVERYTHING))


# Not among them: a resource that is named twice. Kafka fails over its own answer then, and sends none.
REPLACED = (
    [(TOPIC, "plain", [("retention.ms", "99"), ("flush.ms", "3")]), (TOPIC, "none", [("flush.ms", "3")])],
    [(TOPIC, "plain", [("flush.ms", "3"), ("flush.ms", "4")]), (TOPIC, "kept", [("flush.ms", None)])],
    [(TOPIC, "plain", [("flush.ms", "-1")]), (TOPIC, "kept", [("cleanup.policy", "compact"), ("index.what", "1")])],
    [(TOPIC, "plain", [])],
    [(BROKER, "1", [("log.retention.ms", "55"), ("num.io.threads", "6")]), (BROKER, "3", []), (99, "", [])],
    [(BROKER, "", [("log.retention.bytes", "99")]), (LOGGER, "1", [("root", "INFO")])],
    [(BROKER, "", [("log.retention.bytes", "99"), ("min.insync.replicas", "1")])],
    [(BROKER, "1", [("num.network.threads", "9")])],
    [(BROKER, "1", [("background.threads", "40")])],
    [(BROKER, "1", [])],
    [
        (GROUP, "g", [("streams.num.standby.replicas", "2")]),
        (METRICS, "m", [("metrics", "a."), ("interval.ms", "3600000")]),
    ],
    [(GROUP, "g", [("streams.num.standby.replicas", "3")]), (METRICS, "m", [("interval.ms", "3600001")])],
    [(GROUP, "g", []), (METRICS, "m", [])],
)


@pytest.mark.parametrize("number", range(len(REPLACED)))
@pytest.mark.parametrize("validate_only", [True, False])
def test_all_settings_of_a_resource_are_replaced(both, number, validate_only):
    body = legacy(*REPLACED[number], validate_only=validate_only)
    both.ask(ApiKeys.ALTER_CONFIGS, number % 3, body)
    both.ask_again(ApiKeys.DESCRIBE_CONFIGS, 4, describe(*EVERYTHING))


VALUES_OF_GROUPS = {
    "consumer.session.timeout.ms": ("44999", "45000", "60000", "60001", "0", "", " 50000 "),
    "consumer.heartbeat.interval.ms": ("4999", "15000", "15001"),
    "consumer.assignment.interval.ms": ("-1", "0", "15000", "15001"),
    "share.session.timeout.ms": ("44999", "60001"),
    "share.heartbeat.interval.ms": ("4999", "15001"),
    "share.record.lock.duration.ms": ("14999", "15000", "60000", "60001", "999"),
    "share.delivery.count.limit": ("1", "2", "10", "11"),
    "share.partition.max.record.locks": ("99", "100", "4000", "4001"),
    "share.assignment.interval.ms": ("15001",),
    "share.isolation.level": ("read_committed", "READ_COMMITTED"),
    "share.renew.acknowledge.enable": ("FALSE", "no"),
    "share.auto.offset.reset": (
        *("earliest", "latest", "none", "Latest", "by_duration", "by_duration:", "by_duration:P", "by_duration:PT"),
        *("by_duration:P1D", "by_duration:pt1h", "by_duration:P1DT", "by_duration:-PT1S", "by_duration:-PT-1S"),
        *("by_duration:PT0.5S", "by_duration:PT-0.5S", "by_duration:-PT0.5S", "by_duration:P1DT-24H", "by_duration:1D"),
        *("by_duration:PT9223372036854775807S", "by_duration:PT9223372036854775808S", "by_duration:P106751991167301D"),
        *("by_duration:PT1S1M", "by_duration:PT+1,5S", "by_duration:PT1.1234567890S", "by_duration:PT1.S"),
    ),
    "streams.session.timeout.ms": ("44999", "60001"),
    "streams.heartbeat.interval.ms": ("4999", "15001"),
    "streams.num.standby.replicas": ("-1", "0", "2", "3"),
    "streams.initial.rebalance.delay.ms": ("-1", "0"),
    "streams.assignment.interval.ms": ("15001",),
}
VALUES_OF_METRICS = {
    "metrics": ("", "*", "a., b.", "a.,a.", ",", "a.,,b."),
    "interval.ms": ("99", "100", "3600000", "3600001", "x", ""),
    "match": (
        *(
            "",
            "client_id=a",
            "client_id = a.* ",
            "client_id=",
            "client_id=a=",
            "client_id=a=b",
            "=a",
            "=",
            "a=b",
            "client_id",
        ),
        *(
            "client_id=(",
            "client_id=[a-z]+,client_software_name=Java",
            "Client_id=a",
            "client_source_port=9,client_source_port=8",
        ),
    ),
}


@pytest.mark.parametrize("kind, values", [(GROUP, VALUES_OF_GROUPS), (METRICS, VALUES_OF_METRICS)])
def test_values_of_groups_and_metrics(both, kind, values):
    """Each value alone, and nothing stays of it."""
    for name, of_name in values.items():
        for value in of_name:
            both.ask(ApiKeys.INCREMENTAL_ALTER_CONFIGS, 1, incremental((kind, "v", [(name, SET, value)])))
            both.ask_again(ApiKeys.DESCRIBE_CONFIGS, 4, describe((kind, "v")))
            both.ask(ApiKeys.ALTER_CONFIGS, 2, legacy((kind, "v", [])))


def test_settings_of_groups_and_metrics_are_listed(both):
    changes = [(GROUP, "listed", [("share.delivery.count.limit", SET, "3")]), (METRICS, "listed", [("match", SET, "")])]
    both.ask(ApiKeys.INCREMENTAL_ALTER_CONFIGS, 1, incremental(*changes))
    make = request_class(ApiKeys.LIST_CONFIG_RESOURCES)
    body = make(resource_types=[GROUP, METRICS])
    listed = both.ask_again(ApiKeys.LIST_CONFIG_RESOURCES, 1, body).config_resources
    assert {(each.resource_type, each.resource_name) for each in listed} >= {(GROUP, "listed"), (METRICS, "listed")}
    both.ask_again(ApiKeys.LIST_CONFIG_RESOURCES, 0, make())


def more_partitions(*topics, validate_only=False):
    make = request_class(ApiKeys.CREATE_PARTITIONS)
    topic = make.CreatePartitionsTopic
    asked = [
        topic(
            name=name,
            count=count,
            assignments=None
            if places is None
            else [topic.CreatePartitionsAssignment(broker_ids=list(each)) for each in places],
        )
        for name, count, places in topics
    ]
    return make(topics=asked, timeout_ms=PATIENCE_S * 1000, validate_only=validate_only)


@pytest.mark.parametrize("validate_only", [True, False])
@pytest.mark.parametrize(
    "topics",
    [
        [("plain", 2, None), ("none", 3, None), ("kept", 1, None)],
        [("plain", 3, None), ("kept", 4, [[1], [1]])],
        [("plain", 9, [[1]]), ("kept", 5, [[2]])],
        [("plain", 6, [[1], [], [1]]), ("kept", 5, [[1, 1]])],
        [("plain", 4, None), ("plain", 5, None), ("kept", -1, None), ("kept", 0, None)],
        [("plain", 4, [[1, 2]]), ("kept", 9, [])],
    ],
)
def test_more_partitions(both, topics, validate_only):
    for version in (0, 1, 2, 3):
        both.ask(ApiKeys.CREATE_PARTITIONS, version, more_partitions(*topics, validate_only=validate_only))
    both.ask_again(ApiKeys.DESCRIBE_TOPIC_PARTITIONS, 0, request_class(ApiKeys.DESCRIBE_TOPIC_PARTITIONS)())


def test_what_there_is(both):
    make = request_class(ApiKeys.DESCRIBE_CLUSTER)
    for version in (0, 1, 2):
        for endpoint_type in (1, 2, 7) if version else (1,):
            body = make(include_cluster_authorized_operations=True, endpoint_type=endpoint_type)
            both.ask(ApiKeys.DESCRIBE_CLUSTER, version, body)
    make = request_class(ApiKeys.LIST_CONFIG_RESOURCES)
    both.ask(ApiKeys.LIST_CONFIG_RESOURCES, 0, make())
    for kinds in ([], [2], [4, 8], [16, 32], [3], [2, 99]):
        both.ask(ApiKeys.LIST_CONFIG_RESOURCES, 1, make(resource_types=kinds))


def test_logs_and_producers(both):
    records = [SimpleRecord(1_700_000_000_000, None, b"v" * 20) for _ in range(3)]
    produce = request_class(ApiKeys.PRODUCE)
    topic = produce.TopicProduceData
    for producer_id, sequence in ((7, 0), (7, 3), (9, 0)):
        data = MemoryRecords.with_idempotent_records(CompressionType.NONE, producer_id, 0, sequence, *records)
        partition = topic.PartitionProduceData(index=0, records=bytes(data.buffer))
        body = produce(acks=1, timeout_ms=9000, topic_data=[topic(name="plain", partition_data=[partition])])
        for side in (both.kafka, both.ours):
            assert side.ask(ApiKeys.PRODUCE, 9, body).responses[0].partition_responses[0].error_code == 0
    make = request_class(ApiKeys.DESCRIBE_PRODUCERS)
    topics = [make.TopicRequest(name=name, partition_indexes=[0, 1, 77]) for name in ("plain", "none", "a/b")]
    assert "producer_id=7" in str(both.ask(ApiKeys.DESCRIBE_PRODUCERS, 0, make(topics=topics)))
    make = request_class(ApiKeys.DESCRIBE_LOG_DIRS)
    for version in (1, 2, 3, 4, 5):
        for asked in (None, [], [make.DescribableLogDirTopic(topic="plain", partitions=[0, 55])]):
            both.ask(ApiKeys.DESCRIBE_LOG_DIRS, version, make(topics=asked))


def test_drawn_requests_of_all_apis(brokers, share):
    """With those of `tests/broker/` (2 x 2,700, 3,600 in sessions, 240 of administrators) a run draws over 10,000."""
    kafka, ours = brokers
    for seed in share([1, 2], 2):
        compare_drawn_requests(BothSides(kafka.port, ours.endpoints[0].port), seed, 900)


TOPICS_TOOL = "org.apache.kafka.tools.TopicCommand"
CONFIGS_TOOL = "kafka.admin.ConfigCommand"
LOG_DIRS_TOOL = "org.apache.kafka.tools.LogDirsCommand"


def test_kafkas_tools(brokers):
    address = f"127.0.0.1:{brokers[1].endpoints[0].port}"

    def run(tool, *arguments):
        finished = run_tool(tool, "--bootstrap-server", address, *arguments)
        assert finished.exit_code == 0, finished
        return finished.stdout

    run(TOPICS_TOOL, "--create", "--topic", "tools", "--partitions", "2", "--config", "retention.ms=9")
    run(TOPICS_TOOL, "--alter", "--topic", "tools", "--partitions", "3")
    lines = run(TOPICS_TOOL, "--describe", "--topic", "tools").splitlines()
    assert re.search(r"PartitionCount: 3\tReplicationFactor: 1\tConfigs: .*retention\.ms=9", lines[0]), lines
    assert [re.search(r"Partition: (\d)\tLeader: 1\tReplicas: 1\tIsr: 1", line)[1] for line in lines[1:]] == list("012")
    topic = ("--entity-type", "topics", "--entity-name", "tools")
    assert "Completed updating config" in run(CONFIGS_TOOL, "--alter", *topic, "--add-config", "flush.ms=5")
    told = run(CONFIGS_TOOL, "--describe", *topic)
    assert "flush.ms=5 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:flush.ms=5}" in told
    run(
        CONFIGS_TOOL,
        "--alter",
        "--entity-type",
        "brokers",
        "--entity-name",
        "1",
        "--add-config",
        "log.segment.bytes=3000000",
    )
    told = run(CONFIGS_TOOL, "--describe", "--all", "--entity-type", "brokers", "--entity-name", "1")
    assert "log.segment.bytes=3000000 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.segment.bytes=3000000" in told
    metrics = ("--entity-type", "client-metrics", "--entity-name", "producers")
    run(CONFIGS_TOOL, "--alter", *metrics, "--add-config", "interval.ms=500,match=[client_id=a.*]")
    told = run(CONFIGS_TOOL, "--describe", *metrics)
    assert "interval.ms=500 sensitive=false synonyms={DYNAMIC_CLIENT_METRICS_CONFIG:interval.ms=500}" in told
    assert '"partition":"tools-2","size":0' in run(LOG_DIRS_TOOL, "--describe", "--topic-list", "tools")
