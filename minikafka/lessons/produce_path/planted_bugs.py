"""What *The produce path* plants into minikafka for a moment, so that the witnesses can find it."""

from collections.abc import Callable
from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.server.replica_manager import ReplicaManager


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "acks=all is answered as soon as the leader has the records": (
            ReplicaManager,
            "_maybe_add_delayed_produce",
            _answers_at_once,
        ),
        "a request waits for its last offset, not for the one after it": (
            ReplicaManager,
            "_build_produce_partition_status",
            _waiting_for_the_last_offset(ReplicaManager._build_produce_partition_status),
        ),
    }


def _answers_at_once(
    manager: Any, required_acks: int, timeout_ms: int, results: Any, produce_status: Any, response_callback: Any
) -> None:
    """The answer with the leader's part done, whatever the acks are."""
    response_callback({key: status.response_status for key, status in produce_status.items()})


def _waiting_for_the_last_offset(build: Callable[[Any], Any]) -> Any:
    """The required high watermark one too low: the last record's own offset, not the one after it."""

    def built(results: Any) -> Any:
        found = build(results)
        for status in found.values():
            status.required_offset -= 1
        return found

    return staticmethod(built)
