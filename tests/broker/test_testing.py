"""`minikafka.testing.Broker`: what a test of a program that talks to Kafka wants of a broker."""

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from minikafka.common.errors import (
    IllegalStateException,
    RecordTooLargeException,
    TopicExistsException,
    UnknownTopicOrPartitionException,
)
from minikafka.testing import Broker

PATIENCE_S = 20


def test_topics_records_and_clients():
    with Broker(topics={"orders": 2}) as broker:
        assert broker.append("orders", 0, b"first", b"second") == 0
        assert broker.append("orders", 0, b"third", key=b"k") == 2
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("orders", b"fourth", partition=0)
        assert producer.flush(PATIENCE_S) == 0
        assert [(each.offset, each.key, each.value) for each in broker.records("orders", 0)] == [
            (0, None, b"first"),
            (1, None, b"second"),
            (2, b"k", b"third"),
            (3, None, b"fourth"),
        ]
        assert broker.records("orders", 1) == []
        consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap_servers, "group.id": "none", "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition("orders", 0, OFFSET_BEGINNING)])
        assert len(consumer.consume(4, PATIENCE_S)) == 4
        broker.append("orders", 0, b"a waiting consumer gets it")
        assert consumer.poll(PATIENCE_S).value() == b"a waiting consumer gets it"
        consumer.close()
        directory = broker.directory
        assert (directory / "orders-0" / f"{0:020d}.log").exists()
    assert not directory.exists()
    with pytest.raises(IllegalStateException, match="The broker is down"):
        broker.records("orders", 0)


def test_stops_and_kills(tmp_path):
    with Broker(tmp_path / "kept", topics={"t": 1}) as broker:
        for number, end in enumerate((broker.stop, broker.kill, broker.stop)):
            assert broker.append("t", 0, b"%d" % number) == number
            end()
            broker.start()
        assert [each.value for each in broker.records("t", 0)] == [b"0", b"1", b"2"]
    assert (tmp_path / "kept" / "t-0").is_dir()


def test_what_is_refused():
    with Broker(topics={"t": 1}, settings={"message.max.bytes": "200"}) as broker:
        with pytest.raises(TopicExistsException, match="Topic 't' already exists"):
            broker.create_topic("t")
        with pytest.raises(UnknownTopicOrPartitionException):
            broker.append("t", 7, b"x")
        with pytest.raises(UnknownTopicOrPartitionException, match="none-0"):
            broker.records("none", 0)
        with pytest.raises(RecordTooLargeException):
            broker.append("t", 0, bytes(1000))
        broker.create_topic("u", 2, {"max.message.bytes": "2000"})
        assert broker.append("u", 1, bytes(1000)) == 0
