"""What *The produce purgatory* plants into minikafka for a moment, so that the witnesses can find it."""

from collections.abc import Callable
from typing import Any

from minikafka.cluster.partition import Partition
from minikafka.lab.stage.planted_bugs import Bug
from minikafka.server.replica_manager import ReplicaManager


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a rising high watermark wakes no request": (Partition, "try_complete_delayed_requests", _wakes_nobody),
        "a request waits for its last offset, not for the one after it": (
            ReplicaManager,
            "_build_produce_partition_status",
            _waiting_for_the_last_offset(ReplicaManager._build_produce_partition_status),
        ),
    }


def _wakes_nobody(partition: Any) -> None:
    """Those who wait for the partition are not asked again; only their timer is left."""


def _waiting_for_the_last_offset(build: Callable[[Any], Any]) -> Any:
    """The required high watermark one too low: the last record's own offset, not the one after it."""

    def built(results: Any) -> Any:
        found = build(results)
        for status in found.values():
            status.required_offset -= 1
        return found

    return staticmethod(built)
