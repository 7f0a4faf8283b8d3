"""What a broker knows of the cluster, for whoever asks while a request is handled."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from minikafka.common import topic as topic_names
from minikafka.common.config_resource import ConfigResource
from minikafka.common.error_codes import Errors
from minikafka.common.java.java_numbers import to_int
from minikafka.common.node import NO_NODE, Node
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.metadata import metadata_image
from minikafka.metadata.leader_and_isr import NO_LEADER, LeaderAndIsr
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.metadata.partition_registration import PartitionRegistration


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """A partition as a client is told about it; `leader_id` is −1 when its leader cannot be reached.

    Kafka: `MetadataResponseData.MetadataResponsePartition`.
    """

    error: Errors
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic as a client is told about it. Kafka: `MetadataResponseData.MetadataResponseTopic`."""

    name: str
    topic_id: str
    is_internal: bool
    partitions: tuple[PartitionMetadata, ...]


class MetadataCache:
    """The latest image that a broker has been given. Kafka: `org.apache.kafka.metadata.KRaftMetadataCache`.

    - The image is replaced as a whole, so a method that reads it once sees the cluster at one moment, without a lock.
    - A broker may be late: what stands here is what was true when its latest record was written.

    It is also where a log manager asks for the settings of topics (`ConfigRepository`). Simpler than Kafka's: no
    features, quotas and credentials.
    """

    def __init__(self, broker_id: int):
        self.broker_id = broker_id
        self._current_image = metadata_image.EMPTY

    def set_image(self, image: MetadataImage) -> None:
        """From now on the cluster is what `image` says. Kafka: `KRaftMetadataCache.setImage`."""
        self._current_image = image

    @property
    def image(self) -> MetadataImage:
        """The latest image. Kafka: `KRaftMetadataCache.getImage`."""
        return self._current_image

    # Topics

    def contains(self, topic: str | TopicPartition) -> bool:
        """Whether there is this topic, or this partition of a topic. Kafka: `KRaftMetadataCache.contains`."""
        if isinstance(topic, TopicPartition):
            return self.get_partition(topic) is not None
        return topic in self._current_image.topics.topics_by_name

    def get_all_topics(self) -> set[str]:
        """The names of all topics. Kafka: `KRaftMetadataCache.getAllTopics`."""
        return set(self._current_image.topics.topics_by_name)

    def get_topic_id(self, topic_name: str) -> str:
        """The id of the topic of that name, `ZERO_UUID` if there is none. Kafka: `KRaftMetadataCache.getTopicId`."""
        topic = self._current_image.topics.topics_by_name.get(topic_name)
        return ZERO_UUID if topic is None else topic.id

    def get_topic_name(self, topic_id: str) -> str | None:
        """The name of the topic with that id, None if there is none. Kafka: `KRaftMetadataCache.getTopicName`."""
        topic = self._current_image.topics.get_topic_by_id(topic_id)
        return None if topic is None else topic.name

    def num_partitions(self, topic_name: str) -> int | None:
        """How many partitions a topic has; None without such a topic. Kafka: `KRaftMetadataCache.numPartitions`."""
        topic = self._current_image.topics.get_topic(topic_name)
        return None if topic is None else len(topic.partitions)

    def topic_config(self, topic: str) -> Mapping[str, object]:
        """The topic's own settings. Kafka: `ConfigRepository.topicConfig`."""
        return self.config(ConfigResource.topic(topic))

    def config(self, resource: ConfigResource) -> Mapping[str, str]:
        """The own settings of a topic or broker. Kafka: `KRaftMetadataCache.config`."""
        return self._current_image.configs.config_map_for_resource(resource)

    # Partitions

    def get_partition(self, topic_partition: TopicPartition) -> PartitionRegistration | None:
        """The partition as the latest image has it; None if there is none."""
        topic = self._current_image.topics.topics_by_name.get(topic_partition.topic)
        return None if topic is None else topic.partitions.get(topic_partition.partition)

    def get_leader_and_isr(self, topic_name: str, partition_id: int) -> LeaderAndIsr | None:
        """Leader, ISR and epochs of a partition; None if there is none. Kafka: `KRaftMetadataCache.getLeaderAndIsr`."""
        partition = self.get_partition(TopicPartition(topic_name, partition_id))
        if partition is None:
            return None
        return LeaderAndIsr.of(
            partition.leader,
            partition.leader_epoch,
            partition.isr,
            partition.leader_recovery_state,
            partition.partition_epoch,
        )

    def get_partition_leader_endpoint(self, topic_name: str, partition_id: int, listener_name: str) -> Node | None:
        """Where the leader of a partition can be reached. Kafka: `KRaftMetadataCache.getPartitionLeaderEndpoint`.

        `NO_NODE` when the leader has no such listener, None when there is no such partition, or no registered leader.
        """
        image = self._current_image
        topic = image.topics.get_topic(topic_name)
        partition = None if topic is None else topic.partitions.get(partition_id)
        leader = None if partition is None else image.cluster.broker(partition.leader)
        return None if leader is None else leader.node(listener_name) or NO_NODE

    def get_partition_replica_endpoints(self, topic_partition: TopicPartition, listener_name: str) -> dict[int, Node]:
        """Where the alive replicas of a partition can be reached, by broker id.

        Kafka: `KRaftMetadataCache.getPartitionReplicaEndpoints`.
        """
        partition = self.get_partition(topic_partition)
        nodes = {id: self.get_alive_broker_node(id, listener_name) for id in (partition.replicas if partition else ())}
        return {id: node for id, node in nodes.items() if node is not None and not node.is_empty()}

    def get_topic_metadata(
        self,
        topics: Iterable[str],
        listener_name: str,
        error_unavailable_endpoints: bool = False,
        error_unavailable_listeners: bool = False,
    ) -> list[TopicMetadata]:
        """What a client is told about `topics`; one that is not there, or has no partition, is left out.

        Names of brokers are those that can be reached by the listener `listener_name`. With
        `error_unavailable_endpoints` (for version 0 of the request) replicas that cannot be reached are left out, and
        the partition has an error then; with `error_unavailable_listeners` (from version 6) a leader without the
        listener is an error of its own. Kafka: `KRaftMetadataCache.getTopicMetadata`.
        """
        image = self._current_image
        found = [image.topics.get_topic(name) for name in topics]
        return [
            TopicMetadata(
                name=topic.name,
                topic_id=topic.id,
                is_internal=topic_names.is_internal(topic.name),
                partitions=tuple(
                    _partition_metadata(
                        image, id, partition, listener_name, error_unavailable_endpoints, error_unavailable_listeners
                    )
                    for id, partition in topic.partitions.items()
                ),
            )
            for topic in found
            if topic is not None and topic.partitions
        ]

    def describe_partitions(
        self, topic_name: str, listener_name: str, start_index: int, max_count: int
    ) -> tuple[list[PartitionMetadata], int | None] | None:
        """Up to `max_count` partitions of a topic from `start_index` on, and where the rest begins (None: no rest).

        None without such a topic. Kafka: `KRaftMetadataCache.partitionMetadataForDescribeTopicResponse`.
        """
        image = self._current_image
        topic = image.topics.get_topic(topic_name)
        if topic is None:
            return None
        upper_index = min(len(topic.partitions), to_int(start_index + max_count))
        found = [
            _partition_metadata(image, id, topic.partitions[id], listener_name, False, False)
            for id in range(start_index, upper_index)
            if id in topic.partitions
        ]
        return found, upper_index if upper_index < len(topic.partitions) else None

    # Brokers

    def has_alive_broker(self, broker_id: int) -> bool:
        """Whether the broker is registered and not fenced. Kafka: `KRaftMetadataCache.hasAliveBroker`."""
        broker = self._current_image.cluster.broker(broker_id)
        return broker is not None and not broker.fenced

    def is_broker_fenced(self, broker_id: int) -> bool:
        """Whether the broker is registered and fenced. Kafka: `KRaftMetadataCache.isBrokerFenced`."""
        broker = self._current_image.cluster.broker(broker_id)
        return broker is not None and broker.fenced

    def is_broker_shutting_down(self, broker_id: int) -> bool:
        """Whether the broker is about to stop. Kafka: `KRaftMetadataCache.isBrokerShuttingDown`."""
        broker = self._current_image.cluster.broker(broker_id)
        return broker is not None and broker.in_controlled_shutdown

    def get_alive_broker_epoch(self, broker_id: int) -> int | None:
        """The broker's epoch; None unless it is alive. Kafka: `KRaftMetadataCache.getAliveBrokerEpoch`."""
        broker = self._current_image.cluster.broker(broker_id)
        return None if broker is None or broker.fenced else broker.epoch

    def get_alive_broker_node(self, broker_id: int, listener_name: str) -> Node | None:
        """Where a broker can be reached; None unless it is alive and has the listener.

        Kafka: `KRaftMetadataCache.getAliveBrokerNode`.
        """
        broker = self._current_image.cluster.broker(broker_id)
        return None if broker is None or broker.fenced else broker.node(listener_name)

    def get_alive_broker_nodes(self, listener_name: str) -> list[Node]:
        """All alive brokers with that listener, by ascending id. Kafka: `KRaftMetadataCache.getAliveBrokerNodes`."""
        return [node for node in self.get_broker_nodes(listener_name) if not node.is_fenced]

    def get_broker_nodes(self, listener_name: str) -> list[Node]:
        """All registered brokers with that listener, fenced ones too. Kafka: `KRaftMetadataCache.getBrokerNodes`."""
        nodes = [broker.node(listener_name) for broker in self._current_image.cluster.brokers.values()]
        return [node for node in nodes if node is not None]


def _partition_metadata(
    image: MetadataImage,
    partition_id: int,
    partition: PartitionRegistration,
    listener_name: str,
    error_unavailable_endpoints: bool,
    error_unavailable_listeners: bool,
) -> PartitionMetadata:
    """Kafka: `KRaftMetadataCache.partitionMetadata`."""
    replicas, isr = partition.replicas, partition.isr
    if error_unavailable_endpoints:
        replicas = _alive(image, replicas, listener_name)
        isr = _alive(image, isr, listener_name)
    leader = image.cluster.broker(partition.leader)
    error = Errors.NONE
    if leader is None:
        error = Errors.LEADER_NOT_AVAILABLE
    elif leader.node(listener_name) is None:
        error = Errors.LISTENER_NOT_FOUND if error_unavailable_listeners else Errors.LEADER_NOT_AVAILABLE
    elif len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
        error = Errors.REPLICA_NOT_AVAILABLE
    reachable = leader is not None and leader.node(listener_name) is not None
    return PartitionMetadata(
        error=error,
        partition_index=partition_id,
        leader_id=partition.leader if reachable else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=_offline_replicas(image, partition, listener_name),
        eligible_leader_replicas=partition.elr,
        last_known_elr=partition.last_known_elr,
    )


def _alive(image: MetadataImage, broker_ids: Collection[int], listener_name: str) -> tuple[int, ...]:
    """Those brokers that are alive and have the listener. Kafka: `KRaftMetadataCache.maybeFilterAliveReplicas`."""
    brokers = [image.cluster.broker(broker_id) for broker_id in broker_ids]
    return tuple(
        broker.id
        for broker in brokers
        if broker is not None and not broker.fenced and broker.node(listener_name) is not None
    )


def _offline_replicas(image: MetadataImage, partition: PartitionRegistration, listener_name: str) -> tuple[int, ...]:
    """Those replicas whose broker or directory cannot be used. Kafka: `KRaftMetadataCache.getOfflineReplicas`."""
    alive = _alive(image, partition.replicas, listener_name)
    return tuple(
        replica
        for replica in partition.replicas
        if replica not in alive or not image.cluster.brokers[replica].has_online_dir(partition.directory(replica))
    )
