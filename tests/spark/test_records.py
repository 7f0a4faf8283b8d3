"""The rows of the data source are what a consumer sees, whatever a log holds and however its bytes are cut up."""

import json
import random
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import CorruptRecordException, IllegalArgumentException, UnknownTopicOrPartitionException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.record.kernels.record_columns import kernel_in_use, use_compiled_kernel
from minikafka.spark.source import batch_runs_on_disk, record_rows
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.log_segments_on_disk import find_partitions
from tests.golden.places import GOLDEN
from tests.spark.drawn_log import NOW, DrawnLog, Seen, draw_log
from tests.spark.rows import batches_of, rows

REPOSITORY = Path(__file__).parent.parent.parent
KILLED = REPOSITORY / "notebooks" / "data" / "killed"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
SEEDS = range(6)


@pytest.fixture(scope="module", params=SEEDS)
def drawn(request, tmp_path_factory) -> DrawnLog:
    return draw_log(tmp_path_factory.mktemp("drawn"), request.param)


@pytest.fixture(scope="module")
def one(tmp_path_factory) -> DrawnLog:
    return draw_log(tmp_path_factory.mktemp("one"), 1)


@pytest.fixture
def copy(one, tmp_path) -> Path:
    """A copy of the log `one`, to be damaged."""
    return Path(shutil.copytree(one.directory, tmp_path / one.directory.name))


def milliseconds(timestamp: datetime) -> int:
    return (timestamp - EPOCH) // MILLISECOND


def seen(row: dict) -> Seen:
    headers = tuple((header["key"], header["value"]) for header in row.get("headers") or ())
    timestamp = milliseconds(row["timestamp"])
    return Seen(row["offset"], timestamp, row["timestampType"], row["key"], row["value"], headers)


def seen_in(path, *filters, **options) -> list[Seen]:
    return sorted(seen(row) for row in rows(path, *filters, includeHeaders=True, **options))


def test_the_drawn_logs_have_something_of_everything(drawn):
    assert drawn.segments > 2 and len(drawn.records) > 80


def test_every_record_of_a_drawn_log_is_a_row(drawn):
    assert seen_in(drawn.directory) == drawn.records


@pytest.mark.slow
def test_the_compiled_kernel_gives_the_same(one):
    plain = rows(one.directory, includeHeaders=True, includeBatches=True)
    assert use_compiled_kernel() and kernel_in_use() == "compiled"
    assert rows(one.directory, includeHeaders=True, includeBatches=True) == plain


def test_read_committed_shows_what_is_decided_and_not_aborted(drawn):
    assert seen_in(drawn.directory, isolation__level="read_committed") == drawn.committed


def test_read_committed_needs_no_snapshot(one, copy):
    for snapshot in copy.glob("*.snapshot"):
        snapshot.unlink()
    assert seen_in(copy, isolation__level="read_committed") == one.committed


@pytest.mark.parametrize("max_bytes", [1, 200, 1000, 5000])
@pytest.mark.parametrize("piece", [70, 1000, 8 << 20])
def test_small_tasks_and_small_pieces_give_every_record_once(one, max_bytes, piece, monkeypatch):
    monkeypatch.setattr(batch_runs_on_disk, "PIECE_SIZE", piece)
    assert seen_in(one.directory, maxBytesPerTask=max_bytes) == one.records


@pytest.mark.slow
def test_large_segments_are_split_and_small_ones_share_a_task(one):
    def tasks(**options):
        return len(batches_of(one.directory, (), None, options))

    assert tasks() == 1
    assert tasks(minPartitions=one.segments) == one.segments
    assert tasks(maxBytesPerTask=1000) > one.segments


@pytest.mark.slow
def test_offsets_bound_a_query(one):
    first, last = one.records[0].offset, one.records[-1].offset
    for start, end in [(0, 10), (17, 60), (last, last + 1), (30, 30), (first, last)]:
        starting, ending = (json.dumps({"drawn": {"3": border}}) for border in (start, end))
        expected = [each for each in one.records if start <= each.offset < end]
        assert seen_in(one.directory, startingOffsets=starting, endingOffsets=ending) == expected
    assert seen_in(one.directory, startingOffsets='{"drawn": {"3": -2}}', endingOffsets="latest") == one.records


@pytest.mark.slow
def test_a_segment_that_begins_below_its_name_is_damage_of_what_its_first_batch_has(one, copy):
    last = sorted(copy.glob("*.log"))[-1]
    first = next(iter(FileRecords.open(last, mutable=False).batches()))
    assert first.last_offset > first.base_offset + 1
    for file in copy.glob(f"{last.stem}.*"):
        file.rename(file.with_stem(f"{first.last_offset:020}"))
    for end in range(first.base_offset, first.last_offset + 3):
        bounds = {"endingOffsets": json.dumps({"drawn": {"3": end}})}
        if end > first.base_offset:
            with pytest.raises(
                CorruptRecordException, match=f"begins at offset {first.base_offset}, below the segment"
            ):
                seen_in(copy, **bounds)
        expected = [
            each
            for each in one.records
            if each.offset < min(first.base_offset, end) or each.offset > first.last_offset and each.offset < end
        ]
        assert seen_in(copy, mode="DROPMALFORMED", **bounds) == expected


@pytest.mark.slow
def test_timestamps_bound_a_query_as_the_first_record_that_is_no_earlier(one):
    for timestamp in (NOW - 2000, NOW - 500, NOW, NOW + 900):
        start = next(each.offset for each in one.records if each.timestamp >= timestamp)
        expected = [each for each in one.records if each.offset >= start]
        assert seen_in(one.directory, startingTimestamp=timestamp) == expected
        by_partition = json.dumps({"drawn": {"3": timestamp}})
        assert seen_in(one.directory, startingOffsetsByTimestamp=by_partition) == expected
        before = [each for each in one.records if each.offset < start]
        assert seen_in(one.directory, endingTimestamp=timestamp) == before
        assert seen_in(one.directory, endingOffsetsByTimestamp=by_partition) == before
    with pytest.raises(IllegalArgumentException, match="No record of drawn-3"):
        rows(one.directory, startingTimestamp=NOW + 99999)
    assert rows(one.directory, startingTimestamp=NOW + 99999, startingOffsetsByTimestampStrategy="latest") == []


def test_a_time_is_looked_for_behind_the_segment_in_which_kafka_gives_up(tmp_path):
    """The first segment's largest timestamp is that of a record below the log start."""
    with Log.open(tmp_path / "t-0") as log:
        for timestamp in (NOW, NOW - 50, NOW):
            if timestamp == NOW:
                log.roll()
            record = MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(timestamp, b"k", b"v"))
            log.append_as_leader(record, leader_epoch=0)
        log.update_high_watermark(3)
        log.maybe_increment_log_start_offset(1, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)
        assert log.fetch_offset_by_timestamp(NOW - 10) is None
    OffsetCheckpointFile(tmp_path / "log-start-offset-checkpoint").write({TopicPartition("t", 0): 1})
    assert [row["offset"] for row in rows(tmp_path, bounds="log_end", startingTimestamp=NOW - 10)] == [2]


@pytest.mark.slow
def test_filters_spare_reading_and_lose_nothing(one):
    def when(timestamp):
        return EPOCH + timestamp * MILLISECOND

    middle = one.records[len(one.records) // 2].offset
    kept = {each for each in one.records if each.offset > middle}
    assert set(seen_in(one.directory, GreaterThan(("offset",), middle))) >= kept
    assert len(seen_in(one.directory, GreaterThan(("offset",), middle))) <= len(kept) + 1
    assert [each.offset for each in seen_in(one.directory, EqualTo(("offset",), middle))] == [middle]
    assert {e.offset for e in seen_in(one.directory, In(("offset",), (middle, middle + 1)))} >= {middle}
    assert rows(one.directory, EqualTo(("topic",), "other")) == []
    assert rows(one.directory, LessThan(("partition",), 3)) == []
    assert len(rows(one.directory, EqualTo(("partition",), 3), EqualTo(("topic",), "drawn"))) == len(one.records)
    late = [each for each in one.records if each.timestamp >= NOW + 300]
    assert seen_in(one.directory, GreaterThanOrEqual(("timestamp",), when(NOW + 300))) == late
    early = [each for each in one.records if each.timestamp <= NOW]
    assert seen_in(one.directory, LessThanOrEqual(("timestamp",), when(NOW))) == early


def test_only_the_wanted_columns_are_made(one):
    schema = StructType([StructField("value", BinaryType()), StructField("offset", LongType())])
    assert [tuple(row) for row in map(dict.keys, rows(one.directory, schema=schema))][0] == ("value", "offset")
    wrong = StructType([StructField("value", StringType())])
    with pytest.raises(IllegalArgumentException, match="value string.*value binary"):
        rows(one.directory, schema=wrong)


def test_bytes_that_nobody_asks_for_are_not_copied(one, monkeypatch):
    asked = StructType([StructField("offset", LongType())])
    whole = rows(one.directory, schema=asked)

    def refuse(*_):
        raise AssertionError("bytes were copied")

    monkeypatch.setattr(record_rows, "bytes_between", refuse)
    assert rows(one.directory, schema=asked) == whole
    with pytest.raises(AssertionError):
        rows(one.directory)


def test_sizes_of_keys_and_values_need_none_of_their_bytes(drawn, monkeypatch):
    sizes = [
        tuple(None if each is None else len(each) for each in (row["key"], row["value"]))
        for row in rows(drawn.directory)
    ]
    assert {None, 0} <= {size for pair in sizes for size in pair}
    asked = StructType([StructField("keySize", IntegerType()), StructField("valueSize", IntegerType())])
    monkeypatch.delattr(record_rows, "bytes_between")
    assert [(row["keySize"], row["valueSize"]) for row in rows(drawn.directory, schema=asked)] == sizes


def test_what_a_batch_says_stands_beside_its_records(one):
    told = {}
    for log in sorted(one.directory.glob("*.log")):
        for batch in FileRecords.open(log, mutable=False).batches():
            for record in batch:
                told[record.offset] = (
                    batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch, record.sequence,
                    batch.is_transactional, batch.compression_type.type_name, str(log), batch.position,
                )  # fmt: skip
    names = "leaderEpoch producerId producerEpoch sequence transactional codec segment position".split()
    batched = rows(one.directory, includeBatches=True)
    assert len(batched) == len(one.records)
    assert all(tuple(row[name] for name in names) == told[row["offset"]] for row in batched)
    assert {row["codec"] for row in batched} >= {"none", "gzip", "zstd"}


def test_the_bounds_are_those_of_the_checkpoints(one, copy):
    end = one.records[-1].offset + 1
    OffsetCheckpointFile(copy.parent / "replication-offset-checkpoint").write({TopicPartition("drawn", 3): 40})
    OffsetCheckpointFile(copy.parent / "log-start-offset-checkpoint").write({TopicPartition("drawn", 3): 12})
    assert seen_in(copy) == [each for each in one.records if 12 <= each.offset < 40]
    assert seen_in(copy, bounds="log_end") == [each for each in one.records if 12 <= each.offset < end]
    (copy.parent / "replication-offset-checkpoint").write_text("0\n1\nnonsense\n")
    with pytest.raises(Exception, match="replication-offset-checkpoint"):
        rows(copy)
    assert len(rows(copy, mode="DROPMALFORMED")) == len([each for each in one.records if each.offset >= 12])


@pytest.mark.slow
def test_paths_name_log_directories_partitions_segments_and_globs(one):
    everything = len(one.records)
    log_dir = one.directory.parent
    assert len(rows(log_dir)) == len(rows(str(log_dir / "dra*"))) == everything
    segments = sorted(one.directory.glob("*.log"))
    assert sum(len(rows(segment)) for segment in segments) == everything
    paths = json.dumps([str(segments[0]), str(segments[2])])
    source = KafkaLogDataSource({"paths": paths})
    assert [len(each.chosen) for each in find_partitions(json.loads(paths))] == [2]
    assert len(source.reader(source.schema()).partitions()[0].ranges) == 2
    with pytest.raises(UnknownTopicOrPartitionException, match="no topic drown in .*; the nearest is drawn"):
        rows(log_dir, subscribe="drawn, drown")
    for nonsense in (log_dir / "absent", REPOSITORY / "tests", one.directory / "nothing-*.log"):
        with pytest.raises(IllegalArgumentException):
            rows(nonsense)


@pytest.mark.slow
def test_directories_put_aside_are_no_topics(one, copy):
    for suffix in ("delete", "stray", "future"):
        shutil.copytree(copy, copy.parent / f"drawn-3.{'a' * 32}-{suffix}")
    staged = copy.parent / f"drawn-3.{'b' * 32}-delete"
    staged.mkdir()
    shutil.copytree(copy, staged / copy.name)  # as a write stages it
    for path in (copy.parent, copy.parent / "drawn-*", copy.parent / "*-3*"):
        assert len(rows(path)) == len(one.records)
    assert len(rows(copy.parent / f"drawn-3.{'a' * 32}-delete")) == len(one.records)  # whoever names it wants it


@pytest.mark.parametrize("name", ["drawn-03", "drawn-+3"])
def test_two_directories_of_a_partition_in_one_log_directory_are_refused(copy, name):
    """As Kafka's LogManager refuses to start with them."""
    second = shutil.copytree(copy, copy.parent / name)
    first, other = sorted([str(copy), str(second)])
    told = re.escape(f"Duplicate log directories found: {first}, {other}, which are both drawn-3")
    for path in (copy.parent, copy.parent / "dra*"):
        for table in ("records", "segments", "partitions"):
            with pytest.raises(IllegalArgumentException, match=told):
                rows(path, table=table)
    with pytest.raises(IllegalArgumentException, match=told):
        KafkaLogDataSource({"path": str(copy.parent)}).streamReader(
            KafkaLogDataSource({"path": str(copy.parent)}).schema()
        ).initialOffset()
    assert rows(copy.parent, subscribePattern="other") == []
    assert len(rows(second)) == len(rows(copy)) > 0


@pytest.mark.slow
def test_copies_of_a_partition_in_several_log_directories_are_all_read(copy, tmp_path_factory):
    second = shutil.copytree(copy.parent, tmp_path_factory.mktemp("of") / "another-broker")
    once = rows(copy)
    paths = json.dumps([str(copy.parent), str(second), str(copy)])
    assert len(rows(copy.parent, paths=paths)) == 2 * len(once)
    told = "drawn-3 is in .* and in .*: its records would count several times"
    for table in ("records", "ranges", "partitions"):
        with pytest.raises(IllegalArgumentException, match=told):
            rows(copy.parent, paths=paths, table=table, copies="refuse")
    assert rows(copy.parent, paths=json.dumps([str(copy)]), copies="refuse") == once


def test_a_log_directory_without_partitions_has_no_rows_but_a_schema(tmp_path):
    shutil.copy(GOLDEN / "meta.properties", tmp_path)
    assert rows(tmp_path) == []


def test_reading_changes_nothing(copy):
    def state():
        return {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(copy.parent.rglob("*"))}

    before = state()
    rows(copy.parent, isolation__level="read_committed", startingTimestamp=NOW)
    assert state() == before


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "SOMETIMES"}, {"bounds": "none"}, {"isolation.level": "serializable"}, {"startingOffsets": "[]"},
        {"endingOffsets": "earliest"}, {"includeHeaders": "perhaps"}, {"maxBytesPerTask": "-3"},
        {"startingOffsets": '{"t": {"0": "x"}}'}, {"startingOffsetsByTimestampStrategy": "guess"},
        {"isolation.level": "read_committed", "kafka.isolation.level": "read_uncommitted"},
    ],
)  # fmt: skip
def test_options_without_meaning_are_refused(options):
    with pytest.raises(IllegalArgumentException):
        rows(GOLDEN, **options)


@pytest.mark.slow
def test_a_batch_with_a_wrong_checksum_is_one_damage(one, copy):
    log = sorted(copy.glob("*.log"))[1]
    batch = next(each for each in FileRecords.open(log, mutable=False).batches() if each.magic == 2)
    lost = {record.offset for record in batch}
    data = bytearray(log.read_bytes())
    data[batch.position + 40] ^= 1
    log.write_bytes(data)
    with pytest.raises(CorruptRecordException, match=f"{log}, position {batch.position}: CorruptRecordException"):
        rows(copy)
    kept = [each for each in one.records if each.offset not in lost]
    assert seen_in(copy, mode="DROPMALFORMED") == kept
    permissive = rows(copy, mode="PERMISSIVE")
    told = [row for row in permissive if row["_corrupt"] is not None]
    assert len(permissive) == len(kept) + 1
    assert [(row["_corrupt"]["file"], row["_corrupt"]["position"], row["topic"]) for row in told] == [
        (str(log), batch.position, "drawn")
    ]
    assert "stored crc" in told[0]["_corrupt"]["exception"] and told[0]["offset"] is None


def test_behind_a_false_size_reading_goes_on_by_the_index(one, copy):
    log = sorted(copy.glob("*.log"))[1]
    batches = list(FileRecords.open(log, mutable=False).batches())
    data = bytearray(log.read_bytes())
    data[batches[1].position + 8 : batches[1].position + 12] = (3).to_bytes(4, "big")
    log.write_bytes(data)
    left = {each.offset for each in seen_in(copy, mode="DROPMALFORMED")}
    assert batches[1].last_offset not in left
    assert {each.offset for each in one.records} - left < set(range(batches[1].base_offset, batches[-1].base_offset))


@pytest.mark.parametrize("max_bytes", [200, 1 << 20])
@pytest.mark.parametrize(
    ("start", "bytes_"), [(8, (2**31 - 1).to_bytes(4, "big")), (0, bytes(61))], ids=["size", "zeros"]
)
def test_what_looks_like_a_torn_end_is_damage_where_the_index_knows_batches_behind_it(
    one, copy, start, bytes_, max_bytes
):
    log = sorted(copy.glob("*.log"))[-1]
    first, *_, last = FileRecords.open(log, mutable=False).batches()
    data = log.read_bytes()
    data = data[: first.position + start] + bytes_ + data[first.position + start + len(bytes_) :]
    log.write_bytes(data)
    with pytest.raises(CorruptRecordException, match=f"{log}, position {first.position}: "):
        rows(copy, maxBytesPerTask=max_bytes)
    left = {each.offset for each in seen_in(copy, mode="DROPMALFORMED", maxBytesPerTask=max_bytes)}
    assert one.records[-1].offset in left
    assert {each.offset for each in one.records} - left < set(range(first.base_offset, last.base_offset))


def test_the_torn_end_of_the_last_segment_is_no_damage(one, copy):
    log = sorted(copy.glob("*.log"))[-1]
    *_, last = FileRecords.open(log, mutable=False).batches()
    log.write_bytes(log.read_bytes()[:-30])
    assert seen_in(copy) == [each for each in one.records if each.offset < last.base_offset]
    log.write_bytes(log.read_bytes() + bytes(3000))
    with pytest.raises(CorruptRecordException):
        rows(copy)


def test_preallocated_zeros_are_no_damage(one, copy):
    log = sorted(copy.glob("*.log"))[-1]
    log.write_bytes(log.read_bytes() + bytes(3000))
    assert seen_in(copy) == one.records


@pytest.mark.slow
def test_damage_is_told_and_never_raises_anything_else(one, tmp_path):
    values = [each[1:] for each in one.records]
    for seed in range(40):
        draw = random.Random(seed)
        copy = shutil.copytree(one.directory, tmp_path / f"{seed}" / one.directory.name)
        file = draw.choice([each for each in sorted(copy.iterdir()) if each.stat().st_size])
        data = bytearray(file.read_bytes())
        for _ in range(draw.choice((1, 1, 20))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        file.write_bytes(data[: draw.randrange(len(data))] if draw.random() < 0.3 else data)
        isolation = draw.choice(("read_committed", "read_uncommitted"))
        found = rows(copy, mode="PERMISSIVE", includeHeaders=True, isolation__level=isolation)
        sound = [seen(row)[1:] for row in found if row["_corrupt"] is None]
        assert all(each in values for each in sound)
        if len(found) > len(sound):
            with pytest.raises(CorruptRecordException):
                rows(copy, isolation__level=isolation)


def test_a_segment_renamed_or_replaced_after_planning(one, copy):
    (partition,) = find_partitions([str(copy)])
    first, second, third = partition.segments[:3]
    data = Path(first.path).read_bytes()
    Path(first.path).rename(first.path + ".deleted")  # retention, or a compaction that …
    Path(first.path).write_bytes(b"cleaned")  # … put another file in its place
    opened = first.open()
    assert opened.read(0, len(data) + 1) == data
    opened.close()
    Path(second.path).unlink()
    with pytest.raises(FileNotFoundError, match="deleted or replaced after the query was planned"):
        second.open()
    Path(third.path).rename(third.path + ".kept")
    Path(third.path).write_bytes(b"cleaned")
    with pytest.raises(FileNotFoundError):
        third.open()


def test_what_a_real_broker_wrote_is_read_as_the_log_reads_it():
    for directory in (GOLDEN / "mixed-0", KILLED / "orders-0", KILLED.parent / "orders-0"):
        expected = [
            (record.offset, record.timestamp, record.key, record.value)
            for log in sorted(directory.glob("*.log"))
            for batch in FileRecords.open(log, mutable=False).batches()
            if not batch.is_control_batch
            for record in batch
        ]
        assert [each[:2] + each[3:5] for each in seen_in(directory, bounds="log_end")] == expected
