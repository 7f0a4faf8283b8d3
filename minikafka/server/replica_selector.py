"""Which replica a consumer had better read from."""

from collections.abc import Collection
from typing import NamedTuple, Protocol

from minikafka.cluster.fetch_params import ClientMetadata
from minikafka.common.errors import ConfigException
from minikafka.common.node import Node
from minikafka.common.topic_partition import TopicPartition


class ReplicaView(NamedTuple):
    """A replica that a consumer may be sent to.

    - `endpoint`: its broker, `NO_NODE` if that has no listener for the consumer.
    - `log_end_offset` (exclusive).
    - `time_since_last_caught_up_ms`: 0 for the leader.

    Kafka: `org.apache.kafka.common.replica.ReplicaView`.
    """

    endpoint: Node
    log_end_offset: int
    time_since_last_caught_up_ms: int


class ReplicaSelector(Protocol):
    """Chooses a replica for a consumer. Kafka: `org.apache.kafka.common.replica.ReplicaSelector`."""

    def select(
        self,
        topic_partition: TopicPartition,
        client_metadata: ClientMetadata,
        replicas: Collection[ReplicaView],
        leader: ReplicaView,
    ) -> ReplicaView | None:
        """One of `replicas`, which has the leader among them; None for no preference. Kafka: `.select`."""


class RackAwareReplicaSelector:
    """Chooses a replica in the consumer's rack: the leader if it is there, else the one that is furthest.

    The leader serves consumers that do not say where they are, and those in a rack without a replica.
    Kafka: `org.apache.kafka.common.replica.RackAwareReplicaSelector`.
    """

    def select(
        self,
        topic_partition: TopicPartition,
        client_metadata: ClientMetadata,
        replicas: Collection[ReplicaView],
        leader: ReplicaView,
    ) -> ReplicaView | None:
        """A replica in the consumer's rack, or else the leader. Kafka: `RackAwareReplicaSelector.select`."""
        rack = client_metadata.rack_id
        same_rack = [replica for replica in replicas if rack and replica.endpoint.rack == rack]
        if not same_rack or leader in same_rack:
            return leader
        return max(same_rack, key=_how_far)


def replica_selector(class_name: str | None) -> ReplicaSelector | None:
    """The selector that the setting `replica.selector.class` names, None without one: consumers stay with the leader.

    Raises ConfigException for a class that is not known here. Kafka: `ReplicaManager.createReplicaSelector`.
    """
    if class_name is None:
        return None
    if class_name != "org.apache.kafka.common.replica.RackAwareReplicaSelector":
        raise ConfigException(f"Invalid value {class_name} for configuration replica.selector.class: unknown class")
    return RackAwareReplicaSelector()


def _how_far(replica: ReplicaView) -> tuple[int, int, int]:
    """Kafka: `ReplicaView.comparator`."""
    return replica.log_end_offset, -replica.time_since_last_caught_up_ms, replica.endpoint.id
