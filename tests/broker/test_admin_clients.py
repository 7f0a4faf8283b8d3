"""What administrators do with a broker, by clients that know nothing of minikafka; and what is left of it."""

import logging
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource, NewPartitions, NewTopic

from minikafka.broker.broker_server import BrokerServer
from minikafka.common.error_codes import Errors
from minikafka.common.topic_partition import TopicPartition
from minikafka.metadata.configuration_control_manager import AlterConfigOp
from minikafka.network.api_keys import ApiKeys
from minikafka.network.messages import parse_response, request_bytes, request_class
from tests.librdkafka_clients import AdminClient

PATIENCE_S = 20
BROKER = 4
SETTINGS = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.retention.hours": "3", "num.io.threads": "5"}


@pytest.fixture
def server(tmp_path):
    server = BrokerServer([tmp_path / "a", tmp_path / "b"], SETTINGS)
    server.start()
    make_topic(server)
    yield server
    server.stop()


def address(server):
    return f"127.0.0.1:{server.endpoints[0].port}"


def ask(server, method, *arguments, **options):
    """What comes of an operation of confluent-kafka's `AdminClient` on one topic or broker."""
    client = AdminClient({"bootstrap.servers": address(server)})
    [future] = getattr(client, method)(*arguments, **options).values()
    return future.result(PATIENCE_S)


def make_topic(server):
    ask(server, "create_topics", [NewTopic("shop", 1, 1, config={"cleanup.policy": "compact"})])


def described(server, kind, name):
    """The settings of a topic or broker, by name."""
    return ask(server, "describe_configs", [ConfigResource(kind, name)])


def alter(server, kind, name, **operations):
    """`operations`: pairs of an operation and a value, by a setting's name with `_` for dots."""
    entries = [
        ConfigEntry(key.replace("_", "."), value, incremental_operation=AlterConfigOpType[operation])
        for key, (operation, value) in operations.items()
    ]
    return ask(server, "incremental_alter_configs", [ConfigResource(kind, name, incremental_configs=entries)])


def answered(server, api, version, body):
    """The broker's answer to a request that the clients of this test cannot send."""
    data = request_bytes(api, version, body, correlation_id=1, client_id="c")
    answer = parse_response(api, version, server.broker.handle(data).result)[1]
    server.publish()
    return answer


def change(server, kind, name, setting, value, operation=AlterConfigOp.SET):
    """An error's number and words, for a change of one setting."""
    make = request_class(ApiKeys.INCREMENTAL_ALTER_CONFIGS)
    changed = make.AlterConfigsResource.AlterableConfig(name=setting, config_operation=operation, value=value)
    resource = make.AlterConfigsResource(resource_type=kind, resource_name=name, configs=[changed])
    [result] = answered(server, ApiKeys.INCREMENTAL_ALTER_CONFIGS, 1, make(resources=[resource])).responses
    return result.error_code, result.error_message


def of_all_brokers(server):
    """What is set for all brokers."""
    make = request_class(ApiKeys.DESCRIBE_CONFIGS)
    resource = make.DescribeConfigsResource(resource_type=BROKER, resource_name="", configuration_keys=None)
    [result] = answered(server, ApiKeys.DESCRIBE_CONFIGS, 4, make(resources=[resource])).results
    return {each.name: each.value for each in result.configs}


def log_config(server, topic="shop", partition=0):
    """The settings of a running log."""
    return server.broker.log_manager.get_log(TopicPartition(topic, partition)).config


def test_settings_with_their_sources(server):
    topic = described(server, "TOPIC", "shop")
    told = {name: (topic[name].value, topic[name].source) for name in ("cleanup.policy", "retention.ms", "segment.ms")}
    assert told == {
        "cleanup.policy": ("compact", ConfigSource.DYNAMIC_TOPIC_CONFIG.value),
        "retention.ms": ("10800000", ConfigSource.DEFAULT_CONFIG.value),  # as Kafka says of log.retention.hours
        "segment.ms": ("604800000", ConfigSource.DEFAULT_CONFIG.value),
    }
    assert topic["min.insync.replicas"].source == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value
    broker = described(server, "BROKER", "1")
    assert (broker["log.retention.hours"].value, broker["num.io.threads"].value) == ("3", "5")
    assert broker["log.retention.hours"].source == ConfigSource.STATIC_BROKER_CONFIG.value
    assert broker["log.retention.hours"].is_read_only and not broker["num.io.threads"].is_read_only
    assert broker["process.roles"].value == "broker,controller"
    assert broker["ssl.key.password"].is_sensitive and broker["ssl.key.password"].value is None
    assert len(broker) > 300
    assert of_all_brokers(server) == {"min.insync.replicas": "1"}


@pytest.mark.slow
def test_changed_settings_are_those_of_running_logs_and_stay(server):
    alter(server, "TOPIC", "shop", retention_ms=("SET", "1000"), cleanup_policy=("APPEND", "delete"))
    alter(server, "BROKER", "1", log_segment_bytes=("SET", "2000000"))
    for setting, value in (("log.index.interval.bytes", "77"), ("message.max.bytes", "5000")):
        assert change(server, BROKER, "", setting, value) == (Errors.NONE, None)

    def check():
        topic, config = described(server, "TOPIC", "shop"), log_config(server)
        assert (config.retention_ms, config.compact, config.delete) == (1000, True, True)
        assert (config.segment_size, config.index_interval, config.max_message_size) == (2_000_000, 77, 5000)
        told = {name: (topic[name].value, topic[name].source) for name in ("retention.ms", "segment.bytes")}
        assert told == {
            "retention.ms": ("1000", ConfigSource.DYNAMIC_TOPIC_CONFIG.value),
            "segment.bytes": ("2000000", ConfigSource.DYNAMIC_BROKER_CONFIG.value),
        }
        assert topic["cleanup.policy"].value == "compact,delete"
        assert of_all_brokers(server)["message.max.bytes"] == "5000"

    check()
    for end in (server.stop, server.kill):
        end()
        server.__init__(server.log_dirs, SETTINGS)
        server.start()
        check()
    alter(server, "TOPIC", "shop", retention_ms=("DELETE", None), cleanup_policy=("SUBTRACT", "compact"))
    alter(server, "BROKER", "1", log_segment_bytes=("DELETE", None))
    assert described(server, "BROKER", "1")["log.segment.bytes"].value == str(1 << 30)
    config = log_config(server)
    assert (config.retention_ms, config.compact, config.segment_size) == (10_800_000, False, 1 << 30)


@pytest.mark.parametrize(
    ("kind", "name", "operations", "error", "told"),
    [
        ("TOPIC", "none", {"retention_ms": ("SET", "1")}, KafkaError.UNKNOWN_TOPIC_OR_PART, "'none' does not exist"),
        ("TOPIC", "shop", {"retention_msx": ("SET", "1")}, KafkaError.INVALID_CONFIG, "Unknown topic config name"),
        ("TOPIC", "shop", {"retention_ms": ("APPEND", "1")}, KafkaError.INVALID_CONFIG, "Can't APPEND"),
        ("TOPIC", "shop", {"retention_ms": ("SET", "-2")}, KafkaError.INVALID_CONFIG, "must be at least -1"),
        ("BROKER", "1", {"log_dirs": ("SET", "/x")}, KafkaError.INVALID_REQUEST, "Cannot update these configs dyn"),
        ("BROKER", "1", {"num_io_threads": ("SET", "11")}, KafkaError.INVALID_REQUEST, "double the current value 5"),
    ],
)
def test_changes_that_are_refused(server, kind, name, operations, error, told):
    with pytest.raises(KafkaException) as refused:
        alter(server, kind, name, **operations)
    assert refused.value.args[0].code() == error and told in refused.value.args[0].str()


def test_changes_that_a_client_would_not_send_here(server):
    least_isr = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
    assert change(server, BROKER, "", "min.insync.replicas", None, AlterConfigOp.DELETE) == (
        Errors.INVALID_CONFIG,
        least_isr,
    )
    assert change(server, BROKER, "2", "log.retention.ms", "1") == (
        Errors.INVALID_REQUEST,
        "Unexpected broker id, expected 1, but received 2",
    )


def test_a_new_topic_has_what_is_set_for_the_node_of_the_controller(server):
    assert change(server, BROKER, "", "compression.type", "gzip") == (0, None)
    assert change(server, BROKER, str(server.node_id), "compression.type", "lz4") == (0, None)
    make = request_class(ApiKeys.CREATE_TOPICS)
    topic = make.CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    [made] = answered(server, ApiKeys.CREATE_TOPICS, 7, make(topics=[topic], timeout_ms=1000)).topics
    [told] = [each for each in made.configs if each.name == "compression.type"]
    assert (told.value, told.config_source) == ("lz4", ConfigSource.DYNAMIC_BROKER_CONFIG.value)


def test_more_partitions_are_there_at_once(server):
    ask(server, "create_partitions", [NewPartitions("shop", 3)], validate_only=True)
    assert len(server.controller.image.topics.get_topic("shop").partitions) == 1
    ask(server, "create_partitions", [NewPartitions("shop", 3)])
    topic = ask(server, "describe_topics", TopicCollection(["shop"]))
    assert [(each.id, each.leader.id) for each in topic.partitions] == [(0, 1), (1, 1), (2, 1)]
    assert log_config(server, "shop", 2).compact
    with pytest.raises(KafkaException) as refused:
        ask(server, "create_partitions", [NewPartitions("shop", 3)])
    assert refused.value.args[0].str() == "Topic already has 3 partition(s)."
    server.kill()
    server.__init__(server.log_dirs, SETTINGS)
    server.start()
    assert len(ask(server, "describe_topics", TopicCollection(["shop"])).partitions) == 3


def test_the_cluster(server):
    client = AdminClient({"bootstrap.servers": address(server)})
    cluster = client.describe_cluster(include_authorized_operations=True).result(PATIENCE_S)
    assert [(node.id, node.port) for node in cluster.nodes] == [(1, server.endpoints[0].port)]
    assert cluster.controller.id == 1 and len(cluster.cluster_id) == 22 and len(cluster.authorized_operations) == 7


@pytest.mark.slow
def test_kafka_python(server):
    from kafka import KafkaAdminClient, KafkaProducer
    from kafka import TopicPartition as Partition
    from kafka.admin import ConfigResource as Resource

    producer = KafkaProducer(bootstrap_servers=address(server), acks="all")
    producer.send("shop", b"value", key=b"key", partition=0).get(PATIENCE_S)
    producer.close()
    client = KafkaAdminClient(bootstrap_servers=address(server))
    try:
        client.create_partitions({"shop": 2})
        [broker] = client.describe_log_dirs()
        found = {
            (Path(each["log_dir"]), topic["name"], partition["partition_index"]): partition["partition_size"]
            for each in broker["log_dirs"]
            for topic in each["topics"]
            for partition in topic["partitions"]
        }
        first, second = server.log_dirs
        assert found == {
            (first, "shop", 0): (first / "shop-0" / f"{0:020d}.log").stat().st_size,
            (second, "shop", 1): 0,
        }
        [state] = client.describe_producers([Partition("shop", 0)]).values()
        assert [(each.producer_id, each.last_sequence) for each in state.active_producers] == [(0, 0)]
        [topic] = client.describe_topic_partitions(["shop"])["topics"]
        assert [(each["partition_index"], each["isr_nodes"]) for each in topic["partitions"]] == [(0, [1]), (1, [1])]
        assert client.list_config_resources() == {"broker_logger": ["1"], "broker": ["1"], "topic": ["shop"]}
        assert client.describe_cluster()["controller_id"] == 1
        client.alter_configs([Resource("TOPIC", "shop", {"retention.ms": "5000"})], incremental=False)
        [told] = client.describe_configs([Resource("TOPIC", "shop")])["topic"].values()
        assert told["retention.ms"]["value"] == "5000"
    finally:
        client.close()
    assert log_config(server).retention_ms == 5000


def test_a_directory_that_failed_is_told_with_its_error(tmp_path):
    server = BrokerServer([tmp_path / "a", tmp_path / "b"], SETTINGS)
    server.start()
    try:
        make_topic(server)
        described(server, "TOPIC", "shop")  # and now its log is there
        [kept] = [log_dir for log_dir in server.log_dirs if (log_dir / "shop-0").exists()]
        [failed] = {*server.log_dirs} - {kept}
        server.broker.replica_manager.handle_log_dir_failure(failed)
        make = request_class(ApiKeys.DESCRIBE_LOG_DIRS)
        results = answered(server, ApiKeys.DESCRIBE_LOG_DIRS, 4, make(topics=None)).results
        good, bad = sorted(results, key=lambda result: result.error_code)
        assert (good.error_code, [topic.name for topic in good.topics]) == (0, ["shop"])
        assert (bad.error_code, bad.log_dir, bad.topics) == (Errors.KAFKA_STORAGE_ERROR, str(failed), [])
    finally:
        server.kill()


def test_levels_of_loggers(server):
    name = "minikafka.network.request_channel"
    before = logging.getLogger(name).level

    def set_level(level, operation=AlterConfigOp.SET, logger=name):
        return change(server, 8, "1", logger, level, operation)

    try:
        assert set_level("DEBUG") == (0, None) and logging.getLogger(name).level == logging.DEBUG
        assert set_level(None, AlterConfigOp.DELETE) == (0, None) and logging.getLogger(name).level == logging.NOTSET
        assert set_level("LOUD")[0] == Errors.INVALID_CONFIG
        assert set_level("INFO", logger="none") == (Errors.INVALID_CONFIG, "Logger none does not exist!")
        assert set_level(None, AlterConfigOp.DELETE, "root")[0] == Errors.INVALID_REQUEST
    finally:
        logging.getLogger(name).setLevel(before)
