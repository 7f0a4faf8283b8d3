"""What *Start and stop* plants into minikafka for a moment, so that the witnesses can find it."""

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.lab.stage.planted_bugs import Bug


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "the start leaves the marker where it is": (CleanShutdownFileHandler, "delete", _left),
    }


def _left(handler: CleanShutdownFileHandler) -> None:
    """The marker of the last clean stop, which is not deleted."""
