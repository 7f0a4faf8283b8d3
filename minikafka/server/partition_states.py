"""Partitions that take turns."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from minikafka.common.topic_partition import TopicPartition

S = TypeVar("S")


class PartitionStates(Generic[S]):
    """The state of each partition, in an order in which they take turns: who was served goes to the end.

    An answer to a fetch has a limited size, and partitions are read in their order. So none of them starves.

    Kafka: `org.apache.kafka.common.internals.PartitionStates`.
    """

    def __init__(self) -> None:
        self._map: dict[TopicPartition, S] = {}

    def __len__(self) -> int:
        return len(self._map)

    def __contains__(self, topic_partition: object) -> bool:
        return topic_partition in self._map

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._map)

    def state_value(self, topic_partition: TopicPartition) -> S | None:
        """The partition's state, None if it has none. Kafka: `PartitionStates.stateValue`."""
        return self._map.get(topic_partition)

    @property
    def partition_state_map(self) -> Mapping[TopicPartition, S]:
        """The states in their order; not to be changed. Kafka: `PartitionStates.partitionStateMap`."""
        return self._map

    def update(self, topic_partition: TopicPartition, state: S) -> None:
        """Give the partition a state; its place stays. Kafka: `PartitionStates.update`."""
        self._map[topic_partition] = state

    def update_and_move_to_end(self, topic_partition: TopicPartition, state: S) -> None:
        """Give the partition a state, and let all others go first. Kafka: `PartitionStates.updateAndMoveToEnd`."""
        self._map.pop(topic_partition, None)
        self._map[topic_partition] = state

    def remove(self, topic_partition: TopicPartition) -> None:
        """Forget the partition. Kafka: `PartitionStates.remove`."""
        self._map.pop(topic_partition, None)

    def set(self, partition_to_state: Mapping[TopicPartition, S]) -> None:
        """Replace everything; the partitions of a topic stand together, topics in the order of their first one.

        Kafka: `PartitionStates.set`.
        """
        by_topic: dict[str, dict[TopicPartition, S]] = {}
        for topic_partition, state in partition_to_state.items():
            by_topic.setdefault(topic_partition.topic, {})[topic_partition] = state
        self._map.clear()
        for states in by_topic.values():
            self._map.update(states)
