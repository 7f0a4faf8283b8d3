"""What *Leader epochs* plants into minikafka for a moment, so that the witnesses can find it."""

from collections.abc import Callable
from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.leader_epoch_file_cache import LeaderEpochFileCache
from minikafka.log.log import Log


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a follower knows no leader epochs": (Log, "latest_epoch", property(_no_epoch)),
        "a leader's answer does not name the epoch": (
            LeaderEpochFileCache,
            "end_offset_for",
            _named_as_asked(LeaderEpochFileCache.end_offset_for),
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
