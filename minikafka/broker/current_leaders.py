"""Who leads a partition instead of this broker: what a client is told together with NOT_LEADER_OR_FOLLOWER."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from minikafka.common.error_codes import Errors
from minikafka.common.node import Node
from minikafka.common.topic_partition import TopicPartition
from minikafka.metadata.leader_and_isr import NO_LEADER
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.record.format.batch_header import NO_PARTITION_LEADER_EPOCH
from minikafka.server.replica_manager import ReplicaManager

T = TypeVar("T")


class LeaderNode(NamedTuple):
    """The leader's id and epoch, −1 if nobody knows, and where it can be reached; None if it is not alive.

    Kafka: `KafkaApis.LeaderNode`.
    """

    leader_id: int
    leader_epoch: int
    node: Node | None


class CurrentLeaders:
    """Finds leaders: in the partition if this broker has it, else in the metadata.

    Kafka: `KafkaApis.getCurrentLeader`.
    """

    def __init__(self, replica_manager: ReplicaManager, metadata_cache: MetadataCache):
        self._replica_manager = replica_manager
        self._metadata_cache = metadata_cache

    def get(self, topic_partition: TopicPartition, listener_name: str) -> LeaderNode:
        """The leader of `topic_partition`, to be reached through the listener that the client uses."""
        leader_id, leader_epoch = NO_LEADER, NO_PARTITION_LEADER_EPOCH
        partition = self._replica_manager.get_partition_or_error(topic_partition)
        if not isinstance(partition, Errors):
            leader_epoch = partition.leader_epoch
            leader_id = NO_LEADER if partition.leader_replica_id is None else partition.leader_replica_id
        else:
            known = self._metadata_cache.get_leader_and_isr(*topic_partition)
            if known is not None:
                leader_id, leader_epoch = known.leader, known.leader_epoch
        return LeaderNode(leader_id, leader_epoch, self._metadata_cache.get_alive_broker_node(leader_id, listener_name))


def node_endpoints(make: Callable[..., T], nodes: Mapping[int, Node]) -> list[T]:
    """The addresses of `nodes` (by id) as a response has them; `make`: the response's class for one of them."""
    return [make(node_id=node.id, host=node.host, port=node.port, rack=node.rack) for node in nodes.values()]
