"""The answer to a fetch for one partition."""

from typing import NamedTuple

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.common.error_codes import Errors
from minikafka.log.fetch_data_info import AbortedTransaction
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords


class FetchPartitionData(NamedTuple):
    """What a reader is told of one partition; unknown offsets are −1.

    - `high_watermark`, `log_start_offset`: those of the log, before the read.
    - `diverging_epoch`: where a follower's log departs from the leader's; None if it does not.
    - `last_stable_offset`: None when there is an error.
    - `aborted_transactions`: None unless the last stable offset bounded the read.
    - `preferred_read_replica`: the broker that a consumer had better ask; None if this one will do.
    - `is_reassignment_fetch`: the reader is a follower that is being added.

    Kafka: `org.apache.kafka.server.storage.log.FetchPartitionData`.
    """

    error: Errors
    high_watermark: int
    log_start_offset: int
    records: FileRecords | MemoryRecords
    diverging_epoch: EpochEndOffset | None = None
    last_stable_offset: int | None = None
    aborted_transactions: list[AbortedTransaction] | None = None
    preferred_read_replica: int | None = None
    is_reassignment_fetch: bool = False
