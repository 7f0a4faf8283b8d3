"""What is found out about an append before it is written, and what became of it."""

from enum import Enum

from minikafka.record.compression import CompressionType
from minikafka.record.record_batch import NO_TIMESTAMP


class LeaderHwChange(Enum):
    """What an append did to the leader's high watermark; NONE when nothing was appended. Kafka: `LeaderHwChange`."""

    INCREASED = "INCREASED"
    SAME = "SAME"
    NONE = "NONE"


class LogAppendInfo:
    """Quantities of one append: computed from the incoming batches, completed while the append goes on.

    - `first_offset`, `last_offset`: of the first and last record (both inclusive), -1 unknown. A follower's append of
      magic 0 or 1 has no first offset, since that would need decompressing. A duplicate has those of the batch that
      was appended before.
    - `last_offset_of_first_batch`: what stands in for the first offset then.
    - `last_leader_epoch`: of the last incoming batch, None when it carries none (a producer's never does).
    - `max_timestamp`: ms, -1 without one. `log_append_time`: ms, -1 unless the log stamps its own time; of a
      duplicate the max timestamp of the batch that was appended before.
    - `log_start_offset`: of the log at the time of the append.
    - `source_compression`: codec of the incoming batches (the last one that is not NONE).
    - `valid_bytes`: bytes of whole and valid batches; what follows them is cut off.
    - `record_errors`: why records were refused; `leader_hw_change`: filled in by the partition.

    Kafka: `LogAppendInfo`.
    """

    __slots__ = (
        "first_offset",
        "last_offset",
        "last_leader_epoch",
        "max_timestamp",
        "log_append_time",
        "log_start_offset",
        "source_compression",
        "valid_bytes",
        "last_offset_of_first_batch",
        "record_errors",
        "leader_hw_change",
    )

    def __init__(
        self,
        first_offset: int,
        last_offset: int,
        last_leader_epoch: int | None,
        max_timestamp: int,
        log_append_time: int,
        log_start_offset: int,
        source_compression: CompressionType,
        valid_bytes: int,
        last_offset_of_first_batch: int,
        record_errors: tuple = (),
        leader_hw_change: LeaderHwChange = LeaderHwChange.NONE,
    ):
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.last_leader_epoch = last_leader_epoch
        self.max_timestamp = max_timestamp
        self.log_append_time = log_append_time
        self.log_start_offset = log_start_offset
        self.source_compression = source_compression
        self.valid_bytes = valid_bytes
        self.last_offset_of_first_batch = last_offset_of_first_batch
        self.record_errors = record_errors
        self.leader_hw_change = leader_hw_change

    @classmethod
    def unknown(cls, log_start_offset: int = -1, record_errors: tuple = ()) -> "LogAppendInfo":
        """The result of an append that failed.

        Kafka: `LogAppendInfo.unknownLogAppendInfoWithLogStartOffset`, `.unknownLogAppendInfoWithAdditionalInfo`.
        """
        return cls(
            -1, -1, None, NO_TIMESTAMP, NO_TIMESTAMP, log_start_offset, CompressionType.NONE, -1, -1, record_errors
        )

    @property
    def first_or_last_offset_of_first_batch(self) -> int:
        """The first offset if it is known, else the last offset of the first batch.

        Kafka: `LogAppendInfo.firstOrLastOffsetOfFirstBatch`.
        """
        return self.first_offset if self.first_offset >= 0 else self.last_offset_of_first_batch

    @property
    def num_messages(self) -> int:
        """Offsets that the append covers (an upper bound of its records). Kafka: `LogAppendInfo.numMessages`."""
        if self.first_offset >= 0 and self.last_offset >= 0:
            return self.last_offset - self.first_offset + 1
        return 0

    def copy(self, leader_hw_change: LeaderHwChange) -> "LogAppendInfo":
        """The same with another `leader_hw_change`. Kafka: `LogAppendInfo.copy`."""
        fields = [getattr(self, name) for name in self.__slots__[:-1]]
        return LogAppendInfo(*fields, leader_hw_change)

    def __repr__(self) -> str:
        return f"LogAppendInfo({', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__)})"


UNKNOWN_LOG_APPEND_INFO = LogAppendInfo.unknown()
