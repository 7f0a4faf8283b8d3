"""Batches in memory, minikafka's or Kafka's, from the same bytes."""

from typing import Any

from minikafka.lab.exercises.asked import jvm_of
from minikafka.record.format.memory_records import MemoryRecords


def first_batch(factory: Any, data: bytes) -> Any:
    """The first batch in `data`: Kafka's own where `factory` opens Kafka's logs, else minikafka's."""
    kafka = jvm_of(factory)
    if kafka is None:
        return next(iter(MemoryRecords.readable_records(bytearray(data)).batches()))
    return kafka.records(data).batches().iterator().next()
