"""What changes about the topics between two images."""

from collections.abc import Iterable

from minikafka.common.errors import IllegalStateException, RuntimeException
from minikafka.common.java.java_hash_map import JavaHashMap
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import uuid_to_bytes
from minikafka.messages.cluster_metadata import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from minikafka.metadata.local_replica_changes import LocalReplicaChanges, PartitionInfo
from minikafka.metadata.topic_delta import TopicDelta
from minikafka.metadata.topics_image import TopicImage, TopicsImage


class TopicsDelta:
    """The topics that were made, changed or deleted since `image`. Kafka: `org.apache.kafka.image.TopicsDelta`.

    - `changed_topics`: made or changed, by topic id; never one that is deleted.
    - `deleted_topic_ids`: those that are in `image` and are deleted; one made and deleted since leaves no trace.
    """

    def __init__(self, image: TopicsImage):
        self.image = image
        self.changed_topics: dict[str, TopicDelta] = {}
        self.deleted_topic_ids: set[str] = set()
        self._created_topics: dict[str, str] = {}

    def replay_topic(self, record: TopicRecord) -> None:
        """A topic is new. Kafka: `TopicsDelta.replay(TopicRecord)`."""
        self.changed_topics[record.topic_id] = TopicDelta(TopicImage(record.name, record.topic_id))
        self._created_topics[record.name] = record.topic_id

    def replay_partition(self, record: PartitionRecord) -> None:
        """A partition is new. Kafka: `TopicsDelta.replay(PartitionRecord)`."""
        self._get_or_create_topic_delta(record.topic_id).replay_partition(record)

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        """A partition changes. Kafka: `TopicsDelta.replay(PartitionChangeRecord)`."""
        self._get_or_create_topic_delta(record.topic_id).replay_partition_change(record)

    def replay_remove_topic(self, record: RemoveTopicRecord) -> str:
        """A topic is deleted; the result is its name. Kafka: `TopicsDelta.replay(RemoveTopicRecord)`.

        Raises RuntimeException if there is no topic with that id.
        """
        delta = self.changed_topics.pop(record.topic_id, None)
        topic = self.image.get_topic_by_id(record.topic_id) if delta is None else delta.image
        if topic is None:
            raise RuntimeException(f"Unable to delete topic with id {record.topic_id}: no such topic found.")
        if delta is not None:
            self._created_topics.pop(topic.name, None)
        if record.topic_id in self.image.topics_by_id:
            self.deleted_topic_ids.add(record.topic_id)
        return topic.name

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        """The partitions of a topic, or of all, forget their eligible leader replicas.

        Kafka: `TopicsDelta.replay(ClearElrRecord)`. Raises RuntimeException if there is no topic of that name.
        """
        if record.topic_name:
            topic_ids = [self._latest_id(record.topic_name)]
        else:
            topic_ids = [*self.image.topics_by_id, *self._created_topics.values()]
        for topic_id in topic_ids:
            if topic_id not in self.deleted_topic_ids:
                self._get_or_create_topic_delta(topic_id).replay_clear_elr()

    def apply(self) -> TopicsImage:
        """The topics after the changes. Kafka: `TopicsDelta.apply`."""
        by_id, by_name = dict(self.image.topics_by_id), dict(self.image.topics_by_name)
        for topic_id in self.deleted_topic_ids:
            del by_name[by_id.pop(topic_id).name]
        for topic_id, delta in self.changed_topics.items():
            by_id[topic_id] = by_name[delta.image.name] = delta.apply()
        return TopicsImage(by_id, by_name)

    def local_changes(self, broker_id: int) -> LocalReplicaChanges:
        """What the changes mean for the replicas of the broker `broker_id`; leaders and followers in the order of
        Kafka's maps, on which it depends which of equally full log directories a new log gets.

        Kafka: `TopicsDelta.localChanges`.
        """
        changes = LocalReplicaChanges()
        of_topics = [delta.local_changes(broker_id) for delta in self._in_order_of_ids()]
        for of_topic in of_topics:
            changes.update(of_topic)
        changes.leaders = _merged(of_topic.leaders for of_topic in of_topics)
        changes.followers = _merged(of_topic.followers for of_topic in of_topics)
        for topic_id in self.deleted_topic_ids:
            topic = self.image.topics_by_id[topic_id]
            changes.deletes |= {
                TopicPartition(topic.name, partition_id)
                for partition_id, partition in topic.partitions.items()
                if broker_id in partition.replicas
            }
        return changes

    def _in_order_of_ids(self) -> list[TopicDelta]:
        """The changed topics in the order of a HashMap. An id's hash is that of its two halves, folded to a Long."""
        ordered: JavaHashMap[int, TopicDelta] = JavaHashMap()
        for topic_id, delta in self.changed_topics.items():
            raw = uuid_to_bytes(topic_id)
            ordered[int.from_bytes(raw[:8], "big") ^ int.from_bytes(raw[8:], "big")] = delta
        return [delta for _, delta in ordered.items()]

    def _get_or_create_topic_delta(self, topic_id: str) -> TopicDelta:
        if topic_id not in self.changed_topics:
            topic = self.image.get_topic_by_id(topic_id)
            if topic is None:
                raise IllegalStateException(f"There is no topic with the id {topic_id}.")
            self.changed_topics[topic_id] = TopicDelta(topic)
        return self.changed_topics[topic_id]

    def _latest_id(self, topic_name: str) -> str:
        """The id of the topic of that name: the new topic's, if it was deleted and made again."""
        topic_id = self._created_topics.get(topic_name)
        if topic_id is not None:
            return topic_id
        topic = self.image.get_topic(topic_name)
        if topic is None:
            raise RuntimeException(f"Unable to clear elr for topic with name {topic_name}: no such topic found.")
        return topic.id


def _merged(changes: Iterable[dict[TopicPartition, PartitionInfo]]) -> dict[TopicPartition, PartitionInfo]:
    maps = []
    for of_topic in changes:
        ordered: JavaHashMap[TopicPartition, PartitionInfo] = JavaHashMap()
        for topic_partition, info in of_topic.items():
            ordered[topic_partition] = info
        maps.append(ordered)
    return dict(JavaHashMap.merged(maps).items())
