"""What a task sees of its records for the job `profile`: counts that add up, without a Python object for a record."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.jobs.byte_ranges import sound
from minikafka.spark.jobs.earlier_timestamps import EarlierTimestamps
from minikafka.spark.jobs.histogram import Histogram
from minikafka.spark.jobs.key_sketch import KeySketch, hashes_of_keys
from minikafka.spark.jobs.row_type import batch_of_rows
from minikafka.spark.source.batch_columns import BatchColumns
from minikafka.spark.source.batch_runs_on_disk import DecodedRun, are_within, decoded_runs
from minikafka.spark.source.damage import Damage
from minikafka.spark.source.read_task import ByteRange
from minikafka.spark.source.record_rows import RowFilter, Unwanted

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CountRow(NamedTuple):
    """How often (`count`) a measure has the value `at`, or its sum, where `at` is 0; `since` in ms."""

    topic: str
    partition: int
    since: int | None
    measure: str
    at: int
    count: int


_RECORDS_AT_A_TIME = 1 << 16
_MOST_PERIODS = 256  # in memory; each has some ten thousand numbers


def profile_of_task(ranges: Iterator[ByteRange], *, mode: str, period_ms: int | None) -> Iterator[pa.RecordBatch]:
    """The counts of the byte ranges of one task; see `RecordProfile`."""
    return RecordProfile(mode, period_ms).of(ranges)


class RecordProfile:
    """Counts the records of byte ranges, for each partition and each period of `period_ms` (None: all time).

    A record is of the period of its own timestamp, a batch of that of its largest; without one both are of none.
    """

    def __init__(self, mode: str, period_ms: int | None):
        self._mode = mode
        self._period_ms = period_ms
        self._counts: dict[tuple[TopicPartition, int | None], _Counts] = {}

    def of(self, ranges: Iterator[ByteRange]) -> Iterator[pa.RecordBatch]:
        """The counts of the ranges, which follow each other. Raises CorruptRecordException in mode FAILFAST."""
        earlier = EarlierTimestamps()
        for byte_range in ranges:
            for facts in self._facts(byte_range, earlier.largest_before(byte_range)):
                self._add(byte_range.topic_partition, facts)
                if len(self._counts) > _MOST_PERIODS:
                    yield self._rows()
        yield self._rows()

    def _facts(self, byte_range: ByteRange, largest_before: int) -> Iterator["_RecordFacts"]:
        """The records of a range, many runs at a time."""
        batches = _Batches(byte_range, largest_before)
        held: list[_RecordFacts] = []
        records = 0
        for run in decoded_runs(byte_range, batches.lets_through, check_crcs=True):
            if isinstance(run, Damage):
                next(sound([run], self._mode), None)
                self._of(byte_range.topic_partition, None).numbers["damages", 0] += 1
                continue
            held.append(batches.facts_of(run))
            records += len(run.columns)
            if records >= _RECORDS_AT_A_TIME:
                yield _joined(held)
                held, records = [], 0
        if held:
            yield _joined(held)
        self._add_batches(byte_range.topic_partition, BatchColumns.joined(batches.within))

    def _add_batches(self, topic_partition: TopicPartition, batches: BatchColumns) -> None:
        for period, places in self._by_period(batches.max_timestamp):
            numbers, here = self._of(topic_partition, period).numbers, batches[places]
            numbers["partition", topic_partition.partition] = 1
            numbers["control batches", 0] += int(np.count_nonzero(here.control))
            numbers["batches", 0] += int(np.count_nonzero(~here.control))
            for codec in np.unique(here.codec).tolist():
                numbers["bytes", codec] += int(here.size[here.codec == codec].sum())

    def _add(self, topic_partition: TopicPartition, facts: "_RecordFacts") -> None:
        for period, places in self._by_period(facts.timestamps):
            self._of(topic_partition, period).add(_RecordFacts(*(column[places] for column in facts)))

    def _by_period(self, timestamps: "NDArray[np.int64]") -> "Iterator[tuple[int | None, slice | NDArray[np.bool_]]]":
        """The periods (ms, None for none) in which the timestamps lie, and which of them do."""
        if self._period_ms is None:
            if len(timestamps):
                yield None, slice(None)
            return
        periods = np.where(timestamps < 0, -1, timestamps // self._period_ms)
        for period in np.unique(periods).tolist():
            yield None if period < 0 else period * self._period_ms, periods == period

    def _of(self, topic_partition: TopicPartition, since: int | None) -> "_Counts":
        counts = self._counts.get((topic_partition, since))
        if counts is None:
            counts = self._counts[topic_partition, since] = _Counts()
        return counts

    def _rows(self) -> pa.RecordBatch:
        parts = [
            batch_of_rows(CountRow, [(*topic_partition, since, *measure, n) for measure, n in counts.numbers.items()])
            for (topic_partition, since), counts in self._counts.items()
        ]
        for ((topic, partition), since), counts in self._counts.items():
            for measure, values, numbers in counts.columns():
                schema = parts[0].schema
                fixed = (
                    pa.scalar(each, schema.field(i).type) for i, each in enumerate((topic, partition, since, measure))
                )
                columns = [*(pa.repeat(each, len(values)) for each in fixed), pa.array(values), pa.array(numbers)]
                parts.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        self._counts = {}
        return pa.concat_batches(parts) if parts else batch_of_rows(CountRow, [])


class _RecordFacts(NamedTuple):
    """Columns with a number for each record.

    `sizes`: bytes before compression. `lateness`: how many ms before the largest timestamp that the log had so far, 0
    for none. `keys`: hashes. `has_key`, `has_value`: 1 or 0. `headers`: how many.
    """

    timestamps: "NDArray[np.int64]"
    sizes: "NDArray[np.int64]"
    lateness: "NDArray[np.int64]"
    keys: "NDArray[np.int64]"
    has_key: "NDArray[np.bool_]"
    has_value: "NDArray[np.bool_]"
    headers: "NDArray[np.int64]"


class _Counts:
    """What is counted of the records of one partition in one period."""

    def __init__(self) -> None:
        self.numbers: Counter[tuple[str, int]] = Counter()
        self._sizes, self._lateness, self._keys = Histogram(), Histogram(), KeySketch()

    def add(self, facts: _RecordFacts) -> None:
        """Count records."""
        numbers, with_key = self.numbers, facts.has_key
        numbers["records", 0] += len(facts.timestamps)
        numbers["record bytes", 0] += int(facts.sizes.sum())
        numbers["without key", 0] += int(np.count_nonzero(~with_key))
        numbers["tombstones", 0] += int(np.count_nonzero(with_key & ~facts.has_value))
        numbers["with headers", 0] += int(np.count_nonzero(facts.headers))
        for column, name in ((facts.sizes, "size"), (facts.timestamps[facts.timestamps >= 0], "timestamp")):
            if len(column):
                numbers[f"smallest {name}", int(column.min())] += 1
                numbers[f"largest {name}", int(column.max())] += 1
        late = facts.lateness[facts.lateness > 0]
        if len(late):
            numbers["largest lateness", int(late.max())] += 1
        self._sizes.add(facts.sizes)
        self._lateness.add(late)
        self._keys.add(facts.keys[with_key])

    def columns(self) -> "Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64]]]":
        """What takes many values: the measure, its values, and how often each occurs."""
        yield "size", *self._sizes.counts
        yield "lateness", *self._lateness.counts
        yield "key", self._keys.hashes, np.ones(len(self._keys.hashes), np.int64)


class _Batches:
    """Sees the batches of a range before they are decoded, and how far back each record's timestamp goes.

    `within`: the batches with an offset that counts, so far.
    """

    def __init__(self, byte_range: ByteRange, largest_before: int):
        self._range = byte_range
        self._unwanted = Unwanted(byte_range, RowFilter())
        self._largest = largest_before
        self._passed_over = BatchColumns.of(())
        self.within: list[BatchColumns] = []

    def lets_through(self, batches: BatchColumns) -> "NDArray[np.bool_]":
        """Which batches may hold a record that is wanted."""
        wanted = self._unwanted.lets_through(batches)
        self.within.append(batches[are_within(batches, self._range)])
        self._passed_over = BatchColumns.joined([self._passed_over, batches[~wanted | (batches.records == 0)]])
        return wanted

    def facts_of(self, run: DecodedRun) -> _RecordFacts:
        """The records of the run that are wanted; runs come in the order of the log."""
        columns, timestamps = run.columns, np.asarray(run.columns.timestamps)
        lateness = np.maximum(self._largest_before_each(run)[:-1] - timestamps, 0)
        facts = _RecordFacts(
            timestamps,
            np.asarray(columns.record_end) - np.asarray(columns.record_start),
            np.where(timestamps < 0, 0, lateness),
            hashes_of_keys(columns),
            np.asarray(columns.key_end) >= 0,
            np.asarray(columns.value_end) >= 0,
            np.asarray(columns.headers_count),
        )
        places = self._unwanted.places(run)
        return facts if places is None else _RecordFacts(*(column[places] for column in facts))

    def _largest_before_each(self, run: DecodedRun) -> "NDArray[np.int64]":
        """The largest timestamp before each record of the run, and before what follows; notes that last one."""
        largest = np.concatenate([[self._largest], run.columns.timestamps])
        is_before = self._passed_over.position < run.batches.position[-1]
        passed_over, self._passed_over = self._passed_over[is_before], self._passed_over[~is_before]
        first_records = np.cumsum(run.counts) - run.counts
        places = first_records[run.batches.position.searchsorted(passed_over.position)]
        np.maximum.at(largest, places, passed_over.max_timestamp)
        largest = np.maximum.accumulate(largest)
        self._largest = int(largest[-1])
        return largest


def _joined(parts: list[_RecordFacts]) -> _RecordFacts:
    return parts[0] if len(parts) == 1 else _RecordFacts(*map(np.concatenate, zip(*parts, strict=True)))
