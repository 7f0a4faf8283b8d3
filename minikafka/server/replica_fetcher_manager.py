"""The followers of a broker."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from minikafka.common.java.java_hash import string_hash_code
from minikafka.common.java.java_numbers import INT_MIN, to_int
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.server.blocking_send import BlockingSend
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.failed_partitions import FailedPartitions
from minikafka.server.initial_fetch_state import BrokerEndPoint, InitialFetchState
from minikafka.server.partition_fetch_state import PartitionFetchState
from minikafka.server.remote_leader_end_point import RemoteLeaderEndPoint
from minikafka.server.replica_fetcher import FollowedReplicas, ReplicaFetcher
from minikafka.server.replica_fetcher_thread import ReplicaFetcherThread

logger = logging.getLogger(__name__)


class BrokerIdAndFetcherId(NamedTuple):
    """Which fetcher: the leader's id, and the fetcher's number among those that ask this leader.

    Kafka: `kafka.server.BrokerIdAndFetcherId`.
    """

    broker_id: int
    fetcher_id: int


class ReplicaFetcherManager:
    """Has a fetcher for each leader, or several (`num.replica.fetchers`), and divides the partitions among them.

    Each fetcher has a thread, if the manager was told so. Else they do nothing by themselves: `do_work` lets each of
    them go one round.

    Kafka: `kafka.server.AbstractFetcherManager`, `kafka.server.ReplicaFetcherManager`.
    """

    def __init__(
        self,
        broker_config: BrokerConfig,
        replica_manager: FollowedReplicas,
        time: Time,
        broker_epoch_supplier: Callable[[], int],
        connect: Callable[[BrokerEndPoint, int], BlockingSend],
        *,
        has_threads: bool = False,
    ):
        """`connect(leader, fetcher_id)` makes the connection that a fetcher asks its leader through.

        `has_threads`: whether each fetcher goes round by itself; then the connection waits for answers.
        """
        self._broker_config = broker_config
        self._replica_manager = replica_manager
        self._time = time
        self._broker_epoch_supplier = broker_epoch_supplier
        self._connect = connect
        self._has_threads = has_threads
        self._threads: dict[ReplicaFetcher, ReplicaFetcherThread] = {}
        self._num_fetchers_per_broker = broker_config.num_replica_fetchers
        self._lock = threading.RLock()  # guards the fetchers, not what they do
        self.fetcher_thread_map: dict[BrokerIdAndFetcherId, ReplicaFetcher] = {}
        self.failed_partitions = FailedPartitions()

    def do_work(self) -> None:
        """Let each fetcher go one round, by their numbers, then by their leaders.

        Kafka: `ReplicaFetcherThread.doWork`, in a thread of each.
        """
        with self._lock:
            fetchers = sorted(self.fetcher_thread_map.items(), key=lambda row: (row[0].fetcher_id, row[0].broker_id))
        for _, fetcher in fetchers:
            fetcher.do_work()

    def add_fetcher_for_partitions(self, partition_and_offsets: Mapping[TopicPartition, InitialFetchState]) -> None:
        """Follow these partitions, also such as were given up. Kafka: `.addFetcherForPartitions`."""
        with self._lock:
            # 1. Who asks the same leader, with the same number, shares a fetcher.
            per_fetcher: dict[tuple[BrokerEndPoint, int], dict[TopicPartition, InitialFetchState]] = {}
            for topic_partition, initial in partition_and_offsets.items():
                fetcher_id = self.get_fetcher_id(topic_partition)
                per_fetcher.setdefault((initial.leader, fetcher_id), {})[topic_partition] = initial
            for (leader, fetcher_id), initial_fetch_offsets in per_fetcher.items():
                # 2. A fetcher that asks this leader at another address ends.
                key = BrokerIdAndFetcherId(leader.id, fetcher_id)
                fetcher = self.fetcher_thread_map.get(key)
                if fetcher is not None and fetcher.leader.broker_end_point != leader:
                    self._end(fetcher)
                    fetcher = None
                # 3. One is made where there is none.
                if fetcher is None:
                    fetcher = self.fetcher_thread_map[key] = self._create_fetcher(fetcher_id, leader)
                # 4. It takes over.
                fetcher.add_partitions(initial_fetch_offsets)
                if (thread := self._threads.get(fetcher)) is not None:
                    thread.wake_up()
                logger.info("Added fetcher to broker %d for partitions %s", leader.id, list(initial_fetch_offsets))

    def _create_fetcher(self, fetcher_id: int, source_broker: BrokerEndPoint) -> ReplicaFetcher:
        """Kafka: `ReplicaFetcherManager.createFetcherThread`."""
        leader = RemoteLeaderEndPoint(
            self._connect(source_broker, fetcher_id),
            self._broker_config,
            self._replica_manager,
            self._broker_epoch_supplier,
            self._time,
        )
        backoff_ms = self._broker_config.replica_fetch_backoff_ms
        fetcher = ReplicaFetcher(
            f"ReplicaFetcher-{fetcher_id}-{source_broker.id}",
            leader,
            self.failed_partitions,
            self._replica_manager,
            backoff_ms,
            self._time,
        )
        if self._has_threads:
            self._threads[fetcher] = ReplicaFetcherThread(fetcher, backoff_ms)
            self._threads[fetcher].start()
        return fetcher

    def _end(self, fetcher: ReplicaFetcher) -> None:
        (self._threads.pop(fetcher, None) or fetcher).shutdown()

    def remove_fetcher_for_partitions(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, PartitionFetchState]:
        """Follow these partitions no longer; returns how far they were. Kafka: `.removeFetcherForPartitions`."""
        removed: dict[TopicPartition, PartitionFetchState] = {}
        partitions = list(partitions)
        with self._lock:
            for fetcher in self.fetcher_thread_map.values():
                removed.update(fetcher.remove_partitions(partitions))
            self.failed_partitions.remove_all(partitions)
        if partitions:
            logger.info("Removed fetcher for partitions %s", partitions)
        return removed

    def maybe_update_topic_ids(
        self, partitions_to_update: Mapping[TopicPartition, int], topic_ids: Callable[[str], str | None]
    ) -> None:
        """Note the topic ids of partitions (with the id of the leader of each) that are followed.

        Kafka: `AbstractFetcherManager.maybeUpdateTopicIds`.
        """
        with self._lock:
            for topic_partition, leader_id in partitions_to_update.items():
                key = BrokerIdAndFetcherId(leader_id, self.get_fetcher_id(topic_partition))
                if key in self.fetcher_thread_map:
                    self.fetcher_thread_map[key].maybe_update_topic_ids([topic_partition], topic_ids)

    def add_failed_partition(self, topic_partition: TopicPartition) -> None:
        """Give a partition up. Kafka: `AbstractFetcherManager.addFailedPartition`."""
        self.failed_partitions.add(topic_partition)

    def get_fetcher(self, topic_partition: TopicPartition) -> ReplicaFetcher | None:
        """The fetcher that follows the partition, None without one. Kafka: `AbstractFetcherManager.getFetcher`."""
        with self._lock:
            fetchers = list(self.fetcher_thread_map.values())
        return next((fetcher for fetcher in fetchers if fetcher.fetch_state(topic_partition) is not None), None)

    def get_fetcher_id(self, topic_partition: TopicPartition) -> int:
        """The number of the fetcher that the partition goes to. Kafka: `AbstractFetcherManager.getFetcherId`."""
        number = to_int(31 * string_hash_code(topic_partition.topic) + topic_partition.partition)
        return (0 if number == INT_MIN else abs(number)) % self._num_fetchers_per_broker

    def resize_thread_pool(self, new_size: int) -> None:
        """Have `new_size` fetchers for each leader from now on, and divide the partitions anew.

        Kafka: `AbstractFetcherManager.resizeThreadPool`.
        """
        with self._lock:
            changed = new_size != self._num_fetchers_per_broker
            self._num_fetchers_per_broker = new_size
            if changed:
                self._migrate_partitions(new_size)
            self.shutdown_idle_fetcher_threads()

    def _migrate_partitions(self, new_size: int) -> None:
        """Kafka: `AbstractFetcherManager.resizeThreadPool.migratePartitions`."""
        moved = {}
        for key, fetcher in self.fetcher_thread_map.items():
            for topic_partition, state in fetcher.remove_all_partitions().items():
                moved[topic_partition] = InitialFetchState(
                    state.topic_id, fetcher.leader.broker_end_point, state.current_leader_epoch, state.fetch_offset
                )
            if key.fetcher_id >= new_size:
                self._end(fetcher)
        self.add_fetcher_for_partitions(moved)

    def shutdown_idle_fetcher_threads(self) -> None:
        """End the fetchers that follow nothing. Kafka: `AbstractFetcherManager.shutdownIdleFetcherThreads`."""
        with self._lock:
            for key, fetcher in list(self.fetcher_thread_map.items()):
                if not fetcher.partition_count:
                    self._end(fetcher)
                    del self.fetcher_thread_map[key]

    def shutdown(self) -> None:
        """End all fetchers. Kafka: `ReplicaFetcherManager.shutdown`, `AbstractFetcherManager.closeAllFetchers`."""
        with self._lock:
            for fetcher in self.fetcher_thread_map.values():
                self._end(fetcher)
            self.fetcher_thread_map.clear()
