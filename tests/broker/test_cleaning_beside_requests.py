"""A long cleaning keeps no client waiting, and neither a stop nor a kill."""

import threading
import time

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

from minikafka.log.cleaner.cleaner import Cleaner
from minikafka.testing import Broker
from tests.librdkafka_clients import Consumer

PATIENCE_S = 20


@pytest.mark.slow
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_requests_are_answered_and_the_broker_ends_while_a_log_is_cleaned(tmp_path, monkeypatch, end):
    began = threading.Event()

    def clean_for_ever(cleaner, cleanable):
        began.set()
        while True:
            time.sleep(0.01)
            cleaner._check_done(cleanable.topic_partition)

    monkeypatch.setattr(Cleaner, "clean", clean_for_ever)
    settings = {"log.cleaner.backoff.ms": "10", "log.cleaner.min.cleanable.ratio": "0"}
    with Broker(tmp_path / "d", topics={"quiet": 1}, settings=settings) as broker:
        broker.create_topic("c", 1, {"cleanup.policy": "compact", "segment.ms": "1"})
        for _ in range(3):
            broker.append("c", 0, b"v", key=b"k")
            time.sleep(0.01)
        assert began.wait(PATIENCE_S)
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": "none",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 50,
            }
        )
        consumer.assign([TopicPartition("quiet", 0, OFFSET_BEGINNING)])
        told = consumer.poll(PATIENCE_S / 2)  # that there is nothing, which the broker says when its time has come
        consumer.close()
        assert told is not None and told.error().code() == KafkaError._PARTITION_EOF
        asked = time.monotonic()
        getattr(broker, end)()
        assert time.monotonic() - asked < PATIENCE_S / 2
        monkeypatch.undo()
        broker.start()
        assert broker.records("c", 0)[-1].value == b"v"
