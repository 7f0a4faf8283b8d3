"""What *An audit of a log directory* plants into minikafka for a moment, so that the witnesses can find it."""

from typing import Any

from minikafka.lab.stage.planted_bugs import Bug
from minikafka.spark.jobs import unread_records


def bugs() -> dict[str, Bug]:
    """By its words: whose method is wrong, and what stands in its place."""
    return {"a marker is taken for a record": (unread_records, "timestamp_from", _timestamp_of_a_record_or_marker)}


def _timestamp_of_a_record_or_marker(partition: Any, offset: int, bounds: Any) -> int | None:
    """The timestamp (ms) of what stands first from `offset` on and was not aborted; None for nothing."""
    from minikafka.spark.source.segment_positions import batches_from

    for segment in partition.segments:
        for batch in batches_from(segment, offset):
            if not any(
                each.producer_id == batch.producer_id and each.first_offset <= batch.base_offset < each.last_offset
                for each in bounds.aborted
            ):
                found = (each for each in batch if offset <= each.offset < bounds.end)
                if (record := next(found, None)) is not None:
                    return record.timestamp
    return None
