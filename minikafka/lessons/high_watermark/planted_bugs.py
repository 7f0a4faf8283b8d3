"""What *High watermark* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.log import Log


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "the leader's high watermark may fall": (Log, "maybe_increment_high_watermark", _may_fall),
    }


def _may_fall(log: Any, new_high_watermark: Any) -> Any:
    """The high watermark without the question whether the new one is higher."""
    if new_high_watermark.message_offset < 0:  # the end of a follower that has not fetched
        return None
    old = log._fetch_high_watermark_metadata()
    log._update_high_watermark_metadata(new_high_watermark)
    return old
