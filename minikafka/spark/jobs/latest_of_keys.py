"""What a task sees of the records that a compaction would rewrite: the candidates for staying, and the batches."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from minikafka.record.format.batch_header import RECORD_BATCH_OVERHEAD
from minikafka.record.format.record_batch import MAGIC_VALUE_V2
from minikafka.spark.jobs.byte_ranges import sound
from minikafka.spark.jobs.log_to_compact import RoundAhead
from minikafka.spark.jobs.row_type import batch_of_rows
from minikafka.spark.source.batch_columns import BatchColumns
from minikafka.spark.source.batch_runs_on_disk import DecodedRun, are_within, decoded_runs
from minikafka.spark.source.read_task import ByteRange
from minikafka.spark.source.record_rows import RowFilter, Unwanted, bytes_between

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CANDIDATES_AT_A_TIME = 1 << 20


class CompactionRow(NamedTuple):
    """A candidate, or a batch; the columns of the other are None.

    `directory`: the log's. A batch is known by its segment's base offset and its position. A candidate is a record with
    a key: of the dirty part the latest that the task has of the key, of the clean part any. `size`: bytes before
    compression. `expired`: it is a tombstone whose time is over. `batchStays`: the bytes that are left of the batch if
    no candidate in it stays; with `kept` no record of it can go.
    """

    directory: str
    segment: int | None = None
    position: int | None = None
    # a candidate
    key: bytes | None = None
    offset: int | None = None
    size: int | None = None
    dirty: bool | None = None
    tombstone: bool | None = None
    expired: bool | None = None
    # a batch
    batchSize: int | None = None
    batchStays: int | None = None
    kept: bool | None = None
    compressed: bool | None = None
    records: int | None = None
    recordBytes: int | None = None


def latest_of_keys(ranges: Iterator[tuple[ByteRange, RoundAhead]], *, now: int, mode: str) -> Iterator[pa.RecordBatch]:
    """The rows of the ranges of a task, each with the round over its log; `now`: ms.

    Raises CorruptRecordException for damage in mode FAILFAST.
    """
    for byte_range, ahead in ranges:
        if byte_range.segment.base_offset < ahead.firstUncleanableOffset:
            yield from _RangeToCompact(byte_range, ahead, now, mode).rows()


class _Candidates(NamedTuple):
    """Columns of candidates."""

    keys: pa.Array
    offsets: "NDArray[np.int64]"
    positions: "NDArray[np.int64]"
    sizes: "NDArray[np.int64]"
    tombstones: "NDArray[np.bool_]"
    expired: "NDArray[np.bool_]"

    def at(self, places: "NDArray[np.int64] | NDArray[np.bool_]") -> "_Candidates":
        """Some of them."""
        keys = self.keys.filter(pa.array(places)) if places.dtype == np.bool_ else self.keys.take(pa.array(places))
        return _Candidates(keys, *(column[places] for column in self[1:]))

    def latest(self) -> "_Candidates":
        """The last one of each key; offsets ascend."""
        encoded = self.keys.dictionary_encode()
        places = np.empty(len(encoded.dictionary), np.int64)
        # Of several values for one place, numpy keeps the last.
        places[encoded.indices.to_numpy()] = np.arange(len(self.keys))
        return self if len(places) == len(self.keys) else self.at(np.sort(places))


class _RangeToCompact:
    """Reads a range below the first uncleanable offset."""

    def __init__(self, byte_range: ByteRange, ahead: RoundAhead, now: int, mode: str):
        self._range = byte_range
        self._ahead = ahead
        self._now = now
        self._mode = mode
        self._unwanted = Unwanted(byte_range, RowFilter())
        self._others: list[BatchColumns] = []

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Candidates and batches."""
        held: list[_Candidates] = []
        count = 0
        for run in sound(decoded_runs(self._range, self._lets_through, check_crcs=True), self._mode):
            sizes = np.asarray(run.columns.record_end) - np.asarray(run.columns.record_start)
            # The log may start inside a batch.
            is_there = np.asarray(run.columns.offsets) >= self._range.start_offset
            counts, record_bytes = _sums(is_there, run.counts), _sums(sizes * is_there, run.counts)
            yield self._batches(run.batches, counts, record_bytes)
            candidates = self._candidates(run, sizes)
            if not self._ahead.cleanableBytes:
                # Nothing goes: what is counted of the candidates are the tombstones.
                tombstones = candidates.at(candidates.tombstones)
                yield self._rows_of(
                    tombstones._replace(expired=np.zeros(len(tombstones.offsets), np.bool_)), dirty=False
                )
                continue
            is_dirty = candidates.offsets >= self._ahead.firstDirtyOffset
            if not is_dirty.all():
                yield self._rows_of(candidates.at(~is_dirty), dirty=False)
                candidates = candidates.at(is_dirty)
            held.append(candidates.latest())
            count += len(held[-1].offsets)
            if count > _CANDIDATES_AT_A_TIME:
                yield self._rows_of(_joined(held), dirty=True)
                held, count = [], 0
        if count:
            yield self._rows_of(_joined(held), dirty=True)
        others = BatchColumns.joined(self._others)
        are_there = np.minimum(others.records, others.last_offset + 1 - self._range.start_offset)
        yield self._batches(others, are_there.clip(0), others.records * 0)

    def _lets_through(self, batches: BatchColumns) -> "NDArray[np.bool_]":
        wanted = self._unwanted.lets_through(batches) & (batches.records != 0)
        self._others.append(batches[are_within(batches, self._range) & ~wanted])
        return wanted

    def _candidates(self, run: DecodedRun, sizes: "NDArray[np.int64]") -> _Candidates:
        columns, batches = run.columns, run.batches
        has_key = np.asarray(columns.key_end) >= 0
        wanted = self._unwanted.places(run)
        if wanted is not None:
            is_wanted = np.zeros(len(has_key), np.bool_)
            is_wanted[wanted] = True
            has_key &= is_wanted
        places = np.flatnonzero(has_key)
        tombstones = np.asarray(columns.value_end) < 0
        expired = tombstones & np.repeat(self._drops_tombstones(batches), run.counts)
        return _Candidates(
            bytes_between(columns, np.asarray(columns.key_start), np.asarray(columns.key_end), places),
            np.asarray(columns.offsets)[places],
            np.repeat(batches.position, run.counts)[places],
            sizes[places],
            tombstones[places],
            expired[places],
        )

    def _drops_tombstones(self, batches: BatchColumns) -> "NDArray[np.bool_]":
        """Whether the time of a batch's tombstones is over. Kafka: `Cleaner.shouldRetainRecord`."""
        by_horizon = (batches.delete_horizon >= 0) & (batches.delete_horizon <= self._now)
        is_old = batches.magic < MAGIC_VALUE_V2
        if is_old.any():
            return np.where(is_old, self._ahead.drops_old_tombstones_of(self._range.segment), by_horizon)
        return by_horizon

    def _batches(
        self, batches: BatchColumns, counts: "NDArray[np.int64]", record_bytes: "NDArray[np.int64]"
    ) -> pa.RecordBatch:
        is_last = batches.last_offset + 1 == self._ahead.firstUncleanableOffset
        kept = batches.control if self._ahead.cleanableBytes else np.ones(len(batches), np.bool_)
        stays = np.where(kept, batches.size, np.where(is_last, RECORD_BATCH_OVERHEAD, 0))
        return self._table(
            len(batches), position=batches.position, batchSize=batches.size, batchStays=stays, kept=kept,
            compressed=batches.codec != 0, records=np.where(batches.control, 0, counts), recordBytes=record_bytes,
        )  # fmt: skip

    def _rows_of(self, candidates: _Candidates, *, dirty: bool) -> pa.RecordBatch:
        return self._table(
            len(candidates.offsets), position=candidates.positions, key=candidates.keys, offset=candidates.offsets,
            size=candidates.sizes, dirty=np.full(len(candidates.offsets), dirty), tombstone=candidates.tombstones,
            expired=candidates.expired,
        )  # fmt: skip

    def _table(self, count: int, **columns: object) -> pa.RecordBatch:
        columns |= {
            "directory": pa.repeat(self._ahead.directory, count),
            "segment": pa.repeat(self._range.segment.base_offset, count),
        }
        arrays = [
            pa.nulls(count, field.type) if field.name not in columns
            else columns[field.name] if isinstance(columns[field.name], pa.Array)
            else pa.array(columns[field.name], field.type)
            for field in _SCHEMA
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


_SCHEMA = batch_of_rows(CompactionRow, []).schema


def _sums(sizes: "NDArray[np.int64]", counts: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """The sum of the sizes of each batch's records; `counts[i]` records belong to batch i."""
    so_far = np.concatenate([[0], np.cumsum(sizes)])
    ends = np.cumsum(counts)
    return so_far[ends] - so_far[ends - counts]


def _joined(parts: list[_Candidates]) -> _Candidates:
    if len(parts) == 1:
        return parts[0]
    keys, *numbers = zip(*parts, strict=True)
    return _Candidates(pa.concat_arrays(keys), *map(np.concatenate, numbers)).latest()
