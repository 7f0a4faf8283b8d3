"""What *Replication* plants into minikafka for a moment, so that the witnesses can find it."""

from collections.abc import Callable
from typing import Any

from minikafka.cluster.partition import Partition
from minikafka.lab.stage.planted_bugs import Bug


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a follower is in sync as soon as it fetches": (Partition, "_is_follower_in_sync", _in_sync_at_once),
        "what was sent to a follower counts as received": (
            Partition,
            "update_follower_fetch_state",
            _sent_is_received(Partition.update_follower_fetch_state),
        ),
    }


def _in_sync_at_once(partition: Any, follower_replica: Any) -> bool:
    """True for any follower of a leader, however much it lacks."""
    return partition.leader_log_if_local is not None


def _sent_is_received(update_follower_fetch_state: Callable[..., None]) -> Callable[..., None]:
    """A leader that believes that a follower has what the answer to its fetch will bring it."""

    def update(partition: Any, replica: Any, **named: Any) -> None:
        named["follower_fetch_offset_metadata"] = partition.log.log_end_offset_metadata
        update_follower_fetch_state(partition, replica, **named)

    return update
