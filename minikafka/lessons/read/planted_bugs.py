"""What *Read isolation* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.local_log import LocalLog


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "aborted transactions are looked up in one segment": (
            LocalLog,
            "_collect_aborted_transactions",
            _one_segment_only,
        ),
    }


def _one_segment_only(local_log: Any, start_offset: int, upper_bound_offset: int, segment: Any) -> Any:
    """The search for aborted transactions, without later segments, where the marker may lie."""
    return segment.collect_aborted_txns(start_offset, upper_bound_offset).aborted_transactions
