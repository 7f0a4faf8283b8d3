"""A topic's name and the number of one of its partitions."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A partition of a topic, written `topic-partition`. Kafka: `org.apache.kafka.common.TopicPartition`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
