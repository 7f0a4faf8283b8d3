"""What a ListOffsets request asks and is answered, in the form that all its versions share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.common.error_codes import Errors

CONSUMER_REPLICA_ID = -1
DEBUGGING_REPLICA_ID = -2

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6

UNKNOWN_TIMESTAMP = -1
UNKNOWN_OFFSET = -1
UNKNOWN_EPOCH = -1

_MIN_VERSION = {
    EARLIEST_TIMESTAMP: 1,
    LATEST_TIMESTAMP: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}


class ListOffsetsPartition(NamedTuple):
    """A question for an offset: of the first record at or after `timestamp` (ms), or one of the special timestamps.

    `current_leader_epoch`: what the client takes for the leader's epoch, −1 if it does not say.
    Kafka: `ListOffsetsRequestData.ListOffsetsPartition`.
    """

    partition_index: int
    timestamp: int
    current_leader_epoch: int = UNKNOWN_EPOCH


class ListOffsetsTopic(NamedTuple):
    """The questions for one topic. Kafka: `ListOffsetsRequestData.ListOffsetsTopic`."""

    name: str
    partitions: Sequence[ListOffsetsPartition]


@dataclass(slots=True)
class ListOffsetsPartitionResponse:
    """The offset that was found, with its timestamp (ms) and leader epoch; all −1 if there is none.

    Kafka: `ListOffsetsResponseData.ListOffsetsPartitionResponse`.
    """

    partition_index: int
    error: Errors = Errors.NONE
    timestamp: int = UNKNOWN_TIMESTAMP
    offset: int = UNKNOWN_OFFSET
    leader_epoch: int = UNKNOWN_EPOCH


class ListOffsetsTopicResponse(NamedTuple):
    """The answers for one topic. Kafka: `ListOffsetsResponseData.ListOffsetsTopicResponse`."""

    name: str
    partitions: list[ListOffsetsPartitionResponse]


def is_list_offsets_timestamp_unsupported(timestamp: int, version: int) -> bool:
    """True for a special timestamp that requests of this version do not know.

    Kafka: `ReplicaManager.isListOffsetsTimestampUnsupported`.
    """
    return timestamp < 0 and version < _MIN_VERSION.get(timestamp, version + 1)
