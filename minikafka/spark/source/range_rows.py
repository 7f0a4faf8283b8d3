"""The tables `ranges` and `partitions`: what there is to read, as rows that a job spreads over a cluster.

A row of `ranges` is a byte range that a query of the records with the same options would read. A partition of which the
query would read nothing has one row, whose `end` is its `start`.

| column | meaning |
|---|---|
| `topic`, `partition` | |
| `segment` | the `.log` file |
| `identity` | tells the file that was found from another one that later gets its name |
| `baseOffset`, `nextOffset` | the segment's, and the next segment's, null for the last one |
| `segmentSize` | bytes of the file when the query was planned |
| `start`, `end` | the range: bytes of the file, `end` exclusive; whole batches |
| `startOffset`, `endOffset` | the records that count, `endOffset` exclusive |
| `aborted` | with `read_committed`, aborted transactions whose records do not count; offsets inclusive |
| `endsOpen` | the file may end with a batch that is not whole yet |
| `task` | ranges of one number are meant to be read by one task |

Each task's rows are a Spark partition of their own, so that a function that is mapped over the table has as many tasks
as a query of the records. `maxBytesPerTask` and `minPartitions` decide how many. `partitions`, with the column
`directory`, is for work that needs whole directories; it is spread in the same way.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.source.damage import OnDamage
from minikafka.spark.source.log_segments_on_disk import DiskSegment
from minikafka.spark.source.read_task import ByteRange, ReadTask
from minikafka.spark.source.record_rows import damage_row
from minikafka.spark.source.segment_positions import PositionRange
from minikafka.spark.source.storage_of import storage_of
from minikafka.spark.source.transactions_on_disk import Aborted

RANGES = "ranges"
_SETTINGS = "fs"
_ISOLATION = "isolation.level"
_PATHS = ("segment", "directory")
PARTITIONS = "partitions"

_ABORTED = StructType(
    [
        StructField("producerId", LongType()),
        StructField("firstOffset", LongType()),
        StructField("lastOffset", LongType()),
    ]
)
RANGE_COLUMNS: dict[str, DataType] = {
    "segment": StringType(),
    "identity": LongType(),
    "baseOffset": LongType(),
    "nextOffset": LongType(),
    "segmentSize": LongType(),
    "start": LongType(),
    "end": LongType(),
    "startOffset": LongType(),
    "endOffset": LongType(),
    "aborted": ArrayType(_ABORTED),
    "endsOpen": BooleanType(),
    "task": IntegerType(),
}
"""The columns of `ranges` behind topic and partition."""


def carrying(schema: StructType, settings: Mapping[str, str], isolation: IsolationLevel) -> StructType:
    """`schema` of either table, or of `verify`, with a store's settings (`storage_of`) beside the column of its paths.

    Functions that are mapped over the table need them to open what it names, and no row shows what is secret. Nor does
    a row show with which `isolation` the table was read.
    """
    metadata = {_SETTINGS: dict(settings), _ISOLATION: isolation.name.lower()}
    fields = [
        StructField(field.name, field.dataType, metadata=metadata) if field.name in _PATHS else field
        for field in schema
    ]
    return StructType(fields)


def carried_settings(schema: StructType) -> dict[str, str]:
    """The settings that came with the table, or what is left of it."""
    carried: dict[str, str] = {}
    for field in schema:
        carried |= field.metadata.get(_SETTINGS, {}) if field.name in _PATHS else {}
    return carried


def carried_isolation(schema: StructType) -> str | None:
    """The `isolation.level` with which the table was read; None where what is left of it does not say."""
    levels = (field.metadata.get(_ISOLATION) for field in schema if field.name in _PATHS)
    return next((level for level in levels if level is not None), None)


class RangeRows:
    """Makes the rows of `ranges`, with the columns of `schema` and no others."""

    def __init__(self, schema: pa.Schema, on_damage: OnDamage):
        self._schema = schema
        self._on_damage = on_damage

    def of(self, task: ReadTask) -> Iterator[pa.RecordBatch]:
        """The rows of a task. Raises CorruptRecordException, in mode FAILFAST, for damage met while it was planned."""
        for topic_partition, damage in task.damages:
            yield from damage_row(self._schema, self._on_damage, topic_partition, damage)
        if task.ranges:
            rows = [_row(each, task.number) for each in task.ranges]
            columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in self._schema]
            yield pa.RecordBatch.from_arrays(columns, schema=self._schema)


def range_of(row: Mapping[str, Any], settings: Mapping[str, str] | None = None) -> ByteRange:
    """The byte range that a row of the table was made of; `settings` as for `storage_of`."""
    storage, _ = storage_of(row["segment"], settings or {})
    return ByteRange(
        TopicPartition(row["topic"], row["partition"]),
        DiskSegment(row["baseOffset"], row["nextOffset"], row["segment"], row["segmentSize"], row["identity"], storage),
        PositionRange(row["start"], row["end"]),
        row["startOffset"],
        row["endOffset"],
        tuple(Aborted(each["producerId"], each["firstOffset"], each["lastOffset"]) for each in row["aborted"]),
        row["endsOpen"],
    )


def _row(byte_range: ByteRange, task: int) -> dict[str, Any]:
    segment = byte_range.segment
    return {
        "topic": byte_range.topic_partition.topic,
        "partition": byte_range.topic_partition.partition,
        "segment": segment.path,
        "identity": segment.identity,
        "baseOffset": segment.base_offset,
        "nextOffset": segment.end_offset,
        "segmentSize": segment.size,
        "start": byte_range.positions.start,
        "end": byte_range.positions.end,
        "startOffset": byte_range.start_offset,
        "endOffset": byte_range.end_offset,
        "aborted": [
            {"producerId": each.producer_id, "firstOffset": each.first_offset, "lastOffset": each.last_offset}
            for each in byte_range.aborted
        ],
        "endsOpen": byte_range.ends_open,
        "task": task,
    }
