"""The tables beside the records, `option("table", …)`: batches, and what the other files of a partition say.

Each has the columns `topic` and `partition` first, then its own:

| table | a row is | columns |
|---|---|---|
| `batches` | a batch within the bounds, control batches included | `segment`, `position`, `size`, `magic`, \
`baseOffset`, `lastOffset`, `leaderEpoch`, `producerId`, `producerEpoch`, `baseSequence`, `maxTimestamp`, \
`timestampType`, `transactional`, `control`, `codec`, `records` |
| `segments` | a `.log` file | `segment`, `baseOffset`, `endOffset`, `size`, `largestTimestamp` |
| `index` | an entry of an offset index | `segment`, `offset`, `position` |
| `timeindex` | an entry of a time index | `segment`, `timestamp`, `offset` |
| `transactions` | an aborted transaction of a transaction index | `segment`, `producerId`, `firstOffset`, \
`lastOffset`, `lastStableOffset` |
| `producers` | a producer in a snapshot | `snapshotOffset`, `producerId`, `producerEpoch`, `coordinatorEpoch`, \
`lastTimestamp`, `lastSequence`, `lastOffset`, `openTransactionFirstOffset` |
| `epochs` | a line of `leader-epoch-checkpoint` | `epoch`, `startOffset` |
| `checkpoints` | a line of a checkpoint file of the log directory | `file`, `offset` |
| `groups` | what a group has committed for a partition | see `group_rows` |
| `metadata` | a partition that the cluster knows | see `metadata_rows` |
| `partitions` | a partition's directory | `directory` |
| `ranges` | bytes that one task of a query of the records would read | see `range_rows` |
| `verify` | what the job `verify` looks at | see `verify_rows`; without topic and partition |

Segments and files are whole paths; sizes and positions are bytes; offsets are inclusive but for `endOffset`, the base
offset of the next segment, which is null for the last one. `baseOffset` and `records` of a batch are null where an old
format does not tell them. The entries of an index are those that a look-up can trust: they end where they stop
ascending. Only `batches`, `groups` and `ranges` know the bounds; the others show whole files. `checkpoints` has the
lines of the partitions that the paths name.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import (
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from minikafka.checkpoint.leader_epoch_checkpoint_file import (
    LEADER_EPOCH_CHECKPOINT_FILENAME,
    LeaderEpochCheckpointFile,
)
from minikafka.checkpoint.offset_checkpoint_file import (
    LOG_START_OFFSET_CHECKPOINT_FILE,
    RECOVERY_POINT_CHECKPOINT_FILE,
    OffsetCheckpointFile,
)
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_file_utils import TXN_INDEX_FILE_SUFFIX
from minikafka.log.producer.snapshot_file import read_snapshot
from minikafka.record.format.batch_header import COMPRESSION_CODEC_MASK
from minikafka.spark.source.batch_columns import BatchColumns
from minikafka.spark.source.batch_runs_on_disk import are_within, batch_headers
from minikafka.spark.source.damage import DAMAGE, Damage, OnDamage
from minikafka.spark.source.group_rows import GROUP_COLUMNS, GROUPS
from minikafka.spark.source.index_entries import offset_entries, time_entries
from minikafka.spark.source.log_segments_on_disk import DiskPartition, DiskSegment
from minikafka.spark.source.metadata_rows import METADATA, METADATA_COLUMNS
from minikafka.spark.source.partition_bounds import HIGH_WATERMARKS, largest_timestamp
from minikafka.spark.source.range_rows import PARTITIONS, RANGE_COLUMNS, RANGES
from minikafka.spark.source.read_task import ByteRange, ReadTask
from minikafka.spark.source.record_rows import CODECS, CORRUPT, damage_row, timestamps_of
from minikafka.spark.source.replaced_segments import as_they_are_now
from minikafka.spark.source.storage import beside, joined
from minikafka.spark.source.transactions_on_disk import aborted_in, snapshots_of
from minikafka.spark.source.verify_rows import VERIFY, VERIFY_COLUMNS

RECORDS = "records"
BATCHES = "batches"
_BATCHES_AT_A_TIME = 10_000
_CHECKPOINTS = (
    HIGH_WATERMARKS, LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE, "cleaner-offset-checkpoint",
)  # fmt: skip

_WHERE: dict[str, DataType] = {"topic": StringType(), "partition": IntegerType()}
_SEGMENT: dict[str, DataType] = {**_WHERE, "segment": StringType()}
_COLUMNS: dict[str, dict[str, DataType]] = {
    BATCHES: {
        **_SEGMENT, "position": LongType(), "size": IntegerType(), "magic": IntegerType(), "baseOffset": LongType(),
        "lastOffset": LongType(), "leaderEpoch": IntegerType(), "producerId": LongType(),
        "producerEpoch": ShortType(), "baseSequence": IntegerType(), "maxTimestamp": TimestampType(),
        "timestampType": IntegerType(), "transactional": BooleanType(), "control": BooleanType(),
        "codec": StringType(), "records": IntegerType(),
    },
    "segments": {
        **_SEGMENT, "baseOffset": LongType(), "endOffset": LongType(), "size": LongType(),
        "largestTimestamp": TimestampType(),
    },
    "index": {**_SEGMENT, "offset": LongType(), "position": LongType()},
    "timeindex": {**_SEGMENT, "timestamp": TimestampType(), "offset": LongType()},
    "transactions": {
        **_SEGMENT, "producerId": LongType(), "firstOffset": LongType(), "lastOffset": LongType(),
        "lastStableOffset": LongType(),
    },
    "producers": {
        **_WHERE, "snapshotOffset": LongType(), "producerId": LongType(), "producerEpoch": ShortType(),
        "coordinatorEpoch": IntegerType(), "lastTimestamp": TimestampType(), "lastSequence": IntegerType(),
        "lastOffset": LongType(), "openTransactionFirstOffset": LongType(),
    },
    "epochs": {**_WHERE, "epoch": IntegerType(), "startOffset": LongType()},
    "checkpoints": {**_WHERE, "file": StringType(), "offset": LongType()},
    GROUPS: {**_WHERE, **GROUP_COLUMNS},
    METADATA: {**_WHERE, **METADATA_COLUMNS},
    PARTITIONS: {**_WHERE, "directory": StringType()},
    RANGES: {**_WHERE, **RANGE_COLUMNS},
    VERIFY: VERIFY_COLUMNS,
}  # fmt: skip

TABLES = tuple(_COLUMNS)
"""The tables beside the records."""


def schema_of_table(table: str, corrupt: dict[str, DataType]) -> StructType:
    """The columns of `table`, and `corrupt` behind them. Raises IllegalArgumentException for a table there is not."""
    if table not in _COLUMNS:
        raise IllegalArgumentException(f"table={table} is none of {', '.join((RECORDS, *TABLES))}")
    return StructType([StructField(name, kind) for name, kind in (_COLUMNS[table] | corrupt).items()])


class TableRows:
    """Makes the rows of a table other than the records, with the columns of `schema` and no others."""

    def __init__(self, table: str, schema: pa.Schema, on_damage: OnDamage, *, check_crcs: bool):
        self._table = table
        self._schema = schema
        self._on_damage = on_damage
        self._check_crcs = check_crcs

    def of(self, task: ReadTask) -> Iterator[pa.RecordBatch]:
        """The rows of a task of the table `batches`. Raises CorruptRecordException for damage in mode FAILFAST."""
        for topic_partition, damage in task.damages:
            yield from self._told(topic_partition, damage)
        for byte_range in as_they_are_now(task.ranges):
            held: list[BatchColumns] = []
            for batches in batch_headers(byte_range, check_crcs=self._check_crcs):
                if isinstance(batches, Damage):
                    yield from self._rows_of_batches(byte_range, held)
                    yield from self._told(byte_range.topic_partition, batches)
                    held = []
                    continue
                held.append(batches[are_within(batches, byte_range)])
                if sum(map(len, held)) > _BATCHES_AT_A_TIME:
                    yield from self._rows_of_batches(byte_range, held)
                    held = []
            yield from self._rows_of_batches(byte_range, held)

    def of_partition(self, partition: DiskPartition) -> Iterator[pa.RecordBatch]:
        """The rows of any other table. Raises CorruptRecordException for damage in mode FAILFAST."""
        for file, columns_of in _FILES[self._table](partition):
            try:
                columns = columns_of()
            except FileNotFoundError:  # there is no such file, or it went away
                continue
            except DAMAGE as error:
                yield from self._told(partition.topic_partition, Damage.of(file, 0, error))
                continue
            count = len(next(iter(columns.values())))
            if count:
                yield self._rows(partition.topic_partition, count, columns)

    def _rows_of_batches(self, byte_range: ByteRange, parts: list[BatchColumns]) -> Iterator[pa.RecordBatch]:
        if batches := BatchColumns.joined([part for part in parts if len(part)]):
            yield self._rows(byte_range.topic_partition, len(batches), _batch_columns(byte_range, batches))

    def _told(self, topic_partition: TopicPartition, damage: Damage) -> Iterator[pa.RecordBatch]:
        return damage_row(self._schema, self._on_damage, topic_partition, damage)

    def _rows(self, topic_partition: TopicPartition, count: int, columns: dict[str, Any]) -> pa.RecordBatch:
        columns = {
            "topic": pa.repeat(topic_partition.topic, count),
            "partition": pa.repeat(pa.scalar(topic_partition.partition, pa.int32()), count),
            CORRUPT: [None] * count,
        } | columns
        arrays = [_array(columns[field.name], field.type) for field in self._schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _array(column: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    if pa.types.is_timestamp(kind):
        return timestamps_of(np.asarray(column, np.int64))
    return pa.array(column, kind)


def _batch_columns(byte_range: ByteRange, batches: BatchColumns) -> dict[str, Any]:
    is_old = batches.magic < 2
    codecs = pa.array([CODECS.get(codec, f"unknown ({codec})") for codec in range(COMPRESSION_CODEC_MASK + 1)])
    return {
        "segment": pa.repeat(byte_range.segment.path, len(batches)),
        "position": batches.position,
        "size": batches.size,
        "magic": batches.magic,
        "baseOffset": pa.array(batches.base_offset, mask=is_old & (batches.codec != 0)),
        "lastOffset": batches.last_offset,
        "leaderEpoch": batches.leader_epoch,
        "producerId": batches.producer_id,
        "producerEpoch": batches.producer_epoch,
        "baseSequence": batches.base_sequence,
        "maxTimestamp": batches.max_timestamp,
        "timestampType": batches.timestamp_type,
        "transactional": batches.transactional,
        "control": batches.control,
        "codec": codecs.take(pa.array(batches.codec)),
        "records": pa.array(batches.records.astype(np.int32), mask=is_old),
    }


_Part = tuple[str, Callable[[], dict[str, Any]]]
"""A file, and what makes columns of it; FileNotFoundError stands for no rows."""


def _segments(partition: DiskPartition) -> Iterator[_Part]:
    for each in partition.chosen:

        def columns(segment: DiskSegment = each) -> dict[str, Any]:
            return {
                "segment": [segment.path],
                "baseOffset": [segment.base_offset],
                "endOffset": [segment.end_offset],
                "size": [segment.size],
                "largestTimestamp": [largest_timestamp(segment)],
            }

        yield each.path, columns


def _index(partition: DiskPartition) -> Iterator[_Part]:
    for each in partition.chosen:

        def columns(segment: DiskSegment = each) -> dict[str, Any]:
            offsets, positions = offset_entries(segment)
            return {"segment": pa.repeat(segment.path, len(offsets)), "offset": offsets, "position": positions}

        yield each.path, columns


def _time_index(partition: DiskPartition) -> Iterator[_Part]:
    for each in partition.chosen:

        def columns(segment: DiskSegment = each) -> dict[str, Any]:
            timestamps, offsets = time_entries(segment)
            return {"segment": pa.repeat(segment.path, len(offsets)), "timestamp": timestamps, "offset": offsets}

        yield each.path, columns


def _transactions(partition: DiskPartition) -> Iterator[_Part]:
    for each in partition.chosen:

        def columns(segment: DiskSegment = each) -> dict[str, Any]:
            entries = aborted_in(segment)
            return {
                "segment": pa.repeat(segment.path, len(entries)),
                "producerId": [entry.producer_id for entry in entries],
                "firstOffset": [entry.first_offset for entry in entries],
                "lastOffset": [entry.last_offset for entry in entries],
                "lastStableOffset": [entry.last_stable_offset for entry in entries],
            }

        yield beside(each.path, TXN_INDEX_FILE_SUFFIX), columns


def _producers(partition: DiskPartition) -> Iterator[_Part]:
    for each in snapshots_of(partition):

        def columns(offset: int = each[0], file: str = each[1]) -> dict[str, Any]:
            with partition.storage.on_disk(file) as path:
                entries = read_snapshot(path)
            return {
                "snapshotOffset": [offset] * len(entries),
                "producerId": [entry.producer_id for entry in entries],
                "producerEpoch": [entry.producer_epoch for entry in entries],
                "coordinatorEpoch": [entry.coordinator_epoch for entry in entries],
                "lastTimestamp": [entry.last_timestamp for entry in entries],
                "lastSequence": [entry.last_seq for entry in entries],
                "lastOffset": [entry.last_data_offset for entry in entries],
                "openTransactionFirstOffset": [entry.current_txn_first_offset for entry in entries],
            }

        yield each[1], columns


def _epochs(partition: DiskPartition) -> Iterator[_Part]:
    file = joined(partition.directory, LEADER_EPOCH_CHECKPOINT_FILENAME)

    def columns() -> dict[str, Any]:
        with partition.storage.on_disk(file) as path:
            entries = LeaderEpochCheckpointFile(path).read()
        return {"epoch": [entry.epoch for entry in entries], "startOffset": [entry.start_offset for entry in entries]}

    yield file, columns


def _checkpoints(partition: DiskPartition) -> Iterator[_Part]:
    for name in _CHECKPOINTS:
        each = joined(os.path.dirname(partition.directory), name)

        def columns(file: str = each) -> dict[str, Any]:
            with partition.storage.on_disk(file) as path:
                offset = OffsetCheckpointFile(path).read().get(partition.topic_partition)
            known = offset is not None
            return {"file": [file] if known else [], "offset": [offset] if known else []}

        yield each, columns


def _partitions(partition: DiskPartition) -> Iterator[_Part]:
    yield partition.directory, lambda: {"directory": [partition.directory]}


_FILES: dict[str, Callable[[DiskPartition], Iterator[_Part]]] = {
    PARTITIONS: _partitions,
    "segments": _segments,
    "index": _index,
    "timeindex": _time_index,
    "transactions": _transactions,
    "producers": _producers,
    "epochs": _epochs,
    "checkpoints": _checkpoints,
}
