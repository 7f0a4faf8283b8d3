"""What *Segments* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.log_segment import LogSegment


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a segment rolls when it would be exactly full": (LogSegment, "should_roll", _rolls_when_exactly_full),
    }


def _rolls_when_exactly_full(segment: Any, params: Any) -> bool:
    """`>=` where Kafka has `>`: a batch that would just fill the segment begins a new one."""
    return segment.size > 0 and segment.size >= params.max_segment_bytes - params.messages_size
