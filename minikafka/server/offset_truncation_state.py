"""Where a follower cuts its log."""

from typing import NamedTuple

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.log.leader_epoch_file_cache import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
from minikafka.log.log import Log


class OffsetTruncationState(NamedTuple):
    """Where a log is cut (`offset`, exclusive), and whether nothing more has to be cut after that.

    Kafka: `kafka.server.OffsetTruncationState`.
    """

    offset: int
    truncation_completed: bool


def get_offset_truncation_state(
    log: Log, leader_epoch_offset: EpochEndOffset, fetch_offset: int
) -> OffsetTruncationState:
    """Where to cut `log`, of whose last epoch the leader said: the newest that I know up to it is E, and ends at x.

    `leader_epoch_offset` is (E, x), `fetch_offset` the offset from which the follower would go on. When both logs know
    E, they agree up to where it ends first (KIP-101). When the follower does not know E, it goes back to the end of its
    next epoch below and asks again (KIP-279), which may take several rounds.

    Kafka: `AbstractFetcherThread.getOffsetTruncationState`.
    """
    # 1. The leader does not know where the epoch ends: cut at the offset from which the follower would fetch.
    if leader_epoch_offset.end_offset == UNDEFINED_EPOCH_OFFSET:
        return OffsetTruncationState(fetch_offset, truncation_completed=True)
    replica_end_offset = log.log_end_offset
    # 2. The answer has no epoch, as before version 1 of the request: cut at the leader's end.
    if leader_epoch_offset.leader_epoch == UNDEFINED_EPOCH:
        return OffsetTruncationState(min(leader_epoch_offset.end_offset, replica_end_offset), truncation_completed=True)
    # 3. The follower's newest epoch up to E, and where that ends here.
    found = log.end_offset_for_epoch(leader_epoch_offset.leader_epoch)
    # 4. There is none: cut at the leader's end.
    if found is None:
        return OffsetTruncationState(min(leader_epoch_offset.end_offset, replica_end_offset), truncation_completed=True)
    # 5. The follower does not know E: cut where its next lower epoch ends, and ask the leader about that one.
    if found.epoch != leader_epoch_offset.leader_epoch:
        return OffsetTruncationState(min(found.offset, replica_end_offset), truncation_completed=False)
    # 6. Both know E: cut at the lower of its two ends.
    end_offset = min(found.offset, leader_epoch_offset.end_offset, replica_end_offset)
    return OffsetTruncationState(end_offset, truncation_completed=True)
