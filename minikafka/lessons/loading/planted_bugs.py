"""What *Loading* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.log_loader import LogLoader
from minikafka.log.log_segment import LogSegment


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a .swap file keeps its name": (LogLoader, "_rename_swap_files", _not_renamed),
        "a segment ends where its index does": (LogSegment, "read_next_offset", _ends_with_its_index),
    }


def _not_renamed(loader: Any) -> None:
    """A load that leaves `.swap` files as they are."""


def _ends_with_its_index(segment: Any) -> int:
    """The end of a segment by its last index entry alone, without the batches behind it."""
    return int(segment.offset_index.last_offset) + 1 if segment.offset_index.entries else segment.base_offset
