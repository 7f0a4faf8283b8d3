"""All topics of the cluster, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from minikafka.metadata.partition_registration import PartitionRegistration


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic's name, id and partitions (by number, in ascending order); immutable. Kafka: `TopicImage`."""

    name: str
    id: str
    partitions: Mapping[int, PartitionRegistration] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicsImage:
    """Every topic, by id and by name; immutable: a change makes another image.

    Simpler than Kafka's: a change copies both maps, where Kafka's persistent maps share what stays.

    Kafka: `org.apache.kafka.image.TopicsImage`.
    """

    topics_by_id: Mapping[str, TopicImage] = field(default_factory=dict)
    topics_by_name: Mapping[str, TopicImage] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Whether there is no topic. Kafka: `TopicsImage.isEmpty`."""
        return not self.topics_by_id

    def get_topic_by_id(self, topic_id: str) -> TopicImage | None:
        """The topic with the id `topic_id`, if there is one. Kafka: `TopicsImage.getTopic(Uuid)`."""
        return self.topics_by_id.get(topic_id)

    def get_topic(self, name: str) -> TopicImage | None:
        """The topic that is called `name`, if there is one. Kafka: `TopicsImage.getTopic(String)`."""
        return self.topics_by_name.get(name)

    def get_partition(self, topic_id: str, partition_id: int) -> PartitionRegistration | None:
        """A partition of the topic with the id `topic_id`, if there is one. Kafka: `TopicsImage.getPartition`."""
        topic = self.topics_by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(partition_id)

    def topic_name_to_id_view(self) -> dict[str, str]:
        """The id of every topic, by its name. Kafka: `TopicsImage.topicNameToIdView`."""
        return {name: topic.id for name, topic in self.topics_by_name.items()}

    def topic_id_to_name_view(self) -> dict[str, str]:
        """The name of every topic, by its id. Kafka: `TopicsImage.topicIdToNameView`."""
        return {topic_id: topic.name for topic_id, topic in self.topics_by_id.items()}
