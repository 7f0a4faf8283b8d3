"""A stream reads each record once, whatever happens to the directory between its micro-batches."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import CorruptRecordException, IllegalArgumentException
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark import register
from minikafka.spark.source import stream_reader
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.log_segments_on_disk import find_partitions
from tests.spark.drawn_log import NOW, DrawnLog, draw_log


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


def test_a_glob_may_find_log_directories_without_a_topic_and_nothing_else_as_in_a_batch_query(drawn, growing, tmp_path):
    pattern = tmp_path / "log-dir*"
    stream = reader(pattern / "any")
    start = stream.initialOffset()
    without_topic = tmp_path / "log-dir-2"
    without_topic.mkdir()
    for refuses in (lambda: stream.latestOffset(start, ReadAllAvailable()), lambda: find_partitions([str(pattern)])):
        with pytest.raises(
            IllegalArgumentException, match="log-dir-2 is neither a log directory nor a partition's dir"
        ):
            refuses()
    (without_topic / "meta.properties").touch()
    read, _ = batch(stream, start)
    assert read and [each.directory for each in find_partitions([str(pattern)])] == [str(growing)]


def test_micro_batches_follow_rolls_and_restarts(drawn, growing):
    read, position = [], reader(growing).initialOffset()
    for segments in range(2, drawn.segments + 1):
        grow(drawn, growing, segments)
        new, position = batch(reader(growing), position)  # a new reader: the query was restarted
        assert new
        read += new
    assert read == offsets(drawn)
    assert batch(reader(growing), position) == ([], position)


@pytest.mark.slow
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


def test_a_first_micro_batch_that_is_run_again_begins_where_it_began(drawn, tmp_path):
    """Spark asks for the initial offset again, and the answer is another one by then."""
    (growing := tmp_path / "log-dir" / "drawn-3").mkdir(parents=True)
    source = KafkaLogDataSource({"path": str(grow(drawn, growing, 1))})  # from the latest offset on
    start = source.streamReader(source.schema()).initialOffset()
    grow(drawn, growing, 2)
    read, end = batch(source.streamReader(source.schema()), start)
    grow(drawn, growing, 3)
    shutil.copytree(growing, growing.with_name("drawn-4"))
    source = KafkaLogDataSource({"path": str(growing.parent)})
    again = source.streamReader(source.schema())
    start_again = again.initialOffset()
    assert start_again["drawn"]["3"] > end["drawn"]["3"] and start_again["drawn"].keys() > end["drawn"].keys()
    assert read and between(again, start_again, end) == read
    # And the next one has what came after it, and the new partition from its start on.
    new, position = batch(again, end)
    assert new == offsets(drawn)[offsets(drawn).index(read[-1]) + 1 :][: len(new)] and position["drawn"]["4"] == 0


def test_a_first_micro_batch_that_found_no_topic_can_be_run_again(drawn, growing):
    home = growing.parent
    (home / "meta.properties").touch()
    growing.rename(home / "drawn-3.0123456789abcdef0123456789abcdef-delete")
    start = reader(growing).initialOffset()
    assert batch(reader(growing), start) == ([], {}) == ([], start)
    (home / "drawn-3.0123456789abcdef0123456789abcdef-delete").rename(growing)
    again = reader(growing)
    assert between(again, again.initialOffset(), {}) == []
    noted = batch(again, {})[1]
    assert batch(again, noted)[0] == offsets(drawn)[: len(batch(again, noted)[0])] != []


def test_a_partition_that_appears_is_read_from_its_start(drawn, growing):
    position = reader(growing).latestOffset(reader(growing).initialOffset(), ReadAllAvailable())
    other = grow(drawn, Path(shutil.copytree(growing, growing.with_name("drawn-4"))), drawn.segments)
    new, position = batch(reader(growing), position)
    assert new == [] and position["drawn"]["4"] == 0  # its start is noted, so that nothing is lost in silence, …
    (first, *_) = sorted(other.glob("*.log"))
    data = first.read_bytes()
    first.unlink()
    with pytest.raises(CorruptRecordException, match="offsets 0 to .* are asked for"):
        batch(reader(growing), position)
    first.write_bytes(data)
    assert batch(reader(growing), position)[0] == offsets(drawn)


def test_a_partition_is_read_once_the_broker_has_noted_its_high_watermark(drawn, growing):
    checkpoint = OffsetCheckpointFile(growing.parent / "replication-offset-checkpoint")
    checkpoint.write({TopicPartition("other", 0): 5})
    start = {"drawn": {"3": 0}}
    assert batch(reader(growing), start) == ([], start)
    assert batch(reader(growing, bounds="log_end"), start)[0]
    checkpoint.write({TopicPartition("drawn", 3): 40})
    new, end = batch(reader(growing), start)
    assert new == [offset for offset in offsets(drawn) if offset < 40]
    # The micro-batch that was begun is run again with the same offsets, whatever the checkpoint says by then.
    checkpoint.write({})
    assert between(reader(growing), start, end) == new
    checkpoint.file.write_text("nonsense")
    with pytest.raises(CorruptRecordException, match="replication-offset-checkpoint, position 0: KafkaStorageExc"):
        reader(growing).latestOffset(start, ReadAllAvailable())
    assert batch(reader(growing, mode="PERMISSIVE"), start) == ([], start)


@pytest.mark.slow
def test_a_compaction_between_two_renames_hides_nothing(drawn, growing):
    grow(drawn, growing, drawn.segments)
    first, second, third = sorted(growing.glob("*.log"))[:3]
    Path(f"{first}.swap").write_bytes(first.read_bytes() + second.read_bytes())
    start, first_and_second = {"drawn": {"3": 0}}, [first, second]
    for old in first_and_second:
        assert batch(reader(growing), start)[0] == offsets(drawn)
        old.rename(f"{old}.deleted")
    assert batch(reader(growing), start)[0] == offsets(drawn)
    stream = reader(growing)
    tasks = stream.partitions(start, stream.latestOffset(start, ReadAllAvailable()))
    Path(f"{first}.swap").rename(first)
    assert sum(each.num_rows for task in tasks for each in stream.read(task)) == len(drawn.records)
    assert batch(reader(growing), start)[0] == offsets(drawn)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"maxBytesPerTask": 700}])
def test_what_a_compaction_has_left_is_read_where_it_replaced_a_segment_twice(drawn, growing, options):
    grow(drawn, growing, drawn.segments)
    stream = reader(growing, **options)
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadAllAvailable())
    tasks = stream.partitions(start, end)
    first, second, third = sorted(growing.glob("*.log"))[:3]
    both = first.read_bytes() + second.read_bytes()
    for suffix in (".index", ".timeindex"):
        first.with_suffix(suffix).unlink()
    second.unlink()
    first.unlink()
    first.write_bytes(both)
    read = [row["offset"] for task in tasks for each in stream.read(task) for row in each.to_pylist()]
    assert sorted(read) == offsets(drawn)
    first.unlink()
    with pytest.raises(CorruptRecordException, match=f"{first}, position 0: NoSuchFileException"):
        [list(stream.read(task)) for task in tasks]
    lenient = reader(growing, mode="PERMISSIVE", **options)
    rows = [row for task in tasks for each in lenient.read(task) for row in each.to_pylist()]
    left = [offset for offset in offsets(drawn) if offset >= int(third.stem)]
    assert sorted(row["offset"] for row in rows if row["_corrupt"] is None) == left


def test_a_directory_that_is_being_moved_is_looked_for_again(drawn, growing, monkeypatch):
    stream = reader(growing)
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadAllAvailable())
    aside = growing.with_name(f"drawn-3.{'a' * 32}-future")
    growing.rename(aside)
    (growing.parent / "meta.properties").touch()
    monkeypatch.setattr(stream_reader.time, "sleep", lambda _: aside.exists() and aside.rename(growing))
    assert between(stream, start, end) == [each for each in offsets(drawn) if each < end["drawn"]["3"]]


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


def test_a_truncated_log_is_a_damage_and_the_query_does_not_go_back(drawn, growing, caplog):
    grow(drawn, growing, drawn.segments)
    stream = reader(growing)
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadAllAvailable())
    for log in sorted(growing.glob("*.log"))[2:]:
        log.unlink()
    with pytest.raises(CorruptRecordException, match="the log ends at offset .* it was truncated"):
        stream.latestOffset(end, ReadAllAvailable())
    going_on = reader(growing, mode="PERMISSIVE")
    assert not caplog.messages
    assert [going_on.latestOffset(end, ReadAllAvailable()) for _ in range(3)] == [end] * 3
    (told,) = caplog.messages
    assert "was truncated; the stream waits until it is longer" in told
    with pytest.raises(CorruptRecordException, match="there are 0 to"):
        stream.partitions(start, end)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"subscribePattern": "d.*"}, {"subscribe": "drawn"}, {"path": "glob"}])
@pytest.mark.parametrize("left_empty", [False, True])
def test_a_partition_that_goes_away_is_told_and_one_made_anew_is_a_new_one(
    growing, caplog, monkeypatch, options, left_empty
):
    monkeypatch.setattr(stream_reader, "_PAUSE_S", 0)
    other = Path(shutil.copytree(growing, growing.with_name("drawn-4")))
    identify(other, FIRST)
    options = {name: str(growing.parent / "drawn-*") if text == "glob" else text for name, text in options.items()}
    _, position = batch(reader(growing, **options), reader(growing, **options).initialOffset())
    read_to = position["drawn"]["4"]
    shutil.rmtree(other)
    if left_empty:  # as it is while a broker makes it anew
        other.mkdir()
        identify(other, FIRST)
    told = f"the partition is gone, which was read to offset {read_to}: some records may have been missed"
    for stream in (reader(growing, **options), reader(growing, **options)):
        stream.prepareForTriggerAvailableNow()
        with pytest.raises(CorruptRecordException) as raised:
            stream.latestOffset(position, ReadAllAvailable())
        assert str(raised.value) == f"drawn-4, position 0: OffsetOutOfRangeException: {told}"
    assert caplog.messages == []
    going_on = reader(growing, failOnDataLoss="false", **options)
    assert going_on.latestOffset(position, ReadAllAvailable())["drawn"] == {"3": position["drawn"]["3"]}
    assert caplog.messages == []
    new, end = batch(reader(growing, failOnDataLoss="false", **options), position)
    assert new == [] and end["drawn"] == {"3": position["drawn"]["3"]}
    assert caplog.messages == [f"drawn-4: {told}; the query goes on"]
    with pytest.raises(CorruptRecordException, match=f"^drawn-4, [^\n]*: {told}$"):
        reader(growing, **options).partitions(position, end)  # the micro-batch is run again
    lenient = reader(growing, mode="PERMISSIVE", **options)
    rows = [
        row for task in lenient.partitions(position, end) for each in lenient.read(task) for row in each.to_pylist()
    ]
    assert [row["_corrupt"]["file"] for row in rows] == ["drawn-4"]
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(growing, other)
    identify(other, SECOND)
    _, start = batch(reader(growing, **options), end)
    assert start["drawn"]["4"] == 0
    assert len(batch(reader(growing, **options), start)[0]) > 0


FIRST, SECOND = "J8qnbwG1TxCm_0gfHbKf_A", "7QkLnGdGTVSPb4QqBYLZkw"


def identify(directory: Path, topic_id: str) -> None:
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")


def made_anew(drawn: DrawnLog, directory: Path, topic_id: str) -> None:
    """The topic is deleted, and another of its name has as many records, and more."""
    shutil.rmtree(directory)
    directory.mkdir()
    grow(drawn, directory, drawn.segments)
    identify(directory, topic_id)


@pytest.mark.slow
def test_a_topic_that_was_made_anew_is_told_and_read_from_its_start(drawn, growing, caplog):
    identify(growing, FIRST)
    start = reader(growing).initialOffset()
    assert start == {"drawn": {"3": 0}, "topic ids": {"drawn": {"3": FIRST}}, "started at": {"drawn": {"3": 0}}}
    _, position = batch(reader(growing), start)
    made_anew(drawn, growing, SECOND)
    with pytest.raises(
        CorruptRecordException, match=r"drawn-3, position 0: [^\n]*topic was deleted and made anew[^\n]*$"
    ):
        reader(growing).latestOffset(position, ReadAllAvailable())
    for mode in ("DROPMALFORMED", "PERMISSIVE"):
        stream = reader(growing, mode=mode)
        read, end = batch(stream, position)
        assert read == offsets(drawn) and "made anew" in caplog.text
        assert end["topic ids"] == {"drawn": {"3": SECOND}}
        assert between(reader(growing, mode=mode), position, end) == read  # the micro-batch is run again
        assert batch(reader(growing), end) == ([], end)
        told = [
            row for task in stream.partitions(position, end) for each in stream.read(task) for row in each.to_pylist()
        ]
        damages = [row["_corrupt"]["exception"] for row in told if row.get("_corrupt")]
        assert len(damages) == (mode == "PERMISSIVE") and all("made anew" in each for each in damages)
    with pytest.raises(CorruptRecordException, match="made anew"):
        reader(growing).partitions(position, end)
    made_anew(drawn, growing, FIRST)  # and once more, before the micro-batch is run again
    assert between(reader(growing, mode="DROPMALFORMED"), position, end) == []


@pytest.mark.slow
def test_a_query_of_spark_tells_that_its_topic_was_made_anew_and_may_go_on(spark, drawn, growing, tmp_path):
    register(spark)
    identify(growing, FIRST)

    def run(**options) -> list[int]:
        stream = spark.readStream.format("minikafka").options(startingOffsets="earliest", **options).load(str(growing))
        written = stream.selectExpr("offset").writeStream.trigger(availableNow=True)
        written.option("checkpointLocation", str(tmp_path / "checkpoint"))
        written.start(str(tmp_path / "out"), format="parquet").awaitTermination()
        return sorted(row.offset for row in spark.read.parquet(str(tmp_path / "out")).collect())

    before = run()
    made_anew(drawn, growing, SECOND)
    with pytest.raises(StreamingQueryException, match="its topic was deleted and made anew"):
        run()
    after = run(failOnDataLoss=False)
    assert 0 < len(before) < len(offsets(drawn)) and after == sorted(before + offsets(drawn))
    assert run() == after


@pytest.mark.slow
def test_a_topic_that_was_made_anew_is_read_in_parts_and_may_be_empty(drawn, growing):
    identify(growing, FIRST)
    _, position = batch(reader(growing), reader(growing).initialOffset())
    made_anew(drawn, growing, SECOND)
    read, at = [], position
    for _ in range(100):
        new, at = batch(reader(growing, mode="DROPMALFORMED"), at, ReadMaxRows(50))
        read += new
    assert read == offsets(drawn)
    shutil.rmtree(growing)
    growing.mkdir()
    (growing / f"{0:020}.log").touch()
    identify(growing, FIRST)
    assert batch(reader(growing, mode="DROPMALFORMED"), at) == (
        [], {"drawn": {"3": 0}, "topic ids": {"drawn": {"3": FIRST}}, "started at": {"drawn": {"3": 0}}},
    )  # fmt: skip


def test_a_checkpoint_without_topic_ids_goes_on_and_gets_them(drawn, growing):
    old = batch(reader(growing), reader(growing).initialOffset())[1]
    assert list(old) == ["drawn", "started at"]
    identify(growing, FIRST)
    grow(drawn, growing, drawn.segments)
    read, position = batch(reader(growing), old)
    assert read == [each for each in offsets(drawn) if each >= old["drawn"]["3"]]
    assert position["topic ids"] == {"drawn": {"3": FIRST}}
    assert between(reader(growing), old, {"drawn": position["drawn"]}) == read  # as it was planned before
    (growing / "partition.metadata").unlink()
    assert batch(reader(growing), position) == ([], position)
    (growing / "partition.metadata").write_text("nonsense")
    with pytest.raises(CorruptRecordException, match=r"partition.metadata, position 0: [^\n]*$"):
        reader(growing).latestOffset(position, ReadAllAvailable())
    assert batch(reader(growing, mode="DROPMALFORMED"), position) == ([], position)


@pytest.mark.slow
def test_a_new_leader_truncates_the_log(tmp_path, caplog):
    directory = tmp_path / "log-dir" / "led-0"
    time = ManualTime(NOW)
    log = Log.create(directory, LogConfig({"internal.segment.bytes": 200}), scheduler=ManualScheduler(time), time=time)
    checkpoint = OffsetCheckpointFile(directory.parent / "replication-offset-checkpoint")

    def append(value: bytes, epoch: int, records: int) -> None:
        for _ in range(records):
            log.append_as_leader(
                MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(NOW, None, value)), epoch
            )

    def values(stream, start) -> tuple[list[bytes], dict]:
        end = stream.latestOffset(start, ReadAllAvailable())
        tasks = stream.partitions(start, end)
        return [row["value"] for task in tasks for each in stream.read(task) for row in each.to_pylist()], end

    append(b"old", 1, 10)
    checkpoint.write({TopicPartition("led", 0): 6})
    start = {"led": {"0": 0}}
    read, position = values(reader(directory), start)
    everything, beyond = values(reader(directory, bounds="log_end"), start)
    assert read == [b"old"] * 6 and everything == [b"old"] * 10
    log.truncate_to(6)
    append(b"new", 2, 2)
    with pytest.raises(CorruptRecordException, match="the log ends at offset 8 and was read to 10: it was truncated"):
        values(reader(directory, bounds="log_end"), beyond)
    append(b"new", 2, 5)
    checkpoint.write({TopicPartition("led", 0): 13})
    assert values(reader(directory), position)[0] == [b"new"] * 7
    with pytest.raises(
        CorruptRecordException, match="offset 9 was read in leader epoch 1 and is now of epoch 2: it was"
    ):
        values(reader(directory, bounds="log_end"), beyond)
    assert not caplog.messages
    going_on = reader(directory, bounds="log_end", failOnDataLoss="false")
    assert values(going_on, beyond)[0] == [b"new"] * 3  # as is said of bounds=log_end
    (told,) = caplog.messages
    assert "offset 9 was read in leader epoch 1 and is now of epoch 2: it was truncated; the query goes on" in told
    log.close()


@pytest.mark.slow
def test_a_micro_batch_that_is_run_again_is_none_of_two_histories(tmp_path, caplog):
    directory = tmp_path / "log-dir" / "led-0"
    time = ManualTime(NOW)
    log = Log.create(directory, LogConfig({}), scheduler=ManualScheduler(time), time=time)

    def append(value: bytes, epoch: int, records: int) -> None:
        for _ in range(records):
            log.append_as_leader(
                MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(NOW, None, value)), epoch
            )

    append(b"old", 0, 10)
    _, start = batch(reader(directory), reader(directory).initialOffset())
    append(b"old", 0, 3)
    read, end = batch(reader(directory), start)
    assert read == [10, 11, 12] and between(reader(directory), start, end) == read
    log.truncate_to(11)
    append(b"new", 1, 5)
    told = f"{directory}, position 0: .*: offset 12 was read in leader epoch 0 and is now of epoch 1: it was truncated"
    with pytest.raises(CorruptRecordException, match=f"^{told}$"):
        reader(directory).partitions(start, end)
    assert between(reader(directory, failOnDataLoss="false"), start, end) == read
    log.close()


def test_two_copies_of_a_partition_are_refused(growing, tmp_path):
    shutil.copytree(growing, tmp_path / "other" / growing.name)
    with pytest.raises(IllegalArgumentException, match="one copy of drawn-3"):
        reader(growing, path=str(tmp_path / "*")).initialOffset()


@pytest.mark.in_parts(4)
@pytest.mark.slow
def test_a_driver_that_is_killed_in_mid_stream_loses_and_doubles_nothing(spark, drawn, growing, tmp_path):
    register(spark)
    checkpoint, out = tmp_path / "checkpoint", tmp_path / "out"
    command = [sys.executable, "-m", "tests.spark.stream_slowly", growing, checkpoint, out]
    driver = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 150
    while len(list((checkpoint / "commits").glob("[0-9]*"))) < 2:
        assert driver.poll() is None and time.monotonic() < deadline, driver.communicate()
        time.sleep(0.01)
    os.killpg(driver.pid, signal.SIGKILL)  # its JVM, too
    driver.communicate()

    def read() -> list[int]:
        return sorted(row.offset for row in spark.read.parquet(str(out)).collect())

    def run() -> list[int]:
        stream = spark.readStream.format("minikafka").option("startingOffsets", "earliest").load(str(growing))
        written = stream.selectExpr("offset").writeStream.trigger(availableNow=True)
        written.option("checkpointLocation", str(checkpoint)).start(str(out), format="parquet").awaitTermination()
        return read()

    before = read()
    grow(drawn, growing, drawn.segments)
    assert before == offsets(drawn)[: len(before)] and 0 < len(before) < len(drawn.records)
    assert run() == offsets(drawn)
    assert run() == offsets(drawn)
