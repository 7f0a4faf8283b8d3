"""A topic that is replaced, under its own id, as `mode="overwrite"` does, or another, is not taken for the old one."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from minikafka.common.errors import CorruptRecordException, IllegalArgumentException
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.source import settled_segments
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.log_identity import LastBatch
from tests.spark.sink.writing import row, write

REPLACED = r"t-0, position 0: [^\n]*: its topic was replaced: offset 49 lies in another batch than the one [^\n]*$"


def put(log_dir: Path, value: bytes, count: int, **options) -> None:
    write(log_dir, [row(b"%s %d" % (value, number)) for number in range(count)], overwrite=True, **options)


def stream(log_dir: Path, **options: str):
    source = KafkaLogDataSource({"path": str(log_dir), "startingOffsets": "earliest", **options})
    return source.streamReader(source.schema())


def micro_batch(reader, start, limit=None) -> tuple[list[bytes], dict]:
    end = reader.latestOffset(start, limit or ReadAllAvailable())
    return between(reader, start, end), end


def between(reader, start, end) -> list[bytes]:
    tasks = reader.partitions(start, end)
    return [each["value"] for task in tasks for rows in reader.read(task) for each in rows.to_pylist()]


def values(value: bytes, count: int) -> list[bytes]:
    return [b"%s %d" % (value, number) for number in range(count)]


@pytest.fixture
def read_to(tmp_path) -> dict:
    """Where a stream is that has read the old topic."""
    put(tmp_path, b"old", 50)
    read, position = micro_batch(stream(tmp_path), stream(tmp_path).initialOffset())
    assert read == values(b"old", 50) and position["t"] == {"0": 50}
    return position


@pytest.mark.slow
def test_a_stream_tells_it_and_goes_on_at_the_start(tmp_path, read_to):
    put(tmp_path, b"new", 80)
    with pytest.raises(CorruptRecordException, match=REPLACED):
        micro_batch(stream(tmp_path), read_to)
    going_on = stream(tmp_path, failOnDataLoss="false")
    read, position = micro_batch(going_on, read_to)
    assert read == values(b"new", 80)
    assert between(stream(tmp_path, failOnDataLoss="false"), read_to, position) == read  # it is run again
    assert micro_batch(stream(tmp_path), position) == ([], position)
    with pytest.raises(CorruptRecordException, match=REPLACED):
        stream(tmp_path).partitions(read_to, position)
    put(tmp_path, b"third", 80)
    assert between(going_on, read_to, position) == []  # nothing of the topic that was to be read is there


@pytest.mark.parametrize("limit", [10, 50, 60])
def test_a_stream_reads_it_in_parts_that_end_before_at_or_behind_what_was_read(tmp_path, read_to, limit):
    put(tmp_path, b"new", 80, batch__size=200)
    read, position = [], read_to
    for _ in range(9):
        part, position = micro_batch(stream(tmp_path, failOnDataLoss="false"), position, ReadMaxRows(limit))
        assert len(part) <= limit
        read += part
    assert read == values(b"new", 80)


def test_a_stream_waits_for_a_shorter_topic_and_then_reads_it_whole(tmp_path, read_to):
    put(tmp_path, b"new", 15)
    with pytest.raises(CorruptRecordException, match="the log ends at offset 15 and was read to 50"):
        micro_batch(stream(tmp_path), read_to)
    read, position = micro_batch(stream(tmp_path, failOnDataLoss="false"), read_to)
    assert read == [] and position == read_to
    put(tmp_path, b"new", 80)
    assert micro_batch(stream(tmp_path, failOnDataLoss="false"), position)[0] == values(b"new", 80)


def test_the_same_table_once_more_is_the_same_topic(tmp_path, read_to):
    put(tmp_path, b"old", 50)
    assert micro_batch(stream(tmp_path), read_to) == ([], read_to)


def test_a_checkpoint_without_last_batches_goes_on_and_gets_them(tmp_path, read_to):
    old = {name: value for name, value in read_to.items() if name != "last batches"}
    put(tmp_path, b"new", 80)
    read, position = micro_batch(stream(tmp_path), old)
    assert read == values(b"new", 80)[50:] and position["last batches"]["t"]["0"][:3] == [0, 79, 80]
    with pytest.raises(IllegalArgumentException, match="'last batches' that are none"):
        stream(tmp_path).latestOffset(old | {"last batches": {"t": {"0": [1, 2]}}}, ReadAllAvailable())


KNOWN = LastBatch(base_offset=40, last_offset=49, records=10, crc=7, leader_epoch=3)


@pytest.mark.parametrize(
    ("there", "is_another"),
    [
        (KNOWN, False),
        (None, False),  # compacted away, deleted, or not there yet
        (KNOWN._replace(records=4, crc=8), False),  # compacted; or the other way round, as in another broker's copy
        (KNOWN._replace(crc=-1), False),  # a compaction has set its delete horizon
        (KNOWN._replace(crc=8, leader_epoch=4), False),  # a new leader has truncated the log
        (KNOWN._replace(crc=8), True),
        (KNOWN._replace(base_offset=0, crc=8), True),
        (KNOWN._replace(last_offset=60, crc=8), True),
        (KNOWN._replace(crc=8, leader_epoch=2), True),  # leader epochs only grow
        (KNOWN._replace(leader_epoch=2), False),  # a flipped bit, which no checksum covers
    ],
)
def test_what_tells_another_log(there, is_another):
    assert KNOWN.is_of_another_log(there) is is_another


@pytest.mark.parametrize("place", [12, 17, 20, 35, 57, 60, -1])
def test_a_flipped_bit_in_the_last_batch_that_was_read_makes_no_other_topic_of_it(tmp_path, read_to, place):
    """In its leader epoch, its checksum, its producer's first and its records' bytes."""
    (log,) = (tmp_path / "t-0").glob("*.log")
    *_, last = FileRecords.open(log, mutable=False).batches()
    data = bytearray(log.read_bytes())
    data[(last.position if place >= 0 else 0) + place] ^= 1
    log.write_bytes(data)
    for mode in ("FAILFAST", "PERMISSIVE", "DROPMALFORMED"):
        assert micro_batch(stream(tmp_path, mode=mode), read_to) == ([], read_to)


# ---- while a query reads: it is planned, and then the topic is another one

IS_GONE = r"t-0/0{20}\.log was deleted or replaced after the query was planned"


class Planned:
    """A batch query of which nothing has been read."""

    def __init__(self, log_dir: Path, **options: str):
        source = KafkaLogDataSource({"path": str(log_dir), "maxBytesPerTask": "100", **options})
        self._reader = source.reader(source.schema())
        self._tasks = self._reader.partitions()

    def values(self) -> list[bytes]:
        return [each["value"] for task in self._tasks for rows in self._reader.read(task) for each in rows.to_pylist()]


def topic(log_dir: Path, value: bytes, count: int, topic_id: str, segments: int = 1) -> Path:
    """A partition as a broker has it: the topic's id lies in it."""
    directory = log_dir / "t-0"
    with Log.open(directory) as log:
        (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
        for number in range(count):
            record = SimpleRecord(1, None, b"%s %d" % (value, number))
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), leader_epoch=0)
            if number % -(-count // segments) == 0 and number:
                log.roll()
    return directory


OLD_ID, NEW_ID = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


@pytest.mark.parametrize("count", [20, 50, 80])
def test_a_topic_made_anew_is_not_read_in_the_place_of_the_old_one(tmp_path, count):
    old = topic(tmp_path, b"old", 50, OLD_ID, segments=3)
    planned, careless = Planned(tmp_path), Planned(tmp_path, failOnDataLoss="false")
    aside = old.rename(tmp_path / "t-0.0123456789abcdef0123456789abcdef-delete")
    topic(tmp_path, b"new", count, NEW_ID, segments=3)
    assert planned.values() == values(b"old", 50)  # as long as its files are there
    shutil.rmtree(aside)
    with pytest.raises(CorruptRecordException, match=IS_GONE):
        planned.values()
    assert careless.values() == []


def test_nor_where_its_files_have_the_inodes_of_the_old_ones(tmp_path):
    old = topic(tmp_path, b"old", 50, OLD_ID)
    planned = Planned(tmp_path)
    (log,) = old.glob("*.log")
    inode, size = log.stat().st_ino, log.stat().st_size
    (old / "partition.metadata").write_text(f"version: 0\ntopic_id: {NEW_ID}")
    log.write_bytes(log.read_bytes().replace(b"old", b"new"))
    assert (log.stat().st_ino, log.stat().st_size) == (inode, size)
    with pytest.raises(CorruptRecordException, match=IS_GONE):
        planned.values()


@pytest.mark.parametrize("count", [20, 50, 80])
def test_nor_a_log_that_is_written_anew(tmp_path, count):
    put(tmp_path, b"old", 50)
    planned = Planned(tmp_path)
    put(tmp_path, b"new", count)
    with pytest.raises(CorruptRecordException, match=IS_GONE):
        planned.values()


def test_a_partition_whose_topic_gets_its_id_meanwhile_is_planned_with_it(tmp_path, monkeypatch):
    directory = topic(tmp_path, b"old", 50, OLD_ID)
    text = (directory / "partition.metadata").read_text()
    (directory / "partition.metadata").unlink()
    listed = settled_segments._listed

    def listed_and_written(where):
        (directory / "partition.metadata").write_text(text)
        return listed(where)

    monkeypatch.setattr(settled_segments, "_listed", listed_and_written)
    planned = Planned(tmp_path)
    assert planned.values() == values(b"old", 50)
