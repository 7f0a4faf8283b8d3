"""Records as Arrow rows: columns of positions become columns of bytes without an object for each record."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.common.java.java_utf8 import decode_utf8
from minikafka.common.topic_partition import TopicPartition
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.kernels.record_columns import RecordColumns
from minikafka.spark.source.batch_columns import BatchColumns
from minikafka.spark.source.batch_runs_on_disk import DecodedRun, are_within, decoded_runs
from minikafka.spark.source.damage import Damage, Mode, OnDamage
from minikafka.spark.source.read_task import ByteRange, ReadTask
from minikafka.spark.source.replaced_segments import as_they_are_now

if TYPE_CHECKING:
    from numpy.typing import NDArray

CORRUPT = "_corrupt"
_DAMAGE_TYPE = pa.struct([("file", pa.string()), ("position", pa.int64()), ("exception", pa.string())])
_ROWS_AT_A_TIME = 100_000
_BYTES_AT_A_TIME = 12 << 20
LARGEST_MS = LONG_MAX // 1000  # Spark counts microseconds
CODECS = {codec.id: codec.type_name for codec in CompressionType}


class RowFilter(NamedTuple):
    """Of which records rows are made, beside the offsets of the range: timestamps (ms, inclusive), None for any."""

    min_timestamp: int | None = None
    max_timestamp: int | None = None


class RecordRows:
    """Makes the rows of a task, with the columns of `schema` and no others.

    Memory: a piece of the file or its largest batch, the decompressed records of one batch, and as many rows as are
    handed out at a time.
    """

    def __init__(self, schema: pa.Schema, row_filter: RowFilter, on_damage: OnDamage, *, check_crcs: bool):
        self._schema = schema
        self._filter = row_filter
        self._on_damage = on_damage
        self._check_crcs = check_crcs

    def of(self, task: ReadTask) -> Iterator[pa.RecordBatch]:
        """The rows, some 100,000 at a time. Raises CorruptRecordException for damage in mode FAILFAST."""
        held: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in self._small_batches(task):
            if rows + batch.num_rows > _ROWS_AT_A_TIME or size + batch.nbytes > _BYTES_AT_A_TIME:
                yield from _joined(held)
                held, rows, size = [], 0, 0
            held.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
        yield from _joined(held)

    def _small_batches(self, task: ReadTask) -> Iterator[pa.RecordBatch]:
        for topic_partition, damage in task.damages:
            yield from self._told(topic_partition, damage)
        for byte_range in as_they_are_now(task.ranges):
            yield from self.of_range(byte_range, Unwanted(byte_range, self._filter))

    def of_range(self, byte_range: ByteRange, unwanted: "Unwanted") -> Iterator[pa.RecordBatch]:
        """The rows of a range as they are decoded, a few thousand at a time or fewer. Raises what `of` raises."""
        for run in decoded_runs(byte_range, unwanted.lets_through, check_crcs=self._check_crcs):
            # 1. Is it a damage? Then it becomes a row of its own, or ends the query.
            if isinstance(run, Damage):
                yield from self._told(byte_range.topic_partition, run)
                continue
            # 2. The rows that a consumer would get are handed over.
            places = unwanted.places(run)
            if places is None or len(places):
                yield self._rows(byte_range, run, places)

    def _told(self, topic_partition: TopicPartition, damage: Damage) -> Iterator[pa.RecordBatch]:
        return damage_row(self._schema, self._on_damage, topic_partition, damage)

    def _rows(self, byte_range: ByteRange, run: DecodedRun, places: "NDArray[np.int64] | None") -> pa.RecordBatch:
        maker = _ColumnMaker(byte_range, run, places)
        columns = [_MAKERS[field.name](maker) for field in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _joined(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches as one, none for none; a single one is not copied."""
    if batches:
        yield pa.concat_batches(batches) if len(batches) > 1 else batches[0]


class Unwanted:
    """What of a range makes no rows: other offsets, control records, aborted transactions, other timestamps."""

    def __init__(self, byte_range: ByteRange, row_filter: RowFilter):
        self._range = byte_range
        self._filter = row_filter
        spans: dict[int, list[tuple[int, int]]] = {}
        for producer_id, first_offset, last_offset in byte_range.aborted:
            spans.setdefault(producer_id, []).append((first_offset, last_offset))
        # By first offset: the transactions of a producer do not overlap.
        self._aborted = {producer_id: np.array(sorted(each)).T for producer_id, each in spans.items()}

    def lets_through(self, batches: BatchColumns) -> "NDArray[np.bool_]":
        """Which batches may hold a record that is wanted."""
        wanted = are_within(batches, self._range) & ~batches.control
        if self._filter.min_timestamp is not None:
            wanted &= batches.max_timestamp >= self._filter.min_timestamp
        if self._aborted and batches.transactional.any():
            for producer_id in np.unique(batches.producer_id[batches.transactional]).tolist():
                if producer_id in self._aborted:
                    firsts, lasts = self._aborted[producer_id]
                    slots = firsts.searchsorted(batches.base_offset, "right") - 1
                    is_inside = (slots >= 0) & (batches.base_offset <= lasts[slots])
                    wanted &= ~(batches.transactional & (batches.producer_id == producer_id) & is_inside)
        return wanted

    def places(self, run: DecodedRun) -> "NDArray[np.int64] | None":
        """The places of the records that are wanted, None for all."""
        offsets = np.asarray(run.columns.offsets)
        wanted = (offsets >= self._range.start_offset) & (offsets < self._range.end_offset)
        if self._filter.min_timestamp is not None:
            wanted &= np.asarray(run.columns.timestamps) >= self._filter.min_timestamp
        if self._filter.max_timestamp is not None:
            wanted &= np.asarray(run.columns.timestamps) <= self._filter.max_timestamp
        return None if wanted.all() else np.flatnonzero(wanted)


class _ColumnMaker:
    """The columns of one run, each made when it is asked for."""

    def __init__(self, byte_range: ByteRange, run: DecodedRun, places: "NDArray[np.int64] | None"):
        self._range = byte_range
        self._run = run
        self._places = places
        self._count = len(run.columns) if places is None else len(places)

    def key(self) -> pa.Array:
        columns = self._run.columns
        return bytes_between(columns, np.asarray(columns.key_start), np.asarray(columns.key_end), self._places)

    def value(self) -> pa.Array:
        columns = self._run.columns
        return bytes_between(columns, np.asarray(columns.value_start), np.asarray(columns.value_end), self._places)

    def key_size(self) -> pa.Array:
        columns = self._run.columns
        return self._sizes(np.asarray(columns.key_start), np.asarray(columns.key_end))

    def value_size(self) -> pa.Array:
        columns = self._run.columns
        return self._sizes(np.asarray(columns.value_start), np.asarray(columns.value_end))

    def topic(self) -> pa.Array:
        return pa.repeat(self._range.topic_partition.topic, self._count)

    def partition(self) -> pa.Array:
        return pa.repeat(pa.scalar(self._range.topic_partition.partition, pa.int32()), self._count)

    def offset(self) -> pa.Array:
        return pa.array(self._chosen(np.asarray(self._run.columns.offsets)))

    def timestamp(self) -> pa.Array:
        return timestamps_of(self._chosen(np.asarray(self._run.columns.timestamps)))

    def timestamp_type(self) -> pa.Array:
        return pa.repeat(pa.scalar(self._run.batches[0].timestamp_type, pa.int32()), self._count)

    def headers(self) -> pa.Array:
        return headers_of(self._run.columns, self._places)

    def leader_epoch(self) -> pa.Array:
        return self._of_batches(self._run.batches.leader_epoch, np.int32)

    def producer_id(self) -> pa.Array:
        return self._of_batches(self._run.batches.producer_id)

    def producer_epoch(self) -> pa.Array:
        return self._of_batches(self._run.batches.producer_epoch, np.int16)

    def sequence(self) -> pa.Array:
        first = self._repeated(self._run.batches.base_sequence)
        base = self._repeated(self._run.batches.base_offset)
        # After 2147483647 comes 0.
        sequences = (first + self._chosen(np.asarray(self._run.columns.offsets)) - base) & 0x7FFFFFFF
        return pa.array(np.where(first < 0, -1, sequences).astype(np.int32))

    def transactional(self) -> pa.Array:
        return self._of_batches(self._run.batches.transactional)

    def codec(self) -> pa.Array:
        return pa.repeat(CODECS[self._run.batches[0].codec], self._count)

    def base_offset(self) -> pa.Array:
        if self._run.batches[0].magic < 2:
            return pa.nulls(self._count, pa.int64())
        return self._of_batches(self._run.batches.base_offset)

    def segment(self) -> pa.Array:
        return pa.repeat(self._range.segment.path, self._count)

    def position(self) -> pa.Array:
        return self._of_batches(self._run.batches.position)

    def corrupt(self) -> pa.Array:
        return pa.nulls(self._count, _DAMAGE_TYPE)

    def _sizes(self, starts: "NDArray[np.int64]", ends: "NDArray[np.int64]") -> pa.Array:
        """How many bytes lie from each start to its end (exclusive), null where the end is negative."""
        ends = self._chosen(ends)
        nulls = ends < 0
        return pa.array((ends - self._chosen(starts)).astype(np.int32), mask=nulls if nulls.any() else None)

    def _of_batches(self, facts: "NDArray[Any]", kind: type[np.generic] | None = None) -> pa.Array:
        return pa.array(self._repeated(facts if kind is None else facts.astype(kind)))

    def _repeated(self, facts: "NDArray[Any]") -> "NDArray[Any]":
        """A fact of each batch, once for each of its records."""
        return self._chosen(np.repeat(facts, self._run.counts))

    def _chosen(self, numbers: "NDArray[Any]") -> "NDArray[Any]":
        return numbers if self._places is None else numbers[self._places]


_MAKERS = {
    "key": _ColumnMaker.key,
    "value": _ColumnMaker.value,
    "keySize": _ColumnMaker.key_size,
    "valueSize": _ColumnMaker.value_size,
    "topic": _ColumnMaker.topic,
    "partition": _ColumnMaker.partition,
    "offset": _ColumnMaker.offset,
    "timestamp": _ColumnMaker.timestamp,
    "timestampType": _ColumnMaker.timestamp_type,
    "headers": _ColumnMaker.headers,
    "leaderEpoch": _ColumnMaker.leader_epoch,
    "producerId": _ColumnMaker.producer_id,
    "producerEpoch": _ColumnMaker.producer_epoch,
    "sequence": _ColumnMaker.sequence,
    "transactional": _ColumnMaker.transactional,
    "codec": _ColumnMaker.codec,
    "baseOffset": _ColumnMaker.base_offset,
    "segment": _ColumnMaker.segment,
    "position": _ColumnMaker.position,
    CORRUPT: _ColumnMaker.corrupt,
}


def damage_row(
    schema: pa.Schema, on_damage: OnDamage, topic_partition: TopicPartition, damage: Damage
) -> Iterator[pa.RecordBatch]:
    """The row that tells of a damage, in mode PERMISSIVE. Raises CorruptRecordException where the query is to fail."""
    if on_damage.fails_at(damage):
        raise damage.exception_to_raise()
    if on_damage.mode is not Mode.PERMISSIVE:
        return
    known = {
        "topic": pa.array([topic_partition.topic]),
        "partition": pa.array([topic_partition.partition], pa.int32()),
        CORRUPT: pa.array([damage._asdict()], _DAMAGE_TYPE),
    }
    columns = [known[field.name] if field.name in known else pa.nulls(1, field.type) for field in schema]
    yield pa.RecordBatch.from_arrays(columns, schema=schema)


def timestamps_of(milliseconds: "NDArray[np.int64]") -> pa.Array:
    """Milliseconds since 1970 as Spark's timestamps, null for one that has too many microseconds for these."""
    beyond = (milliseconds > LARGEST_MS) | (milliseconds < -LARGEST_MS)
    microseconds = pa.array(np.where(beyond, 0, milliseconds) * 1000, mask=beyond if beyond.any() else None)
    return microseconds.cast(pa.timestamp("us", tz="UTC"))


def bytes_between(
    columns: RecordColumns,
    starts: "NDArray[np.int64]",
    ends: "NDArray[np.int64]",
    places: "NDArray[np.int64] | None" = None,
) -> pa.Array:
    """The bytes from each start to its end (exclusive) as a binary column, null where the end is negative.

    Starts and ends ascend. All bytes of the data are seen as values with gaps between them, and every other one is
    taken: Arrow copies faster than numpy can gather.
    """
    nulls = ends < 0
    edges = np.empty(2 * len(starts) + 1, np.int32)
    edges[:-1:2] = starts
    edges[1::2] = np.where(nulls, starts, ends)
    edges[-1] = edges[-2] if len(starts) else 0
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(columns.data)]
    values_and_gaps = pa.Array.from_buffers(pa.binary(), 2 * len(starts), buffers)
    if places is None:
        places = np.arange(len(starts))
    else:
        nulls = nulls[places]
    return values_and_gaps.take(pa.array(2 * places, mask=nulls if nulls.any() else None))


def headers_of(columns: RecordColumns, places: "NDArray[np.int64] | None") -> pa.Array:
    """The headers as arrays of key and value, null for a record without any, as in Spark's Kafka connector."""
    counts = np.asarray(columns.headers_count)
    counts = counts if places is None else counts[places]
    if not counts.any():
        return pa.nulls(len(counts), HEADERS_TYPE)
    key_starts, key_ends, value_starts, value_ends = columns.header_positions(places)
    keys = _text(bytes_between(columns, key_starts, key_ends))
    values = bytes_between(columns, value_starts, value_ends)
    edges = np.concatenate([[0], counts.cumsum()]).astype(np.int32)
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(HEADERS_TYPE.value_type))
    return pa.ListArray.from_arrays(pa.array(edges), pairs, type=HEADERS_TYPE, mask=pa.array(counts == 0))


def _text(octets: pa.Array) -> pa.Array:
    """Bytes as text; what is no UTF-8 is replaced as Java does."""
    try:
        return octets.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([decode_utf8(each) for each in octets.to_pylist()], pa.string())


HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
