"""Why a log's start offset grows."""

from enum import Enum


class LogStartOffsetIncrementReason(Enum):
    """The value is what the broker's own log says. Kafka: `LogStartOffsetIncrementReason`."""

    LEADER_OFFSET_INCREMENTED = "leader offset increment"
    SEGMENT_DELETION = "segment deletion"
    CLIENT_RECORD_DELETION = "client delete records request"
    SNAPSHOT_GENERATED = "snapshot generated"

    def __str__(self) -> str:
        return self.value
