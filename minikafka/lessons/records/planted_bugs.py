"""What *Records* plants into minikafka for a moment, so that the witnesses can find it."""

from collections.abc import Callable
from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.record.format.record_batch import RecordBatch


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {
        "a batch's CRC is not compared": (RecordBatch, "is_valid", _always_valid),
        "a timestamp is written without a new CRC": (
            RecordBatch,
            "set_max_timestamp",
            _without_a_new_crc(RecordBatch.set_max_timestamp),
        ),
    }


def _without_a_new_crc(set_max_timestamp: Callable[..., None]) -> Callable[..., None]:
    """The timestamp written into a batch as if the CRC did not cover it."""

    def set_(batch: Any, timestamp_type: Any, max_timestamp: int) -> None:
        stored = bytes(batch.buffer[17:21])
        set_max_timestamp(batch, timestamp_type, max_timestamp)
        batch.buffer[17:21] = stored

    return set_


def _always_valid(_batch: Any) -> bool:
    """A batch that is believed as it is."""
    return True
