"""The job `retention` against a log that deletes its old segments, and against Kafka's."""

import os
import random
import shutil
from pathlib import Path

import pytest

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
from minikafka.common.errors import CorruptRecordException
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.jobs.byte_ranges import PartitionDirectory, partitions
from minikafka.spark.jobs.retention import retention
from minikafka.spark.jobs.segment_facts import segment_facts
from minikafka.witness.kafka.kafka_log import kafka_log
from minikafka.witness.log.run import minikafka_log
from tests.tools.noted_topics import note_topics

NOW = 1_700_000_000_000
PARTITION = TopicPartition("old", 0)


def make_log(home: Path, draw: random.Random, *, name: str = "old-0", segments: int = 8) -> int:
    """Segments of different sizes and ages, some without timestamps; returns the log end."""
    time = ManualTime(NOW - 100_000)
    log = Log.create(home / name, LogConfig({"retention.ms": -1}), scheduler=ManualScheduler(time), time=time)
    for number in range(segments):
        magic = draw.choice((2, 2, 2, 0))
        age = draw.randrange(-500, 5000)
        records = [SimpleRecord(NOW - age, b"k", b"v" * draw.randrange(300)) for _ in range(draw.randint(1, 4))]
        log.append_as_follower(
            MemoryRecords.with_records(
                CompressionType.NONE, *records, magic=magic, initial_offset=log.log_end_offset, partition_leader_epoch=0
            ),
            0,
        )
        if number < segments - 1 or draw.random() < 0.3:
            log.roll()
    end = log.log_end_offset
    log.close()
    for number, file in enumerate(sorted((home / name).glob("*.log"))):
        os.utime(file, ns=(0, (NOW - 3000 + 100 * number) * 1_000_000))
    return end


def deleted_by_a_log(open_log, home: Path, config: dict, now: int, start: int, high_watermark: int) -> set[int]:
    """The base offsets of the segments that go, of a copy."""
    copy = Path(shutil.copytree(home / "old-0", home / "copy" / "old-0"))
    try:
        time = ManualTime(now)
        log = open_log(copy, config, log_start_offset=start, scheduler=ManualScheduler(time), time=time)
        log.update_high_watermark(high_watermark)
        bases = [segment.base_offset for segment in log.log_segments]
        count = log.delete_old_segments()
        log.close()
        return set(bases[:count])
    finally:
        shutil.rmtree(home / "copy")


def note(home: Path, start: int, high_watermark: int) -> None:
    OffsetCheckpointFile(home / "log-start-offset-checkpoint").write({PARTITION: start})
    OffsetCheckpointFile(home / "replication-offset-checkpoint").write({PARTITION: high_watermark})


def drawn_log(draw: random.Random, end: int, size: int) -> tuple[dict, int, int, int]:
    """Settings, the time, the log start and the high watermark."""
    high_watermark = draw.choice((end, end, draw.randrange(end)))
    config = {
        "cleanup.policy": draw.choice(("delete", "delete", "compact,delete", "compact")),
        "retention.ms": str(draw.choice((-1, 0, 1000, 2500))),
        "retention.bytes": str(draw.choice((-1, -1, 0, size // 2, size, 2 * size))),
    }
    return (
        config,
        NOW + draw.randrange(-2000, 6000),
        min(high_watermark, draw.choice((0, draw.randrange(end)))),
        high_watermark,
    )


@pytest.mark.parametrize("judge", ["minikafka", "Kafka"])
@pytest.mark.parametrize("seed", range(2))
def test_what_goes_is_what_a_log_deletes(spark, request, tmp_path, seed, judge):
    open_log = minikafka_log if judge == "minikafka" else kafka_log(request.getfixturevalue("kafka"))
    draw = random.Random(seed)
    end = make_log(tmp_path, draw)
    size = sum(file.stat().st_size for file in (tmp_path / "old-0").glob("*.log"))
    rules = set()
    for _ in range(6):
        drawn = config, now, start, high_watermark = drawn_log(draw, end, size)
        note(tmp_path, start, high_watermark)
        configs = tuple(f"{name}={setting}" for name, setting in config.items())
        answer = retention(partitions(spark, [tmp_path]), now=now, configs=configs).toArrow().to_pylist()
        want = deleted_by_a_log(open_log, tmp_path, *drawn)
        assert {row["baseOffset"] for row in answer if row["goesBy"]} == want, drawn
        rules |= {row["goesBy"] for row in answer}
        assert answer[-1]["endOffset"] == end
    assert len(rules) > 2


@pytest.mark.parametrize("judge", ["minikafka", "Kafka"])
def test_when_a_segment_goes_is_when_a_log_deletes_it(spark, request, tmp_path, judge):
    open_log = minikafka_log if judge == "minikafka" else kafka_log(request.getfixturevalue("kafka"))
    end = make_log(tmp_path, random.Random(4), segments=20)
    note(tmp_path, 0, end)
    answer = retention(partitions(spark, [tmp_path]), now=NOW - 10_000, configs=("retention.ms=1000",)).collect()
    goes_at = {row.baseOffset: row.goesAt and round(row.goesAt.timestamp() * 1000) for row in answer}
    times = sorted({moment for moment in goes_at.values() if moment})
    assert len(times) > 1

    def gone_at(moment: int) -> set[int]:
        return deleted_by_a_log(open_log, tmp_path, {"retention.ms": "1000"}, moment, 0, end)

    for moment in times:
        gone = {base for base, when in goes_at.items() if when and when <= moment}
        assert gone_at(moment) == gone
        assert gone_at(moment - 1) == {base for base in gone if goes_at[base] < moment}


@pytest.mark.parametrize("judge", ["minikafka", "Kafka"])
def test_timestamps_at_the_end_of_all_numbers(spark, request, tmp_path, judge):
    open_log = minikafka_log if judge == "minikafka" else kafka_log(request.getfixturevalue("kafka"))
    time = ManualTime(0)
    log = Log.create(tmp_path / "old-0", LogConfig({"retention.ms": -1}), scheduler=ManualScheduler(time), time=time)
    for timestamp in (LONG_MAX - 1500, LONG_MAX - 500, LONG_MAX, 0):
        record = SimpleRecord(timestamp, b"k", b"v")
        place = {"initial_offset": log.log_end_offset, "partition_leader_epoch": 0}
        log.append_as_follower(MemoryRecords.with_records(CompressionType.NONE, record, **place), 0)
        log.roll()
    end = log.log_end_offset
    log.close()
    note(tmp_path, 0, end)
    gone = []
    for setting in (0, 1000, LONG_MAX):
        config = {"retention.ms": str(setting), "retention.bytes": "-9223372036854775808"}
        configs = tuple("=".join(each) for each in config.items())
        for now in (NOW, LONG_MAX - 499, LONG_MAX):
            answer = retention(partitions(spark, [tmp_path]), now=now, configs=configs).toArrow().to_pylist()
            want = deleted_by_a_log(open_log, tmp_path, config, now, 0, end)
            assert {row["baseOffset"] for row in answer if row["goesBy"]} == want, (config, now)
            gone.append(len(want))
    assert set(gone) == {0, 1, 2}


def test_settings_of_a_topic_come_first(spark, tmp_path, monkeypatch):
    end = make_log(tmp_path, random.Random(8))
    note(tmp_path, 0, end)
    settings = spark.createDataFrame(
        [("old", 0, "id", {"retention.ms": "-1", "cleanup.policy": "compact , delete", "retention.bytes": "0"})],
        "topic string, partition int, topicId string, settings map<string, string>",
    )
    monkeypatch.setattr("minikafka.spark.jobs.retention.table", lambda *_: settings)
    found = partitions(spark, [tmp_path])
    own = retention(found, now=NOW, configs=("cleanup.policy=compact",), metadata="/somewhere")
    given = retention(found, now=NOW, configs=("cleanup.policy=delete", "retention.ms=-1", "retention.bytes=0"))
    assert {row.settingsKnown for row in own.collect()} == {True} != {row.settingsKnown for row in given.collect()}
    own = own.drop("settingsKnown").collect()
    assert own == given.drop("settingsKnown").collect() and {row.goesBy for row in own} >= {"retention.bytes"}


def test_settings_in_the_metadata_log_beside_a_partition_count_without_being_asked_for(spark, tmp_path):
    """As for `verify` and `clean`: of a compacted topic, and of one that is kept for ever, nothing goes by its age."""
    make_log(tmp_path, random.Random(8))
    for name in ("forever-0", "unnamed-0"):
        shutil.copytree(tmp_path / "old-0", tmp_path / name)
    note_topics(tmp_path, {"old": {"cleanup.policy": "compact"}, "forever": {"retention.ms": "-1"}})
    found = partitions(spark, [tmp_path])
    answer = retention(found, now=NOW + 10**9).where("topic != '__cluster_metadata'").collect()
    assert {row.topic for row in answer if row.goesAt} == {"unnamed"}
    assert {(row.topic, row.settingsKnown) for row in answer} == {("old", True), ("forever", True), ("unnamed", False)}


def test_a_metadata_log_beside_a_partition_that_cannot_be_read(tmp_path):
    make_log(tmp_path, random.Random(1))
    note_topics(tmp_path, {"old": {}})
    [log] = (tmp_path / CLUSTER_METADATA_DIRECTORY).glob("*.log")
    log.write_bytes(log.read_bytes()[:30] + b"\xff" + log.read_bytes()[31:])
    one = PartitionDirectory(PARTITION, str(tmp_path / "old-0"))
    with pytest.raises(CorruptRecordException, match=CLUSTER_METADATA_DIRECTORY):
        list(segment_facts(iter([one]), "FAILFAST"))
    [batch] = segment_facts(iter([one]), "PERMISSIVE")
    assert {row["settingsKnown"] for row in batch.to_pylist()} == {False}


def test_an_unreadable_segment(tmp_path):
    make_log(tmp_path, random.Random(1))
    os.truncate(sorted((tmp_path / "old-0").glob("*.timeindex"))[2], 5)
    file = sorted((tmp_path / "old-0").glob("*.log"))[2]
    file.unlink()
    file.mkdir()
    one = PartitionDirectory(PARTITION, str(tmp_path / "old-0"))
    with pytest.raises(CorruptRecordException, match=file.name):
        list(segment_facts(iter([one]), "FAILFAST"))
    [batch] = segment_facts(iter([one]), "PERMISSIVE")
    assert [row["newest"] is None for row in batch.to_pylist()].index(True) == 2


@pytest.mark.parametrize(
    ("topic", "topic_id", "told"),
    [
        ("other", "AAAAAAAAAAAAAAAAAAAAAQ", "the metadata log of /elsewhere knows no topic old with the id "),
        ("old", "AAAAAAAAAAAAAAAAAAAAAg", "the metadata log of /elsewhere knows no topic old with the id "),
        ("old", "AAAAAAAAAAAAAAAAAAAAAQ", ""),
    ],
)
def test_topics_that_the_metadata_log_does_not_know(spark, tmp_path, monkeypatch, topic, topic_id, told):
    make_log(tmp_path, random.Random(8))
    PartitionMetadataFile.new_file(tmp_path / "old-0").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    known = spark.createDataFrame(
        [(topic, 0, topic_id, {"retention.ms": "-1"})],
        "topic string, partition int, topicId string, settings map<string, string>",
    )
    monkeypatch.setattr("minikafka.spark.jobs.retention.table", lambda *_: known)
    query = retention(partitions(spark, [tmp_path]), now=NOW, metadata="/elsewhere")
    if told:
        with pytest.raises(Exception, match=f"IllegalArgumentException: {told}"):
            query.collect()
    else:
        assert not any(row.goesAt for row in query.collect())
