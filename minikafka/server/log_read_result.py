"""What became of the read of one partition of a fetch request."""

from typing import NamedTuple

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.common.error_codes import Errors
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.log_offset_metadata import UNKNOWN_OFFSET, UNKNOWN_OFFSET_METADATA
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.server.fetch_partition_data import FetchPartitionData


class LogReadResult(NamedTuple):
    """The result of `ReplicaManager.read_from_log` for one partition; unknown offsets and times are −1.

    - `info`: the records, and where they begin.
    - `diverging_epoch`: where the follower's log departs from this one; None if it does not.
    - `high_watermark`, `leader_log_start_offset`, `leader_log_end_offset`: those of this log, before the read.
    - `follower_log_start_offset`: what the reader said of its own log.
    - `fetch_time_ms`: when the read began.
    - `last_stable_offset`: None when there is an error.
    - `preferred_read_replica`: the broker that a consumer had better ask; None if this one will do.

    Kafka: `org.apache.kafka.storage.internals.log.LogReadResult`.
    """

    info: FetchDataInfo
    diverging_epoch: EpochEndOffset | None
    high_watermark: int
    leader_log_start_offset: int
    leader_log_end_offset: int
    follower_log_start_offset: int
    fetch_time_ms: int
    last_stable_offset: int | None
    preferred_read_replica: int | None = None
    error: Errors = Errors.NONE

    @staticmethod
    def failed(error: Errors) -> "LogReadResult":
        """The result of a read that failed. Kafka: `LogReadResult(Errors)`."""
        nothing = FetchDataInfo(UNKNOWN_OFFSET_METADATA, MemoryRecords.EMPTY)
        unknown = UNKNOWN_OFFSET
        return LogReadResult(nothing, None, unknown, unknown, unknown, unknown, -1, None, None, error)

    def to_fetch_partition_data(self, *, is_reassignment_fetch: bool) -> FetchPartitionData:
        """What the reader is told of it. Kafka: `LogReadResult.toFetchPartitionData`."""
        return FetchPartitionData(
            self.error,
            self.high_watermark,
            self.leader_log_start_offset,
            self.info.records,
            self.diverging_epoch,
            self.last_stable_offset,
            self.info.aborted_transactions,
            self.preferred_read_replica,
            is_reassignment_fetch,
        )
