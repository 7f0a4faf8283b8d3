"""In a Spark session, beside a running broker: the rows are what a real consumer gets."""

import pytest
from pyspark.errors import PythonException

from minikafka.spark import register
from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.golden.make_golden import send_mixed
from tests.golden.places import GOLDEN
from tests.kafka_clients import KafkaClients

SMALL = {"retention.ms": "-1", "index.interval.bytes": "250", "internal.segment.bytes": "1500"}

CONNECTOR = """root
 |-- key: binary (nullable = true)
 |-- value: binary (nullable = true)
 |-- topic: string (nullable = true)
 |-- partition: integer (nullable = true)
 |-- offset: long (nullable = true)
 |-- timestamp: timestamp (nullable = true)
 |-- timestampType: integer (nullable = true)
"""
"""What `printSchema` shows for Spark's own Kafka connector."""


@pytest.fixture(scope="module")
def registered(spark):
    register(spark)
    return spark


def load(spark, path, **options):
    named = {name.replace("__", "."): value for name, value in options.items()}
    return spark.read.format("minikafka").options(**named).load(str(path))


def consumed(frame) -> list[tuple]:
    """The rows as `KafkaClients.consume` tells records: (offset, timestamp in ms, key, value)."""
    rows = frame.selectExpr("offset", "unix_millis(timestamp)", "key", "value").collect()
    return sorted((offset, timestamp, _bytes(key), _bytes(value)) for offset, timestamp, key, value in rows)


def _bytes(value):
    return None if value is None else bytes(value)


@pytest.mark.slow
def test_a_consumer_gets_the_same_from_the_running_broker(registered, kafka, tmp_path):
    with KafkaBroker(tmp_path) as broker:
        clients = KafkaClients(kafka, broker.bootstrap_servers)
        clients.create_topic("mixed", SMALL)
        send_mixed(clients, "mixed")
        opened = clients.producer(transactional_id="left-open")
        opened.initTransactions()
        opened.beginTransaction()
        clients.send(opened, "mixed", [(1_700_000_000_000, b"t", b"not decided", [])])
        told = {
            level: [
                (offset, time, _bytes(key), _bytes(value))
                for offset, time, key, value in clients.consume("mixed", level)
            ]
            for level in ("read_uncommitted", "read_committed")
        }
        assert len(told["read_uncommitted"]) > len(told["read_committed"]) > 50
        for level, records in told.items():
            frame = load(registered, broker.log_dir, bounds="log_end", isolation__level=level, subscribe="mixed")
            assert consumed(frame) == records
        opened.close()
    # The broker has stopped, and so written its high watermarks.
    assert consumed(load(registered, broker.log_dir, subscribe="mixed")) == told["read_uncommitted"]


def test_a_dataframe_may_be_used_again_with_another_filter_or_none(registered):
    """Spark 4.3.0 keeps one plan for a loaded DataFrame, whatever was pushed down into it last."""
    frame = load(registered, GOLDEN)
    assert [frame.where("offset >= 64").count(), frame.count()] == [4, 66]
    frame.createOrReplaceTempView("mixed")
    few, many, all_of_them = (
        f"(SELECT count(*) FROM mixed {where})" for where in ("WHERE offset >= 64", "WHERE offset < 64", "")
    )
    assert registered.sql(f"SELECT {few}, {many}, {all_of_them}").first()[:] == (4, 62, 66)


def test_filters_that_are_pushed_give_the_same_rows(registered):
    def count(condition):
        return load(registered, GOLDEN, pushFilters="true").where(condition).count()

    assert count("topic = 'mixed' AND offset >= 64") == 4
    assert count("timestamp >= timestamp'2023-11-14 22:13:29'") == 4


def test_the_schema_is_that_of_sparks_connector(registered, capsys):
    load(registered, GOLDEN).printSchema()
    assert capsys.readouterr().out.strip() == CONNECTOR.strip()


def test_queries_with_filters_columns_and_headers(registered):
    log_dir = GOLDEN
    frame = load(registered, log_dir)
    assert frame.count() == 66
    assert frame.where("topic = 'mixed' AND offset >= 64").count() == 4
    assert frame.where("timestamp >= timestamp'2023-11-14 22:13:29'").count() == 4
    pruned = registered.read.format("minikafka").schema("offset bigint, value binary").load(str(log_dir))
    assert pruned.where("offset = 2").collect() == [(2, None)]
    with_headers = load(registered, log_dir, includeHeaders="true").where("headers IS NOT NULL")
    assert [[tuple(each) for each in row.headers] for row in with_headers.collect()] == [
        [("h", b"1"), ("h", None), ("é", b"")]
    ]
    both = registered.read.format("minikafka").load([str(log_dir), str(log_dir / "mixed-0")])
    assert both.count() == 66  # a partition that is named twice is read once


def test_damage_reaches_the_caller_by_its_name(registered, tmp_path):
    directory = tmp_path / "t-0"
    directory.mkdir()
    (directory / f"{0:020}.log").write_bytes(b"\1" * 100)
    (directory / f"{9:020}.log").write_bytes(b"")
    with pytest.raises(PythonException, match="00000.log, position 0: CorruptRecordException"):
        load(registered, directory).collect()
    (row,) = load(registered, directory, mode="PERMISSIVE").collect()
    assert (row.topic, row._corrupt.position) == ("t", 0)
