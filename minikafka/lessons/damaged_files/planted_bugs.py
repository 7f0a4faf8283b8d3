"""What *Damaged and missing files* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.log_segment import LogSegment


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a missing offset index is not noticed": (LogSegment, "sanity_check", _without_the_first_question),
    }


def _without_the_first_question(segment: Any, *, time_index_file_newly_created: bool) -> None:
    """The sanity check without the question whether the offset index is there."""
    if time_index_file_newly_created:
        segment.time_index.resize(0)
    segment.txn_index.sanity_check()
