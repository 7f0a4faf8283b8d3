"""A log whose records say what they are: a record's offset is its value, and its time in ms since NOW."""

from pathlib import Path

from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

NOW = 1_700_000_000_000
RECORDS, RECORDS_A_BATCH = 300, 5


def ascending_log(directory: Path) -> Path:
    """The log in several segments, with indexes of some batches, in `directory`, which is returned."""
    with Log.open(directory, {"internal.segment.bytes": "2500", "index.interval.bytes": "500"}) as log:
        for first in range(0, RECORDS, RECORDS_A_BATCH):
            records = [SimpleRecord(NOW + each, b"k", b"%d" % each) for each in range(first, first + RECORDS_A_BATCH)]
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, *records), leader_epoch=0)
    return directory


def batches(directory: Path) -> list[tuple[Path, int, int]]:
    """Each batch: its file, its position there, its base offset."""
    return [
        (log, batch.position, batch.base_offset)
        for log in sorted(directory.glob("*.log"))
        for batch in FileRecords.open(log, mutable=False).batches()
    ]
