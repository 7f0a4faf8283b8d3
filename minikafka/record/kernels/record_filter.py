"""Batches rewritten without the records that a filter drops, which is how compaction rewrites a log."""

import enum
from abc import ABC, abstractmethod
from itertools import pairwise
from typing import NamedTuple

from minikafka.common.errors import IllegalArgumentException, IllegalStateException
from minikafka.common.java.java_numbers import to_long
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.batch_header import write_empty_header
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.memory_records_builder import MemoryRecordsBuilder
from minikafka.record.format.record_batch import (
    CURRENT_MAGIC_VALUE,
    MAGIC_VALUE_V2,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
    RecordBatch,
)
from minikafka.record.format.timestamp_type import TimestampType
from minikafka.record.kernels.batch_run import BatchRun, batch_runs
from minikafka.record.kernels.column import Column, zero_column
from minikafka.record.kernels.record_columns import RecordColumns, filter_functions
from minikafka.record.legacy.legacy_record_batch import LegacyRecordBatch


class BatchRetention(enum.Enum):
    """What becomes of a batch as a whole. Kafka: `RecordFilter.BatchRetention`."""

    DELETE = "goes, its records are not looked at"
    RETAIN_EMPTY = "stays, if need be as a header without records"
    DELETE_EMPTY = "goes if none of its records stays"


class BatchRetentionResult(NamedTuple):
    """What becomes of a batch, and whether it is the marker of a transaction that has nothing else left.

    Kafka: `RecordFilter.BatchRetentionResult`.
    """

    batch_retention: BatchRetention
    contains_marker_for_empty_txn: bool


class RetainedRecords(NamedTuple):
    """Places of records in columns, in ascending order: the records that stay, and those that go because a compacted
    log cannot hold them.
    """

    places: Column
    invalid_places: Column


class RecordFilter(ABC):
    """Says which batches stay and which of their records.

    `current_time` (ms) is when the filtering began. Tombstones and markers that are met for the first time may go
    `delete_retention_ms` after that.

    The filter is asked about batches in their order. Nothing about the batches in a `BatchRun` could decide for all of
    their records at once, so the answer for them is never DELETE, and their records are asked about together.

    Kafka: `MemoryRecords.RecordFilter`.
    """

    def __init__(self, current_time: int, delete_retention_ms: int):
        self.current_time = current_time
        self.delete_retention_ms = delete_retention_ms

    @abstractmethod
    def check_batch_retention(self, batch: RecordBatch | LegacyRecordBatch) -> BatchRetentionResult:
        """What becomes of `batch`. Kafka: `RecordFilter.checkBatchRetention`.

        In a run, this is asked only about the first batch, and about each batch without a record that stays, if it has
        a producer id or is the last of the run.
        """

    @abstractmethod
    def retained_records(self, batch: RecordBatch | LegacyRecordBatch, columns: RecordColumns) -> RetainedRecords:
        """Which of the records in `columns` stay: those of `batch`, or of the run that begins with it.

        Called after `check_batch_retention` for the same batch, unless that said DELETE.
        Kafka: `RecordFilter.shouldRetainRecord`, for all records at once.
        """


class FilterResult:
    """What filtering read and what it kept: numbers of records and bytes, the batches, and their largest offset.

    `messages_invalid`: how many went because a compacted log cannot hold them.

    Kafka: `MemoryRecords.FilterResult`.
    """

    __slots__ = (
        "output",
        "messages_read",
        "bytes_read",
        "messages_invalid",
        "messages_retained",
        "bytes_retained",
        "max_offset",
    )

    def __init__(self) -> None:
        self.output = bytearray()
        self.messages_read = 0
        self.bytes_read = 0
        self.messages_invalid = 0
        self.messages_retained = 0
        self.bytes_retained = 0
        self.max_offset = -1

    def update_retained_batch_metadata(
        self, *, max_timestamp: int, last_offset: int, max_offset: int, messages_retained: int, bytes_retained: int
    ) -> None:
        """Count a batch that stays. Raises IllegalArgumentException for negative offsets.

        Kafka: `FilterResult.updateRetainedBatchMetadata`.
        """
        if max_timestamp != NO_TIMESTAMP and last_offset < 0:
            raise IllegalArgumentException(f"shallowOffset undefined for maximum timestamp {max_timestamp}")
        if max_offset < 0:
            raise IllegalArgumentException("maxOffset undefined")
        self.max_offset = max(max_offset, self.max_offset)
        self.messages_retained += messages_retained
        self.bytes_retained += bytes_retained


def filter_to(records: MemoryRecords, record_filter: RecordFilter, buffer_size: int) -> FilterResult:
    """Copy the complete batches of `records` without what `record_filter` drops.

    Ends early, after the batch with which the copies exceed `buffer_size` (bytes). A batch that keeps all its records
    is copied as it is, unless a delete horizon must be set. Records are read as columns, without an object for each.

    Raises what reading a damaged batch raises, and IllegalStateException for an empty batch of an old format that
    should stay. Kafka: `MemoryRecords.filterTo`.
    """
    result = FilterResult()
    for part in batch_runs(records.buffer):
        if isinstance(part, BatchRun):
            _filter_run(part, record_filter, buffer_size, result)
        else:
            _filter_batch(part, record_filter, result)
        # Where Kafka's buffer would have to grow, it is written out first.
        if len(result.output) > buffer_size:
            break
    return result


def _filter_batch(batch: RecordBatch | LegacyRecordBatch, record_filter: RecordFilter, result: FilterResult) -> None:
    """Copy what stays of one batch. Kafka: `MemoryRecords.filterTo`."""
    # 1. What becomes of the batch as a whole?
    batch_retention, contains_marker_for_empty_txn = record_filter.check_batch_retention(batch)
    result.bytes_read += batch.size_in_bytes
    if batch_retention is BatchRetention.DELETE:
        return
    # 2. Which of its records stay?
    columns = batch.streaming_columns()
    places, invalid_places = record_filter.retained_records(batch, columns)
    if columns.error is not None:
        raise columns.error
    result.messages_read += columns.count
    result.messages_invalid += len(invalid_places)
    # 3. Copy it, write it anew, or write its header only.
    if len(places):
        _retain(
            batch,
            columns,
            places,
            record_filter,
            result,
            contains_marker_for_empty_txn=contains_marker_for_empty_txn,
        )
    elif batch_retention is BatchRetention.RETAIN_EMPTY:
        _retain_empty(batch, result)


def _filter_run(run: BatchRun, record_filter: RecordFilter, buffer_size: int, result: FilterResult) -> None:
    """Do what `_filter_batch` does for each batch, but look closely only at those that change."""
    kernel = filter_functions()
    # 1. Which records stay, and how many of them lie before each batch?
    record_filter.check_batch_retention(run.batch(0))
    places, invalid_places = record_filter.retained_records(run.batch(0), run.columns)
    tombstones = _tombstones(run.columns, places)
    counts = [zero_column(len(run.firsts)) for _ in range(3)]
    for some, before in zip((places, tombstones, invalid_places), counts, strict=True):
        kernel.count_before(some, run.firsts, before)
    retained_before, tombstones_before, invalid_before = counts
    for number, (first, stop) in enumerate(pairwise(run.firsts)):
        result.bytes_read += run.positions[number + 1] - run.positions[number]
        result.messages_read += stop - first
        result.messages_invalid += invalid_before[number + 1] - invalid_before[number]
        begin, end = retained_before[number], retained_before[number + 1]
        has_tombstones = tombstones_before[number + 1] > tombstones_before[number]
        # 2. All records of the batch, and no tombstones: copy it.
        if begin < end and end - begin == stop - first and not has_tombstones:
            _copy(run, number, result)
        # 3. Some, or tombstones: write it anew.
        elif begin < end:
            columns, within = run.columns.part(first, stop), zero_column(end - begin)
            kernel.shift(places, begin, end, first, within)
            _retain(
                run.batch(number),
                columns,
                within,
                record_filter,
                result,
                contains_marker_for_empty_txn=False,
            )
        # 4. None: its header may still be wanted.
        elif run.has_producer_id(number) or number + 1 == len(run):
            batch = run.batch(number)
            if record_filter.check_batch_retention(batch).batch_retention is BatchRetention.RETAIN_EMPTY:
                _retain_empty(batch, result)
        if len(result.output) > buffer_size:
            return


def _copy(run: BatchRun, number: int, result: FilterResult) -> None:
    data = run.data(number, number + 1)
    result.output += data
    last_offset = run.last_offset_of(number)
    result.update_retained_batch_metadata(
        max_timestamp=run.max_timestamp(number),
        last_offset=last_offset,
        max_offset=last_offset,
        messages_retained=run.firsts[number + 1] - run.firsts[number],
        bytes_retained=len(data),
    )


def _retain(
    batch: RecordBatch | LegacyRecordBatch,
    columns: RecordColumns,
    places: Column,
    record_filter: RecordFilter,
    result: FilterResult,
    *,
    contains_marker_for_empty_txn: bool,
) -> None:
    """Keep the records at `places`, which are some or all of the batch."""
    contains_tombstones = len(_tombstones(columns, places)) > 0
    need_to_set_delete_horizon = (
        contains_tombstones or contains_marker_for_empty_txn
    ) and batch.delete_horizon_ms is None
    write_original_batch = batch.magic >= CURRENT_MAGIC_VALUE and len(places) == columns.count
    if write_original_batch and not need_to_set_delete_horizon:
        batch.write_to(result.output)
        result.update_retained_batch_metadata(
            max_timestamp=batch.max_timestamp,
            last_offset=batch.last_offset,
            max_offset=batch.last_offset,
            messages_retained=len(places),
            bytes_retained=batch.size_in_bytes,
        )
        return
    delete_horizon_ms = batch.delete_horizon_ms
    if need_to_set_delete_horizon:
        delete_horizon_ms = to_long(record_filter.current_time + record_filter.delete_retention_ms)
    builder = _build_retained_records(batch, columns, places, delete_horizon_ms)
    filtered = builder.build()
    result.output += filtered.buffer
    info = builder.info()
    max_offset = int(columns.offsets[filter_functions().place_of_largest(columns.offsets, places)])
    result.update_retained_batch_metadata(
        max_timestamp=info.max_timestamp,
        last_offset=info.shallow_offset_of_max_timestamp,
        max_offset=max_offset,
        messages_retained=len(places),
        bytes_retained=filtered.size_in_bytes,
    )


def _tombstones(columns: RecordColumns, places: Column) -> Column:
    """Those of `places` whose records have no value."""
    out = zero_column(len(places))
    return out[: filter_functions().tombstones(columns.value_end, places, out)]


def _build_retained_records(
    batch: RecordBatch | LegacyRecordBatch,
    columns: RecordColumns,
    places: Column,
    delete_horizon_ms: int | None,
) -> MemoryRecordsBuilder:
    """A batch of magic 2 like `batch`, whose magic may be lower, with the records at `places`.

    Kafka: `MemoryRecords.buildRetainedRecordsInto`.
    """
    # Magic 0 has no timestamps, and nothing else says when its records were appended.
    timestamp_type = batch.timestamp_type
    if timestamp_type is TimestampType.NO_TIMESTAMP_TYPE:
        timestamp_type = TimestampType.CREATE_TIME
    is_log_append_time = timestamp_type is TimestampType.LOG_APPEND_TIME
    builder = MemoryRecordsBuilder(
        Compression.of(batch.compression_type),
        magic=CURRENT_MAGIC_VALUE,
        timestamp_type=timestamp_type,
        base_offset=batch.base_offset if batch.magic >= MAGIC_VALUE_V2 else int(columns.offsets[places[0]]),
        log_append_time=batch.max_timestamp if is_log_append_time else NO_TIMESTAMP,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control_batch=batch.is_control_batch,
        partition_leader_epoch=batch.partition_leader_epoch,
        delete_horizon_ms=delete_horizon_ms,
    )
    builder.append_columns(columns, places)
    if batch.magic >= MAGIC_VALUE_V2:
        # The last sequence of the producer follows from the last offset: it must not be forgotten.
        builder.override_last_offset(batch.last_offset)
    return builder


def _retain_empty(batch: RecordBatch | LegacyRecordBatch, result: FilterResult) -> None:
    """Keep only the header of `batch`."""
    if batch.magic < MAGIC_VALUE_V2:
        raise IllegalStateException("Empty batches are only supported for magic v2 and above")
    position = len(result.output)
    result.output += bytes(RECORD_BATCH_OVERHEAD)
    write_empty_header(
        result.output,
        position,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        partition_leader_epoch=batch.partition_leader_epoch,
        timestamp_type=batch.timestamp_type,
        timestamp=batch.max_timestamp,
        is_transactional=batch.is_transactional,
        is_control_batch=batch.is_control_batch,
    )
    result.update_retained_batch_metadata(
        max_timestamp=batch.max_timestamp,
        last_offset=batch.last_offset,
        max_offset=batch.last_offset,
        messages_retained=0,
        bytes_retained=RECORD_BATCH_OVERHEAD,
    )
