"""Where a segment ends, as far as its last batches and the last entries of its indexes tell."""

import pytest

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.segment_end import find_end, first_timestamp
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

NOW = 1_700_000_000_000


def test_the_largest_timestamp_is_that_of_an_earlier_batch(tmp_path):
    """The time index tells it; without one, or where it lies, the batches do."""
    with Log.open(tmp_path / "t-0", {"index.interval.bytes": "1"}) as log:
        for late_by in (0, 5000, 4000, 3000):
            record = SimpleRecord(NOW - late_by, b"k", b"v")
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), leader_epoch=0)
    segment = tmp_path / "t-0" / f"{0:020}.log"
    time_index = segment.with_suffix(".timeindex")
    entry = time_index.read_bytes()
    for lie in (entry, b"", bytes(12), (NOW + 1).to_bytes(8, "big") + entry[8:], entry[:8] + (3).to_bytes(4, "big")):
        time_index.write_bytes(lie)
        assert find_end(segment) == (4, NOW, 0, True, lie == entry)
    time_index.unlink()
    assert find_end(segment) == (4, NOW, 0, True, False)
    data = segment.read_bytes()
    segment.write_bytes(data[:80] + bytes(4) + data[84:])
    assert find_end(segment) == (4, NOW, 0, False, False)


@pytest.mark.parametrize(("kind", "first"), [("CreateTime", NOW - 5), ("LogAppendTime", NOW)])
def test_the_first_timestamp_is_the_one_that_a_reader_of_the_first_record_gets(tmp_path, kind, first):
    time = ManualTime(NOW)
    config = LogConfig({"message.timestamp.type": kind})
    with Log.create(tmp_path / "t-0", config, scheduler=ManualScheduler(time), time=time) as log:
        records = [SimpleRecord(NOW - late_by, b"k", b"v") for late_by in (5, 9, 0)]
        log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, *records), leader_epoch=0)
        (batch,) = log.log_segments[0].log.batches()
        assert first_timestamp(log.log_segments[0].log.file) == first == next(iter(batch)).timestamp
