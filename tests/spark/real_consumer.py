"""What a real consumer gets of a partition, as the tests of the source tell records."""

import time

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tests.librdkafka_clients import Consumer
from tests.spark.drawn_log import Seen

_TYPES = {0: -1, 1: 0, 2: 1}  # the client's timestamp types, and Kafka's


def consumed(bootstrap_servers: str, topic: str, isolation: str) -> list[Seen]:
    """All records of partition 0 from its beginning to its end."""
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": "unused", "enable.auto.commit": False}
    consumer = Consumer({**settings, "isolation.level": isolation, "enable.partition.eof": True})
    found = []
    try:
        _await_leader(consumer, topic)
        consumer.assign([TopicPartition(topic, 0, -2)])
        while True:
            for each in consumer.consume(1000, 0.3):
                if each.error():
                    assert each.error().code() == KafkaError._PARTITION_EOF, each.error()
                    return found
                kind, timestamp = each.timestamp()
                headers = tuple((name, value) for name, value in each.headers() or ())
                told = timestamp if kind else -1  # the client tells 0 for no timestamp
                found.append(Seen(each.offset(), told, _TYPES[kind], each.key(), each.value(), headers))
    finally:
        consumer.close()


def _await_leader(consumer: Consumer, topic: str) -> None:
    """Wait until the broker has loaded the log."""
    for tries_left in reversed(range(100)):
        try:
            consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)
            return
        except KafkaException:
            if not tries_left:
                raise
            time.sleep(0.1)
