"""Topics for the benchmarks of Spark: written once into a broker's directory, so that every peer reads the same bytes.

A real broker makes the topics and stops; batches as a producer with default settings makes them (16 KB before they are
compressed) are then appended by our own Log, which is much quicker than to send them; and the broker starts again.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from crc32c import crc32c

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.batch_header import HEADER
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.record.format.record_batch import ATTRIBUTES_OFFSET

PARTITIONS = 4
BATCH_SIZE = 16_384
START_MS = 1_700_000_000_000
_DIFFERENT_BATCHES = 256
_EVENTS = "viewed", "added to basket", "paid", "returned", "searched"


@dataclass(frozen=True)
class Topic:
    """`records` records whose values have `size` bytes each, in `PARTITIONS` partitions."""

    name: str
    size: int
    codec: str
    records: int

    @property
    def value_bytes(self) -> int:
        """Bytes of all values, not compressed."""
        return self.size * self.records


def topics_of(gigabytes: float) -> list[Topic]:
    """The topics that are measured; the values of each have so many bytes (1 GB is 10^9 bytes)."""
    topics = []
    for size in (100, 1000):
        in_a_batch = BATCH_SIZE // (size + 20)
        rounds = max(1, int(gigabytes * 1e9) // (size * in_a_batch * PARTITIONS))
        for codec in ("none", "zstd"):
            topics.append(Topic(f"values-{size}-{codec}", size, codec, rounds * in_a_batch * PARTITIONS))
    return topics


def create_topics(bootstrap_servers: str, names: list[str]) -> None:
    """Make the topics, empty, and wait until they have leaders."""
    settings = {"retention.ms": "-1", "segment.bytes": str(1 << 30)}
    new = [NewTopic(name, PARTITIONS, 1, config=settings) for name in names]
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 4})
    for future in admin.create_topics(new).values():
        future.result()


def write_topic(log_dir: Path, topic: Topic) -> None:
    """Fill the topic's partitions in `log_dir`, whose broker has stopped."""
    batches = _batches(topic)
    count = BATCH_SIZE // (topic.size + 20)
    for partition in range(PARTITIONS):
        time = ManualTime(START_MS)
        directory = log_dir / f"{topic.name}-{partition}"
        log = Log.create(directory, LogConfig({"retention.ms": -1}), scheduler=ManualScheduler(time), time=time)
        for number in range(topic.records // PARTITIONS // count):
            batch = batches[number % len(batches)]
            _place(batch, log.log_end_offset, START_MS + number)
            log.append_as_follower(MemoryRecords(batch), 0)
        log.close()


def _place(batch: bytearray, base_offset: int, timestamp: int) -> None:
    """Give the batch its offset, leader epoch 0, time (ms) and checksum."""
    fields = list(HEADER.unpack_from(batch))
    fields[0], fields[2], fields[7], fields[8] = base_offset, 0, timestamp, timestamp
    HEADER.pack_into(batch, 0, *fields)
    fields[4] = crc32c(memoryview(batch)[ATTRIBUTES_OFFSET:])
    HEADER.pack_into(batch, 0, *fields)


def _batches(topic: Topic) -> list[bytearray]:
    draw = random.Random(topic.size)
    codec = Compression.of(topic.codec)
    count = BATCH_SIZE // (topic.size + 20)
    return [
        bytearray(MemoryRecords.with_records(codec, *_records(draw, topic.size, count)).buffer)
        for _ in range(_DIFFERENT_BATCHES)
    ]


def _records(draw: random.Random, size: int, count: int) -> Iterator[SimpleRecord]:
    """Records as an online shop has them: one key in 10,000, and JSON that compresses to about a third."""
    for _ in range(count):
        value = b""
        while len(value) < size:
            value += json.dumps({
                "user": f"u{draw.randrange(10_000)}", "event": draw.choice(_EVENTS), "amount": draw.randrange(100_000),
                "session": f"{draw.getrandbits(64):016x}",
            }).encode()  # fmt: skip
        yield SimpleRecord(START_MS, b"u%04d" % draw.randrange(10_000), value[:size])
