"""What a read of a log or of a segment returns."""

from dataclasses import dataclass
from typing import NamedTuple

from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords


class AbortedTransaction(NamedTuple):
    """An aborted transaction as a consumer learns of it. Kafka: `FetchResponseData.AbortedTransaction`."""

    producer_id: int
    first_offset: int


@dataclass(slots=True)
class FetchDataInfo:
    """The records of one read and where they begin.

    - `fetch_offset_metadata`: the base offset and the place of the first batch.
    - `records`: a fixed view of the file, or `MemoryRecords.EMPTY`.
    - `first_entry_incomplete`: True when the limit cut the first batch short.
    - `aborted_transactions`: None unless the last stable offset bounded the read.

    Kafka: `FetchDataInfo`.
    """

    fetch_offset_metadata: LogOffsetMetadata
    records: FileRecords | MemoryRecords
    first_entry_incomplete: bool = False
    aborted_transactions: list[AbortedTransaction] | None = None
