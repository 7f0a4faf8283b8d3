"""How the replicas of a broker change their roles: gone, leader, follower."""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from minikafka.checkpoint.lazy_offset_checkpoints import LazyOffsetCheckpoints
from minikafka.cluster.partition import Partition
from minikafka.common.errors import IllegalStateException, KafkaStorageException
from minikafka.common.java.scala_hash_map import in_order_of_a_map_grown
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.manager.high_watermark_checkpoints import HighWatermarkCheckpoints
from minikafka.log.manager.log_manager import LogManager
from minikafka.metadata.leader_and_isr import NO_LEADER
from minikafka.metadata.local_replica_changes import PartitionInfo
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.metadata.topics_delta import TopicsDelta
from minikafka.server.all_partitions import AllPartitions
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.hosted_partition import OfflinePartition, OnlinePartition
from minikafka.server.initial_fetch_state import BrokerEndPoint, InitialFetchState
from minikafka.server.partition_fetch_state import PartitionFetchState

logger = logging.getLogger(__name__)


class Fetcher(Protocol):
    """What can be seen of a fetcher. Kafka: `ReplicaFetcherThread`."""

    def fetch_state(self, topic_partition: TopicPartition) -> PartitionFetchState | None:
        """How far a partition is, None if it is not followed. Kafka: `AbstractFetcherThread.fetchState`."""


class FetcherManager(Protocol):
    """What the change of roles needs of the fetchers. Kafka: `ReplicaFetcherManager`."""

    def do_work(self) -> None:
        """Let each fetcher go one round. Kafka: `ReplicaFetcherThread.doWork`."""

    def add_fetcher_for_partitions(self, partition_and_offsets: Mapping[TopicPartition, InitialFetchState]) -> None:
        """Begin to follow these. Kafka: `AbstractFetcherManager.addFetcherForPartitions`."""

    def remove_fetcher_for_partitions(self, partitions: Collection[TopicPartition]) -> object:
        """Follow these no more. Kafka: `AbstractFetcherManager.removeFetcherForPartitions`."""

    def get_fetcher(self, topic_partition: TopicPartition) -> Fetcher | None:
        """Who follows the partition, None without one. Kafka: `AbstractFetcherManager.getFetcher`."""

    def add_failed_partition(self, topic_partition: TopicPartition) -> None:
        """Note a partition that cannot be followed. Kafka: `AbstractFetcherManager.addFailedPartition`."""

    def shutdown_idle_fetcher_threads(self) -> None:
        """End the fetchers that follow nothing. Kafka: `.shutdownIdleFetcherThreads`."""

    def shutdown(self) -> None:
        """End all fetchers. Kafka: `ReplicaFetcherManager.shutdown`."""


class LeadersAndFollowers:
    """Gives the replicas of a broker the roles that the metadata log has for them.

    Nothing is truncated here: a new follower learns from its leader's answers where their logs differ.

    Kafka: `ReplicaManager`, its methods `applyDelta`, `applyLocalLeadersDelta`, `applyLocalFollowersDelta` and
    `stopPartitions`.
    """

    def __init__(
        self,
        config: BrokerConfig,
        partitions: AllPartitions,
        create_partition: Callable[[TopicIdPartition], Partition],
        complete_delayed_operations: Callable[[TopicPartition], object],
        log_manager: LogManager,
        high_watermark_checkpoints: HighWatermarkCheckpoints,
        replica_fetcher_manager: FetcherManager,
    ):
        """`complete_delayed_operations(partition)` checks those who wait for a partition to be led from here."""
        self._broker_id = config.broker_id
        self._listener_name = config.inter_broker_listener_name
        self._partitions = partitions
        self._create_partition = create_partition
        self._complete_delayed_operations = complete_delayed_operations
        self._log_manager = log_manager
        self._high_watermark_checkpoints = high_watermark_checkpoints
        self._fetchers = replica_fetcher_manager
        self.is_in_controlled_shutdown = False

    def apply_delta(self, delta: TopicsDelta, new_image: MetadataImage) -> None:
        """Delete, lead and follow as `delta` says. Raises IllegalStateException for another topic of the same name.

        Kafka: `ReplicaManager.applyDelta`.
        """
        # 1. What concerns this broker: partitions whose partition epoch is new.
        local_changes = delta.local_changes(self._broker_id)
        with self._partitions.replica_state_change_lock:
            # 2. First what goes: a new topic may have the name of a deleted one.
            if local_changes.deletes:
                logger.info("Deleting %d partition(s).", len(local_changes.deletes))
                for topic_partition, error in self._stop_partitions(
                    sorted(local_changes.deletes), delete_local_log=True
                ).items():
                    logger.error("Unable to delete replica %s: %r", topic_partition, error)
            # 3. Leaders, then followers. The high watermarks of logs that are opened now come from the checkpoints,
            #    each of which is read once.
            if local_changes.leaders or local_changes.followers:
                checkpoints = self._high_watermark_checkpoints.lazily()
                if local_changes.leaders:
                    self._apply_local_leaders_delta(delta, checkpoints, local_changes.leaders)
                if local_changes.followers:
                    self._apply_local_followers_delta(new_image, delta, checkpoints, local_changes.followers)
                # 4. Fetchers that have nothing left to follow.
                self._fetchers.shutdown_idle_fetcher_threads()

    def _stop_partitions(
        self, topic_partitions: Collection[TopicPartition], *, delete_local_log: bool
    ) -> dict[TopicPartition, Exception]:
        """Neither lead nor follow these any more; returns what went wrong. Kafka: `ReplicaManager.stopPartitions`."""
        # 1. The fetchers, which need the partitions.
        self._fetchers.remove_fetcher_for_partitions(topic_partitions)
        # 2. The partitions, and those who wait for them.
        for topic_partition in topic_partitions:
            if delete_local_log:
                partition = self._partitions.remove_online_partition(topic_partition)
                if partition is not None:
                    partition.delete()
            self._complete_delayed_operations(topic_partition)
        # 3. The logs, all together, so that the checkpoints are written once.
        errors: dict[TopicPartition, Exception] = {}
        if delete_local_log:
            self._log_manager.async_delete_all(topic_partitions, errors.__setitem__, is_stray=False)
        return errors

    def _apply_local_leaders_delta(
        self, delta: TopicsDelta, checkpoints: LazyOffsetCheckpoints, leaders: Mapping[TopicPartition, PartitionInfo]
    ) -> None:
        """Kafka: `ReplicaManager.applyLocalLeadersDelta`."""
        logger.info("Transitioning %d partition(s) to local leaders.", len(leaders))
        # 1. A leader fetches from nobody.
        self._fetchers.remove_fetcher_for_partitions(leaders.keys())
        for topic_partition, info in leaders.items():
            # 2. The partition, made if this broker did not have it.
            partition, is_new = self._get_or_create_partition(topic_partition, delta, info.topic_id)
            if partition is None:
                continue
            # 3. It leads.
            try:
                partition.make_leader(
                    info.partition, is_new, checkpoints, info.topic_id, info.partition.directory(self._broker_id)
                )
            except KafkaStorageException as error:
                logger.info(
                    "Skipped the become-leader state change for %s with topic id %s due to a storage error %s",
                    topic_partition,
                    info.topic_id,
                    error,
                )
                self._partitions.mark_partition_offline(topic_partition)

    def _apply_local_followers_delta(
        self,
        new_image: MetadataImage,
        delta: TopicsDelta,
        checkpoints: LazyOffsetCheckpoints,
        followers: Mapping[TopicPartition, PartitionInfo],
    ) -> None:
        """Kafka: `ReplicaManager.applyLocalFollowersDelta`."""
        logger.info("Transitioning %d partition(s) to local followers.", len(followers))
        start_fetching: dict[TopicPartition, Partition] = {}
        stop_fetching: list[TopicPartition] = []
        for topic_partition, info in followers.items():
            # 1. The partition, made if this broker did not have it.
            partition, is_new = self._get_or_create_partition(topic_partition, delta, info.topic_id)
            if partition is None:
                continue
            try:
                # 2. It follows. This is done without a leader as well: a former leader must step down, and a high
                #    watermark must be checkpointed.
                is_new_leader_epoch = partition.make_follower(
                    info.partition, is_new, checkpoints, info.topic_id, info.partition.directory(self._broker_id)
                )
                no_use = info.partition.leader == NO_LEADER or self._broker_id not in info.partition.isr
                if self.is_in_controlled_shutdown and no_use:
                    stop_fetching.append(topic_partition)
                elif is_new_leader_epoch:
                    # 3. A new leader: fetching begins anew.
                    partition.invoke_on_becoming_follower_listeners()
                    start_fetching[topic_partition] = partition
            except Exception as error:
                logger.error(
                    "Unable to start fetching %s with topic ID %s due to %r", topic_partition, info.topic_id, error
                )
                self._fetchers.add_failed_partition(topic_partition)
                if isinstance(error, KafkaStorageException):
                    self._partitions.mark_partition_offline(topic_partition)
        # 4. Fetchers.
        if start_fetching:
            self._start_fetching(start_fetching, new_image)
        if stop_fetching:
            self._stop_partitions(stop_fetching, delete_local_log=False)

    def _start_fetching(self, partitions: Mapping[TopicPartition, Partition], new_image: MetadataImage) -> None:
        """Take the partitions from their former fetchers, and give them to those of their new leaders."""
        # 1. The former ones first: from now on the logs stand still, and so does the offset to begin with.
        self._fetchers.remove_fetcher_for_partitions(partitions.keys())
        # 2. Where to begin, and at whom. A leader that the image does not have is not followed: its registration comes
        #    with a change of the partition.
        partition_and_offsets: dict[TopicPartition, InitialFetchState] = {}
        for topic_partition in in_order_of_a_map_grown(list(partitions)):  # the order in which they will be fetched
            partition = partitions[topic_partition]
            leader_id = partition.leader_replica_id
            broker = None if leader_id is None else new_image.cluster.broker(leader_id)
            node = None if broker is None else broker.node(self._listener_name)
            if node is None:
                logger.debug("Unable to follow %s: its leader %s is not alive", topic_partition, leader_id)
                continue
            log = partition.local_log_or_exception
            partition_and_offsets[topic_partition] = InitialFetchState(
                log.topic_id,
                BrokerEndPoint(node.id, node.host, node.port),
                partition.leader_epoch,
                _initial_fetch_offset(log),
            )
        # 3. The new ones.
        self._fetchers.add_fetcher_for_partitions(partition_and_offsets)
        # 4. Whoever waits for this broker to lead must look for the new leader.
        for topic_partition in partitions:
            self._complete_delayed_operations(topic_partition)

    def _get_or_create_partition(
        self, topic_partition: TopicPartition, delta: TopicsDelta, topic_id: str
    ) -> tuple[Partition | None, bool]:
        """The partition, and whether it was made now; None for one that is offline.

        Kafka: `ReplicaManager.getOrCreatePartition`.
        """
        hosted = self._partitions.get_partition(topic_partition)
        if isinstance(hosted, OnlinePartition):
            known_id = hosted.partition.topic_id
            if known_id not in (None, topic_id):
                raise IllegalStateException(
                    f"Topic {topic_partition} exists, but its ID is {known_id}, not {topic_id} as expected"
                )
            return hosted.partition, False
        if isinstance(hosted, OfflinePartition):
            if hosted.partition is not None and hosted.partition.topic_id == topic_id:
                logger.warning("Unable to bring up %s: it resides in an offline log directory", topic_partition)
                return None, False
        elif delta.image.get_topic_by_id(topic_id) is not None:
            logger.error(
                "Expected partition %s with topic id %s to exist, but it was missing", topic_partition, topic_id
            )
        logger.info("Creating new partition %s with topic id %s.", topic_partition, topic_id)
        return self._create_partition(TopicIdPartition(topic_id, topic_partition)), True


def _initial_fetch_offset(log: Log) -> int:
    """The first offset to fetch: the log end, since the leader's answer says where to cut.

    A log without any leader epoch cannot be compared with the leader's, so it begins at its high watermark.
    Kafka: `ReplicaManager.initialFetchOffset`.
    """
    return log.high_watermark if log.latest_epoch is None else log.log_end_offset
