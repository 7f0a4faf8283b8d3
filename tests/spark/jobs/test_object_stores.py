"""What jobs look at in workers says of an object store what it says of the same files on a disk."""

import shutil
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import fs

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.jobs.byte_ranges import PartitionDirectory, partitions, ranges
from minikafka.spark.jobs.export import export
from minikafka.spark.jobs.log_to_compact import rounds_ahead
from minikafka.spark.jobs.replicas import _Copies, replicas
from minikafka.spark.jobs.segment_facts import segment_facts
from minikafka.spark.jobs.unread_records import unread_records
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.range_rows import carried_settings
from tests.golden.places import GOLDEN
from tests.spark.object_store import BUCKET, ObjectStore
from tests.spark.rows import rows

pytestmark = pytest.mark.slow

URI = f"s3://{BUCKET}/log-dir"


@pytest.fixture(scope="module")
def store():
    with ObjectStore() as store:
        fs.copy_files(str(GOLDEN), f"{BUCKET}/log-dir", destination_filesystem=store.file_system)
        yield store


def carried(store: ObjectStore, table: str) -> dict[str, str]:
    """The settings that come with a table."""
    options = {"path": URI, "table": table, **store.settings}
    return carried_settings(KafkaLogDataSource(options).schema())


def rows_of(look, root: str, settings: dict[str, str]) -> list[dict]:
    one = PartitionDirectory(TopicPartition("mixed", 0), f"{root}/mixed-0", settings)
    told = [row for batch in look(iter([one])) for row in batch.to_pylist()]
    return [{name: str(value).replace(root, "ROOT") for name, value in row.items()} for row in told]


@pytest.mark.parametrize("job", ["retention", "compaction", "lag"])
def test_a_worker_finds_the_directory(store, job):
    def unread(directories):
        for each in directories:
            asked = pa.RecordBatch.from_pylist([{"directory": each.directory, "offsets": [0, 7, 100]}])
            yield from unread_records(
                [asked], settings=each.settings, isolation_level="read_uncommitted", mode="FAILFAST"
            )

    look = {
        "retention": partial(segment_facts, mode="FAILFAST"),
        "compaction": partial(rounds_ahead, configs={}, now=1_800_000_000_000, mode="FAILFAST"),
        "lag": unread,
    }[job]
    there = rows_of(look, URI, carried(store, "partitions"))
    assert there and there == rows_of(look, str(GOLDEN), {})


def test_both_tables_that_jobs_read_carry_the_settings(store):
    expected = {name.removeprefix("fs."): setting for name, setting in store.settings.items()}
    assert carried(store, "ranges") == carried(store, "partitions") == expected


def test_a_copy_tells_how_far_its_cleaner_has_been(store):
    directory = f"{BUCKET}/cleaned"
    fs.copy_files(str(GOLDEN / "mixed-0"), f"{directory}/mixed-0", destination_filesystem=store.file_system)
    with store.file_system.open_output_stream(f"{directory}/cleaner-offset-checkpoint") as checkpoint:
        checkpoint.write(b"0\n1\nmixed 0 7\n")
    copies = _Copies(carried(store, "ranges"))
    assert copies.of(f"s3://{directory}/mixed-0").cleaned_to == 7
    assert copies.of(f"{URI}/mixed-0").cleaned_to == _Copies({}).of(str(GOLDEN / "mixed-0")).cleaned_to


def test_an_export_reads_an_object_store(spark, store, tmp_path):
    uri = store.put(GOLDEN, "to-export")  # other files of tests put further logs beside those at URI
    (added,) = export(ranges(spark, [uri], **store.settings), to=str(tmp_path)).collect()
    (again,) = export(ranges(spark, [uri], **store.settings), to=str(tmp_path)).collect()
    there = ds.dataset(tmp_path, format="parquet", partitioning="hive").to_table(columns=["offset", "key", "value"])
    here = [{name: row[name] for name in ("offset", "key", "value")} for row in rows(GOLDEN)]
    assert here and there.sort_by("offset").to_pylist() == here
    assert (added.records, again.records, again.nextOffset) == (len(here), 0, added.nextOffset)


def test_replicas_in_an_object_store_differ_where_they_differ_on_disks(spark, store, tmp_path):
    log_dirs = [Path(shutil.copytree(GOLDEN, tmp_path / name)) for name in ("one", "two")]
    log = sorted((log_dirs[1] / "mixed-0").glob("*.log"))[1]
    log.write_bytes(log.read_bytes()[:-1] + b"?")
    uris = [store.put(log_dir, log_dir.name) for log_dir in log_dirs]

    def told(paths: list[str], settings: dict[str, str]) -> list[str]:
        found = replicas(ranges(spark, paths, **settings), partitions(spark, paths, **settings)).collect()
        return [str(row) for row in found]

    there = [line.replace(f"s3://{BUCKET}", str(tmp_path)) for line in told(uris, store.settings)]
    here = told(list(map(str, log_dirs)), {})
    assert there == here and any(str(log) in line for line in here)


def test_an_export_into_an_object_store_is_refused_before_anything_is_read():
    with pytest.raises(IllegalArgumentException, match=r"s3://bucket/out is not a directory"):
        export(None, to="s3://bucket/out")
