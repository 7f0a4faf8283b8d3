"""The tables `groups` and `metadata` say of a real broker's directory what its admin client says."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql.datasource import EqualTo

from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.errors import CorruptRecordException, IllegalArgumentException
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.log.log import Log
from minikafka.messages.cluster_metadata import (
    ClearElrRecord,
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from minikafka.messages.framed_message import write_framed
from minikafka.metadata.metadata_version import record_version
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark import register
from minikafka.tools.dump_log.cluster_messages import snapshot_end
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.kafka_clients import KafkaClients
from tests.spark.object_store import ObjectStore
from tests.spark.rows import rows

pytestmark = pytest.mark.slow

GROUPS = ("readers", "movers", "gone")


class Cluster(NamedTuple):
    """A broker's directory, and what its admin client said last.

    `groups`: (group, topic, partition) -> (offset, leader epoch, metadata). `topics`: (topic, partition) -> (id,
    leader, replicas, isr). `settings`: topic -> its own settings.
    """

    log_dir: Path
    groups: dict
    topics: dict
    settings: dict
    started: float


@pytest.fixture(scope="module")
def cluster(kafka, tmp_path_factory) -> Cluster:
    """Groups that committed, in transactions too, and let go; topics that were made, changed and deleted."""
    home, started = tmp_path_factory.mktemp("broker"), time.time()
    with KafkaBroker(home, {"metadata.log.max.record.bytes.between.snapshots": "2000"}) as broker:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        for topic in ("orders", "payments", "gone"):
            clients.create_topic(topic, {"cleanup.policy": "compact", "segment.ms": "1000000"})
        with admin_of(clients) as admin:
            change_topics(kafka, admin)
            commit(clients, "readers", {("orders", 0): (3, 0, "first"), ("payments", 1): (9, None, "")})
            commit(clients, "readers", {("orders", 0): (7, 2, "später"), ("payments", 0): (1, None, "")})
            commit(clients, "gone", {("orders", 0): (1, None, "")})
            commit(clients, "movers", {("payments", 2): (5, 1, "plain"), ("orders", 0): (1, None, "let go")})
            commit_in_transactions(clients)
            partition = kafka.find_class("org.apache.kafka.common.TopicPartition")("orders", 0)
            admin.deleteConsumerGroupOffsets("movers", kafka.find_class("java.util.Set").of(partition)).all().get()
            admin.deleteConsumerGroups(["gone"]).all().get()
            told = [{}, {}, {}]
            for group in GROUPS:
                told[0] |= committed(admin, group)
            for topic in ("orders", "payments", "__consumer_offsets", "__transaction_state"):
                told[1] |= described(kafka, admin, topic)
                told[2][topic] = own_settings(kafka, admin, topic)
        shutil.copytree(broker.log_dir / CLUSTER_METADATA_DIRECTORY, home / "live" / CLUSTER_METADATA_DIRECTORY)
    return Cluster(broker.log_dir, *told, started)


@contextmanager
def admin_of(clients: KafkaClients) -> Iterator:
    """Kafka's `Admin`, closed at the end."""
    properties = clients.kafka.properties({"bootstrap.servers": clients.bootstrap_servers})
    admin = clients.kafka.find_class("org.apache.kafka.clients.admin.Admin").create(properties)
    try:
        yield admin
    finally:
        admin.close()


def offsets_and_metadata(kafka, commits: dict):
    """The Java map of (topic, partition) -> (offset, leader epoch or None, metadata)."""
    partition_class = kafka.find_class("org.apache.kafka.common.TopicPartition")
    offset_class = kafka.find_class("org.apache.kafka.clients.consumer.OffsetAndMetadata")
    return {
        partition_class(*partition): offset_class(offset, kafka.optional(epoch), metadata)
        for partition, (offset, epoch, metadata) in commits.items()
    }


def commit(clients: KafkaClients, group: str, commits: dict) -> None:
    """Commit as a consumer that assigns its partitions itself."""
    kafka, deserializer = clients.kafka, "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    properties = {
        "bootstrap.servers": clients.bootstrap_servers, "group.id": group, "key.deserializer": deserializer,
        "value.deserializer": deserializer,
    }  # fmt: skip
    consumer = kafka.find_class("org.apache.kafka.clients.consumer.KafkaConsumer")(kafka.properties(properties))
    consumer.commitSync(offsets_and_metadata(kafka, commits))
    consumer.close()


def commit_in_transactions(clients: KafkaClients) -> None:
    """Offsets of the group `movers`: committed, aborted, and left open."""
    kafka = clients.kafka
    producer = clients.producer(transactional_id="mover")
    producer.initTransactions()
    group = kafka.find_class("org.apache.kafka.clients.consumer.ConsumerGroupMetadata")("movers")
    for offset, end in ((20, "commitTransaction"), (30, "abortTransaction"), (40, "flush")):
        producer.beginTransaction()
        clients.send(producer, "orders", [(1_700_000_000_000, b"k", b"v", [])])
        commits = {("payments", 0): (offset, None, end), ("payments", 1): (offset, 0, "")}
        producer.sendOffsetsToTransaction(offsets_and_metadata(kafka, commits), group)
        getattr(producer, end)()


def change_topics(kafka, admin) -> None:
    """Another setting, one less, more partitions, a topic less."""
    op = kafka.find_class("org.apache.kafka.clients.admin.AlterConfigOp")
    op_type = kafka.find_class("org.apache.kafka.clients.admin.AlterConfigOp$OpType")
    entry = kafka.find_class("org.apache.kafka.clients.admin.ConfigEntry")
    kind = kafka.constant("org.apache.kafka.common.config.ConfigResource$Type", "TOPIC")
    resource = kafka.find_class("org.apache.kafka.common.config.ConfigResource")(kind, "orders")
    changes = [op(entry("max.message.bytes", "99999"), op_type.SET), op(entry("segment.ms", ""), op_type.DELETE)]
    admin.incrementalAlterConfigs({resource: changes}).all().get()
    more = kafka.find_class("org.apache.kafka.clients.admin.NewPartitions").increaseTo(3)
    admin.createPartitions({"payments": more}).all().get()
    admin.deleteTopics(["gone"]).all().get()


def committed(admin, group: str) -> dict:
    """What `kafka-consumer-groups` shows of a group."""
    offsets = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
    return {
        (group, partition.topic(), partition.partition()): (
            offset.offset(), offset.leaderEpoch().orElse(None), offset.metadata(),
        )
        for partition, offset in dict(offsets).items()
    }  # fmt: skip


def described(kafka, admin, topic: str) -> dict:
    """What `kafka-topics --describe` shows of a topic."""
    told = admin.describeTopics([topic]).allTopicNames().get().get(topic)
    return {
        (topic, each.partition()): (
            told.topicId().toString(), each.leader().id(), [node.id() for node in each.replicas()],
            [node.id() for node in each.isr()],
        )
        for each in told.partitions()
    }  # fmt: skip


def own_settings(kafka, admin, topic: str) -> dict[str, str]:
    """The settings of a topic that are its own, as `kafka-configs --describe` shows them."""
    kind = kafka.constant("org.apache.kafka.common.config.ConfigResource$Type", "TOPIC")
    resource = kafka.find_class("org.apache.kafka.common.config.ConfigResource")(kind, topic)
    entries = admin.describeConfigs([resource]).all().get().get(resource).entries().toArray()
    return {each.name(): each.value() for each in entries if each.source().name() == "DYNAMIC_TOPIC_CONFIG"}


def groups_in(found: list[dict]) -> dict:
    assert len({(row["group"], row["topic"], row["partition"]) for row in found}) == len(found)
    return {
        (row["group"], row["topic"], row["partition"]): (row["offset"], row["leaderEpoch"], row["metadata"])
        for row in found
    }


def test_groups(cluster):
    found = rows(cluster.log_dir, table="groups")
    assert groups_in(found) == cluster.groups and len(found) == 6
    assert {name for name, *_ in cluster.groups} == {"readers", "movers"}
    assert all(cluster.started - 60 < row["commitTimestamp"].timestamp() < time.time() for row in found)
    assert len({row["recordOffset"] for row in found}) == len(found)
    payments = {key: commit for key, commit in cluster.groups.items() if key[1] == "payments"}
    assert groups_in(rows(cluster.log_dir, table="groups", subscribe="payments")) == payments
    # A filter on the topic is not one of the topic that is read.
    assert payments.items() <= groups_in(rows(cluster.log_dir, EqualTo(("topic",), "payments"), table="groups")).items()
    assert rows(cluster.log_dir / "orders-0", table="groups") == []


def test_metadata(cluster):
    live = cluster.log_dir.parent / "live"
    found = rows(live, table="metadata")
    told = {
        (row["topic"], row["partition"]): (row["topicId"], row["leader"], row["replicas"], row["isr"]) for row in found
    }
    assert told == cluster.topics
    assert {row["topic"]: dict(row["settings"]) for row in found} == cluster.settings
    assert cluster.settings["orders"] == {"cleanup.policy": "compact", "max.message.bytes": "99999"}
    assert all(row["leaderEpoch"] >= 0 and row["partitionEpoch"] >= 0 for row in found)
    assert [row["partition"] for row in rows(live, table="metadata", subscribe="payments")] == [0, 1, 2]
    assert rows(live / CLUSTER_METADATA_DIRECTORY, table="metadata") == found
    # When the only broker stops, its partitions have no leader any more.
    assert {(row["leader"], *row["isr"]) for row in rows(cluster.log_dir, table="metadata")} == {(-1,)}
    with pytest.raises(IllegalArgumentException, match="orders-0 has no metadata log"):
        rows(cluster.log_dir / "orders-0", table="metadata")
    with pytest.raises(IllegalArgumentException, match="absent does not exist"):
        rows(cluster.log_dir / "absent", table="metadata")


def test_a_snapshot_tells_the_state_at_its_offset(cluster, tmp_path):
    """It is what the log up to there leads to; and with the log behind it, to what the whole log leads to."""
    directory = cluster.log_dir / CLUSTER_METADATA_DIRECTORY
    snapshot = min(directory.glob("*.checkpoint"))
    alone = tmp_path / CLUSTER_METADATA_DIRECTORY
    alone.mkdir()
    log = Path(shutil.copy(directory / f"{0:020}.log", alone))
    assert rows(alone, table="metadata") == rows(directory, table="metadata")
    behind = FileRecords.open(log, mutable=False).search_for_offset_from_position(snapshot_end(snapshot.name), 0)
    log.write_bytes(log.read_bytes()[: behind.position if behind else None])
    assert rows(alone, table="metadata") == rows(snapshot, table="metadata")


def test_damage(cluster, tmp_path):
    for table, name in (("metadata", CLUSTER_METADATA_DIRECTORY), ("groups", "__consumer_offsets-0")):
        copy = Path(shutil.copytree(cluster.log_dir / name, tmp_path / name))
        for snapshot in copy.glob("*.checkpoint"):
            snapshot.unlink()
        log = copy / f"{0:020}.log"
        # A record's byte: the CRC does not cover a batch's base offset and leader epoch.
        batches = list(FileRecords.open(log, mutable=False).batches())
        middle = batches[len(batches) // 2]
        data = bytearray(log.read_bytes())
        data[middle.position + middle.size_in_bytes - 1] ^= 0xFF
        log.write_bytes(data)
        assert rows(copy, table=table, mode="PERMISSIVE")[0]["_corrupt"]["file"] == str(log)
        with pytest.raises(CorruptRecordException, match=f"{log}, position "):
            rows(copy, table=table)
        assert rows(copy, table=table, mode="DROPMALFORMED")


def test_in_an_object_store(cluster):
    with ObjectStore() as store:
        for directory in (CLUSTER_METADATA_DIRECTORY, "__consumer_offsets-0"):
            store.put(cluster.log_dir / directory, f"copy/{directory}")
        for table in ("groups", "metadata"):
            there = rows("s3://bucket/copy", table=table, bounds="log_end", **store.settings)
            assert there == rows(cluster.log_dir, table=table, bounds="log_end")


def test_in_spark(spark, cluster):
    register(spark)
    frame = spark.read.format("minikafka").option("table", "groups").load(str(cluster.log_dir))
    found = [row.asDict() for row in frame.where("topic = 'payments'").collect()]
    assert groups_in(found) == {key: commit for key, commit in cluster.groups.items() if key[1] == "payments"}
    topics = spark.read.format("minikafka").option("table", "metadata").load(str(cluster.log_dir))
    assert {(row.topic, row.partition): row.settings for row in topics.where("topic = 'orders'").collect()} == {
        ("orders", 0): cluster.settings["orders"]
    }


def test_a_topic_that_was_made_again_has_none_of_the_settings_before(tmp_path):
    ids = ["A" * 21 + "Q", "A" * 21 + "g"]
    setting = ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name="t", name="retention.ms", value="5")

    def partition(topic_id, elr):
        return PartitionRecord(
            partition_id=0, topic_id=topic_id, replicas=[1, 2], isr=[1], leader=1, leader_epoch=0, partition_epoch=0,
            directories=ids, eligible_leader_replicas=elr,
        )  # fmt: skip

    records = [
        TopicRecord(name="t", topic_id=ids[0]), setting, partition(ids[0], None), RemoveTopicRecord(topic_id=ids[0]),
        TopicRecord(name="t", topic_id=ids[1]), partition(ids[1], [2]), ClearElrRecord(topic_name="t"),
    ]  # fmt: skip
    with Log.open(tmp_path / CLUSTER_METADATA_DIRECTORY) as log:
        framed = [write_framed("cluster-metadata", record, record_version(record)) for record in records]
        batch = MemoryRecords.with_records(CompressionType.NONE, *(SimpleRecord(0, None, each) for each in framed))
        log.append_as_leader(batch, 0)
    [row] = rows(tmp_path, table="metadata")
    assert (row["topicId"], row["settings"], row["partitionEpoch"]) == (ids[1], [], 1)
