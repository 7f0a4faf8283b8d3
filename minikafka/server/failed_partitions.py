"""Partitions that are no longer followed."""

import threading
from collections.abc import Iterable

from minikafka.common.topic_partition import TopicPartition


class FailedPartitions:
    """Partitions that a follower gave up: their log could not be cut or written, or their leader has a newer epoch.

    They are followed again when this broker is told anew who leads them. Kafka: `kafka.server.FailedPartitions`.
    """

    def __init__(self) -> None:
        self._failed_partitions: set[TopicPartition] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._failed_partitions)

    def add(self, topic_partition: TopicPartition) -> None:
        """Give a partition up. Kafka: `FailedPartitions.add`."""
        with self._lock:
            self._failed_partitions.add(topic_partition)

    def remove_all(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Take these partitions up again. Kafka: `FailedPartitions.removeAll`."""
        with self._lock:
            self._failed_partitions.difference_update(topic_partitions)

    def contains(self, topic_partition: TopicPartition) -> bool:
        """True for a partition that was given up. Kafka: `FailedPartitions.contains`."""
        return topic_partition in self._failed_partitions

    def partitions(self) -> set[TopicPartition]:
        """The partitions that were given up. Kafka: `FailedPartitions.partitions`."""
        with self._lock:
            return set(self._failed_partitions)
