"""A real broker with work on its hands: it takes records, rolls, deletes, compacts and gets new partitions."""

import random
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import NewPartitions, NewTopic

from minikafka.witness.kafka.kafka_broker import KafkaBroker
from tests.librdkafka_clients import AdminClient, Consumer, Producer

SETTINGS = {
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "300",
    "replica.high.watermark.checkpoint.interval.ms": "200",
    "log.flush.start.offset.checkpoint.interval.ms": "500",
}
SMALL = {"internal.segment.bytes": "16384", "index.interval.bytes": "1024", "segment.index.bytes": "4096"}
TOPICS = {
    "rolled": SMALL,
    "kept": SMALL | {"retention.bytes": "60000"},
    "compacted": SMALL
    | {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "500",
        "segment.ms": "1000",
    },
}
KEYS = 40
Place = tuple[str, int, int]
"""Topic, partition and offset of a record."""


class BusyBroker:
    """A broker, and a thread that writes records to its topics for as long as the block lasts.

    `acknowledged` has each record that the broker took: its place, key and value.
    """

    def __init__(self, home: Path, records_a_second: int):
        self.broker = KafkaBroker(home, SETTINGS)
        self.acknowledged: dict[Place, tuple[bytes, bytes]] = {}
        self._pace = records_a_second
        self._partitions = {(topic, 0) for topic in TOPICS}
        self._writing = threading.Thread(target=self._write)
        self._ended = threading.Event()
        self._failure: BaseException | None = None

    def __enter__(self) -> "BusyBroker":
        self.broker.start()
        self._servers = {"bootstrap.servers": self.broker.bootstrap_servers}
        self.admin = AdminClient(self._servers)
        _done(self.admin.create_topics([NewTopic(name, 1, 1, config=config) for name, config in TOPICS.items()]))
        self._writing.start()
        return self

    def __exit__(self, *_) -> None:
        self.finish()
        self.broker.stop()

    def finish(self) -> None:
        """Write no more, and wait until all is acknowledged."""
        self._ended.set()
        if self._writing.is_alive():
            self._writing.join()
        if self._failure is not None:
            raise self._failure

    def add_topic(self, name: str) -> None:
        """A topic that was not there when a stream began."""
        _done(self.admin.create_topics([NewTopic(name, 1, 1, config=SMALL)]))
        self._partitions = self._partitions | {(name, 0)}

    def add_partition(self, topic: str) -> None:
        """A second partition of a topic."""
        _done(self.admin.create_partitions([NewPartitions(topic, 2)]))
        self._partitions = self._partitions | {(topic, 1)}

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Kafka's DeleteRecords."""
        _done(self.admin.delete_records([TopicPartition(topic, partition, offset)]))

    def consumed(self, topics: Iterable[str]) -> dict[Place, tuple[bytes, bytes]]:
        """What a consumer gets of the topics now, from their beginning to their end."""
        consumer = Consumer(self._servers | {"group.id": "unused", "enable.auto.commit": False})
        left: dict[tuple[str, int], int] = {}
        found: dict[Place, tuple[bytes, bytes]] = {}
        try:
            for topic, partition in sorted(each for each in self._partitions if each[0] in topics):
                low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)
                if low < high:
                    left[topic, partition] = high
            consumer.assign([TopicPartition(*each, -2) for each in left])
            while left:
                for each in consumer.consume(1000, 0.2):
                    assert not each.error(), each.error()
                    found[each.topic(), each.partition(), each.offset()] = each.key(), each.value()
                for position in consumer.position([TopicPartition(*each) for each in left]):
                    if position.offset >= left[position.topic, position.partition]:
                        del left[position.topic, position.partition]
        finally:
            consumer.close()
        return found

    def _write(self) -> None:
        draw = random.Random(1)
        often = {"topic.metadata.refresh.interval.ms": 200}  # for a new partition
        producer = Producer(self._servers | often | {"linger.ms": 5, "compression.type": "zstd"})
        try:
            while not self._ended.is_set():
                for topic, partition in sorted(self._partitions):
                    for _ in range(max(1, self._pace // 20 // len(self._partitions))):
                        key = b"%d" % draw.randrange(KEYS)
                        value = draw.randbytes(draw.randrange(300))
                        with suppress_unknown_partition():
                            producer.produce(topic, value, key, partition, on_delivery=self._note)
                producer.poll(0)
                time.sleep(0.05)
            producer.flush()
        except BaseException as failure:
            self._failure = failure

    def _note(self, error: KafkaError | None, message) -> None:
        if error is not None:
            if error.code() != KafkaError._UNKNOWN_PARTITION:  # not sent: an older answer may forget a new partition
                self._failure = AssertionError(error)
            return
        self.acknowledged[message.topic(), message.partition(), message.offset()] = message.key(), message.value()


@contextmanager
def suppress_unknown_partition() -> Iterator[None]:
    """The client has not heard of a new partition yet."""
    try:
        yield
    except KafkaException as error:
        if error.args[0].code() != KafkaError._UNKNOWN_PARTITION:
            raise


def _done(futures: dict) -> None:
    for future in futures.values():
        future.result()
