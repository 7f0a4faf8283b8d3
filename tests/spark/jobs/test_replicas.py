"""The job `replicas`: copies of real logs, compacted by themselves, cut into other segments, changed and damaged."""

import random
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.errors import AnalysisException

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.cli import main
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import Compression
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.jobs.byte_ranges import partitions, ranges
from minikafka.spark.jobs.replicas import _digests as digests_of_ranges
from minikafka.spark.jobs.replicas import replicas
from tests.spark.drawn_log import NOW
from tests.spark.jobs.tasks import tasks_of_ranges

PARTITION = TopicPartition("orders", 0)


@pytest.fixture
def brokers(tmp_path) -> list[Path]:
    """Two log directories with the same records of one partition."""
    return [written(tmp_path / name, 2000) for name in ("broker-1", "broker-2")]


def written(log_dir: Path, segment_bytes: int, high_watermark: int = 400) -> Path:
    """400 records in batches of 5, most of them with one of 20 keys, in segments of that size."""
    log_dir.mkdir()
    draw, time = random.Random(1), ManualTime(NOW)
    config = LogConfig({
        "internal.segment.bytes": segment_bytes, "index.interval.bytes": 200, "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": 0,
    })  # fmt: skip
    with Log.create(log_dir / str(PARTITION), config, scheduler=ManualScheduler(time), time=time) as log:
        for base in range(0, 400, 5):
            records = [SimpleRecord(NOW + base, b"k%d" % draw.randrange(20), draw.randbytes(20)) for _ in range(5)]
            batch = MemoryRecords.with_records(
                Compression.NONE, *records, initial_offset=base, partition_leader_epoch=base // 100
            )
            log.append_as_follower(batch, base // 100)
        log.update_high_watermark(400)
    OffsetCheckpointFile(log_dir / "replication-offset-checkpoint").write({PARTITION: high_watermark})
    return log_dir


def compared(spark, log_dirs: list[Path], block: int = 64, **options) -> list[dict]:
    paths = [*map(str, log_dirs)]
    options = {"maxBytesPerTask": 3000, "failOnDataLoss": False, **options}
    return [row.asDict() for row in replicas(
        ranges(spark, paths, **options), partitions(spark, paths, **options), block=block
    ).collect()]  # fmt: skip


def verdict(spark, log_dirs: list[Path], **options) -> tuple:
    """The verdict, which does not depend on the blocks; the first difference's offset, and what it is."""
    (row,), (in_one_block,) = compared(spark, log_dirs, **options), compared(spark, log_dirs, block=1 << 20, **options)
    assert row | {"batches": 0} == in_one_block | {"batches": 0}
    return row["verdict"], row["offset"], row["difference"]


def test_equal_copies(spark, brokers):
    (row,) = compared(spark, brokers)
    directories = [str(log_dir / "orders-0") for log_dir in brokers]
    assert (row["topic"], row["partition"], row["first"], row["second"]) == ("orders", 0, *directories)
    assert (row["start"], row["end"], row["batches"], row["verdict"], row["difference"]) == (0, 400, 80, "equal", None)


def test_other_segments(spark, brokers, tmp_path):
    copies = [brokers[0], written(tmp_path / "broker-3", 3000)]
    assert verdict(spark, copies) == ("segments differ", None, "the same batches in other segments")


def test_only_what_both_have_below_their_high_watermarks(spark, brokers, tmp_path):
    log = sorted((brokers[1] / "orders-0").glob("*.log"))[-1]
    with open(log, "r+b") as file:
        file.truncate(log.stat().st_size - 3)  # behind the other copy's high watermark
    OffsetCheckpointFile(brokers[0] / "replication-offset-checkpoint").write({PARTITION: 333})
    OffsetCheckpointFile(brokers[1] / "log-start-offset-checkpoint").write({PARTITION: 41})
    (row,) = compared(spark, brokers)
    assert (row["start"], row["end"], row["verdict"], row["offset"]) == (41, 333, "damaged", None)
    assert (row["firstFile"], row["secondFile"]) == (None, str(log))
    assert row["difference"].endswith("replication-offset-checkpoint is 400: records are lost")
    OffsetCheckpointFile(brokers[1] / "replication-offset-checkpoint").write({PARTITION: 390})
    (row,) = compared(spark, brokers)
    assert (row["start"], row["end"], row["verdict"]) == (41, 333, "equal")
    OffsetCheckpointFile(brokers[1] / "replication-offset-checkpoint").write({PARTITION: 400})
    with pytest.raises(AnalysisException, match="records are lost"):
        compared(spark, brokers, failOnDataLoss=True)


@pytest.mark.parametrize("field", ["value", "epoch"])
def test_the_first_difference(spark, brokers, field):
    log, position, batch = batch_with(brokers[1], 207)
    data = bytearray(log.read_bytes())
    if field == "epoch":
        data[position + 15] = 7  # the checksum does not cover it
        expected = 205, "the records differ in: leader epoch"
    else:
        changed = MemoryRecords.with_records(
            Compression.NONE,
            *(SimpleRecord(r.timestamp, r.key, b"?" * 20 if r.offset == 207 else r.value) for r in batch),
            initial_offset=batch.base_offset, partition_leader_epoch=batch.partition_leader_epoch,
        )  # fmt: skip
        data[position : position + batch.size_in_bytes] = changed.buffer
        expected = 207, "the records differ in: value"
    log.write_bytes(data)
    assert verdict(spark, brokers) == ("different", *expected)
    (row,) = compared(spark, brokers)
    assert (row["secondFile"], row["secondPosition"]) == (str(log), position)
    assert (row["firstFile"], row["firstPosition"]) == tuple(map(str, batch_with(brokers[0], 207)[:1])) + (position,)


def test_damage(spark, brokers):
    log, position, _ = batch_with(brokers[0], 207)
    data = bytearray(log.read_bytes())
    data[position + 70] ^= 1
    log.write_bytes(data)
    (row,) = compared(spark, brokers)
    assert (row["verdict"], row["firstFile"], row["firstPosition"]) == ("damaged", str(log), position)
    assert row["difference"].startswith("CorruptRecordException: Record is corrupt (stored crc")


@pytest.mark.parametrize("damaged", [(1,), (0, 1)])
@pytest.mark.parametrize("high_watermark", [400, None])
def test_damage_behind_which_no_sound_batch_lies(spark, brokers, damaged, high_watermark):
    """The last batch of a copy, or all of its last segment."""
    for number in damaged:
        log, position, _ = batch_with(brokers[number], 399)
        data = bytearray(log.read_bytes())
        data[position + 70] ^= 1
        log.write_bytes(data)
    if high_watermark is None:
        for broker in brokers:
            (broker / "replication-offset-checkpoint").unlink()
    for block in (5, 64, 1 << 20):
        (row,) = compared(spark, brokers, block=block)
        assert row["verdict"] == "damaged" and row["end"] <= 400
        assert row["difference"].startswith("CorruptRecordException: Record is corrupt (stored crc")


def batch_with(log_dir: Path, offset: int):
    """The file, the position and the batch."""
    for log in sorted((log_dir / "orders-0").glob("*.log")):
        for batch in FileRecords.open(log, mutable=False).batches():
            if batch.base_offset <= offset <= batch.last_offset:
                return log, batch.position, batch.load_full_batch()
    raise LookupError(offset)


def test_each_cleaned_by_itself(spark, brokers):
    clean(brokers[0])
    (cleaned_to,) = OffsetCheckpointFile(brokers[0] / "cleaner-offset-checkpoint").read().values()
    assert cleaned_to > 350
    kind, offset, difference = verdict(spark, brokers)
    assert (kind, offset, difference) == ("cleaned differently", 0, "only the second copy has this record")
    shutil.rmtree(brokers[1])
    shutil.copytree(brokers[0], brokers[1])
    assert verdict(spark, brokers)[0] == "equal"


def test_records_that_only_one_has_where_no_cleaner_was(spark, brokers):
    clean(brokers[0])
    OffsetCheckpointFile(brokers[0] / "cleaner-offset-checkpoint").write({PARTITION: 90})
    kind, offset, difference = verdict(spark, brokers)
    assert (kind, difference) == ("different", "only the second copy has this record")
    left = {record.offset for log in (brokers[0] / "orders-0").glob("*.log")
            for batch in FileRecords.open(log, mutable=False).batches() for record in batch}  # fmt: skip
    assert offset == min(set(range(90, 400)) - left)


def clean(log_dir: Path) -> None:
    """A round of the cleaner, as a broker notes it."""
    OffsetCheckpointFile(log_dir / "cleaner-offset-checkpoint").write({})
    settings = ("cleanup.policy=compact", "min.cleanable.dirty.ratio=0", "internal.segment.bytes=2000")
    configs = [word for setting in settings for word in ("--config", setting)]
    result = CliRunner().invoke(main, ["clean", str(log_dir / "orders-0"), "--yes", *configs], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_a_batch_counts_of_which_only_the_last_record_is_in_both(brokers):
    """Batches have five records: that of 205 to 209 is the first of 39."""
    OffsetCheckpointFile(brokers[0] / "log-start-offset-checkpoint").write({PARTITION: 209})
    found = (each for task in tasks_of_ranges(brokers[0], maxBytesPerTask=3000) for each in task)
    digests = [row for batch in digests_of_ranges(found, 64) for row in batch.to_pylist()]
    assert sum(row["batches"] for row in digests) == 39 and {row["start"] for row in digests} == {209}


def test_a_single_copy_and_any_number_of_topics(spark, brokers):
    shutil.copytree(brokers[0] / "orders-0", brokers[0] / "lonely-5")
    shutil.copytree(brokers[0] / "orders-0", brokers[0] / "payments-1")
    shutil.copytree(brokers[0] / "orders-0", brokers[1] / "payments-1")
    told = [(row["topic"], row["partition"], row["verdict"]) for row in compared(spark, brokers)]
    assert told == [("lonely", 5, "alone"), ("orders", 0, "equal"), ("payments", 1, "equal")]
