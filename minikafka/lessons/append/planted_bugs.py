"""What *Append* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log import log
from minikafka.log.append_analysis import analyze_and_validate_records
from minikafka.record.format.batch_header import LOG_OVERHEAD


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a batch counts as 12 bytes smaller than it is": (log, "analyze_and_validate_records", _without_the_overhead),
    }


def _without_the_overhead(*args: Any, max_message_size: int | None, **others: Any) -> Any:
    """Step 2 of an append with a limit that leaves room for base offset and length, which a batch's length does not
    count.
    """
    limit = None if max_message_size is None else max_message_size + LOG_OVERHEAD
    return analyze_and_validate_records(*args, max_message_size=limit, **others)
