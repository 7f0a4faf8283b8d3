"""A real broker starts on what was written, and real clients get every record."""

import time

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic

from minikafka.common.errors import KafkaStorageException
from minikafka.spark import register, write_log_dir
from minikafka.spark.sink.write_mark import staged_directories
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.kafka_clients import KafkaClients
from tests.librdkafka_clients import AdminClient, Consumer, Producer
from tests.spark.rows import rows
from tests.spark.sink.writing import begin, killed_in_commit, row, task, write

pytestmark = pytest.mark.slow


def consumed(broker, topic: str, partitions: int) -> list[tuple]:
    """What librdkafka gets: (partition, offset, timestamp, key, value, headers), sorted."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "enable.partition.eof": True,
         "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    got, ended = [], 0
    while ended < partitions:
        message = consumer.poll(20)
        assert message is not None, "the broker does not answer"
        if message.error():
            ended += 1
            continue
        headers = tuple(message.headers() or ())
        got.append(
            (message.partition(), message.offset(), message.timestamp()[1], message.key(), message.value(), headers)
        )
    consumer.close()
    return sorted(got)


def written(frame) -> list[tuple]:
    """What Spark reads back, in the same form."""
    return sorted(
        (row.partition, row.offset, row.ms, *(None if each is None else bytes(each) for each in (row.key, row.value)),
         tuple((pair.key, None if pair.value is None else bytes(pair.value)) for pair in row.headers or ()))
        for row in frame.selectExpr("*", "unix_millis(timestamp) ms").collect()
    )  # fmt: skip


@pytest.mark.in_parts(4)
def test_a_topic_is_restored_from_parquet(spark, kafka, tmp_path):
    """A cluster knows the topic; its broker is stopped, the records are written in place, and it starts again."""
    register(spark)
    table = str(tmp_path / "parquet")
    spark.range(3000).selectExpr(
        "CASE WHEN id % 5 > 0 THEN concat('k', id % 100) END AS key",
        "CASE WHEN id % 7 > 0 THEN concat('value ', id) END AS value",
        "timestamp_millis(1700000000000 + id) AS timestamp",
        "CASE WHEN id % 3 = 0 THEN array(struct('h' AS key, CAST('x' AS binary) AS value), "
        "struct('n' AS key, CAST(NULL AS binary) AS value)) END AS headers",
    ).write.parquet(table)
    broker = KafkaBroker(tmp_path / "home")
    with broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic("orders", 3, config={"retention.ms": "-1"})])["orders"].result()
        del admin  # or its thread would go on looking for the broker
        KafkaClients(kafka, broker.bootstrap_servers).create_topic("gaps", {"retention.ms": "-1"})
    settings = {"compression.type": "zstd", "internal.segment.bytes": 5000}
    rows = spark.read.parquet(table)
    write_log_dir(rows, str(broker.log_dir), topic="orders", partitions=3, settings=settings, batch_size=3000)
    with_gaps = spark.range(1000).selectExpr("CAST(id AS string) AS value", "100 + 3 * id AS offset")
    write_log_dir(with_gaps, str(broker.log_dir), topic="gaps")

    back = spark.read.format("minikafka").option("includeHeaders", "true").load(str(broker.log_dir))
    expected = written(back.where("topic = 'orders'"))
    assert len(expected) == 3000
    with broker:
        assert consumed(broker, "orders", 3) == expected
        gaps = KafkaClients(kafka, broker.bootstrap_servers).consume("gaps")
        assert [(offset, bytes(value)) for offset, _, _, value in gaps] == [
            (100 + 3 * number, str(number).encode()) for number in range(1000)
        ]
    output = (broker.home / "broker.out").read_text()
    assert "ERROR" not in output
    assert "stray" not in output
    # The broker has nothing to mend: what it stopped with is what was written.
    assert written(back.where("topic = 'orders'")) == expected


def test_a_broker_deletes_what_a_dead_write_left(tmp_path):
    """Staged directories and the mark neither keep it from starting nor stay, but for the mark."""
    settings = {"log.segment.delete.delay.ms": "100", "log.initial.task.delay.ms": "100"}
    broker = KafkaBroker(tmp_path / "home", settings)
    with broker:
        pass
    writer = begin(broker.log_dir)
    task(writer, [row(), row()])
    assert list(staged_directories(broker.log_dir))
    with broker:
        deadline = time.monotonic() + 60
        while list(staged_directories(broker.log_dir)):
            assert time.monotonic() < deadline, (broker.home / "broker.out").read_text()[-3000:]
            time.sleep(0.1)
    assert "ERROR" not in (broker.home / "broker.out").read_text()
    write(broker.log_dir, [row(b"next")], topic="next")
    assert rows(broker.log_dir)[0]["value"] == b"next"


def test_what_a_broker_took_while_a_write_was_half_done_is_kept(tmp_path):
    """A start and a stop between which no record came do not matter to the write; one record does."""
    broker = KafkaBroker(tmp_path / "home")
    topics = ("idle", "used")
    with broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for made in admin.create_topics([NewTopic(topic, 2) for topic in topics]).values():
            made.result()
        del admin
        produce(broker, *topics)
    for topic in topics:
        assert killed_in_commit(broker.log_dir, overwrite=True, topic=topic)
        with broker:
            if topic == "used":
                produce(broker, topic)
        if topic == "idle":
            begin(broker.log_dir, topic="next").abort([])
    with pytest.raises(KafkaStorageException, match=r"used-\d has changed since topic used was written"):
        begin(broker.log_dir, topic="next")
    with broker:
        assert {values[4] for values in consumed(broker, "idle", 2)} == {b"new 0", b"new 1"}
        assert [values[4] for values in consumed(broker, "used", 2)] == [b"a record"] * 4
    assert "ERROR" not in (broker.home / "broker.out").read_text()


def produce(broker: KafkaBroker, *topics: str) -> None:
    """A record for each of the two partitions of the topics."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for topic in topics:
        for partition in (0, 1):
            producer.produce(topic, b"a record", partition=partition)
    assert producer.flush(30) == 0
