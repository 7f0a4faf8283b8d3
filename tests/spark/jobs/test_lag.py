"""The job `lag`: on a directory with given commits, and on a broker's, against what its clients say."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.jobs.byte_ranges import partitions, table
from minikafka.spark.jobs.lag import lag
from minikafka.spark.jobs.unread_records import unread_records
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.kafka_clients import KafkaClients
from tests.spark.drawn_log import NOW, DrawnLog, draw_log
from tests.spark.jobs.before_1970 import put_first_batch_before_1970
from tests.spark.test_cluster_tables import admin_of, commit, committed

GROUPS = "group string, topic string, partition int, offset bigint, commitTimestamp timestamp, recordOffset bigint"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> DrawnLog:
    return draw_log(tmp_path_factory.mktemp("drawn"), 1)


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_the_first_unread_record(drawn, isolation_level):
    import pyarrow as pa

    visible = drawn.committed if isolation_level == "read_committed" else drawn.records
    end = drawn.last_stable_offset if isolation_level == "read_committed" else drawn.records[-1].offset + 1
    offsets = list(range(-1, drawn.records[-1].offset + 5))
    asked = pa.RecordBatch.from_pylist([{"directory": str(drawn.directory), "offsets": offsets}])
    [batch] = unread_records([asked], settings={}, isolation_level=isolation_level, mode="FAILFAST")
    for row in batch.to_pylist():
        first = next((each.timestamp for each in visible if each.offset >= row["committed"]), None)
        assert row["oldestUnread"] == (None if first == -1 else first)
        assert row["hasUnread"] == (first is not None)
        assert row["readableEnd"] >= end and row["logStart"] == 0


def test_a_timestamp_below_1970_is_none(tmp_path):
    import pyarrow as pa

    with Log.open(tmp_path / "t-0") as log:
        batch = MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(1, b"k", b"v"))
        log.append_as_leader(batch, 0)
    put_first_batch_before_1970(tmp_path / "t-0")
    asked = pa.RecordBatch.from_pylist([{"directory": str(tmp_path / "t-0"), "offsets": [0]}])
    [batch] = unread_records([asked], settings={}, isolation_level="read_uncommitted", mode="FAILFAST")
    assert [(row["hasUnread"], row["oldestUnread"]) for row in batch.to_pylist()] == [(True, None)]


def test_groups_of_every_kind(spark, drawn, tmp_path):
    log_end = drawn.records[-1].offset + 1
    records = {each.offset: each for each in drawn.records}
    middle = next(each.offset for each in drawn.records[20:] if each.timestamp >= 0)
    commits = [
        ("slow", middle, NOW), ("slow", 0, NOW - 5), ("stuck", middle, NOW - 9000), ("lost", 3, NOW),
        ("ahead", 10**6, NOW), ("none", -(2**63), NOW),
    ]  # fmt: skip
    rows = [(group, "drawn", 3, offset, moment(when), -number) for number, (group, offset, when) in enumerate(commits)]
    rows.append(("gone", "elsewhere", 0, 5, moment(NOW), 9))
    groups = spark.createDataFrame(rows, GROUPS)
    checkpoint = drawn.directory.parent / "log-start-offset-checkpoint"
    OffsetCheckpointFile(checkpoint).write({TopicPartition("drawn", 3): 10})
    try:
        table = lag(groups, partitions(spark, [drawn.directory.parent]), now=NOW + 500, stale_after=5000)
        answer = {row.group: row for row in table.collect()}
    finally:
        checkpoint.unlink()
    assert {group: row.state for group, row in answer.items()} == {
        "slow": "behind", "stuck": "behind", "lost": "lost records", "ahead": "ahead", "gone": "no log",
        "none": "lost records",
    }  # fmt: skip
    slow = answer["slow"]
    assert slow.committed == middle and slow.logEnd >= log_end and slow.lag == slow.readableEnd - middle
    assert slow.behindMs == NOW + 500 - records[middle].timestamp and slow.idleMs == 500
    assert [group for group, row in answer.items() if row.stale] == ["stuck"]
    assert answer["gone"].lag is answer["none"].lag is answer["ahead"].oldestUnread is None
    assert answer["lost"].logStart == 10


@pytest.mark.slow
def test_a_brokers_groups(spark, kafka, tmp_path):
    """The lag is what Kafka's admin client tells, the oldest unread record what a consumer would read next."""
    with KafkaBroker(tmp_path) as broker:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        clients.create_topic("orders", {})
        producer = clients.producer()
        clients.send(producer, "orders", [(1_700_000_000_000 + n, b"k", b"v", []) for n in range(10)])
        producer.close()
        commit(clients, "readers", {("orders", 0): (4, 0, "")})
        commit(clients, "done", {("orders", 0): (10, 0, "")})
        with admin_of(clients) as admin:
            told = committed(admin, "readers") | committed(admin, "done")
            spec = kafka.find_class("org.apache.kafka.clients.admin.OffsetSpec")
            partition = kafka.find_class("org.apache.kafka.common.TopicPartition")("orders", 0)
            ends = admin.listOffsets({partition: spec.latest()}).all().get()
            [end] = [each.offset() for each in dict(ends).values()]
    paths = [Path(broker.log_dir)]
    answer = lag(table(spark, "groups", paths, {}), partitions(spark, paths), now=1_700_000_000_500).collect()
    assert {(row.group, row.topic, row.partition): row.lag for row in answer} == {
        key: end - offset for key, (offset, *_) in told.items()
    }
    assert {row.group: (row.state, row.behindMs) for row in answer} == {
        "readers": ("behind", 496),
        "done": ("caught up", None),
    }
