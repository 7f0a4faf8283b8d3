"""Python's Kafka clients as peers: each reads a topic from its beginning and adds up the lengths of the values."""

import asyncio
import time
from collections.abc import Callable, Iterator

SECONDS = 6
"""After so long a client has shown how fast it is."""


def confluent_kafka(servers: str, topic: str, partitions: int, records: int) -> tuple[int, int]:
    """Records, and bytes of their values; also below."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])

    def values() -> Iterator[list[bytes]]:
        while True:
            yield [message.value() for message in consumer.consume(10_000, 1)]

    try:
        return _added_up(values(), records)
    finally:
        consumer.close()


def kafka_python(servers: str, topic: str, partitions: int, records: int) -> tuple[int, int]:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, number) for number in range(partitions)])

    def values() -> Iterator[list[bytes]]:
        while True:
            polled = consumer.poll(1000, max_records=10_000)
            yield [record.value for batch in polled.values() for record in batch]

    try:
        return _added_up(values(), records)
    finally:
        consumer.close()


def aiokafka(servers: str, topic: str, partitions: int, records: int) -> tuple[int, int]:
    return asyncio.run(_aiokafka(servers, topic, partitions, records))


async def _aiokafka(servers: str, topic: str, partitions: int, records: int) -> tuple[int, int]:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False, auto_offset_reset="earliest")
    await consumer.start()
    consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
    count = size = 0
    until = time.monotonic() + SECONDS
    try:
        while count < records and time.monotonic() < until:
            for batch in (await consumer.getmany(timeout_ms=1000)).values():
                count += len(batch)
                size += sum(len(record.value) for record in batch)
        return count, size
    finally:
        await consumer.stop()


def _added_up(batches: Iterator[list[bytes]], records: int) -> tuple[int, int]:
    count = size = 0
    until = time.monotonic() + SECONDS
    while count < records and time.monotonic() < until:
        values = next(batches)
        count += len(values)
        size += sum(map(len, values))
    return count, size


CLIENTS: dict[str, Callable[[str, str, int, int], tuple[int, int]]] = {
    "confluent-kafka": confluent_kafka,
    "aiokafka": aiokafka,
    "kafka-python": kafka_python,
}
