"""What *Crash and recovery* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.log_loader import LogLoader


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "an unclean log is not scanned": (LogLoader, "_recover_unflushed_segments", _not_scanned),
    }


def _not_scanned(loader: Any) -> None:
    """Recovery that believes every directory as it is, whatever the last stop was."""
