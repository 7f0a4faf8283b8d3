"""What is found out about an append before it is written, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from minikafka.common.errors import RecordError
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.record_batch import NO_TIMESTAMP


class LeaderHwChange(Enum):
    """What an append did to the leader's high watermark; NONE when nothing was appended. Kafka: `LeaderHwChange`."""

    INCREASED = "INCREASED"
    SAME = "SAME"
    NONE = "NONE"


@dataclass(slots=True)
class LogAppendInfo:
    """What is known of one append: found in the incoming batches, completed while the append goes on.

    - `first_offset`, `last_offset`: the offsets of the first and last record (both inclusive), -1 while unknown. A
      follower that appends magic 0 or 1 does not know the first offset, since finding it takes decompression. For a
      duplicate, these are the offsets that the batch got when it was appended first.
    - `last_leader_epoch`: the epoch of the last incoming batch, None when it carries none (a producer's never does).
    - `max_timestamp`: the largest timestamp in ms, -1 without one.
    - `log_append_time`: the log's own timestamp in ms, -1 unless the topic uses LogAppendTime. For a duplicate, the
      max timestamp of the batch that was appended first.
    - `log_start_offset`: the log's start offset at the time of the append.
    - `source_compression`: the codec of the incoming batches (of the last one that has a codec).
    - `valid_bytes`: the size of the whole and valid batches; bytes behind them are cut off.
    - `last_offset_of_first_batch`: stands in for `first_offset` where that is unknown.
    - `record_errors`: why records were refused.
    - `leader_hw_change`: set by the partition once it knows. (Kafka makes a copy for that.)

    Kafka: `LogAppendInfo`.
    """

    first_offset: int
    last_offset: int
    last_leader_epoch: int | None
    max_timestamp: int
    log_append_time: int
    log_start_offset: int
    source_compression: CompressionType
    valid_bytes: int
    last_offset_of_first_batch: int
    record_errors: Sequence[RecordError] = ()
    leader_hw_change: LeaderHwChange = LeaderHwChange.NONE

    @staticmethod
    def unknown(log_start_offset: int = -1, record_errors: Sequence[RecordError] = ()) -> "LogAppendInfo":
        """The result of an append that failed.

        Kafka: `LogAppendInfo.unknownLogAppendInfoWithLogStartOffset`, `.unknownLogAppendInfoWithAdditionalInfo`.
        """
        return LogAppendInfo(
            first_offset=-1,
            last_offset=-1,
            last_leader_epoch=None,
            max_timestamp=NO_TIMESTAMP,
            log_append_time=NO_TIMESTAMP,
            log_start_offset=log_start_offset,
            source_compression=CompressionType.NONE,
            valid_bytes=-1,
            last_offset_of_first_batch=-1,
            record_errors=record_errors,
        )

    @property
    def first_or_last_offset_of_first_batch(self) -> int:
        """The first offset if it is known, else the last offset of the first batch.

        Kafka: `LogAppendInfo.firstOrLastOffsetOfFirstBatch`.
        """
        return self.first_offset if self.first_offset >= 0 else self.last_offset_of_first_batch

    @property
    def num_messages(self) -> int:
        """How many offsets the append covers: an upper bound of its records. Kafka: `LogAppendInfo.numMessages`."""
        if self.first_offset >= 0 and self.last_offset >= 0:
            return self.last_offset - self.first_offset + 1
        return 0
