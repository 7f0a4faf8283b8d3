"""Where a segment ends, as far as its last batches and the last entries of its indexes tell."""

from minikafka.log.log import Log
from minikafka.log.segment_end import find_end
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

NOW = 1_700_000_000_000


def test_the_largest_timestamp_is_that_of_an_earlier_batch_which_only_the_time_index_tells(tmp_path):
    log = Log.open(tmp_path / "t-0", {"index.interval.bytes": "1"})
    for late_by in (0, 5000, 4000, 3000):
        record = SimpleRecord(NOW - late_by, b"k", b"v")
        log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), leader_epoch=0)
    log.close()
    segment = tmp_path / "t-0" / f"{0:020}.log"
    end = find_end(segment)
    assert (end.next_offset, end.last_timestamp) == (4, NOW)
    segment.with_suffix(".timeindex").unlink()
    assert find_end(segment).last_timestamp == NOW - 3000
