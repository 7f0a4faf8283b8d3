"""A log that may be cleaned: how much of it is clean, and how much could be cleaned now."""

from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_segments import size_in_bytes


class LogToClean:
    """A log in three parts, and the sizes of the first two.

    - Below `first_dirty_offset`: what earlier cleanings have seen (`clean_bytes`).
    - From there up to `first_uncleanable_offset`, the base offset of a segment: what a cleaning would read for its
      offset map (`cleanable_bytes`). A segment that holds the first dirty offset counts as a whole, in both parts.
    - The rest, which it is too early to clean.

    `need_compaction_now`: some of it has waited longer than `max.compaction.lag.ms`. Logs are compared by
    `cleanable_ratio`, the cleanable bytes as a share of the first two parts (0 to 1).

    Kafka: `LogToClean`.
    """

    def __init__(
        self, log: Log, first_dirty_offset: int, uncleanable_offset: int, *, need_compaction_now: bool = False
    ):
        """`uncleanable_offset`: the first offset that must not be cleaned; the whole segment that holds it is left."""
        self.log = log
        self.topic_partition: TopicPartition = log.topic_partition
        self.first_dirty_offset = first_dirty_offset
        self.need_compaction_now = need_compaction_now
        self.clean_bytes = size_in_bytes(log.log_segments_between(-1, first_dirty_offset))
        self.first_uncleanable_offset, self.cleanable_bytes = calculate_cleanable_bytes(
            log, first_dirty_offset, uncleanable_offset
        )
        self.total_bytes = self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        """How dirty the log is, 0 to 1; an empty log has no ratio. Kafka: `LogToClean.cleanableRatio`."""
        return self.cleanable_bytes / self.total_bytes

    def __repr__(self) -> str:
        return (
            f"LogToClean({self.topic_partition}, dirty from {self.first_dirty_offset}, uncleanable from"
            f" {self.first_uncleanable_offset}, {self.cleanable_bytes} of {self.total_bytes} bytes cleanable)"
        )


def calculate_cleanable_bytes(log: Log, first_dirty_offset: int, uncleanable_offset: int) -> tuple[int, int]:
    """The base offset of the segment that holds `uncleanable_offset`, and the bytes of the segments before that one,
    beginning with the one that holds `first_dirty_offset`. Kafka: `LogCleanerManager.calculateCleanableBytes`.
    """
    non_active_segments = log.non_active_log_segments_from(uncleanable_offset)
    first_uncleanable_segment = non_active_segments[0] if non_active_segments else log.active_segment
    first_uncleanable_offset = first_uncleanable_segment.base_offset
    cleanable = log.log_segments_between(min(first_dirty_offset, first_uncleanable_offset), first_uncleanable_offset)
    return first_uncleanable_offset, size_in_bytes(cleanable)
