"""Where a leader epoch ends."""

from typing import NamedTuple

from minikafka.common.error_codes import Errors
from minikafka.log.leader_epoch_file_cache import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET


class EpochEndOffset(NamedTuple):
    """The newest leader epoch up to the one asked for, and where it ends (exclusive); both -1 without one.

    `error` says why there is no answer. In the answer to a fetch, where both logs differ from `end_offset` on, there
    is never one. Kafka: `OffsetForLeaderEpochResponseData.EpochEndOffset`, `FetchResponseData.EpochEndOffset`.
    """

    leader_epoch: int = UNDEFINED_EPOCH
    end_offset: int = UNDEFINED_EPOCH_OFFSET
    error: Errors = Errors.NONE
