"""A topic's id together with its name and the number of one of its partitions."""

from typing import NamedTuple

from minikafka.common.topic_partition import TopicPartition


class TopicIdPartition(NamedTuple):
    """A partition of one particular topic: a topic that is deleted and made again has the same name and another id.

    `topic_id` has 22 characters (`minikafka.common.uuid`), `ZERO_UUID` while it is unknown.
    Kafka: `org.apache.kafka.common.TopicIdPartition`.
    """

    topic_id: str
    topic_partition: TopicPartition

    @property
    def topic(self) -> str:
        """The topic's name. Kafka: `TopicIdPartition.topic`."""
        return self.topic_partition.topic

    @property
    def partition(self) -> int:
        """The number of the partition. Kafka: `TopicIdPartition.partition`."""
        return self.topic_partition.partition

    def __str__(self) -> str:
        return f"{self.topic_id}:{self.topic_partition}"
