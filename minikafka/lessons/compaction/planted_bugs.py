"""What *Compaction* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.cleaner import log_cleaner_manager
from minikafka.log.cleaner.cleanable_offsets import OffsetsToClean, cleanable_offsets


def bugs() -> dict[str, Bug]:
    """By its words: whose function is wrong, and what stands in its place."""
    return {
        "only the active segment ends a cleaning": (
            log_cleaner_manager,
            "cleanable_offsets",
            _up_to_the_active_segment,
        ),
    }


def _up_to_the_active_segment(log: Any, last_clean_offset: int | None, now: int) -> OffsetsToClean:
    """The cleanable part without the question whether its records are replicated, decided and old enough."""
    found = cleanable_offsets(log, last_clean_offset, now)
    return found._replace(first_uncleanable_dirty_offset=log.active_segment.base_offset)
