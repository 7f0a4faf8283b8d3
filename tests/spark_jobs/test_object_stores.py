"""What jobs look at in workers says of an object store what it says of the same files on a disk."""

from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.jobs.byte_ranges import PartitionDirectory
from minikafka.spark.jobs.export import export
from minikafka.spark.jobs.log_to_compact import rounds_ahead
from minikafka.spark.jobs.replicas import _Copies
from minikafka.spark.jobs.segment_facts import segment_facts
from minikafka.spark.jobs.unread_records import unread_records
from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.range_rows import carried_settings
from tests.spark.object_store import BUCKET, ObjectStore

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3.0"
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


def test_an_export_into_an_object_store_is_refused_before_anything_is_read():
    with pytest.raises(IllegalArgumentException, match=r"s3://bucket/out is not a directory"):
        export(None, to="s3://bucket/out")
