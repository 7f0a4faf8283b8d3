"""Where a segment ends, as far as its last batches and the last entries of its indexes tell."""

import pytest

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.segment_end import find_end, first_timestamp
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.batch_header import write_header
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record import SimpleRecord
from minikafka.record.format.record_batch import RECORD_BATCH_OVERHEAD
from minikafka.record.format.timestamp_type import TimestampType

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


def emptied() -> MemoryRecords:
    """A batch whose records a compaction has removed."""
    builder = MemoryRecordsBuilder()
    builder.append(NOW - 7, b"k", b"v")
    batch = builder.build().first_batch()
    header = bytearray(batch.buffer[:RECORD_BATCH_OVERHEAD])
    write_header(
        header, 0, base_offset=0, last_offset_delta=0, size_in_bytes=RECORD_BATCH_OVERHEAD, magic=2,
        compression_type=CompressionType.NONE, timestamp_type=TimestampType.CREATE_TIME, base_timestamp=NOW - 7,
        max_timestamp=NOW - 7, producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=False,
        is_control_batch=False, is_delete_horizon_set=False, partition_leader_epoch=0, num_records=0,
    )  # fmt: skip
    return MemoryRecords(header)


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.GZIP])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_it_is_the_first_records_also_in_old_sets_behind_emptied_batches_and_with_a_delete_horizon(
    tmp_path, magic, compression
):
    records = [SimpleRecord(NOW - late_by, b"k", b"v") for late_by in (5, 9, 0)]
    segment = tmp_path / f"{0:020}.log"
    behind = [emptied().buffer, MemoryRecords.with_records(compression, *records, magic=magic).buffer]
    segment.write_bytes(b"".join(behind))
    assert first_timestamp(segment) == (-1 if magic == 0 else NOW - 5)
    if magic == 2:
        builder = MemoryRecordsBuilder(compression, delete_horizon_ms=NOW + 1000)
        for record in records:
            builder.append(*record)
        segment.write_bytes(builder.build().buffer)
        assert first_timestamp(segment) == NOW - 5
