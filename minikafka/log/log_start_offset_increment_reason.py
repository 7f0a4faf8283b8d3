"""The reasons for raising a log's start offset."""

from enum import Enum


class LogStartOffsetIncrementReason(Enum):
    """A reason, with the words in which the broker's own log gives it. Kafka: `LogStartOffsetIncrementReason`."""

    LEADER_OFFSET_INCREMENTED = "leader offset increment"
    SEGMENT_DELETION = "segment deletion"
    CLIENT_RECORD_DELETION = "client delete records request"
    SNAPSHOT_GENERATED = "snapshot generated"

    def __str__(self) -> str:
        return self.value
