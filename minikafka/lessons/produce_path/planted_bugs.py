"""What *The produce path* plants into minikafka for a moment, so that the witnesses can find it."""

from collections.abc import Callable
from typing import Any

from minikafka.cluster.partition import ACKS_ALL, Partition
from minikafka.common.errors import NotEnoughReplicasException
from minikafka.lab.stage.planted_bugs import Bug
from minikafka.server.replica_manager import ReplicaManager

_LEADER_ONLY = 1


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "acks=all is answered as soon as the leader has the records": (
            ReplicaManager,
            "_maybe_add_delayed_produce",
            _answers_at_once,
        ),
        "the minimum is checked after the append": (
            Partition,
            "append_records_to_leader",
            _checked_after(Partition.append_records_to_leader),
        ),
    }


def _answers_at_once(
    manager: Any, required_acks: int, timeout_ms: int, results: Any, produce_status: Any, response_callback: Any
) -> None:
    """The answer with the leader's part done, whatever the acks are."""
    response_callback({key: status.response_status for key, status in produce_status.items()})


def _checked_after(append_records_to_leader: Callable[..., Any]) -> Callable[..., Any]:
    """A leader that appends first, and refuses the request when its records are in the log already."""

    def append(partition: Any, records: Any, origin: Any, required_acks: int, *more: Any) -> Any:
        info = append_records_to_leader(partition, records, origin, _LEADER_ONLY, *more)
        in_sync, least = len(partition.partition_state.isr), partition._effective_min_isr(partition.log)
        if required_acks == ACKS_ALL and in_sync < least:
            raise NotEnoughReplicasException(f"{partition.topic_partition} has {in_sync} in sync and needs {least}")
        return info

    return append
