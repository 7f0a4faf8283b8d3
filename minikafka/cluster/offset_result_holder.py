"""What a search for an offset by timestamp has found, and what the answer to a client depends on besides."""

from dataclasses import dataclass

from minikafka.common.errors import ApiException
from minikafka.record.files.file_records import TimestampAndOffset


@dataclass(slots=True)
class OffsetResultHolder:
    """The result of `Partition.fetch_offset_for_timestamp`.

    - `timestamp_and_offset`: what was found, None if nothing was.
    - `maybe_offsets_error`: to be raised if what was found is not below `last_fetchable_offset`, or nothing was.
    - `last_fetchable_offset` (exclusive): how far the reader may see; None where any offset may be answered.

    Simpler than Kafka: nothing is searched in remote storage, so every result is there at once.
    Kafka: `OffsetResultHolder`.
    """

    timestamp_and_offset: TimestampAndOffset | None
    maybe_offsets_error: ApiException | None = None
    last_fetchable_offset: int | None = None
