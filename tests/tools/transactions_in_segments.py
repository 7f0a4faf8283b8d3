"""A partition whose transactions reach over several segments, and that lost its last transaction index."""

from pathlib import Path

from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord


def of_transactions(directory: Path, *steps: str) -> Path:
    """A partition with a batch of producer 5 for each `write`, its marker for `COMMIT` and `ABORT`, and new segments
    for `roll`; without the transaction index of its last segment.
    """
    with Log.open(directory) as log:
        sequence = 0
        for step in steps:
            if step == "roll":
                log.roll()
            elif step == "write":
                batch = MemoryRecords.with_transactional_records(
                    CompressionType.NONE, 5, 0, sequence, SimpleRecord(1, b"k", b"v")
                )
                log.append_as_leader(batch, 0)
                sequence += 1
            else:
                marker = EndTransactionMarker(ControlRecordType[step], 0)
                batch = MemoryRecords.with_end_transaction_marker(1, 5, 0, marker)
                log.append_as_leader(batch, 0, AppendOrigin.COORDINATOR, transaction_version=1)
        base_offset = log.active_segment.base_offset
    (directory / f"{base_offset:020}.txnindex").unlink(missing_ok=True)
    return directory
