"""The job `transactions`: what each producer's transactions came to in each partition, and which are open too long.

A marker ends a producer's transaction in a partition, so what lies between two markers of a producer is one
transaction. A task sees a part of a partition: it adds up the transactions that lie in it whole, and tells what it saw
before each producer's first marker and behind the last one. Only headers and markers are read, no records.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.record.format.control_record import ControlRecordType
from minikafka.record.format.record_batch import RecordBatch
from minikafka.spark.jobs.byte_ranges import for_each_task, sound
from minikafka.spark.jobs.row_type import batch_of_rows, schema_of_rows
from minikafka.spark.jobs.spark_time import spark_time
from minikafka.spark.source.batch_runs_on_disk import BatchFacts, batch_pieces
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.read_task import ByteRange

FIFTEEN_MINUTES = 900_000
"""In ms; what Kafka's own tool takes for the longest time that a transaction may be open."""


def transactions(
    ranges: DataFrame, *, open_longer_than: int = FIFTEEN_MINUTES, now: int | None = None, mode: str = "FAILFAST"
) -> DataFrame:
    """A row for each partition and producer that has transactions there. `ranges` should have `bounds=log_end` and,
    since records of several copies would add up, `copies=refuse`.

    | column | type | meaning |
    |---|---|---|
    | `topic`, `partition` | string, int | |
    | `producerId`, `producerEpoch` | bigint, int | the epoch is the newest one |
    | `records`, `bytes` | bigint | of all its transactions, whatever became of them; batches as they lie on the disk |
    | `committed`, `aborted` | bigint | transactions, by their markers in this partition |
    | `abortedShare` | double | of the transactions that have ended, 0 … 1; null when none has |
    | `abortedRecords` | bigint | |
    | `longestMs` | bigint | from a transaction's first batch to its marker (timestamps), in ms; null when none ended |
    | `openOffset` | bigint | where the open transaction begins; null when none is open |
    | `openRecords` | bigint | records of the open transaction, null when none is open |
    | `lastTimestamp` | timestamp | of the producer's newest transactional batch; null for markers alone |
    | `idleMs` | bigint | with an open transaction: the time from `lastTimestamp` to `now`, in ms |
    | `openTooLong` | boolean | `idleMs` is more than `open_longer_than` (ms) |

    `now` is in ms since 1970; None stands for the newest timestamp of all these logs. Whether a transaction is open too
    long is judged as Kafka's tool does before it asks the coordinator (`kafka-transactions.sh find-hanging`). What
    retention has deleted is not counted: a transaction whose beginning is gone has the records that are left. Damage
    ends the query in mode FAILFAST and is passed over in others. Kafka: `TransactionsCommand.FindHangingCommand`.
    """
    parts = for_each_task(ranges, partial(_parts, mode=mode), schema_of_rows(_Part))
    wholes = parts.groupBy("topic", "partition").applyInArrow(_joined, schema_of_rows(_Whole))
    newest = F.max("newest").over(Window.partitionBy(F.lit(0)))  # few rows: one for each producer
    idle = F.when(F.col("openOffset").isNotNull(), F.try_subtract("now", "last"))
    return (
        wholes.withColumn("now", newest if now is None else F.lit(now))
        .where("producerId IS NOT NULL")
        .select(
            "topic",
            F.col("partition").cast("int"),
            "producerId",
            F.col("producerEpoch").cast("int"),
            *("records", "bytes", "committed", "aborted"),
            F.try_divide("aborted", F.col("committed") + F.col("aborted")).alias("abortedShare"),
            *("abortedRecords", "longestMs", "openOffset", "openRecords"),
            spark_time(F.col("last")).alias("lastTimestamp"),
            idle.alias("idleMs"),
            F.coalesce(idle > open_longer_than, F.lit(False)).alias("openTooLong"),
        )
        .orderBy("topic", "partition", "producerId")
    )


class _Part(NamedTuple):
    """What one task saw of a producer in one range; without a producer, of the range alone.

    The sums are of transactions that lie in the range whole, but for `bytes`, which are of all. The head is what comes
    before the first marker, which `ended` it (COMMIT, ABORT; None without a marker) at `endedAt`; the tail comes behind
    the last marker. `segment` (its base offset) and `start` (the range's, in bytes) order the ranges of a partition.
    `…Since`, `last`, `newest`: timestamps in ms.
    """

    topic: str
    partition: int
    segment: int
    start: int
    newest: int
    producerId: int | None = None
    producerEpoch: int | None = None
    last: int | None = None
    bytes: int = 0
    records: int = 0
    committed: int = 0
    aborted: int = 0
    abortedRecords: int = 0
    longestMs: int | None = None
    headOffset: int | None = None
    headRecords: int = 0
    headSince: int | None = None
    ended: str | None = None
    endedAt: int | None = None
    tailOffset: int | None = None
    tailRecords: int = 0
    tailSince: int | None = None


class _Whole(NamedTuple):
    """A producer in a partition; without one, the newest timestamp (ms) of a partition."""

    topic: str
    partition: int
    newest: int
    producerId: int | None = None
    producerEpoch: int | None = None
    last: int | None = None
    records: int = 0
    bytes: int = 0
    committed: int = 0
    aborted: int = 0
    abortedRecords: int = 0
    longestMs: int | None = None
    openOffset: int | None = None
    openRecords: int | None = None


class _Stretch:
    """Batches of one producer without a marker between them."""

    def __init__(self, offset: int | None = None, records: int = 0, since: int | None = None):
        self.offset = offset
        self.records = records
        self.since = since

    def append(self, offset: int | None, records: int, since: int | None) -> None:
        if self.offset is None:  # these are the first ones
            self.offset, self.since = offset, since
        self.records += records


class _Sums:
    """Transactions that have ended."""

    def __init__(self) -> None:
        self.records = self.committed = self.aborted = self.aborted_records = 0
        self.longest_ms: int | None = None

    def add(self, stretch: _Stretch, ended: str, ended_at: int) -> None:
        self.records += stretch.records
        if ended == ControlRecordType.COMMIT.name:
            self.committed += 1
        else:
            self.aborted += 1
            self.aborted_records += stretch.records
        if stretch.since is not None:
            self.add_longest(min(max(0, ended_at - stretch.since), LONG_MAX))

    def add_longest(self, duration_ms: int | None) -> None:
        if duration_ms is not None:
            self.longest_ms = duration_ms if self.longest_ms is None else max(self.longest_ms, duration_ms)


class _ProducerInRange:
    """What a task sees of one producer, batch by batch."""

    def __init__(self) -> None:
        self.epoch = -1
        self.last: int | None = None
        self.bytes = 0
        self.sums = _Sums()
        self.head, self.ended, self.ended_at = _Stretch(), "", -1
        self.tail = _Stretch()

    def meet(self, batch: BatchFacts) -> None:
        """A batch with records."""
        self.epoch = max(self.epoch, batch.producer_epoch)
        self.last = batch.max_timestamp
        self.bytes += batch.size
        stretch = self.tail if self.ended else self.head
        stretch.append(batch.base_offset, batch.records, batch.max_timestamp)

    def end(self, batch: BatchFacts, marker: str) -> None:
        """The batch of a marker."""
        self.epoch = max(self.epoch, batch.producer_epoch)
        if self.ended:
            self.sums.add(self.tail, marker, batch.max_timestamp)
            self.tail = _Stretch()
        else:
            self.ended, self.ended_at = marker, batch.max_timestamp


def _parts(ranges: Iterator[ByteRange], mode: str) -> Iterator[pa.RecordBatch]:
    for each in ranges:
        yield batch_of_rows(_Part, _parts_of(each, mode))


def _parts_of(byte_range: ByteRange, mode: str) -> list[_Part]:
    newest = -1
    producers: dict[int, _ProducerInRange] = {}
    for newest_of_piece, batches in sound(_pieces(byte_range), mode):
        newest = max(newest, newest_of_piece)
        for batch, marker in batches:
            producer = producers.setdefault(batch.producer_id, _ProducerInRange())
            if marker is None:
                producer.meet(batch)
            else:
                producer.end(batch, marker)
    where = *byte_range.topic_partition, byte_range.segment.base_offset, byte_range.positions.start
    parts = [_Part(*where, newest)]
    for producer_id, seen in producers.items():
        sums, head, tail = seen.sums, seen.head, seen.tail
        parts.append(
            _Part(
                *where, newest, producer_id, seen.epoch, seen.last, seen.bytes,
                sums.records, sums.committed, sums.aborted, sums.aborted_records, sums.longest_ms,
                head.offset, head.records, head.since, seen.ended or None, seen.ended_at,
                tail.offset, tail.records, tail.since,
            )
        )  # fmt: skip
    return parts


def _pieces(byte_range: ByteRange) -> Iterator[tuple[int, list[tuple[BatchFacts, str | None]]] | Damage]:
    """For each piece of the range its newest timestamp (ms), and its transactional batches with the markers' names.

    Only batches whose offsets count are looked at. Also gives what is damaged.
    """
    for view, position, batches in batch_pieces(byte_range, check_crcs=True):
        if isinstance(batches, Damage):
            yield batches
            continue
        inside = (batches.last_offset >= byte_range.start_offset) & (batches.base_offset < byte_range.end_offset)
        newest = int(batches.max_timestamp[inside].max(initial=-1))
        transactional: list[tuple[BatchFacts, str | None]] = []
        for batch in batches[inside & batches.transactional]:
            try:
                marker = _marker(view[batch.position - position :][: batch.size]) if batch.control else None
                transactional.append((batch, marker))
            except DAMAGE as error:
                yield Damage.of(byte_range.segment.path, batch.position, error)
        yield newest, transactional


def _marker(batch: memoryview) -> str:
    """The name of the marker in a control batch; raises what damage raises."""
    return ControlRecordType.parse(next(iter(RecordBatch(batch))).key).name


def _joined(parts: pa.Table) -> pa.Table:
    """The parts of one partition, one behind the other."""
    rows = sorted((_Part(**row) for row in parts.to_pylist()), key=lambda part: (part.segment, part.start))
    topic, partition, newest = rows[0].topic, rows[0].partition, max(part.newest for part in rows)
    producers: dict[int, list[_Part]] = {}
    for part in rows:
        if part.producerId is not None:
            producers.setdefault(part.producerId, []).append(part)
    wholes = [_Whole(topic, partition, newest)]
    wholes += [_whole(_Whole(topic, partition, newest, each), producers[each]) for each in producers]
    return pa.Table.from_batches([batch_of_rows(_Whole, wholes)])


def _whole(producer: _Whole, parts: Iterable[_Part]) -> _Whole:
    sums, stretch, epoch, size = _Sums(), _Stretch(), -1, 0
    last: int | None = None
    for part in parts:
        stretch.append(part.headOffset, part.headRecords, part.headSince)
        if part.ended is not None:
            sums.add(stretch, part.ended, part.endedAt or 0)
            stretch = _Stretch(part.tailOffset, part.tailRecords, part.tailSince)
        sums.records += part.records
        sums.committed += part.committed
        sums.aborted += part.aborted
        sums.aborted_records += part.abortedRecords
        sums.add_longest(part.longestMs)
        epoch, size = max(epoch, part.producerEpoch or 0), size + part.bytes
        last = last if part.last is None else part.last
    is_open = stretch.offset is not None
    return producer._replace(
        producerEpoch=epoch, last=last, bytes=size, records=sums.records + stretch.records,
        committed=sums.committed, aborted=sums.aborted, abortedRecords=sums.aborted_records, longestMs=sums.longest_ms,
        openOffset=stretch.offset, openRecords=stretch.records if is_open else None,
    )  # fmt: skip
