"""What a read of a partition returns."""

from typing import NamedTuple

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.log.fetch_data_info import FetchDataInfo


class LogReadInfo(NamedTuple):
    """The records of one read, and the partition's offsets as they were just before it.

    `diverging_epoch` says where a follower's log differs from the leader's: the largest epoch up to the follower's that
    the leader knows, and where it ends there. The records are empty then. None if the logs agree, or for a consumer.

    Kafka: `LogReadInfo`.
    """

    fetched_data: FetchDataInfo
    diverging_epoch: EpochEndOffset | None
    high_watermark: int
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
