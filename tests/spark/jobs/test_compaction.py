"""The job `compaction` against a round of Kafka's own cleaner."""

import json

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark.jobs.byte_ranges import PartitionDirectory, partitions, ranges
from minikafka.spark.jobs.compaction import compaction
from minikafka.spark.jobs.log_to_compact import rounds_ahead
from minikafka.tools.recover.offline_log import known_of
from tests.slow.fuzz.origins import Origins
from tests.spark.jobs.test_latest_of_keys import data_below
from tests.tools.kafkas_cleaning import KafkasCleaning
from tests.tools.noted_topics import note_topics

DAY = 86_400_000


@pytest.fixture(scope="module")
def origins(tmp_path_factory) -> Origins:
    return Origins(tmp_path_factory.mktemp("origins"))


@pytest.mark.parametrize("name", ["compacted", "drawn-1", "orders"])
def test_two_rounds_of_kafkas_cleaner(spark, kafka, origins, tmp_path, name):
    made = origins[name]
    directory = made.copy_to(tmp_path / "log.dir")
    (directory.parent / "replication-offset-checkpoint").unlink(missing_ok=True)
    config = {**made.config, "cleanup.policy": "compact"}
    configs = tuple(f"{key}={value}" for key, value in config.items())
    topic, _, partition = directory.name.rpartition("-")
    for day in range(2):
        now = made.now_ms + day * DAY
        found = ranges(spark, [directory.parent], isolation__level="read_committed", maxBytesPerTask=2000)
        [row] = compaction(partitions(spark, [directory.parent]), found, now=now, configs=configs).collect()
        before = data_below(directory, row.firstUncleanableOffset)
        known = known_of(directory.parent, TopicPartition(topic, int(partition)))
        told = KafkasCleaning(kafka)(directory, config, now, known, map_memory=1 << 16)
        after = data_below(directory, row.firstUncleanableOffset)
        assert row.records == len(before) and row.recordsAfter == len(after) < len(before) + 1
        assert (row.firstDirtyOffset, row.firstUncleanableOffset) == (
            told["first_dirty_offset"],
            told["first_uncleanable_offset"],
        )
        assert row.tombstones == sum(record.value is None for record in after if record.key is not None)
        assert (
            row.keys
            == len({record.key for record in after if record.offset >= row.firstDirtyOffset}) + row.tombstonesGone
        )
        assert row.bytes == told["bytes_read"] and row.dirtyRatio == 1 and row.dirtyEnough
        assert row.bytesAfter == pytest.approx(told["bytes_written"], rel=0.25)
        assert row.savedShare == (row.bytes - row.bytesAfter) / row.bytes


@pytest.mark.parametrize("name", ["compacted", "orders"])
def test_a_log_that_starts_inside_a_batch(spark, kafka, origins, tmp_path, name):
    made = origins[name]
    directory = made.copy_to(tmp_path / "log.dir")
    batches = FileRecords.open(min(directory.glob("*.log")), mutable=False).batches()
    start = next(each for each in batches if len(list(each)) > 2).base_offset + 1
    topic, _, partition = directory.name.rpartition("-")
    (directory.parent / "log-start-offset-checkpoint").write_text(f"0\n1\n{topic} {partition} {start}\n")
    config = {**made.config, "cleanup.policy": "compact"}
    configs = tuple(f"{key}={value}" for key, value in config.items())
    found = ranges(spark, [directory.parent], isolation__level="read_committed")
    [row] = compaction(partitions(spark, [directory.parent]), found, now=made.now_ms, configs=configs).collect()

    def there():
        return [each for each in data_below(directory, row.firstUncleanableOffset) if each.offset >= start]

    before = there()
    known = known_of(directory.parent, TopicPartition(topic, int(partition)))
    KafkasCleaning(kafka)(directory, config, made.now_ms, known, map_memory=1 << 16)
    assert (row.records, row.recordsAfter) == (len(before), len(there()))


def test_settings_in_the_metadata_log_beside_a_partition_count_unless_others_are_given(spark, origins, tmp_path):
    made = origins["compacted"]
    directory = made.copy_to(tmp_path / "log.dir")
    topic = directory.name.rpartition("-")[0]
    note_topics(directory.parent, {topic: {"min.compaction.lag.ms": str(10**15), "min.cleanable.dirty.ratio": "1"}})

    def row(*configs):
        found = ranges(spark, [directory], isolation__level="read_committed")
        [row] = compaction(partitions(spark, [directory]), found, now=made.now_ms + DAY, configs=configs).collect()
        return row

    assert row().settingsKnown and row().cleanableBytes == 0
    given = row("min.compaction.lag.ms=0")
    assert given.cleanableBytes > 0 and given.dirtyRatio == 1 and not given.dirtyEnough


@pytest.mark.parametrize("log_start", [None, 55, 99, 141, 146])
@pytest.mark.parametrize("last_clean", [None, 54, 146])
def test_a_round_begins_and_ends_where_that_of_clean_does(origins, tmp_path, log_start, last_clean):
    """A log start beyond the log's end, 141, leaves an empty log that begins there."""
    made = origins["compacted"]
    directory = made.copy_to(tmp_path / "log.dir")
    name, _, number = directory.name.rpartition("-")
    for file, offset in (("log-start-offset-checkpoint", log_start), ("cleaner-offset-checkpoint", last_clean)):
        lines = ["0", "0"] if offset is None else ["0", "1", f"{name} {number} {offset}"]
        (directory.parent / file).write_text("\n".join([*lines, ""]))
    config = {**made.config, "cleanup.policy": "compact"}
    given = [word for item in config.items() for word in ("--config", "=".join(map(str, item)))]
    arguments = ["clean", "--dry-run", "--json", "--now-ms", str(made.now_ms), *given, str(directory)]
    told = json.loads(CliRunner().invoke(main, arguments, catch_exceptions=False).stdout)
    one = PartitionDirectory(TopicPartition(name, int(number)), str(directory))
    [batch] = rounds_ahead(iter([one]), configs=config, now=made.now_ms, mode="FAILFAST")
    [row] = batch.to_pylist()
    assert (row["firstDirtyOffset"], row["firstUncleanableOffset"]) == (
        told["first_dirty_offset"],
        told["first_uncleanable_offset"],
    )


def test_tombstones_of_a_log_that_is_clean(spark, tmp_path):
    with Log.open(tmp_path / "t-0", {"cleanup.policy": "compact"}) as log:
        for key, value in ((b"a", b"1"), (b"b", None), (b"c", None), (b"d", b"x")):
            record = SimpleRecord(1, key, value)
            log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, record), 0)
        log.roll()
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 4\n")
    found = ranges(spark, [tmp_path / "t-0"], isolation__level="read_committed")
    [row] = compaction(partitions(spark, [tmp_path / "t-0"]), found, now=DAY).collect()
    assert (row.cleanableBytes, row.recordsAfter, row.tombstones, row.tombstonesGone) == (0, 4, 2, 0)


def test_nothing_to_clean(spark, origins, tmp_path):
    made = origins["compacted"]
    directory = made.copy_to(tmp_path / "log.dir")
    for log in sorted(directory.glob("*.log"))[:-1]:
        log.unlink()  # only the active segment is left
    found = ranges(spark, [directory], isolation__level="read_committed")
    [row] = compaction(partitions(spark, [directory]), found, now=made.now_ms).collect()
    assert (row.cleanableBytes, row.records, row.bytes, row.savedShare) == (0, 0, 0, None)
    assert not row.dirtyEnough and row.dirtyRatio is None
