"""The job `transactions` against the log's own producers, however the log is cut into ranges."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from minikafka.common.errors import CorruptRecordException
from minikafka.spark.jobs.byte_ranges import range_of, ranges
from minikafka.spark.jobs.transactions import _joined, _parts, transactions
from tests.spark.drawn_log import DrawnLog, draw_log
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


def test_damage(drawn, tmp_path):
    copy = Path(shutil.copytree(drawn.directory, tmp_path / drawn.directory.name))
    log = sorted(copy.glob("*.log"))[0]
    data = bytearray(log.read_bytes())
    data[30] ^= 1
    log.write_bytes(data)
    with pytest.raises(CorruptRecordException, match=str(log)):
        answered(copy)
    assert answered(copy, "DROPMALFORMED")


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
