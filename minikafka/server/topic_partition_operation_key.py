"""The keys under which delayed operations are watched."""

from functools import lru_cache
from typing import NamedTuple, Protocol

from minikafka.common.topic_partition import TopicPartition


class DelayedOperationKey(Protocol):
    """Something that can happen to more than one operation, such as a change of one partition.

    Kafka: `org.apache.kafka.server.purgatory.DelayedOperationKey`.
    """

    @property
    def key_label(self) -> str:
        """The key in words. Kafka: `DelayedOperationKey.keyLabel`."""

    def __hash__(self) -> int: ...


class TopicPartitionOperationKey(NamedTuple):
    """A partition that produce, fetch and delete-records requests wait for.

    Kafka: `org.apache.kafka.server.purgatory.TopicPartitionOperationKey`.
    """

    topic: str
    partition: int

    @staticmethod
    @lru_cache(maxsize=1 << 14)
    def of(topic_partition: TopicPartition) -> "TopicPartitionOperationKey":
        """The key of a partition."""
        return TopicPartitionOperationKey(topic_partition.topic, topic_partition.partition)

    @property
    def key_label(self) -> str:
        """`topic-partition`. Kafka: `TopicPartitionOperationKey.keyLabel`."""
        return f"{self.topic}-{self.partition}"
