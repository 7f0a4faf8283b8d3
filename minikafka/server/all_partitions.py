"""The partitions that a broker has, found by their names."""

import threading
from collections.abc import Iterator

from minikafka.cluster.partition import Partition
from minikafka.common.error_codes import Errors
from minikafka.common.errors import ApiException, KafkaStorageException, UnknownTopicIdException
from minikafka.common.java.java_concurrent_hash_map import in_order_of_concurrent_hash_map
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.log.log import Log
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.server.hosted_partition import HostedPartition, OfflinePartition, OnlinePartition


class AllPartitions:
    """The partitions of one broker, online or offline, and what a client is told about those that are not there.

    Replicas change their roles under one lock; lookups take none.
    Kafka: `ReplicaManager`, its field `allPartitions` and the methods that look into it.
    """

    def __init__(self, metadata_cache: MetadataCache):
        self.metadata_cache = metadata_cache
        self.replica_state_change_lock = threading.RLock()
        """Held while replicas change their roles. Kafka: `ReplicaManager.replicaStateChangeLock`."""
        self._all_partitions: dict[TopicPartition, HostedPartition] = {}

    def get_partition(self, topic_partition: TopicPartition) -> HostedPartition | None:
        """What the broker has of a partition, None if it has nothing. Kafka: `ReplicaManager.getPartition`."""
        return self._all_partitions.get(topic_partition)

    def online_partition(self, topic_partition: TopicPartition) -> Partition | None:
        """The partition, None if it is not here or offline. Kafka: `ReplicaManager.onlinePartition`."""
        hosted = self._all_partitions.get(topic_partition)
        return hosted.partition if isinstance(hosted, OnlinePartition) else None

    def online_partitions(self) -> Iterator[Partition]:
        """All partitions that are not offline now, in the order of Kafka's map.

        Kafka: `ReplicaManager.onlinePartitionsIterator`.
        """
        for topic_partition in in_order_of_concurrent_hash_map(list(self._all_partitions)):
            partition = self.online_partition(topic_partition)
            if partition is not None:
                yield partition

    def get_partition_or_error(self, topic_partition: TopicPartition) -> Partition | Errors:
        """The partition, or what a client is told in its place.

        KAFKA_STORAGE_ERROR: it is offline; NOT_LEADER_OR_FOLLOWER: other brokers have it, so that a client asks for
        fresh metadata; UNKNOWN_TOPIC_OR_PARTITION: nobody has it. Kafka: `ReplicaManager.getPartitionOrError`.
        """
        hosted = self._all_partitions.get(topic_partition)
        if isinstance(hosted, OnlinePartition):
            return hosted.partition
        if isinstance(hosted, OfflinePartition):
            return Errors.KAFKA_STORAGE_ERROR
        if self.metadata_cache.contains(topic_partition):
            return Errors.NOT_LEADER_OR_FOLLOWER
        return Errors.UNKNOWN_TOPIC_OR_PARTITION

    def get_partition_or_exception(self, topic_partition: TopicPartition | TopicIdPartition) -> Partition:
        """The partition; with a topic id, only if that is its topic's (`ZERO_UUID`: any will do).

        Raises KafkaStorageException, NotLeaderOrFollowerException and UnknownTopicOrPartitionException as
        `get_partition_or_error` says, and UnknownTopicIdException. Kafka: `ReplicaManager.getPartitionOrException`.
        """
        asked = topic_partition.topic_partition if isinstance(topic_partition, TopicIdPartition) else topic_partition
        found = self.get_partition_or_error(asked)
        if not isinstance(found, Partition):
            raise _exception(found, asked)
        if isinstance(topic_partition, TopicIdPartition):
            topic_id = found.topic_id or self.metadata_cache.get_topic_id(topic_partition.topic)
            if topic_partition.topic_id not in (ZERO_UUID, topic_id):
                raise UnknownTopicIdException(
                    f"Partition {topic_partition}'s topic id doesn't match the one on disk {topic_id}.'"
                )
        return found

    def local_log(self, topic_partition: TopicPartition) -> Log | None:
        """The log of a partition, None if it is offline or has none. Kafka: `ReplicaManager.localLog`."""
        partition = self.online_partition(topic_partition)
        return None if partition is None else partition.log

    def local_log_or_exception(self, topic_partition: TopicPartition) -> Log:
        """The log of a partition. Raises as `get_partition_or_exception`, and NotLeaderOrFollowerException without one.

        Kafka: `ReplicaManager.localLogOrException`.
        """
        return self.get_partition_or_exception(topic_partition).local_log_or_exception

    def is_adding_replica(self, topic_partition: TopicPartition, replica_id: int) -> bool:
        """True while the broker `replica_id` is about to get the partition. Kafka: `ReplicaManager.isAddingReplica`."""
        partition = self.online_partition(topic_partition)
        return partition is not None and partition.is_adding_replica(replica_id)

    def add_online_partition(self, topic_partition: TopicPartition, partition: Partition) -> None:
        """From now on the broker has this partition. Kafka: `ReplicaManager.addOnlinePartition`."""
        self._all_partitions[topic_partition] = OnlinePartition(partition)

    def remove_online_partition(self, topic_partition: TopicPartition) -> Partition | None:
        """Take a partition out that is online, and return it; None if there is none."""
        partition = self.online_partition(topic_partition)
        if partition is not None:
            del self._all_partitions[topic_partition]
        return partition

    def mark_partition_offline(self, topic_partition: TopicPartition) -> None:
        """The partition's log directory has failed. Kafka: `ReplicaManager.markPartitionOffline`."""
        with self.replica_state_change_lock:
            partition = self.online_partition(topic_partition)
            self._all_partitions[topic_partition] = OfflinePartition(partition)
            if partition is not None:
                partition.mark_offline()


def _exception(error: Errors, topic_partition: TopicPartition) -> ApiException:
    if error is Errors.KAFKA_STORAGE_ERROR:
        return KafkaStorageException(f"Partition {topic_partition} is in an offline log directory")
    exception = error.exception(f"Error while fetching partition state for {topic_partition}")
    assert exception is not None
    return exception
