"""What *Stored and safe* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.log.local_log import LocalLog


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a flush waits for one record more": (LocalLog, "unflushed_messages", property(_one_record_more)),
    }


def _one_record_more(local_log: Any) -> int:
    """One less than the number of records that are not flushed: a flush comes one record too late."""
    return local_log.log_end_offset_metadata.message_offset - local_log.recovery_point - 1
