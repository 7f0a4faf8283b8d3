"""What lies in an object store is read as what lies on a disk, by ranges; asked of a real HTTP server."""

import json
import pickle
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.datasource import EqualTo

from minikafka.common.errors import CorruptRecordException, IllegalArgumentException, IOException
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark import register
from minikafka.spark.jobs.byte_ranges import for_each_task, ranges
from minikafka.spark.source.data_source import KafkaLogDataSource
from tests.golden.places import GOLDEN
from tests.spark.drawn_log import NOW, draw_log
from tests.spark.object_store import BUCKET, ObjectStore
from tests.spark.rows import rows

pytestmark = pytest.mark.slow

TOPIC_ID = "oAtiIQ95REujbuzNd_lkLQ"
SEGMENT_ID = "BFyXlC8ySMm-Uzxw5lZSMg"


@pytest.fixture(scope="module")
def store():
    with ObjectStore() as started:
        yield started


@pytest.fixture(scope="module")
def log_dir(store, tmp_path_factory) -> Path:
    """A broker's directory and a drawn partition in it; its copy is `s3://bucket/log-dir`."""
    home = tmp_path_factory.mktemp("log-dir")
    shutil.copytree(GOLDEN, home, dirs_exist_ok=True)
    draw_log(home, 1)
    store.put(home, "log-dir")
    return home


URI = f"s3://{BUCKET}/log-dir"


def told(store, path, *filters, **options):
    return rows(path, *filters, **store.settings, **options)


def at(uri: str, path: Path, found: list[dict]) -> list[dict]:
    """Rows of files below `path` as if these lay at `uri`."""
    return [
        {name: value.replace(str(path), uri) if isinstance(value, str) else value for name, value in row.items()}
        for row in found
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"includeHeaders": "true", "includeBatches": "true"}, {"isolation__level": "read_committed"},
        {"bounds": "log_end"}, {"subscribe": "mixed"}, {"startingTimestamp": NOW, "minPartitions": "7"},
        {"subscribe": "drawn", "maxBytesPerTask": "900", "startingOffsets": '{"drawn": {"3": 40}}'},
    ],
)  # fmt: skip
def test_records(store, log_dir, options):
    options = {"startingOffsetsByTimestampStrategy": "latest", **options}
    here = rows(log_dir, **options)
    assert here and told(store, URI, **options) == at(URI, log_dir, here)


@pytest.mark.parametrize(
    "table",
    ["batches", "segments", "index", "timeindex", "transactions", "producers", "epochs", "checkpoints"],
)
def test_tables(store, log_dir, table):
    here = rows(log_dir, table=table)
    assert here and told(store, URI, table=table) == at(URI, log_dir, here)


def test_paths_name_buckets_directories_segments_and_globs(store, log_dir):
    drawn = rows(log_dir / "drawn-3")
    for path in (f"{URI}/drawn-3", f"{URI}/drawn-3/", f"{URI}/dr*", f"s3://{BUCKET}/log-*/drawn-[0-9]"):
        assert told(store, path) == drawn
    logs = sorted(log.name for log in (log_dir / "drawn-3").glob("*.log"))
    assert sum(len(told(store, f"{URI}/drawn-3/{log}")) for log in logs) == len(drawn)
    assert told(store, f"{URI}/drawn-3/*0.log") == rows(log_dir / "drawn-3" / "*0.log")
    other = json.dumps([f"{URI}/drawn-3"])
    assert len(told(store, log_dir / "mixed-0", paths=other)) == len(rows(log_dir))


def test_names_and_settings_of_hadoop(store, log_dir):
    settings = {
        "fs.s3a.endpoint": f"http://{store.endpoint}", "fs.s3a.access.key": "a", "fs.s3a.secret.key": "b",
        "fs.s3a.endpoint.region": "eu-central-1",
    }  # fmt: skip
    assert rows(URI.replace("s3:", "s3a:"), **settings) == rows(log_dir)


def test_what_is_secret_stands_in_no_row_and_no_text(store, log_dir):
    uri = URI.replace("s3://", "s3://access:very-secret@")
    settings = {name: text for name, text in store.settings.items() if "key" not in name}
    found = rows(uri, includeBatches=True, **settings)
    assert found and {row["segment"].rpartition("/")[0] for row in found} == {f"{URI}/drawn-3", f"{URI}/mixed-0"}
    source = KafkaLogDataSource({"path": uri, **settings})
    assert "very-secret" not in repr(source.reader(source.schema()).partitions())


def large_log(home: Path) -> tuple[Path, int]:
    """A segment of 6 MB in batches of 8 KB, an index entry each, and its next offset."""
    directory, time = home / "large-0", ManualTime(NOW)
    log = Log.create(directory, LogConfig({"index.interval.bytes": 4096}), scheduler=ManualScheduler(time), time=time)
    for number in range(750):
        records = [SimpleRecord(NOW + 1000 * number, None, bytes(2000)) for _ in range(4)]
        log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, *records), 0)
    log.close()
    return directory, 3000


@pytest.fixture(scope="module")
def large(store, tmp_path_factory) -> tuple[str, int]:
    directory, end = large_log(tmp_path_factory.mktemp("large"))
    return store.put(directory, "large-dir/large-0"), (directory / f"{0:020}.log").stat().st_size


def test_ranges_are_read_and_never_a_file_as_a_whole(store, large):
    uri, size = large
    store.forget()
    assert [row["offset"] for row in told(store, uri, EqualTo(("offset",), 1700))] == [1700]
    assert 0 < store.bytes_of(".log") < size // 20
    assert all(request.range for request in store.requests if request.size and request.path.endswith(".log"))
    store.forget()
    late = told(store, uri, startingTimestamp=NOW + 1000 * 740)
    assert [row["offset"] for row in late] == list(range(2960, 3000))
    assert store.bytes_of(".log") < size // 10


def test_every_byte_is_asked_for_about_once(store, large):
    uri, size = large
    for options in ({}, {"maxBytesPerTask": size // 4}):
        store.forget()
        assert len(told(store, uri, **options)) == 3000
        assert size <= store.bytes_of(".log") < 1.1 * size
    store.forget()
    assert len(told(store, uri, table="segments")) == 1
    assert store.bytes_of(".log") < size // 20


def test_without_an_index_reading_goes_from_the_start(store, large):
    uri, size = large
    alone = f"s3://{BUCKET}/alone/large-0"
    name = f"{0:020}.log"
    store.file_system.copy_file(f"{uri}/{name}".removeprefix("s3://"), f"{alone}/{name}".removeprefix("s3://"))
    store.forget()
    assert [row["offset"] for row in told(store, alone, EqualTo(("offset",), 1700))] == [1700]
    assert store.bytes_of(".log") < 3 * size
    assert len([request for request in store.requests if request.size]) < 30


@pytest.mark.parametrize("layout", ["LocalTieredStorage", "Aiven"])
def test_segments_of_tiered_storage(store, tmp_path, layout):
    """They are a broker's bytes by other names: Kafka's own test storage has the indexes beside, Aiven's does not."""
    drawn = draw_log(tmp_path, 2)
    root = f"s3://{BUCKET}/{layout}"
    for log in sorted(drawn.directory.glob("*.log")):
        if layout == "Aiven":
            store.put(log, f"{layout}/my-topic-{TOPIC_ID}/3/{log.stem}-{SEGMENT_ID}.log")
            continue
        for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
            file = log.with_suffix(suffix)
            if file.exists():
                store.put(file, f"{layout}/my-topic-3-{TOPIC_ID}/{int(log.stem)}-{SEGMENT_ID}{suffix}")
    assert [(row["topic"], row["partition"]) for row in told(store, root)] == [("my-topic", 3)] * len(drawn.records)
    assert [row["offset"] for row in told(store, root)] == [each.offset for each in drawn.records]
    decided = told(store, root, isolation__level="read_committed")
    assert [row["offset"] for row in decided] == [each.offset for each in drawn.committed]
    below = f"{root}/my-topic-{TOPIC_ID}" if layout == "Aiven" else f"{root}/my-topic-3-{TOPIC_ID}"
    assert len(told(store, below)) == len(drawn.records)


def test_a_segment_that_two_leaders_copied_counts_once(store, tmp_path):
    drawn = draw_log(tmp_path, 2)
    for number, log in enumerate(sorted(drawn.directory.glob("*.log"))):
        whole = log.read_bytes()
        store.put(log, f"twice/t-0-{TOPIC_ID}/{int(log.stem)}-{SEGMENT_ID}.log")
        log.write_bytes(whole[: len(whole) // 2] if number % 2 else whole)
        store.put(log, f"twice/t-0-{TOPIC_ID}/{int(log.stem)}-{TOPIC_ID}.log")
    found = told(store, f"s3://{BUCKET}/twice")
    assert [row["offset"] for row in found] == [each.offset for each in drawn.records]
    directory = f"s3://{BUCKET}/twice/t-0-{TOPIC_ID}"
    base_offset = int(sorted(drawn.directory.glob("*.log"))[1].stem)
    named = told(store, f"{directory}/{base_offset}-{SEGMENT_ID}.log")
    assert named == [row for row in found if row in named] != []
    assert told(store, f"{directory}/{base_offset}-*.log") == named
    with pytest.raises(IllegalArgumentException, match=f"does not count, as {base_offset}-{SEGMENT_ID}.log has"):
        told(store, f"{directory}/{base_offset}-{TOPIC_ID}.log")


@pytest.mark.parametrize(
    "segments",
    [
        [(0, 15), (2, 3)],
        [(0, 15), (2, 3), (15, 30)],
        [(0, 15), (10, 20), (15, 30)],
        [(0, 20), (0, 5), (5, 8), (20, 30)],
        [(0, 10), (5, 13), (8, 12), (11, 13), (13, 14)],
        [(0, 4), (2, 6), (4, 8), (5, 6)],
    ],
)
@pytest.mark.parametrize("where", ["store", "disk"])
def test_of_segments_within_others_nothing_is_lost(store, tmp_path, segments, where):
    """Of segments that two leaders have copied, from the first offset to the end (exclusive); a batch for each."""
    key, end = f"within-{'-'.join(f'{first}.{end}' for first, end in segments)}", max(end for _, end in segments)
    directory = tmp_path / f"t-0-{TOPIC_ID}"
    directory.mkdir()
    for number, (first, last) in enumerate(segments):
        records = [SimpleRecord(NOW, b"k", b"%d" % offset) for offset in range(first, last)]
        batches = b"".join(
            MemoryRecords.with_records(CompressionType.NONE, record, initial_offset=first + place).buffer
            for place, record in enumerate(records)
        )
        (directory / f"{first}-{number:021d}g.log").write_bytes(batches)
    settings = store.settings if where == "store" else {}
    root = store.put(tmp_path, key) if where == "store" else tmp_path
    assert [row["offset"] for row in rows(root, **settings)] == list(range(end))
    for first, last in ((4, 12), (0, 3), (end - 2, end)):
        chosen = {"startingOffsets": f'{{"t":{{"0":{first}}}}}', "endingOffsets": f'{{"t":{{"0":{min(last, end)}}}}}'}
        assert [row["offset"] for row in rows(root, **settings, **chosen)] == list(range(first, min(last, end)))


def test_what_a_worker_gets_can_be_pickled(store, log_dir):
    source = KafkaLogDataSource({"path": URI, **store.settings})
    reader = source.reader(source.schema())
    tasks = reader.partitions()
    reader, tasks = pickle.loads(pickle.dumps((reader, tasks)))
    assert sum(batch.num_rows for task in tasks for batch in reader.read(task)) == len(rows(log_dir))


def test_an_object_that_goes_away_or_changes_after_planning_is_a_damage(store, tmp_path):
    drawn = draw_log(tmp_path, 2)
    uri = store.put(drawn.directory, "changing/drawn-3")
    source = KafkaLogDataSource({"path": uri, **store.settings})
    reader = source.reader(source.schema())
    tasks = reader.partitions()
    log = sorted(drawn.directory.glob("*.log"))[0]
    store.file_system.delete_file(f"{BUCKET}/changing/drawn-3/{log.name}")
    for _ in range(2):
        with pytest.raises(CorruptRecordException, match=f"{uri}/{log.name}.*was deleted or replaced after the query"):
            [batch for task in tasks for batch in reader.read(task)]
        log.write_bytes(b"another")
        store.put(log, f"changing/drawn-3/{log.name}")


def test_errors_are_one_line_with_the_uri(store, log_dir):
    settings = store.settings
    for uri, message in (
        (f"{URI}/absent-0", f"{URI}/absent-0 does not exist"),
        ("s3://no-bucket/t-0", "s3://no-bucket/t-0: s3://no-bucket does not exist"),
        (f"{URI}/x-*", f"{URI}/x-\\* does not exist"),
    ):
        with pytest.raises((IllegalArgumentException, FileNotFoundError), match=f"^{message}$"):
            rows(uri, **settings)
    started = time.monotonic()
    with pytest.raises(IOException, match=rf"^{URI}: AWS Error NETWORK_CONNECTION during .*$") as raised:
        rows(URI, **{**settings, "fs.endpoint_override": "127.0.0.1:1"})
    assert "\n" not in str(raised.value) and time.monotonic() - started < 20
    with pytest.raises(IllegalArgumentException, match="Of .*fs.colour.* there is one that S3FileSystem does not know"):
        rows(URI, **settings, fs__colour="red")
    with pytest.raises(IllegalArgumentException, match="^gopher://host: Unrecognized filesystem type in URI"):
        rows("gopher://host/t-0")


def test_damage_in_an_object_is_told_with_its_uri(store, tmp_path):
    (tmp_path / "t-0").mkdir()
    log = tmp_path / "t-0" / f"{0:020}.log"
    log.write_bytes(b"\1" * 100)
    (tmp_path / "t-0" / f"{9:020}.log").touch()
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\nnonsense\n")
    uri = store.put(tmp_path, "damaged")
    with pytest.raises(Exception, match=f"{uri}/replication-offset-checkpoint, position 0: .*file {uri}/replication"):
        told(store, f"{uri}/t-0")
    (row,) = told(store, f"{uri}/t-0", mode="PERMISSIVE", bounds="log_end")
    assert (row["_corrupt"]["file"], row["_corrupt"]["position"]) == (f"{uri}/t-0/{log.name}", 0)


def test_a_stream_follows_an_object_store(store, tmp_path):
    drawn = draw_log(tmp_path, 2)
    logs = sorted(drawn.directory.glob("*.log"))
    read, position = [], None
    for log in logs:
        uri = store.put(log, f"growing/drawn-3/{log.name}").rpartition("/")[0]
        source = KafkaLogDataSource({"path": uri, "startingOffsets": "earliest", **store.settings})
        stream = source.streamReader(source.schema())
        position = position or stream.initialOffset()
        end = stream.latestOffset(position, stream.getDefaultReadLimit())
        for task in stream.partitions(position, end):
            read += [row["offset"] for batch in stream.read(task) for row in batch.to_pylist()]
        position = end
    assert read == [each.offset for each in drawn.records]


@pytest.mark.slow
def test_in_spark(spark, store, log_dir):
    """The settings reach the workers."""
    register(spark)
    frame = spark.read.format("minikafka").options(**store.settings).load(URI)
    assert frame.count() == len(rows(log_dir))
    assert frame.where("topic = 'mixed' AND offset >= 64").count() == 4

    def sizes(task):
        opened = [(each.segment.open(), each.segment.size) for each in task]
        yield pa.RecordBatch.from_pydict({"bytes": [len(file.read(0, size)) for file, size in opened]})

    found = ranges(spark, [URI], **store.settings)
    expected = sum(log.stat().st_size for log in log_dir.glob("*/*.log"))
    assert for_each_task(found.where("topic is not null"), sizes, "bytes long").groupBy().sum().first()[0] == expected
    assert "secret" not in str(found.collect()) + found._jdf.queryExecution().toString()
