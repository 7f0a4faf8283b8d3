"""What a follower needs of its leader."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.cluster.fetch_params import FetchRequestPartitionData
from minikafka.common.offset_and_epoch import OffsetAndEpoch
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.apis import FetchRequest, OffsetForLeaderEpochRequest
from minikafka.server.fetch_partition_data import FetchPartitionData
from minikafka.server.initial_fetch_state import BrokerEndPoint
from minikafka.server.partition_fetch_state import PartitionFetchState

OffsetForLeaderPartition = OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition


class ReplicaFetch(NamedTuple):
    """A fetch request, and what it asks of each partition, by which the answers are judged.

    Kafka: `org.apache.kafka.server.ReplicaFetch`.
    """

    partition_data: dict[TopicPartition, FetchRequestPartitionData]
    fetch_request: FetchRequest


class LeaderEndPoint(Protocol):
    """The leader, as a follower sees it: on the other end of a wire, or in the same process.

    Simpler than Kafka: nothing is asked about tiered logs. Kafka: `org.apache.kafka.server.LeaderEndPoint`.
    """

    @property
    def is_truncation_on_fetch_supported(self) -> bool:
        """Whether the answer to a fetch says where the follower's log departs from the leader's.

        Kafka: `LeaderEndPoint.isTruncationOnFetchSupported`.
        """

    @property
    def broker_end_point(self) -> BrokerEndPoint:
        """The leader's address. Kafka: `LeaderEndPoint.brokerEndPoint`."""

    def initiate_close(self) -> None:
        """Let a request that is underway fail. Kafka: `LeaderEndPoint.initiateClose`."""

    def close(self) -> None:
        """Close the connection; `initiate_close` was called before. Kafka: `LeaderEndPoint.close`."""

    def build_fetch(
        self, partitions: Mapping[TopicPartition, PartitionFetchState]
    ) -> tuple[ReplicaFetch | None, set[TopicPartition]]:
        """A request for those of `partitions` that are ready, None if none is; and those whose log is offline.

        Kafka: `LeaderEndPoint.buildFetch`.
        """

    def fetch(self, replica_fetch: ReplicaFetch) -> dict[TopicPartition, FetchPartitionData]:
        """Send a request and wait for its answer. Raises what has gone wrong on the way. Kafka: `.fetch`."""

    def fetch_earliest_offset(self, topic_partition: TopicPartition, current_leader_epoch: int) -> OffsetAndEpoch:
        """Where the leader's log begins. Raises what the leader reports. Kafka: `.fetchEarliestOffset`."""

    def fetch_latest_offset(self, topic_partition: TopicPartition, current_leader_epoch: int) -> OffsetAndEpoch:
        """Where the leader's log ends (exclusive). Raises what the leader reports. Kafka: `.fetchLatestOffset`."""

    def fetch_epoch_end_offsets(
        self, partitions: Mapping[TopicPartition, OffsetForLeaderPartition]
    ) -> dict[TopicPartition, EpochEndOffset]:
        """Where the leader's log has the ends of these epochs. Raises nothing: an answer that fails is an error of each
        partition. Kafka: `LeaderEndPoint.fetchEpochEndOffsets`.
        """
