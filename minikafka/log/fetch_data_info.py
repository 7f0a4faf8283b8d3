"""What a read of a log or of a segment brings back."""

from dataclasses import dataclass
from typing import NamedTuple

from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.record.file_records import FileRecords
from minikafka.record.memory_records import MemoryRecords


class AbortedTransaction(NamedTuple):
    """An aborted transaction as a consumer is told of it. Kafka: `FetchResponseData.AbortedTransaction`."""

    producer_id: int
    first_offset: int


@dataclass(slots=True)
class FetchDataInfo:
    """The records of one read and where they begin.

    `fetch_offset_metadata` is the base offset and the place of the first batch in `records` (a fixed view of the file,
    or `MemoryRecords.EMPTY`). `first_entry_incomplete` says that the limit cut that batch short.
    `aborted_transactions` is None unless the read was bounded by the last stable offset.

    Kafka: `FetchDataInfo`.
    """

    fetch_offset_metadata: LogOffsetMetadata
    records: FileRecords | MemoryRecords
    first_entry_incomplete: bool = False
    aborted_transactions: list[AbortedTransaction] | None = None
