"""An offset with its place, the segment and the position in it, if these are known."""

from typing import NamedTuple

from minikafka.common.errors import KafkaException

UNKNOWN_OFFSET = -1
_UNKNOWN_FILE_POSITION = -1


class LogOffsetMetadata(NamedTuple):
    """An offset with its segment and its byte position.

    `segment_base_offset` and `relative_position_in_segment` (bytes from the start of the segment) are both -1 while
    only the offset is known, as for the high watermark of a new follower. Objects never change, so that a single
    assignment publishes one to other threads.

    Kafka: `LogOffsetMetadata`.
    """

    message_offset: int
    segment_base_offset: int = UNKNOWN_OFFSET
    relative_position_in_segment: int = _UNKNOWN_FILE_POSITION

    @property
    def message_offset_only(self) -> bool:
        """True when segment and position are unknown. Kafka: `LogOffsetMetadata.messageOffsetOnly`."""
        return self[1] == UNKNOWN_OFFSET and self[2] == _UNKNOWN_FILE_POSITION

    def on_older_segment(self, that: "LogOffsetMetadata") -> bool:
        """True when this offset lies on an older segment than `that`; False when either place is unknown.

        Kafka: `LogOffsetMetadata.onOlderSegment`.
        """
        if self.message_offset_only or that.message_offset_only:
            return False
        return self.segment_base_offset < that.segment_base_offset

    def on_same_segment(self, that: "LogOffsetMetadata") -> bool:
        """True when both offsets lie on one segment; False when either place is unknown.

        Kafka: `LogOffsetMetadata.onSameSegment`.
        """
        if self.message_offset_only or that.message_offset_only:
            return False
        return self.segment_base_offset == that.segment_base_offset

    def position_diff(self, that: "LogOffsetMetadata") -> int:
        """Bytes from `that` to this offset, both on one segment.

        Raises KafkaException when either place is unknown or when they lie on different segments.
        Kafka: `LogOffsetMetadata.positionDiff`.
        """
        if self.message_offset_only or that.message_offset_only:
            raise KafkaException(
                f"{self} cannot compare its segment position with {that} since it only has message offset info"
            )
        if not self.on_same_segment(that):
            raise KafkaException(
                f"{self} cannot compare its segment position with {that} since they are not on the same segment"
            )
        return self.relative_position_in_segment - that.relative_position_in_segment

    def __str__(self) -> str:
        offset, base, position = self
        return f"(offset={offset}, segment=[{base}:{position}])"


UNKNOWN_OFFSET_METADATA = LogOffsetMetadata(-1)
