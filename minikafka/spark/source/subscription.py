"""Which topics and partitions a query reads, asked for as in Spark's Kafka connector."""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from minikafka.common.errors import IllegalArgumentException, UnknownTopicOrPartitionException
from minikafka.common.topic import is_internal
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.source.java_pattern import java_pattern
from minikafka.spark.source.json_option import json_object
from minikafka.tools.failure import nearest

_STRATEGIES = ("subscribe", "subscribePattern", "assign")


class Subscription(NamedTuple):
    """The partitions of `topics`, or of the topics in whose names `pattern` is found, or `assigned`; all when None.

    As in the connector, a topic that is named must be there, and an assigned partition of such a topic need not.
    Kafka's own topics match no pattern. By name they are read, where the connector reads nothing.
    """

    topics: frozenset[str] | None = None
    pattern: re.Pattern[str] | None = None
    assigned: frozenset[TopicPartition] | None = None

    @staticmethod
    def of(given: Mapping[str, str]) -> "Subscription":
        """What the options (names in lower case) ask for. Raises IllegalArgumentException."""
        asked = [name for name in _STRATEGIES if name.lower() in given]
        if len(asked) > 1:
            raise IllegalArgumentException(f"{' and '.join(asked)} are given: only one of them can be")
        if not asked:
            return Subscription()
        text = given[asked[0].lower()].strip()
        if asked == ["assign"]:
            return Subscription(assigned=_assigned(text))
        if asked == ["subscribePattern"]:
            if not text:
                raise IllegalArgumentException("subscribePattern is empty")
            return Subscription(pattern=java_pattern(text))
        topics = frozenset(topic.strip() for topic in text.split(",")) - {""}
        if not topics:
            raise IllegalArgumentException(f"subscribe={text} names no topic")
        return Subscription(topics=topics)

    def includes(self, partition: TopicPartition) -> bool:
        """Whether it is one of those."""
        if self.topics is not None:
            return partition.topic in self.topics
        if self.pattern is not None:
            return not is_internal(partition.topic) and self.pattern.search(partition.topic) is not None
        return self.assigned is None or partition in self.assigned

    def includes_topic(self, topic: str) -> bool:
        """Whether it may have partitions among those."""
        if self.assigned is not None:
            return any(partition.topic == topic for partition in self.assigned)
        return self.includes(TopicPartition(topic, 0))

    def require_topics(self, there: Collection[str], place: str) -> None:
        """Raises UnknownTopicOrPartitionException for a topic that is named and is not `there`, in `place`."""
        named = self.topics or {partition.topic for partition in self.assigned or ()}
        for topic in sorted(set(named) - set(there)):
            raise UnknownTopicOrPartitionException(f"There is no topic {topic} in {place}{nearest(topic, there)}")

    def require_assigned(self, there: Collection[TopicPartition], place: str) -> None:
        """Raises UnknownTopicOrPartitionException for a partition that is assigned and is not `there`, in `place`."""
        self.require_topics({each.topic for each in there}, place)
        for partition in sorted((self.assigned or frozenset()) - set(there)):
            raise UnknownTopicOrPartitionException(f"There is no partition {partition} in {place}")


def _assigned(text: str) -> frozenset[TopicPartition]:
    form = '{"topicA": [0, 1], "topicB": [2]}'
    assigned = set()
    for topic, partitions in json_object("assign", text, form).items():
        if not isinstance(partitions, list) or not all(type(each) is int for each in partitions):
            raise IllegalArgumentException(f"assign: the partitions of {topic} are no list of numbers: {form}")
        assigned |= {TopicPartition(topic, partition) for partition in partitions}
    return frozenset(assigned)
