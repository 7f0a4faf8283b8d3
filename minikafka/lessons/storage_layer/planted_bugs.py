"""What *Background tasks* plants into minikafka for a moment, so that the witnesses can find it."""

from collections.abc import Mapping
from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.manager.log_dir_checkpoints import LogDirCheckpoints


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "the log end is written as the recovery point": (
            LogDirCheckpoints,
            "checkpoint_recovery_offsets_in_dir",
            _checkpointing_the_end,
        ),
    }


def _checkpointing_the_end(checkpoints: Any, log_dir: Any, logs: Mapping[Any, Any]) -> None:
    """The logs' ends, also what has not been flushed, where the recovery points are to be written."""
    recovery_points, _ = checkpoints._files[log_dir]
    recovery_points.write({partition: log.log_end_offset for partition, log in logs.items()})
