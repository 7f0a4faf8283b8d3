"""What changes about one topic between two images."""

from minikafka.common.errors import RuntimeException
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.cluster_metadata import PartitionChangeRecord, PartitionRecord
from minikafka.metadata.local_replica_changes import LocalReplicaChanges, PartitionInfo
from minikafka.metadata.partition_registration import PartitionRegistration
from minikafka.metadata.topics_image import TopicImage


class TopicDelta:
    """The partitions of a topic that were added or changed since `image`. Kafka: `org.apache.kafka.image.TopicDelta`.

    `partition_changes` holds each of them as it is now. Simpler than Kafka's: elections are not counted.
    """

    def __init__(self, image: TopicImage):
        self.image = image
        self.partition_changes: dict[int, PartitionRegistration] = {}

    def replay_partition(self, record: PartitionRecord) -> None:
        """A partition is new, or described anew. Kafka: `TopicDelta.replay(PartitionRecord)`."""
        self.partition_changes[record.partition_id] = PartitionRegistration.from_record(record)

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        """A partition changes; raises RuntimeException if there is none of that number.

        Kafka: `TopicDelta.replay(PartitionChangeRecord)`.
        """
        partition = self._current(record.partition_id)
        if partition is None:
            raise RuntimeException(f"Unable to find partition {record.topic_id}:{record.partition_id}")
        self.partition_changes[record.partition_id] = partition.merge(record)

    def replay_clear_elr(self) -> None:
        """Every partition forgets its eligible leader replicas; each that had some is one partition epoch later.

        Kafka: `TopicDelta.replay()`.
        """
        for partition_id in sorted({*self.image.partitions, *self.partition_changes}):
            partition = self._current(partition_id)
            if partition is not None and (partition.elr or partition.last_known_elr):
                change = PartitionChangeRecord(
                    partition_id=partition_id, topic_id=self.image.id, eligible_leader_replicas=[], last_known_elr=[]
                )
                self.partition_changes[partition_id] = partition.merge(change)

    def apply(self) -> TopicImage:
        """The topic after the changes. Kafka: `TopicDelta.apply`."""
        partitions = {**self.image.partitions, **self.partition_changes}
        return TopicImage(self.image.name, self.image.id, dict(sorted(partitions.items())))

    def local_changes(self, broker_id: int) -> LocalReplicaChanges:
        """What the changes mean for the broker `broker_id`. Kafka: `TopicDelta.localChanges`."""
        changes = LocalReplicaChanges()
        for partition_id, partition in sorted(self.partition_changes.items()):
            topic_partition = TopicPartition(self.image.name, partition_id)
            before = self.image.partitions.get(partition_id)
            if broker_id not in partition.replicas:
                if before is not None and broker_id in before.replicas:
                    changes.deletes.add(topic_partition)
            elif before is None or before.partition_epoch != partition.partition_epoch:
                info = PartitionInfo(self.image.id, partition)
                changes.topic_ids[self.image.name] = self.image.id
                if partition.leader != broker_id:
                    changes.followers[topic_partition] = info
                    continue
                changes.leaders[topic_partition] = info
                if before is None or before.leader_epoch != partition.leader_epoch:
                    changes.elected_leaders[topic_partition] = info
        return changes

    def _current(self, partition_id: int) -> PartitionRegistration | None:
        return self.partition_changes.get(partition_id) or self.image.partitions.get(partition_id)
