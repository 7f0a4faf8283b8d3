"""A fetch request that waits until there is enough to read."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.cluster.fetch_params import FetchParams, FetchRequestPartitionData
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    FencedLeaderEpochException,
    KafkaStorageException,
    NotLeaderOrFollowerException,
    UnknownTopicOrPartitionException,
)
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.leader_epoch_file_cache import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
from minikafka.log.log_offset_metadata import UNKNOWN_OFFSET_METADATA, LogOffsetMetadata
from minikafka.log.log_offset_snapshot import LogOffsetSnapshot
from minikafka.server.delayed_operation import DelayedOperation
from minikafka.server.fetch_partition_data import FetchPartitionData
from minikafka.server.fetch_partition_status import FetchPartitionStatus
from minikafka.server.log_read_result import LogReadResult

logger = logging.getLogger(__name__)

FetchCallback: TypeAlias = Callable[[list[tuple[TopicIdPartition, FetchPartitionData]]], object]


class FetchedPartition(Protocol):
    """What a waiting fetch asks of a partition. Kafka: `Partition`."""

    def fetch_offset_snapshot(
        self, current_leader_epoch: int | None, *, fetch_only_from_leader: bool
    ) -> LogOffsetSnapshot: ...

    def last_offset_for_leader_epoch(
        self, current_leader_epoch: int | None, leader_epoch: int, *, fetch_only_from_leader: bool
    ) -> EpochEndOffset: ...


class FetchedReplicas(Protocol):
    """What a waiting fetch asks of all partitions together. Kafka: `ReplicaManager`."""

    def get_partition_or_exception(self, topic_partition: TopicPartition) -> FetchedPartition: ...

    def read_from_log(
        self,
        params: FetchParams,
        read_partition_info: Sequence[tuple[TopicIdPartition, FetchRequestPartitionData]],
        read_from_purgatory: bool,
    ) -> list[tuple[TopicIdPartition, LogReadResult]]: ...

    def is_adding_replica(self, topic_partition: TopicPartition, replica_id: int) -> bool: ...


class DelayedFetch(DelayedOperation):
    """A fetch request, of a consumer or of a follower, that found too little when it was read.

    It is answered as soon as, in some partition,

    - A, B: this broker no longer leads it, or no longer has it; C: it no longer knows it; D: its directory failed;
    - E: the reader's leader epoch is out of date;
    - F: what can be read lies on a newer segment than the fetch offset, or below the fetch offset (the log was cut);
    - H: the follower's log turns out to differ from this one;

    or as soon as (G) there are `min_bytes` to read in all partitions together. Then, or when its time is over, all
    partitions are read again; that read does not count as one more fetch of the follower.

    Kafka: `kafka.server.DelayedFetch`.
    """

    __slots__ = ("_params", "_fetch_partition_status", "_replica_manager", "_response_callback")

    def __init__(
        self,
        params: FetchParams,
        fetch_partition_status: Mapping[TopicIdPartition, FetchPartitionStatus],
        replica_manager: FetchedReplicas,
        response_callback: FetchCallback,
    ):
        super().__init__(params.max_wait_ms)
        self._params = params
        self._fetch_partition_status = fetch_partition_status
        self._replica_manager = replica_manager
        self._response_callback = response_callback

    def try_complete(self) -> bool:
        """Answer if one of the cases A to H holds. Kafka: `DelayedFetch.tryComplete`."""
        accumulated_size = 0
        for topic_id_partition, status in self._fetch_partition_status.items():
            # 1. A partition whose place was not known when it was read is not looked at.
            if status.start_offset_metadata == UNKNOWN_OFFSET_METADATA:
                continue
            try:
                partition = self._replica_manager.get_partition_or_exception(topic_id_partition.topic_partition)
                # 2. How much could be read here? None: answer whatever it is.
                available = self._bytes_available(partition, status)
                if available is None or self._diverges(partition, status.fetch_info):
                    return self.force_complete()
                accumulated_size += available
            # 3. Cases A to E: the answer will say what is wrong.
            except (
                NotLeaderOrFollowerException,
                UnknownTopicOrPartitionException,
                KafkaStorageException,
                FencedLeaderEpochException,
            ) as error:
                logger.debug("%s of %s satisfies %s", type(error).__name__, topic_id_partition, self)
                return self.force_complete()
        # 4. Case G.
        return accumulated_size >= self._params.min_bytes and self.force_complete()

    def on_complete(self) -> None:
        """Read again, and answer with what is there. Kafka: `DelayedFetch.onComplete`."""
        fetch_infos = [(key, status.fetch_info) for key, status in self._fetch_partition_status.items()]
        results = self._replica_manager.read_from_log(self._params, fetch_infos, read_from_purgatory=True)
        self._response_callback([(key, self._answer(key, result)) for key, result in results])

    def on_expiration(self) -> None:
        """Nothing more: Kafka counts the request in its metrics. Kafka: `DelayedFetch.onExpiration`."""

    def _answer(self, topic_id_partition: TopicIdPartition, result: LogReadResult) -> FetchPartitionData:
        is_reassignment_fetch = self._params.is_from_follower and self._replica_manager.is_adding_replica(
            topic_id_partition.topic_partition, self._params.replica_id
        )
        return result.to_fetch_partition_data(is_reassignment_fetch=is_reassignment_fetch)

    def _bytes_available(self, partition: FetchedPartition, status: FetchPartitionStatus) -> int | None:
        """How many bytes wait in the partition, as far as the reader wants them; None in case F."""
        start, fetch_info = status.start_offset_metadata, status.fetch_info
        offsets = partition.fetch_offset_snapshot(
            fetch_info.current_leader_epoch, fetch_only_from_leader=self._params.fetch_only_leader
        )
        end = self._end_offset(offsets)
        if start.message_offset == end.message_offset:
            return 0  # also if the one is on an older segment: a roll alone brings nothing to read
        if start.message_offset > end.message_offset or start.on_older_segment(end):
            return None
        if start.on_same_segment(end):
            return min(end.position_diff(start), fetch_info.max_bytes)
        return 0

    def _end_offset(self, offsets: LogOffsetSnapshot) -> LogOffsetMetadata:
        """How far this reader may see."""
        match self._params.isolation:
            case FetchIsolation.LOG_END:
                return offsets.log_end_offset
            case FetchIsolation.HIGH_WATERMARK:
                return offsets.high_watermark
            case FetchIsolation.TXN_COMMITTED:
                return offsets.last_stable_offset

    def _diverges(self, partition: FetchedPartition, fetch_info: FetchRequestPartitionData) -> bool:
        """Case H: the log does not have what the follower fetched last, or cannot say so."""
        if fetch_info.last_fetched_epoch is None:
            return False
        found = partition.last_offset_for_leader_epoch(
            fetch_info.current_leader_epoch, fetch_info.last_fetched_epoch, fetch_only_from_leader=False
        )
        return (
            found.error is not Errors.NONE
            or found.end_offset == UNDEFINED_EPOCH_OFFSET
            or found.leader_epoch == UNDEFINED_EPOCH
            or found.leader_epoch < fetch_info.last_fetched_epoch
            or found.end_offset < fetch_info.fetch_offset
        )

    def __str__(self) -> str:
        return f"DelayedFetch(params={self._params}, numPartitions={len(self._fetch_partition_status)})"
