"""Records that were below the high watermark and are not there any more are told, and never just left out."""

import os
from pathlib import Path

import pytest

from minikafka.common.errors import CorruptRecordException
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.source import settled_partitions
from minikafka.spark.source.data_source import KafkaLogDataSource
from tests.spark.rows import rows

HIGH_WATERMARKS = "replication-offset-checkpoint"
BATCH = 74  # bytes
COUNT = 11


def append(log_dir: Path, count: int) -> None:
    with Log.open(log_dir / "t-0", {"internal.segment.bytes": 3 * BATCH}) as log:
        for number in range(count):
            record = SimpleRecord(1, None, b"value%d" % (number % 10))
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), 0)
        (log_dir / HIGH_WATERMARKS).write_text(f"0\n1\nt 0 {log.log_end_offset}\n")


@pytest.fixture
def log_dir(tmp_path) -> Path:
    """A log of batches of one record, three a segment, whose high watermark is its end."""
    append(tmp_path, COUNT)
    return tmp_path


def segment(log_dir: Path, base_offset: int) -> Path:
    return log_dir / "t-0" / f"{base_offset:020}.log"


LOSSES = {
    "a batch": (lambda last: os.truncate(last, BATCH), 9, BATCH, 10),
    "a part of a batch": (lambda last: os.truncate(last, 2 * BATCH - 5), 9, BATCH, 10),
    "all of a segment": (lambda last: os.truncate(last, 0), 9, 0, 9),
    "a segment": (Path.unlink, 6, 3 * BATCH, 9),
}
"""What is done to the last segment; the segment in which the log ends then, the position (bytes), the offset."""


@pytest.mark.parametrize("loss", LOSSES)
def test_records_that_are_lost_below_the_high_watermark_are_told(log_dir, loss):
    lose, base_offset, position, end = LOSSES[loss]
    lose(segment(log_dir, 9))
    file = str(segment(log_dir, base_offset))
    told = f"the log ends at offset {end}, and the high watermark in {log_dir / HIGH_WATERMARKS} is {COUNT}"
    told = f"OffsetOutOfRangeException: {told}: records are lost"
    with pytest.raises(CorruptRecordException) as raised:
        rows(log_dir)
    assert str(raised.value) == f"{file}, position {position}: {told}"
    *there, row = sorted(rows(log_dir, mode="PERMISSIVE"), key=lambda row: row["_corrupt"] is not None)
    assert sorted(each["offset"] for each in there) == list(range(end))
    assert row["_corrupt"]["file"] == file and row["_corrupt"]["position"] == position
    assert row["_corrupt"]["exception"] == told
    # Where nobody asks for what is gone, or says that it does not matter, there is nothing to tell.
    for options in (
        {"mode": "DROPMALFORMED"},
        {"failOnDataLoss": False},
        {"bounds": "log_end"} if loss != "a part of a batch" else {"mode": "DROPMALFORMED"},
        {"endingOffsets": f'{{"t": {{"0": {end - 1}}}}}'},
    ):
        assert {row["offset"] for row in rows(log_dir, **options)} >= set(range(end - 1))
    assert len(rows(segment(log_dir, 0))) == 3


def test_a_stream_ends_where_records_are_lost(log_dir):
    segment(log_dir, 9).unlink()
    reader = stream(log_dir)
    start = reader.initialOffset()
    with pytest.raises(CorruptRecordException, match="the log ends at offset 9, [^\n]* is 11: records are lost"):
        reader.latestOffset(start, reader.getDefaultReadLimit())
    assert stream(log_dir, failOnDataLoss="false").latestOffset(start, reader.getDefaultReadLimit())["t"] == {"0": 9}


def stream(log_dir: Path, **options: str):
    source = KafkaLogDataSource({"path": str(log_dir), "startingOffsets": "earliest", **options})
    return source.streamReader(source.schema())


@pytest.mark.parametrize("count", [1, 5])
def test_what_a_broker_appends_while_a_query_is_planned_is_not_lost(log_dir, monkeypatch, count):
    """It notes the new high watermark after the query has seen the segments, in a rolled segment or the same one."""
    find = settled_partitions.find_partitions

    def find_and_append(*arguments):
        found = find(*arguments)
        append(log_dir, count)
        return found

    monkeypatch.setattr(settled_partitions, "find_partitions", find_and_append)
    assert [row["offset"] for row in rows(log_dir)] == list(range(COUNT))


@pytest.fixture
def sealed(tmp_path) -> Path:
    """A log of batches of one record, four a segment, whose indexes have an entry for each batch but the first."""
    settings = {"internal.segment.bytes": 4 * BATCH, "index.interval.bytes": 1}
    with Log.open(tmp_path / "t-0", settings) as log:
        for number in range(COUNT):
            record = SimpleRecord(number, None, b"value%d" % (number % 10))
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), 0)
    return tmp_path


def without_indexes(suffixes: tuple[str, ...], size: int):
    """The segment is cut, and has no more such indexes."""

    def lose(log: Path) -> None:
        os.truncate(log, size)
        for suffix in suffixes:
            log.with_suffix(suffix).unlink()

    return lose


GONE = {
    "all": (without_indexes((), 0), 0, "ends at byte 0, and its index has an entry for byte 74"),
    "all but for the time index": (without_indexes((".index",), 0), 0, "ends at byte 0, and its time index has .*"),
    "the last batch": (without_indexes((), 3 * BATCH), 3 * BATCH, "ends at byte 222, and its index has .* byte 222"),
    "the last batch, by the time index": (
        without_indexes((".index",), 3 * BATCH), 3 * BATCH, "ends at offset 6, and its time index has offset 7",
    ),
}  # fmt: skip


@pytest.mark.parametrize("loss", GONE)
def test_batches_that_are_gone_from_a_sealed_segment_are_told(sealed, loss):
    lose, position, told = GONE[loss]
    log = segment(sealed, 4)
    lose(log)
    told = f"CorruptRecordException: the sealed segment {told}: batches are gone"
    with pytest.raises(CorruptRecordException, match=f"^{log}, position {position}: {told}$"):
        rows(sealed)
    *there, row = sorted(rows(sealed, mode="PERMISSIVE"), key=lambda row: row["_corrupt"] is not None)
    assert sorted(each["offset"] for each in there) == [n for n in range(COUNT) if not 4 + position // BATCH <= n < 8]
    assert (row["_corrupt"]["file"], row["_corrupt"]["position"]) == (str(log), position)
    assert len(rows(sealed, mode="DROPMALFORMED")) == len(there)
    assert rows(sealed, startingOffsets='{"t": {"0": 8}}')  # nobody asks for what is gone


def test_a_last_segment_whose_indexes_know_more_is_sound(sealed):
    """A kill may leave it so; where batches below the high watermark are gone, the checkpoint tells."""
    os.truncate(segment(sealed, 8), BATCH)
    assert len(rows(sealed)) == 9
    os.truncate(segment(sealed, 8), 0)
    assert len(rows(sealed)) == 8
