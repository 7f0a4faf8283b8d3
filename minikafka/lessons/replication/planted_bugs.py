"""What *Replication and leader epochs* plants into minikafka for a moment, so that the witnesses can find it."""

from collections.abc import Callable
from typing import Any

from minikafka.cluster.partition import Partition
from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.leader_epoch_file_cache import LeaderEpochFileCache
from minikafka.log.log import Log


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a follower knows no leader epochs": (Log, "latest_epoch", property(_no_epoch)),
        "a leader does not say of which epoch it speaks": (
            LeaderEpochFileCache,
            "end_offset_for",
            _named_as_asked(LeaderEpochFileCache.end_offset_for),
        ),
        "what was sent to a follower counts as received": (
            Partition,
            "update_follower_fetch_state",
            _sent_is_received(Partition.update_follower_fetch_state),
        ),
    }


def _no_epoch(log: Any) -> None:
    """A log without leader epochs: a broker that begins to follow cuts it to the high watermark."""


def _named_as_asked(end_offset_for: Callable[..., tuple[int, int]]) -> Callable[..., tuple[int, int]]:
    """The end of an epoch, as if it were always that of the epoch that was asked about."""

    def end(cache: Any, requested_epoch: int, log_end_offset: int) -> tuple[int, int]:
        found_epoch, found_end = end_offset_for(cache, requested_epoch, log_end_offset)
        return (requested_epoch if found_epoch >= 0 else found_epoch), found_end

    return end


def _sent_is_received(update_follower_fetch_state: Callable[..., None]) -> Callable[..., None]:
    """A leader that believes that a follower has what the answer to its fetch will bring it."""

    def update(partition: Any, replica: Any, **named: Any) -> None:
        named["follower_fetch_offset_metadata"] = partition.log.log_end_offset_metadata
        update_follower_fetch_state(partition, replica, **named)

    return update
