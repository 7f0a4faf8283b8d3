"""What a real broker writes into its internal topics is decoded as Kafka's own tool decodes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.kafka_clients import KafkaClients

pytestmark = pytest.mark.slow

SETTINGS = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.share.min.heartbeat.interval.ms": "1000",
}
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


@pytest.fixture(scope="module")
def log_dir(kafka, tmp_path_factory) -> Path:
    """A broker's log.dir: groups of three kinds, transactions, topics that were made, configured and deleted."""
    home = tmp_path_factory.mktemp("broker")
    with KafkaBroker(home, SETTINGS) as broker:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        for topic in ("orders", "payments", "gone"):
            clients.create_topic(topic, {"cleanup.policy": "compact", "segment.ms": "1000000"})
        commit_and_abort(clients)
        consume(clients, "org.apache.kafka.clients.consumer.KafkaConsumer", **{"group.protocol": "classic"})
        consume(clients, "org.apache.kafka.clients.consumer.KafkaConsumer", **{"group.protocol": "consumer"})
        with admin_of(clients) as admin:
            set_config(kafka, admin, "GROUP", "group-share", "share.auto.offset.reset", "earliest")
        consume(clients, "org.apache.kafka.clients.consumer.KafkaShareConsumer")
        with admin_of(clients) as admin:
            change_topics(kafka, admin)
    return broker.log_dir


def commit_and_abort(clients: KafkaClients) -> None:
    """A committed and an aborted transaction, and one that stays open."""
    producer = clients.producer(transactional_id="payer")
    producer.initTransactions()
    for end in ("commitTransaction", "abortTransaction", "flush"):
        producer.beginTransaction()
        clients.send(producer, "orders", [(1_700_000_000_000, b"k", b"v", [])])
        clients.send(producer, "payments", [(1_700_000_000_000, b"k", b"v", [])])
        getattr(producer, end)()


def consume(clients: KafkaClients, class_name: str, **settings: str) -> None:
    """Join a group, commit what was read, and leave."""
    kafka = clients.kafka
    properties = {
        "bootstrap.servers": clients.bootstrap_servers,
        "group.id": f"group-{settings.get('group.protocol', 'share')}",
        "key.deserializer": _BYTES,
        "value.deserializer": _BYTES,
        **settings,
    }
    if settings:
        properties |= {"auto.offset.reset": "earliest", "client.rack": "east", "enable.auto.commit": "false"}
    consumer = kafka.find_class(class_name)(kafka.properties(properties))
    consumer.subscribe(["orders", "payments"])
    poll_time = kafka.find_class("java.time.Duration").ofMillis(500)
    for _ in range(20):
        if consumer.poll(poll_time).count():
            break
    consumer.commitSync()
    consumer.close()


@contextmanager
def admin_of(clients: KafkaClients) -> Iterator:
    """Kafka's `Admin`, closed at the end."""
    properties = clients.kafka.properties({"bootstrap.servers": clients.bootstrap_servers})
    admin = clients.kafka.find_class("org.apache.kafka.clients.admin.Admin").create(properties)
    try:
        yield admin
    finally:
        admin.close()


def set_config(kafka, admin, kind: str, name: str, setting: str, value: str) -> None:
    """A setting of a topic or a group."""
    op = kafka.find_class("org.apache.kafka.clients.admin.AlterConfigOp")
    op_type = kafka.find_class("org.apache.kafka.clients.admin.AlterConfigOp$OpType")
    entry = kafka.find_class("org.apache.kafka.clients.admin.ConfigEntry")(setting, value)
    resource_type = kafka.constant("org.apache.kafka.common.config.ConfigResource$Type", kind)
    resource = kafka.find_class("org.apache.kafka.common.config.ConfigResource")(resource_type, name)
    admin.incrementalAlterConfigs({resource: [op(entry, op_type.SET)]}).all().get()


def change_topics(kafka, admin) -> None:
    """Another setting, more partitions, a topic and a group less, a quota."""
    set_config(kafka, admin, "TOPIC", "orders", "max.message.bytes", "99999")
    more = kafka.find_class("org.apache.kafka.clients.admin.NewPartitions").increaseTo(3)
    admin.createPartitions({"payments": more}).all().get()
    admin.deleteTopics(["gone"]).all().get()
    admin.deleteConsumerGroups(["group-classic"]).all().get()
    entity = kafka.find_class("org.apache.kafka.common.quota.ClientQuotaEntity")({"user": "ada"})
    alteration = kafka.find_class("org.apache.kafka.common.quota.ClientQuotaAlteration")
    quota = kafka.find_class("org.apache.kafka.common.quota.ClientQuotaAlteration$Op")("request_percentage", 12.5)
    admin.alterClientQuotas([alteration(entity, [quota])]).all().get()


@pytest.mark.parametrize(
    ("directory", "option", "words"),
    [
        ("__consumer_offsets-0", "--offsets-decoder", ["<DELETE>", '"subscription":{"topics"', '"metadataHash"']),
        ("__transaction_state-0", "--transaction-log-decoder", ['"transactionStatus":5', '"transactionalId":"payer"']),
        ("__share_group_state-0", "--share-group-state-decoder", ['"snapshotEpoch"']),
        (
            "__cluster_metadata-0",
            "--cluster-metadata-decoder",
            ["REMOVE_TOPIC_RECORD", "CLIENT_QUOTA_RECORD", "12.5"],
        ),
    ],
)
def test_same_lines(log_dir, kafkas_dump, our_dump, directory, option, words):
    files = [file for file in (log_dir / directory).iterdir() if file.suffix in (".log", ".checkpoint")]
    arguments = ("--files", ",".join(map(str, files)), option)
    theirs, ours = kafkas_dump(*arguments), our_dump(*arguments)
    for our_line, their_line in zip(ours.stdout.splitlines(), theirs.stdout.splitlines()):
        assert our_line == their_line
    assert ours == theirs
    told = ours.stdout.decode()
    for word in words:
        assert word in told
    assert "skipping" not in told
