"""Partitions whose transactions reach over several segments."""

from pathlib import Path

from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord


def append_transactions(log: Log, *steps: str) -> None:
    """`write 7`: a batch of producer 7; `COMMIT 7`, `ABORT 7`: its marker; `roll`: a new segment."""
    sequences: dict[int, int] = {}
    for step in steps:
        what, _, producer = step.partition(" ")
        if what == "roll":
            log.roll()
        elif what == "write":
            producer_id = int(producer)
            sequence = sequences.get(producer_id, 0)
            record = SimpleRecord(1, b"k", b"v")
            batch = MemoryRecords.with_transactional_records(CompressionType.NONE, producer_id, 0, sequence, record)
            log.append_as_leader(batch, 0)
            sequences[producer_id] = sequence + 1
        else:
            marker = EndTransactionMarker(ControlRecordType[what], 0)
            batch = MemoryRecords.with_end_transaction_marker(1, int(producer), 0, marker)
            log.append_as_leader(batch, 0, AppendOrigin.COORDINATOR, transaction_version=1)


def of_transactions(directory: Path, *steps: str) -> Path:
    """A partition of producer 5, with the steps of `append_transactions`, and without the transaction index of its last
    segment.
    """
    with Log.open(directory) as log:
        append_transactions(log, *(step if step == "roll" else f"{step} 5" for step in steps))
        base_offset = log.active_segment.base_offset
    (directory / f"{base_offset:020}.txnindex").unlink(missing_ok=True)
    return directory
