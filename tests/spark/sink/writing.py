"""Writes with the data source in this process, as the driver's and the workers' Python do, without a Spark."""

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from minikafka.common import file_ops
from minikafka.spark.sink.log_dir_writer import KafkaLogWriter, WrittenPartitions
from minikafka.spark.sink.sink_options import SinkOptions
from minikafka.spark.sink.write_mark import marks_in
from minikafka.tools.process_id import ProcessId

DEAD = ProcessId.of_driver()._replace(started="0")
NOW = 1_700_000_000_000
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("partition", pa.int32()),
    ]
)


class Killed(BaseException):
    """What the system does to a process, seen from inside."""


def row(value: bytes | None = b"v", key: bytes | None = b"k", *, partition=0, timestamp=NOW, headers=None, **offset):
    """A row as Spark would hand it to the writer; `timestamp` in ms."""
    pairs = None if headers is None else [{"key": name, "value": content} for name, content in headers]
    timestamp = None if timestamp is None else timestamp * 1000
    return {"key": key, "value": value, "headers": pairs, "timestamp": timestamp, "partition": partition, **offset}


def begin(log_dir: Path, *, overwrite=False, offsets=False, **options) -> KafkaLogWriter:
    """A writer that has begun; an option's name has `__` for a dot, and `settings` are a dict."""
    schema = SCHEMA.append(pa.field("offset", pa.int64())) if offsets else SCHEMA
    given = {"path": str(log_dir), "topic": "t", **{name.replace("__", "."): each for name, each in options.items()}}
    given["settings"] = json.dumps({name: str(value) for name, value in options.get("settings", {}).items()})
    given = {name: str(each) for name, each in given.items()}
    return KafkaLogWriter(from_arrow_schema(schema), SinkOptions.of(given), overwrite=overwrite)


def task(writer: KafkaLogWriter, rows: list[dict], rows_a_batch: int = 1000) -> WrittenPartitions:
    """Run one task."""
    schema = SCHEMA.append(pa.field("offset", pa.int64())) if any("offset" in each for each in rows) else SCHEMA
    return writer.write(pa.Table.from_pylist(rows, schema=schema).to_batches(rows_a_batch))


def write(log_dir: Path, *tasks: list[dict], overwrite=False, rows_a_batch=1000, **options) -> None:
    """Write all tasks' rows and commit."""
    offsets = any("offset" in each for rows in tasks for each in rows)
    writer = begin(log_dir, overwrite=overwrite, offsets=offsets, **options)
    writer.commit([task(writer, rows, rows_a_batch) for rows in tasks])


def killed_in_commit(log_dir: Path, steps: int | None = None, *, overwrite: bool, **options) -> bool:
    """Write two partitions, by a driver that dies after so many changes of its commit; False if it needs no more.

    `steps`: None for those up to the list in the mark.
    """
    writer = begin(log_dir, partitions=2, overwrite=overwrite, **options)
    messages = [task(writer, [row(b"new 0")]), task(writer, [row(b"new 1", partition=1)])]
    done = 0

    def die(operation, path):
        nonlocal done
        done += 1
        if (operation, path) == ("rename", writer._mark.file) if steps is None else done > steps:
            raise Killed(f"{operation} {path}")

    try:
        with file_ops.observe(die):
            writer.commit(messages)
    except Killed:
        for mark in marks_in(log_dir):
            dataclasses.replace(mark, owner=DEAD).put()
        return True
    return False


def files(log_dir: Path) -> dict[str, bytes]:
    """The contents of all files below a directory, by relative path."""
    return {str(path.relative_to(log_dir)): path.read_bytes() for path in sorted(log_dir.rglob("*")) if path.is_file()}
