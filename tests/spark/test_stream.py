"""A stream reads each record once, whatever happens to the directory between its micro-batches."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from minikafka.common.errors import CorruptRecordException, IllegalArgumentException
from minikafka.spark import register
from minikafka.spark.source.data_source import KafkaLogDataSource
from tests.spark.drawn_log import DrawnLog, draw_log


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> DrawnLog:
    return draw_log(tmp_path_factory.mktemp("drawn"), 1)


@pytest.fixture
def growing(drawn, tmp_path) -> Path:
    """The first segments of a log; `grow` adds the others."""
    directory = tmp_path / "log-dir" / "drawn-3"
    directory.mkdir(parents=True)
    return grow(drawn, directory, 2)


def grow(drawn: DrawnLog, directory: Path, segments: int) -> Path:
    """Let the log have its first `segments` segments."""
    for log in sorted(drawn.directory.glob("*.log"))[:segments]:
        for file in drawn.directory.glob(f"{log.stem}.*"):
            shutil.copy(file, directory)
    return directory


def reader(directory: Path, **options):
    given = {"path": str(directory.parent), "startingOffsets": "earliest"}
    source = KafkaLogDataSource(given | {name.replace("__", "."): str(text) for name, text in options.items()})
    return source.streamReader(source.schema())


def batch(stream, start, limit=None) -> tuple[list[int], dict]:
    """The offsets of the micro-batch from `start` on, and where it ended."""
    end = stream.latestOffset(start, limit or ReadAllAvailable())
    return between(stream, start, end), end


def between(stream, start, end) -> list[int]:
    rows = [row for task in stream.partitions(start, end) for each in stream.read(task) for row in each.to_pylist()]
    return sorted(row["offset"] for row in rows if row["offset"] is not None)


def offsets(drawn: DrawnLog) -> list[int]:
    return [each.offset for each in drawn.records]


def test_micro_batches_follow_rolls_and_restarts(drawn, growing):
    read, position = [], reader(growing).initialOffset()
    for segments in range(2, drawn.segments + 1):
        grow(drawn, growing, segments)
        new, position = batch(reader(growing), position)  # a new reader: the query was restarted
        assert new
        read += new
    assert read == offsets(drawn)
    assert batch(reader(growing), position) == ([], position)


def test_a_limit_makes_more_and_smaller_batches(drawn, growing):
    grow(drawn, growing, drawn.segments)
    stream = reader(growing, maxOffsetsPerTrigger=7)
    limit, position, read = stream.getDefaultReadLimit(), stream.initialOffset(), []
    assert limit == ReadMaxRows(7)
    while position != stream.latestOffset(position, limit):
        new, position = batch(stream, position, limit)
        assert len(new) <= 7
        read += new
    assert read == offsets(drawn)


def test_a_limit_is_shared_by_the_partitions(drawn, growing):
    shutil.copytree(growing, growing.with_name("drawn-4"))
    stream = reader(growing)
    first = stream.initialOffset()["drawn"]
    ends = stream.latestOffset({"drawn": first}, ReadMaxRows(10))["drawn"]
    assert {name: ends[name] - first[name] for name in ends} == {"3": 5, "4": 5}


def test_available_now_ends_where_the_log_ended_when_it_began(drawn, growing):
    stream = reader(growing)
    stream.prepareForTriggerAvailableNow()
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadAllAvailable())
    grow(drawn, growing, drawn.segments)
    assert stream.latestOffset(start, ReadAllAvailable()) == end
    assert reader(growing).latestOffset(start, ReadAllAvailable()) != end


def test_a_stream_starts_at_the_end_unless_told(growing):
    source = KafkaLogDataSource({"path": str(growing)})
    stream = source.streamReader(source.schema())
    start = stream.initialOffset()
    assert start["drawn"]["3"] > 0 and stream.latestOffset(start, ReadAllAvailable()) == start


def test_a_partition_that_appears_is_read_from_its_start(drawn, growing):
    position = reader(growing).latestOffset(reader(growing).initialOffset(), ReadAllAvailable())
    grow(drawn, Path(shutil.copytree(growing, growing.with_name("drawn-4"))), drawn.segments)
    new, _ = batch(reader(growing), position)
    assert new == offsets(drawn)


def test_what_is_deleted_before_it_is_read_is_a_damage(drawn, growing):
    stream = reader(growing)
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadAllAvailable())
    first, second, *_ = sorted(growing.glob("*.log"))
    first.unlink()
    with pytest.raises(CorruptRecordException, match="offsets 0 to .* are asked for, and there are"):
        stream.partitions(start, end)
    left = [each for each in offsets(drawn) if int(second.stem) <= each < end["drawn"]["3"]]
    assert between(reader(growing, mode="DROPMALFORMED"), start, end) == left
    shutil.rmtree(growing)
    (growing.parent / "meta.properties").touch()
    with pytest.raises(CorruptRecordException, match="drawn-3.*the partition is gone"):
        stream.partitions(start, end)


def test_a_truncated_log_is_a_damage_and_the_query_does_not_go_back(drawn, growing):
    grow(drawn, growing, drawn.segments)
    stream = reader(growing)
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadAllAvailable())
    for log in sorted(growing.glob("*.log"))[2:]:
        log.unlink()
    assert stream.latestOffset(end, ReadAllAvailable()) == end
    with pytest.raises(CorruptRecordException, match="there are 0 to"):
        stream.partitions(start, end)


def test_two_copies_of_a_partition_are_refused(growing, tmp_path):
    shutil.copytree(growing, tmp_path / "other" / growing.name)
    with pytest.raises(IllegalArgumentException, match="one copy of drawn-3"):
        reader(growing, path=str(tmp_path / "*")).initialOffset()


@pytest.mark.slow
def test_spark_reads_every_record_once_over_a_restart(spark, drawn, growing, tmp_path):
    register(spark)

    def run() -> list[int]:
        stream = spark.readStream.format("minikafka").option("startingOffsets", "earliest").load(str(growing))
        query = (
            stream.selectExpr("offset")
            .writeStream.trigger(availableNow=True)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start(str(tmp_path / "out"), format="parquet")
        )
        query.awaitTermination()
        return sorted(row.offset for row in spark.read.parquet(str(tmp_path / "out")).collect())

    assert len(run()) < len(drawn.records)
    grow(drawn, growing, drawn.segments)
    assert run() == offsets(drawn)
    assert run() == offsets(drawn)
