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


@pytest.mark.parametrize(("kind", "first"), [("CreateTime", NOW - 5), ("LogAppendTime", NOW)])
def test_the_first_timestamp_is_the_one_that_a_reader_of_the_first_record_gets(tmp_path, kind, first):
    time = ManualTime(NOW)
    config = LogConfig({"message.timestamp.type": kind})
    with Log.create(tmp_path / "t-0", config, scheduler=ManualScheduler(time), time=time) as log:
        records = [SimpleRecord(NOW - late_by, b"k", b"v") for late_by in (5, 9, 0)]
        log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, *records), leader_epoch=0)
        (batch,) = log.log_segments[0].log.batches()
        assert first_timestamp(log.log_segments[0].log.file) == first == next(iter(batch)).timestamp
