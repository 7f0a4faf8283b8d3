"""Where a segment of tiered storage ends, by the last bytes of its file; what that decides is in test_uris.py."""

import random

import pytest

from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.source.file_identity import file_identity, log_mark
from minikafka.spark.source.local_storage import LocalStorage
from minikafka.spark.source.storage import StoredFile
from minikafka.spark.source.tiered_segments import _last_offset, without_those_within_others

NAME = "{}-AAAAAAAAAAAAAAAAAAAA{}w.log"


def batches(*counts, codec=CompressionType.NONE, magic=2, size=10, first=0) -> bytes:
    written, values = b"", random.Random(7)
    for count in counts:
        records = [SimpleRecord(1, None, values.randbytes(size)) for _ in range(count)]
        written += MemoryRecords.with_records(codec, *records, magic=magic, initial_offset=first).buffer
        first += count
    return written


def stored(tmp_path, data, number=1, base_offset=0):
    file = tmp_path / NAME.format(base_offset, number)
    file.write_bytes(data)
    return StoredFile(str(file), len(data), file_identity(log_mark(str(tmp_path)), file.stat().st_ino))


@pytest.mark.parametrize(
    ("data", "last_offset"),
    [
        (batches(3, 4), 6),
        (batches(1), 0),
        (batches(2, 5, codec=CompressionType.GZIP), 6),
        (batches(2, 5, magic=0), 6),
        (batches(2, 5, magic=1), 6),
        (batches(2, 5, magic=1, codec=CompressionType.GZIP), 6),
        (batches(9, 2, size=50_000), 10),
        (batches(4, size=400_000), 3),
        (batches(2, size=1_200_000), 1),
        (batches(2, 1, size=2_500_000), 2),
        (batches(2, 3, size=1_500_000)[:-1], None),
        (batches(3, 4)[:-1], None),
        (batches(3, 4)[:-1] + b"x", None),
        (b"", None),
        (bytes(500), None),
    ],
    ids=lambda value: f"{len(value)} bytes" if isinstance(value, bytes) else str(value),
)
def test_where_a_segment_ends(tmp_path, data, last_offset):
    assert _last_offset(LocalStorage(), stored(tmp_path, data)) == last_offset


def test_a_record_that_holds_a_batch_is_not_taken_for_one(tmp_path):
    within = batches(30)
    data = MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(1, None, within)).buffer
    assert _last_offset(LocalStorage(), stored(tmp_path, bytes(data))) == 0


def test_a_segment_whose_end_is_not_known_stays(tmp_path):
    found = {
        base_offset: stored(tmp_path, data, base_offset=base_offset)
        for base_offset, data in ((0, batches(9)), (3, batches(2, first=3)), (5, batches(2, first=5)[:-1]))
    }
    assert list(without_those_within_others(LocalStorage(), found)) == [0, 5]
