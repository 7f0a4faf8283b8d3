"""A leader that is asked with Kafka's own requests."""

import itertools
import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.cluster.fetch_params import FetchRequestPartitionData
from minikafka.common.error_codes import Errors
from minikafka.common.errors import FetchSessionTopicIdException, IllegalStateException, KafkaStorageException
from minikafka.common.offset_and_epoch import OffsetAndEpoch
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ZERO_UUID
from minikafka.log.log import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from minikafka.messages.apis import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from minikafka.messages.message_codec import Message
from minikafka.network.api_keys import ApiKeys
from minikafka.record.format.batch_header import NO_PARTITION_LEADER_EPOCH
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.server.blocking_send import BlockingSend
from minikafka.server.broker_config import BrokerConfig
from minikafka.server.fetch_partition_data import FetchPartitionData
from minikafka.server.initial_fetch_state import BrokerEndPoint
from minikafka.server.leader_end_point import OffsetForLeaderPartition, ReplicaFetch
from minikafka.server.partition_fetch_state import PartitionFetchState
from minikafka.server.replica_fetcher import FollowedReplicas

logger = logging.getLogger(__name__)

_Response = TypeVar("_Response", bound=Message)

# What a follower of Kafka 4.3 sends. Kafka: `MetadataVersion.fetchRequestVersion`, `.listOffsetRequestVersion`,
# `OffsetsForLeaderEpochRequest.Builder.forFollower`.
FETCH_VERSION = 18
FETCH_VERSION_WITHOUT_TOPIC_IDS = 12
LIST_OFFSETS_VERSION = 11
OFFSET_FOR_LEADER_EPOCH_VERSION = 4

_FULL_FETCH_EPOCH = 0


class RemoteLeaderEndPoint:
    """The leader behind a connection.

    Simpler than Kafka: fetch requests are whole, none of them continues a fetch session.
    Kafka: `kafka.server.RemoteLeaderEndPoint`.
    """

    is_truncation_on_fetch_supported = True

    def __init__(
        self,
        blocking_sender: BlockingSend,
        broker_config: BrokerConfig,
        replica_manager: FollowedReplicas,
        broker_epoch_supplier: Callable[[], int],
        time: Time,
    ):
        self._blocking_sender = blocking_sender
        self._broker_config = broker_config
        self._replica_manager = replica_manager
        self._broker_epoch_supplier = broker_epoch_supplier
        self._time = time

    @property
    def broker_end_point(self) -> BrokerEndPoint:
        """The leader's address. Kafka: `RemoteLeaderEndPoint.brokerEndPoint`."""
        return self._blocking_sender.broker_end_point

    def initiate_close(self) -> None:
        """Let a request that is underway fail. Kafka: `RemoteLeaderEndPoint.initiateClose`."""
        self._blocking_sender.initiate_close()

    def close(self) -> None:
        """Close the connection. Kafka: `RemoteLeaderEndPoint.close`."""
        self._blocking_sender.close()

    def build_fetch(
        self, partitions: Mapping[TopicPartition, PartitionFetchState]
    ) -> tuple[ReplicaFetch | None, set[TopicPartition]]:
        """A request for those of `partitions` that are ready, None if none is; and those whose log is offline.

        Kafka: `RemoteLeaderEndPoint.buildFetch`.
        """
        now_ms = self._time.milliseconds()
        asked: dict[TopicPartition, FetchRequestPartitionData] = {}
        partitions_with_error: set[TopicPartition] = set()
        for topic_partition, fetch_state in partitions.items():
            if not fetch_state.is_ready_for_fetch(now_ms):
                continue
            try:
                log_start_offset = self._replica_manager.local_log_or_exception(topic_partition).log_start_offset
            except KafkaStorageException:
                partitions_with_error.add(topic_partition)
                continue
            asked[topic_partition] = FetchRequestPartitionData(
                fetch_state.topic_id or ZERO_UUID,
                fetch_state.fetch_offset,
                log_start_offset,
                self._broker_config.replica_fetch_max_bytes,
                fetch_state.current_leader_epoch,
                fetch_state.last_fetched_epoch,
            )
        return (ReplicaFetch(asked, self._fetch_request(asked)) if asked else None), partitions_with_error

    def _fetch_request(self, asked: Mapping[TopicPartition, FetchRequestPartitionData]) -> FetchRequest:
        """The body of a fetch request. Neighbours of one topic share an entry. Kafka: `FetchRequest.Builder.build`."""
        config = self._broker_config
        body = FetchRequest(
            max_wait_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            session_epoch=_FULL_FETCH_EPOCH,
            topics=[
                FetchRequest.FetchTopic(
                    topic=topic,
                    topic_id=asked[neighbours[0]].topic_id,
                    partitions=[
                        FetchRequest.FetchTopic.FetchPartition(
                            partition=topic_partition.partition,
                            current_leader_epoch=_or_no_epoch(asked[topic_partition].current_leader_epoch),
                            fetch_offset=asked[topic_partition].fetch_offset,
                            last_fetched_epoch=_or_no_epoch(asked[topic_partition].last_fetched_epoch),
                            log_start_offset=asked[topic_partition].log_start_offset,
                            partition_max_bytes=asked[topic_partition].max_bytes,
                        )
                        for topic_partition in neighbours
                    ],
                )
                for topic, group in itertools.groupby(asked, key=lambda topic_partition: topic_partition.topic)
                for neighbours in [list(group)]
            ],
        )
        if _fetch_version(asked) < 15:
            body.replica_id = config.broker_id
        else:
            body.replica_state = FetchRequest.ReplicaState(
                replica_id=config.broker_id, replica_epoch=self._broker_epoch_supplier()
            )
        return body

    def fetch(self, replica_fetch: ReplicaFetch) -> dict[TopicPartition, FetchPartitionData]:
        """Send a request and wait for its answer; no partition if the answer is not one to this request.

        Raises what has gone wrong on the way, and FetchSessionTopicIdException.
        Kafka: `RemoteLeaderEndPoint.fetch`, `FetchSessionHandler.handleResponse`.
        """
        asked = replica_fetch.partition_data
        version = _fetch_version(asked)
        response = self._ask(ApiKeys.FETCH, version, replica_fetch.fetch_request, FetchResponse)
        error = Errors(response.error_code)
        if error is Errors.FETCH_SESSION_TOPIC_ID_ERROR:
            raise FetchSessionTopicIdException(error.message)
        if error is not Errors.NONE:
            logger.info("Broker %s could not serve the fetch request: %s", self.broker_end_point.id, error.name)
            return {}
        names = {partition.topic_id: topic_partition.topic for topic_partition, partition in asked.items()}
        answers = {
            TopicPartition(topic, partition.partition_index): _partition_data(partition)
            for topic_response in response.responses
            for topic in [topic_response.topic if version < 13 else names.get(topic_response.topic_id)]
            if topic is not None
            for partition in topic_response.partitions
        }
        if answers.keys() != asked.keys():
            logger.info("Broker %s answered for %s, asked for %s", self.broker_end_point.id, list(answers), list(asked))
            return {}
        return answers

    def fetch_earliest_offset(self, topic_partition: TopicPartition, current_leader_epoch: int) -> OffsetAndEpoch:
        """Where the leader's log begins. Raises what the leader reports.

        Kafka: `RemoteLeaderEndPoint.fetchEarliestOffset`.
        """
        return self._fetch_offset(topic_partition, current_leader_epoch, EARLIEST_TIMESTAMP)

    def fetch_latest_offset(self, topic_partition: TopicPartition, current_leader_epoch: int) -> OffsetAndEpoch:
        """Where the leader's log ends (exclusive). Raises what the leader reports.

        Kafka: `RemoteLeaderEndPoint.fetchLatestOffset`.
        """
        return self._fetch_offset(topic_partition, current_leader_epoch, LATEST_TIMESTAMP)

    def _fetch_offset(
        self, topic_partition: TopicPartition, current_leader_epoch: int, timestamp: int
    ) -> OffsetAndEpoch:
        """Kafka: `RemoteLeaderEndPoint.fetchOffset`."""
        topic = ListOffsetsRequest.ListOffsetsTopic
        body = ListOffsetsRequest(
            replica_id=self._broker_config.broker_id,
            topics=[
                topic(
                    name=topic_partition.topic,
                    partitions=[
                        topic.ListOffsetsPartition(
                            partition_index=topic_partition.partition,
                            current_leader_epoch=current_leader_epoch,
                            timestamp=timestamp,
                        )
                    ],
                )
            ],
        )
        response = self._ask(ApiKeys.LIST_OFFSETS, LIST_OFFSETS_VERSION, body, ListOffsetsResponse)
        (partition,) = response.topics[0].partitions
        error = Errors(partition.error_code)
        if (failure := error.exception()) is not None:
            raise failure
        return OffsetAndEpoch(partition.offset, partition.leader_epoch)

    def fetch_epoch_end_offsets(
        self, partitions: Mapping[TopicPartition, OffsetForLeaderPartition]
    ) -> dict[TopicPartition, EpochEndOffset]:
        """Where the leader's log has the ends of these epochs. Raises nothing: an answer that fails is an error of each
        partition. Kafka: `RemoteLeaderEndPoint.fetchEpochEndOffsets`.
        """
        if not partitions:
            return {}
        make_topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
        topics: dict[str, OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = {}
        for topic_partition, asked in partitions.items():
            topics.setdefault(topic_partition.topic, make_topic(topic=topic_partition.topic)).partitions.append(asked)
        body = OffsetForLeaderEpochRequest(replica_id=self._broker_config.broker_id, topics=list(topics.values()))
        try:
            response = self._ask(
                ApiKeys.OFFSET_FOR_LEADER_EPOCH, OFFSET_FOR_LEADER_EPOCH_VERSION, body, OffsetForLeaderEpochResponse
            )
        except Exception as failure:
            logger.warning("Error when sending leader epoch request for %s", list(partitions), exc_info=True)
            return dict.fromkeys(partitions, EpochEndOffset(error=Errors.for_exception(failure)))
        return {
            TopicPartition(topic.topic, end.partition): EpochEndOffset(
                end.leader_epoch, end.end_offset, Errors(end.error_code)
            )
            for topic in response.topics
            for end in topic.partitions
        }

    def _ask(self, api_key: ApiKeys, version: int, body: Message, kind: type[_Response]) -> _Response:
        """The response to a request, which is one of this kind."""
        response = self._blocking_sender.send_request(api_key, version, body)
        if not isinstance(response, kind):
            raise IllegalStateException(f"{api_key.name} was answered with {type(response).__name__}")
        return response


def _fetch_version(asked: Mapping[TopicPartition, FetchRequestPartitionData]) -> int:
    """Topics are asked for by their ids if all ids are known."""
    known = all(partition.topic_id != ZERO_UUID for partition in asked.values())
    return FETCH_VERSION if known else FETCH_VERSION_WITHOUT_TOPIC_IDS


def _partition_data(partition: FetchResponse.FetchableTopicResponse.PartitionData) -> FetchPartitionData:
    """One partition's answer out of a fetch response."""
    diverging = partition.diverging_epoch
    return FetchPartitionData(
        Errors(partition.error_code),
        partition.high_watermark,
        partition.log_start_offset,
        MemoryRecords.EMPTY if partition.records is None else MemoryRecords.readable_records(partition.records),
        None if diverging.epoch < 0 else EpochEndOffset(diverging.epoch, diverging.end_offset),
        partition.last_stable_offset,
    )


def _or_no_epoch(epoch: int | None) -> int:
    return NO_PARTITION_LEADER_EPOCH if epoch is None else epoch
