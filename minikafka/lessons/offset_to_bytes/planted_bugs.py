"""What *From an offset to bytes* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.log_segment import LogSegment
from minikafka.record.files.file_records import LogOffsetPosition


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a scan compares base offsets alone": (LogSegment, "translate_offset", _by_base_offset),
    }


def _by_base_offset(segment: Any, offset: int, starting_file_position: int = 0) -> LogOffsetPosition | None:
    """The first batch that begins at or above `offset`, and not one that begins below `offset` and holds it."""
    position = max(segment.offset_index.lookup(offset).position, starting_file_position)
    for batch in segment.log.batches_from(position):
        if batch.base_offset >= offset:
            return LogOffsetPosition.from_batch(batch)
    return None
