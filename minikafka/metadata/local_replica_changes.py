"""What a change of the topics means for the replicas of one broker."""

from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.common.topic_partition import TopicPartition
from minikafka.metadata.partition_registration import PartitionRegistration


class PartitionInfo(NamedTuple):
    """A partition as it is after the change, and its topic's id. Kafka: `LocalReplicaChanges.PartitionInfo`."""

    topic_id: str
    partition: PartitionRegistration


@dataclass(slots=True)
class LocalReplicaChanges:
    """The partitions that a broker must act on. Kafka: `org.apache.kafka.image.LocalReplicaChanges`.

    - `deletes`: it no longer holds a replica of these.
    - `leaders`: it leads these, and their partition epoch is new; `elected_leaders`: among them, those whose leader
      epoch is new.
    - `followers`: it follows a leader, or waits for one, and the partition epoch is new.
    - `topic_ids`: the id of every topic of these, by name.

    Simpler than Kafka's: no moves between the broker's own directories.
    """

    deletes: set[TopicPartition] = field(default_factory=set)
    elected_leaders: dict[TopicPartition, PartitionInfo] = field(default_factory=dict)
    leaders: dict[TopicPartition, PartitionInfo] = field(default_factory=dict)
    followers: dict[TopicPartition, PartitionInfo] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)

    def update(self, other: "LocalReplicaChanges") -> None:
        """Adds the changes of another topic."""
        self.deletes |= other.deletes
        self.elected_leaders |= other.elected_leaders
        self.leaders |= other.leaders
        self.followers |= other.followers
        self.topic_ids |= other.topic_ids
