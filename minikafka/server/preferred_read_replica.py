"""Whether a consumer had better read from another replica."""

from minikafka.cluster.fetch_params import FetchParams
from minikafka.cluster.partition import Partition
from minikafka.common.node import NO_NODE
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.replica_selector import ReplicaView, replica_selector


class PreferredReadReplica:
    """Sends consumers to the replica that the selector of `replica.selector.class` chooses; none is set by default.

    Kafka: `ReplicaManager.findPreferredReadReplica`.
    """

    def __init__(self, config: BrokerConfig, metadata_cache: MetadataCache):
        """Raises ConfigException for an unknown `replica.selector.class`."""
        self._broker_id = config.broker_id
        self._metadata_cache = metadata_cache
        self._selector = replica_selector(config.replica_selector_class_name)

    def find(self, partition: Partition, params: FetchParams, fetch_offset: int, current_time_ms: int) -> int | None:
        """The broker that this consumer had better ask; None if it is this one, which leads, or nobody chooses.

        Replicas outside the ISR, and those that do not have the offset, are not chosen.
        Kafka: `ReplicaManager.findPreferredReadReplica`.
        """
        client = params.client_metadata
        if self._selector is None or client is None or params.is_from_follower:
            return None
        leader_log = partition.leader_log_if_local
        if leader_log is None:
            return None
        nodes = self._metadata_cache.get_partition_replica_endpoints(partition.topic_partition, client.listener_name)
        leader = ReplicaView(nodes.get(self._broker_id, NO_NODE), leader_log.log_end_offset, 0)
        replicas = [leader]
        for replica in partition.remote_replicas:
            state = replica.state_snapshot
            in_sync = replica.broker_id in partition.in_sync_replica_ids
            if in_sync and state.log_start_offset <= fetch_offset <= state.log_end_offset:
                lag_ms = current_time_ms - state.last_caught_up_time_ms
                replicas.append(ReplicaView(nodes.get(replica.broker_id, NO_NODE), state.log_end_offset, lag_ms))
        selected = self._selector.select(partition.topic_partition, client, replicas, leader)
        if selected is None or selected == leader or selected.endpoint.is_empty():
            return None
        return selected.endpoint.id
