"""How a broker finds the offsets that a ListOffsets request asks for."""

import logging
from collections.abc import Mapping

from minikafka.cluster.fetch_params import CONSUMER_REPLICA_ID
from minikafka.cluster.partition import Partition
from minikafka.common.error_codes import Errors
from minikafka.common.errors import OffsetNotAvailableException
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
)
from minikafka.messages.apis import ListOffsetsRequest, ListOffsetsResponse

logger = logging.getLogger(__name__)

ListOffsetsPartition = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition
ListOffsetsTopicResponse = ListOffsetsResponse.ListOffsetsTopicResponse
ListOffsetsPartitionResponse = ListOffsetsTopicResponse.ListOffsetsPartitionResponse

DEBUGGING_REPLICA_ID = -2
UNKNOWN_EPOCH = -1

_MIN_VERSION = {
    EARLIEST_TIMESTAMP: 1,
    LATEST_TIMESTAMP: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}


def is_list_offsets_timestamp_unsupported(timestamp: int, version: int) -> bool:
    """True for a special timestamp that requests of this version do not know.

    Kafka: `ReplicaManager.isListOffsetsTimestampUnsupported`.
    """
    return timestamp < 0 and version < _MIN_VERSION.get(timestamp, version + 1)


def find_offset(
    partition: Partition, question: ListOffsetsPartition, isolation_level: IsolationLevel, replica_id: int, version: int
) -> ListOffsetsPartitionResponse:
    """The answer of a partition; see `ReplicaManager.fetch_offset` for who may see how far.

    Raises what `Partition.fetch_offset_for_timestamp` raises, and the error that it holds in reserve where nothing was
    found below the bound. Kafka: `ReplicaManager.fetchOffset`.
    """
    holder = partition.fetch_offset_for_timestamp(
        question.timestamp,
        isolation_level if replica_id == CONSUMER_REPLICA_ID else None,
        None if question.current_leader_epoch == UNKNOWN_EPOCH else question.current_leader_epoch,
        fetch_only_from_leader=replica_id != DEBUGGING_REPLICA_ID,
    )
    response = ListOffsetsPartitionResponse(partition_index=question.partition_index)
    found, bound = holder.timestamp_and_offset, holder.last_fetchable_offset
    if found is None or (bound is not None and found.offset >= bound):
        if holder.maybe_offsets_error is not None:
            raise holder.maybe_offsets_error
        return response
    response.timestamp, response.offset = found.timestamp, found.offset
    if found.leader_epoch is not None and version >= 4:
        response.leader_epoch = found.leader_epoch
    return response


def list_offsets_error(failure: Exception, version: int) -> Errors:
    """How a failure is told to clients of this version. Kafka: `ReplicaManager.fetchOffset`."""
    if isinstance(failure, OffsetNotAvailableException) and version < 5:
        return Errors.LEADER_NOT_AVAILABLE
    error = Errors.for_exception(failure)
    if error is Errors.UNKNOWN_SERVER_ERROR:
        logger.error("Error while responding to offset request", exc_info=failure)
    return error


def responses_by_topic(
    responses: Mapping[TopicPartition, ListOffsetsPartitionResponse],
) -> list[ListOffsetsTopicResponse]:
    """The answers as they stand in the response: each topic once."""
    by_topic: dict[str, list[ListOffsetsPartitionResponse]] = {}
    for topic_partition, response in responses.items():
        by_topic.setdefault(topic_partition.topic, []).append(response)
    return [ListOffsetsTopicResponse(name=topic, partitions=partitions) for topic, partitions in by_topic.items()]
