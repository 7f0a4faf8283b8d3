"""What the data source says to options, checkpoints and directories that do not fit together, and what limits do."""

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from minikafka.common.errors import (
    CorruptRecordException,
    IllegalArgumentException,
    UnknownTopicOrPartitionException,
)
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.sink.sink_options import SinkOptions
from minikafka.spark.source import stream_reader
from minikafka.spark.source.data_source import KafkaLogDataSource
from tests.spark.drawn_log import DrawnLog, draw_log
from tests.spark.rows import batches_of, rows

DEEP = "[" * 100_000


@pytest.fixture(scope="module")
def one(tmp_path_factory) -> DrawnLog:
    return draw_log(tmp_path_factory.mktemp("one"), 1)


def reader(one: DrawnLog, **options: str):
    source = KafkaLogDataSource({"path": str(one.directory), "startingOffsets": "earliest", **options})
    return source.streamReader(source.schema())


def offsets(tasks) -> list[list[int]]:
    return [[row["offset"] for batch in task for row in batch.to_pylist()] for task in tasks]


@pytest.mark.parametrize(
    "name, told",
    [
        ("startingOffset", "the nearest is startingOffsets"),
        ("subscribePatern", "the nearest is subscribePattern"),
        ("isolationlevel", "the nearest is isolation.level"),
        ("mod", "the nearest is mode"),
        ("xyz", "there are path, paths, table"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_one(one, name, told):
    with pytest.raises(IllegalArgumentException, match=f"There is no option '{name}'; {told}"):
        rows(one.directory, **{name: "latest"})
    with pytest.raises(IllegalArgumentException, match=told):
        reader(one, **{name: "latest"})


def test_an_unknown_option_of_the_writer_is_refused():
    with pytest.raises(IllegalArgumentException, match="There is no option 'partition'; the nearest is partitions"):
        SinkOptions.of({"path": "x", "topic": "t", "partition": "3"})


def test_options_of_the_connector_that_mean_nothing_here_are_ignored(one):
    ignored = {
        "kafka.bootstrap.servers": "x:1", "kafka.ssl.truststore.location": "x", "groupIdPrefix": "g",
        "kafkaConsumer.pollTimeoutMs": "1", "fetchOffset.numRetries": "1", "fetchOffset.retryIntervalMs": "1",
    }  # fmt: skip
    assert len(rows(one.directory, **ignored)) == len(one.records)


@pytest.mark.parametrize("text", [DEEP, '{"drawn": ' * 50_000, "9" * 10_000, '{"drawn": {"3": ' + "9" * 10_000 + "}}"])
@pytest.mark.parametrize(
    "option", ["startingOffsets", "endingOffsets", "startingOffsetsByTimestamp", "endingOffsetsByTimestamp", "assign"]
)
def test_json_of_any_depth_is_refused_in_a_short_line(one, option, text):
    with pytest.raises(IllegalArgumentException, match=f"{option}.* is not of the form") as refused:
        rows(one.directory, **{option: text})
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("text", ["", " "])
def test_a_pattern_that_is_empty_is_refused_as_by_the_connector(one, text):
    """It is found in every name: a variable without a value in a script would read all topics."""
    with pytest.raises(IllegalArgumentException, match="subscribePattern is empty"):
        rows(one.directory, subscribePattern=text)


@pytest.mark.parametrize("text", ["", "[", "{}", "5", "[5]", "null", DEEP])
def test_paths_are_a_list(text):
    with pytest.raises(IllegalArgumentException, match="paths is no JSON list of paths"):
        KafkaLogDataSource({"paths": text}).schema()


@pytest.mark.parametrize(
    "told",
    [
        {"drawn": {"3": -5}}, {"drawn": {"3": "1"}}, {"drawn": {"3": 1.5}}, {"drawn": {"x": 1}}, {"drawn": 5}, [], None,
        {"drawn": {"3": None}}, {"drawn": {"3": True}}, {"drawn": {"3": 2**63}}, {"drawn": {"-3": 1}}, 5, "x",
    ],
)  # fmt: skip
def test_a_malformed_checkpoint_is_refused(one, told):
    stream = reader(one)
    for ask in (
        lambda: stream.latestOffset(told, ReadAllAvailable()),
        lambda: stream.partitions(told, {"drawn": {"3": 10}}),
        lambda: stream.partitions({"drawn": {"3": 0}}, told),
    ):
        with pytest.raises(IllegalArgumentException, match="checkpoint"):
            ask()


def test_a_subscribed_topic_that_goes_away_ends_a_stream(one, tmp_path):
    log_dir = Path(shutil.copytree(one.directory.parent, tmp_path / "data"))
    (log_dir / "meta.properties").touch()
    by_name, by_pattern = (
        reader(one, path=str(log_dir), **{how: "drawn"}) for how in ("subscribe", "subscribePattern")
    )
    start = by_name.initialOffset()
    end = by_name.latestOffset(start, ReadAllAvailable())
    shutil.rmtree(log_dir / one.directory.name)
    with pytest.raises(UnknownTopicOrPartitionException, match="no topic drawn"):
        by_name.latestOffset(end, ReadAllAvailable())
    with pytest.raises(CorruptRecordException, match="^drawn-3, position 0: .*the partition is gone"):
        by_pattern.latestOffset(end, ReadAllAvailable())


@pytest.mark.slow
def test_what_is_gone_is_passed_over_without_fail_on_data_loss(one, tmp_path, caplog):
    copy = Path(shutil.copytree(one.directory, tmp_path / one.directory.name))
    first, second, *_ = sorted(copy.glob("*.log"))
    first.unlink()
    left = [each.offset for each in one.records if each.offset >= int(second.stem)]
    asked = {"startingOffsets": '{"drawn": {"3": 0}}'}
    with pytest.raises(
        CorruptRecordException, match=f"offsets 0 to .* are asked for, and there are {int(second.stem)}"
    ):
        rows(copy, **asked)
    assert caplog.messages == []
    assert [row["offset"] for row in rows(copy, **asked, failOnDataLoss="false")] == left
    (told,) = caplog.messages
    assert told.startswith(f"{copy}: offsets 0 to") and told.endswith("; the query goes on")
    (told,) = (row["_corrupt"] for row in rows(copy, **asked, mode="PERMISSIVE") if row["_corrupt"])
    assert told["exception"].startswith("OffsetOutOfRangeException: offsets 0 to")
    with pytest.raises(CorruptRecordException, match="OffsetOutOfRangeException"):
        rows(copy, **asked, mode="DROPMALFORMED", failOnDataLoss="true")
    # What is damaged is no loss.
    second.write_bytes(second.read_bytes()[:70] + b"?" + second.read_bytes()[71:])
    with pytest.raises(CorruptRecordException, match=f"{second}, position 0"):
        rows(copy, failOnDataLoss="false")


def test_an_offset_behind_the_high_watermark_is_told_with_what_to_do(one, tmp_path):
    copy = Path(shutil.copytree(one.directory, tmp_path / one.directory.name))
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\ndrawn 3 40\n")
    asked = {"endingOffsets": '{"drawn": {"3": 60}}'}
    with pytest.raises(
        CorruptRecordException, match="offsets 0 to 60 are asked for, and there are 0 to 40.*bounds=log_end"
    ):
        rows(copy, **asked)
    assert rows(copy, **asked, bounds="log_end")[-1]["offset"] < 60
    with pytest.raises(IllegalArgumentException, match="starts at offset 60, behind its end 40.*bounds=log_end"):
        rows(copy, startingOffsets='{"drawn": {"3": 60}}')


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 7, 30, 10_000])
def test_no_task_has_more_records_than_allowed(one, most):
    parts = offsets(batches_of(one.directory, (), None, {"maxRecordsPerPartition": str(most)}))
    assert [offset for part in parts for offset in part] == [each.offset for each in one.records]
    assert max(map(len, parts)) <= most
    stream = reader(one, maxRecordsPerPartition=str(most))
    start = stream.initialOffset()
    tasks = stream.partitions(start, stream.latestOffset(start, ReadAllAvailable()))
    read = offsets(stream.read(task) for task in tasks)
    assert [offset for part in read for offset in part] == [each.offset for each in one.records]
    assert max(map(len, read)) <= most


def test_a_micro_batch_waits_for_enough_records_or_long_enough(one, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(stream_reader.time, "monotonic", lambda: now[0])
    stream = reader(one, minOffsetsPerTrigger="50", maxTriggerDelay="5s")
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMinRows(50)
    end = reader(one).latestOffset(stream.initialOffset(), ReadAllAvailable())["drawn"]["3"]
    near = {"drawn": {"3": end - 10}}
    assert stream.latestOffset(near, limit) != near  # the first one does not wait
    now[0] += 4.9
    assert stream.latestOffset(near, limit) == near
    assert stream.latestOffset({"drawn": {"3": end - 50}}, limit)["drawn"] == {"3": end}
    now[0] += 4.9
    assert stream.latestOffset(near, limit) == near
    assert stream.latestOffset(near, ReadAllAvailable())["drawn"] == {"3": end}  # the trigger `once`
    now[0] += 0.2
    assert stream.latestOffset(near, limit)["drawn"] == {"3": end}
    both = reader(one, minOffsetsPerTrigger="5", maxOffsetsPerTrigger="20")
    assert both.getDefaultReadLimit() == ReadMaxRows(20)
    start = both.initialOffset()
    assert both.latestOffset(start, ReadMaxRows(20))["drawn"] == {"3": start["drawn"]["3"] + 20}
    assert both.latestOffset({"drawn": {"3": end - 4}}, ReadMaxRows(20))["drawn"] == {"3": end - 4}


@pytest.mark.parametrize("text, ms", [("500", 500), ("500ms", 500), ("10us", 0), (" 2S ", 2000), ("15min", 900_000)])
def test_delays_are_written_as_in_spark(one, text, ms):
    assert reader(one, maxTriggerDelay=text)._options.max_trigger_delay == ms


def test_offsets_name_each_partition_that_is_read(one, tmp_path):
    for number in (3, 4):
        shutil.copytree(one.directory, tmp_path / f"drawn-{number}")
    for named, told in [((3,), "does not name drawn-4"), ((3, 4, 5), "names drawn-5, which")]:
        for option in ("startingOffsets", "endingOffsets", "startingOffsetsByTimestamp"):
            with pytest.raises(IllegalArgumentException, match=f"{option} {told}"):
                rows(tmp_path, **{option: json.dumps({"drawn": {str(number): 5 for number in named}})})
    of_both = json.dumps({"drawn": {"3": 20, "4": -2}})
    assert {row["offset"] for row in rows(tmp_path, startingOffsets=of_both) if row["partition"] == 3} == {
        each.offset for each in one.records if each.offset >= 20
    }
    only = {"assign": '{"drawn": [4, 9]}', "endingOffsets": '{"drawn": {"4": 20}}'}
    assert {row["partition"] for row in rows(tmp_path, **only)} == {4}


@pytest.mark.slow
def test_more_tasks_than_can_be_planned_are_refused(tmp_path):
    directory = tmp_path / "t-0"
    directory.mkdir()
    batches = [
        MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(0, None, b"v"), initial_offset=offset)
        for offset in (0, 1 << 60)
    ]
    (directory / f"{0:020}.log").write_bytes(b"".join(bytes(each.buffer) for each in batches))
    with pytest.raises(IllegalArgumentException, match="maxRecordsPerPartition=1 would make 1152921504606846977 tasks"):
        rows(directory, maxRecordsPerPartition=1)
    assert len(rows(directory, maxRecordsPerPartition=1 << 50)) == 2
