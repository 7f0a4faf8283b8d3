"""The job `transactions` against the log's own producers, however the log is cut into ranges."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from minikafka.common.errors import CorruptRecordException
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.jobs.byte_ranges import range_of, ranges
from minikafka.spark.jobs.transactions import _joined, _parts, transactions
from minikafka.witness.kafka.kafka_log import KafkaLog
from tests.spark.drawn_log import NOW, DrawnLog, draw_log
from tests.spark.jobs.before_1970 import put_first_batch_before_1970
from tests.spark.rows import rows


def answered(path: Path, mode: str = "FAILFAST", **options) -> list[dict]:
    """The producers of one partition, without Spark."""
    ranges = map(range_of, rows(path, table="ranges", bounds="log_end", **options))
    return _joined(pa.Table.from_batches(list(_parts(ranges, mode)))).to_pylist()


@pytest.fixture(scope="module", params=[3, 5])
def drawn(request, tmp_path_factory) -> DrawnLog:
    return draw_log(tmp_path_factory.mktemp("drawn"), request.param)


@pytest.mark.parametrize("size", [1, 2000, 1 << 30])
def test_ranges_of_any_size_give_one_answer(drawn, size):
    newest, *producers = answered(drawn.directory, maxBytesPerTask=size)
    assert newest["producerId"] is None
    assert newest["newest"] == max(record.timestamp for record in drawn.records)
    assert producers == answered(drawn.directory)[1:]
    assert min(each["openOffset"] or 1 << 62 for each in producers) == drawn.last_stable_offset
    assert sum(each["abortedRecords"] for each in producers) == len(drawn.aborted)


def test_a_time_that_is_too_long_to_count(tmp_path):
    with Log.open(tmp_path / "t-0") as log:
        for sequence in (0, 1):
            record = SimpleRecord(5, b"k", b"v")
            batch = MemoryRecords.with_transactional_records(CompressionType.NONE, 5, 0, sequence, record)
            log.append_as_leader(batch, 0)
        marker = EndTransactionMarker(ControlRecordType.COMMIT, 0)
        batch = MemoryRecords.with_end_transaction_marker(9, 5, 0, marker)
        log.append_as_leader(batch, 0, AppendOrigin.COORDINATOR, transaction_version=1)
    put_first_batch_before_1970(tmp_path / "t-0")
    _, producer = answered(tmp_path / "t-0")
    assert (producer["committed"], producer["longestMs"]) == (1, LONG_MAX)


def test_damage(drawn, tmp_path):
    copy = Path(shutil.copytree(drawn.directory, tmp_path / drawn.directory.name))
    log = sorted(copy.glob("*.log"))[0]
    data = bytearray(log.read_bytes())
    data[30] ^= 1
    log.write_bytes(data)
    with pytest.raises(CorruptRecordException, match=str(log)):
        answered(copy)
    assert answered(copy, "DROPMALFORMED")


def test_open_transactions_are_those_of_kafka(drawn, kafka, tmp_path):
    """Kafka's tool `find-hanging` asks for these: where a transaction began, and when its producer wrote last."""
    copy = Path(shutil.copytree(drawn.directory, tmp_path / drawn.directory.name))
    time = ManualTime(NOW)
    config = {"internal.segment.bytes": 4000, "retention.ms": -1}
    log = KafkaLog.create(kafka, copy, config, scheduler=ManualScheduler(time), time=time)
    try:
        known = {each[0]: (each[1], each[4], None if each[6] < 0 else each[6]) for each in log.producers}
    finally:
        log.close_handlers()
    _, *producers = answered(drawn.directory)
    told = {each["producerId"]: (each["producerEpoch"], each["last"], each["openOffset"]) for each in producers}
    assert {number: facts[::2] for number, facts in told.items()} == {n: facts[::2] for n, facts in known.items()}
    assert any(facts[2] is not None for facts in known.values())
    for number, (_, last, open_offset) in known.items():
        if open_offset is not None:
            assert told[number][1] == last


def test_with_spark(spark, drawn):
    found = ranges(spark, [drawn.directory], bounds="log_end", minPartitions=3)
    expected = answered(drawn.directory)
    newest = expected[0]["newest"]
    answer = [row.asDict() for row in transactions(found, open_longer_than=40).collect()]
    assert len(answer) == len(expected) - 1
    for row, each in zip(answer, expected[1:], strict=True):
        assert {name: row[name] for name in row.keys() & each.keys()} == {n: each[n] for n in row.keys() & each.keys()}
        is_open = each["openOffset"] is not None
        assert row["idleMs"] == (newest - each["last"] if is_open else None)
        assert row["openTooLong"] == (is_open and newest - each["last"] > 40)
        assert row["abortedShare"] == each["aborted"] / (each["aborted"] + each["committed"])
    (later,) = {
        row.idleMs - (newest + 9 - row.lastTimestamp.timestamp() * 1000)
        for row in transactions(found, now=newest + 9).collect()
        if row.idleMs is not None
    }
    assert abs(later) < 1
