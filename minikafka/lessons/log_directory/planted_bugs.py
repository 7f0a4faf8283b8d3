"""What *A log directory at scale* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.spark.source import read_task


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "the last timestamp of a segment is taken for its largest": (
            read_task,
            "is_older",
            _ends_earlier,
        ),
    }


def _ends_earlier(segment: Any, timestamp: int) -> bool:
    """Whether the timestamp with which a segment ends, taken for the largest in it, is earlier."""
    from minikafka.spark.source.segment_positions import batches_from

    times = [batch.max_timestamp for batch in batches_from(segment, segment.base_offset)]
    return (times[-1] if times else -1) < timestamp
