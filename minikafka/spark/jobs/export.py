"""The job `export`: records become Parquet files, and a later run adds what has come since, each record exactly once.

Workers decode into Arrow and write the files themselves, so records do not cross into Spark's JVM. `export_directory`
tells how a run becomes visible.
"""

import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE
from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.jobs.byte_ranges import for_each_task
from minikafka.spark.jobs.export_directory import (
    ExportDirectory,
    ExportedFile,
    Reached,
    synced,
)
from minikafka.spark.jobs.row_type import batch_of_rows, schema_of_rows
from minikafka.spark.source.batch_columns import BatchColumns
from minikafka.spark.source.damage import DAMAGE, Mode, OnDamage, is_refused
from minikafka.spark.source.log_identity import LastBatch, are_different, batch_at, is_another_log, noted_topic_id
from minikafka.spark.source.log_segments_on_disk import DiskSegment, segments_in
from minikafka.spark.source.partition_bounds import noted_offsets
from minikafka.spark.source.range_rows import carried_isolation
from minikafka.spark.source.read_task import ByteRange
from minikafka.spark.source.record_rows import HEADERS_TYPE, RecordRows, RowFilter, Unwanted
from minikafka.spark.source.segment_positions import PositionRange, SegmentPositions
from minikafka.spark.source.storage import Storage, joined
from minikafka.tools.process_id import ProcessId

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

EXPORTED = (
    "topic string, partition int, key binary, value binary, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>, leaderEpoch int"
)
"""What `spark.read.schema` is to be told of the files; without it, Spark takes a topic `007` for the number 7."""

_NO_TOPIC = "__HIVE_DEFAULT_PARTITION__"
"""In names of directories such as `topic=orders` what Hive, and Spark, take for NULL."""

_COLUMNS = pa.schema([
    ("key", pa.binary()), ("value", pa.binary()), ("offset", pa.int64()), ("timestamp", pa.timestamp("us", tz="UTC")),
    ("timestampType", pa.int32()), ("headers", HEADERS_TYPE), ("leaderEpoch", pa.int32()),
])  # fmt: skip
_BYTES_A_ROW_GROUP = 32 << 20
_ANSWER = (
    "topic string, partition int, records bigint, files bigint, bytes bigint, firstOffset bigint, nextOffset bigint, "
    "missed bigint, warning string"
)

_FIRST_DAY = date(1970, 1, 1)
_LAST_DAY = (date.max - _FIRST_DAY).days


def export(
    ranges: "DataFrame",
    *,
    to: str,
    by_date: bool = False,
    compression: str = "snappy",
    mode: str = Mode.FAILFAST.value,
) -> "DataFrame":
    """Write the records of `ranges` that are not yet there as Parquet files below the directory `to`.

    `spark.read.schema(EXPORTED).parquet(to)` has the columns `topic` and `partition`, which are names of directories,
    with `by_date` also `date` (UTC), and `key`, `value`, `offset`, `timestamp`, `timestampType`, `headers`,
    `leaderEpoch`. All workers must see `to` under this name. A row of the answer is a partition:

    | column | type | meaning |
    |---|---|---|
    | `topic`, `partition` | string, int | |
    | `records`, `files`, `bytes` | bigint | what this run added; bytes of the files |
    | `firstOffset` | bigint | of the records that it added, null for none |
    | `nextOffset` | bigint | where the next run goes on |
    | `missed` | bigint | offsets since the last run's end that retention deleted before this run |
    | `warning` | string | what is missing, or what the log no longer has; null for nothing |

    This function does the work at once. A run counts as a whole or not at all: a task that fails or runs twice, and a
    driver that dies, add no record, and none twice. A second export into `to` is refused while another is at work.
    Records that a new leader has truncated after they were exported stay in the files; the answer warns of them if it
    can tell. With `mode` FAILFAST damage ends the run; otherwise damaged batches are left out for good. A topic that
    was deleted and made anew, or replaced by `write_log_dir`, is another one, and has records at offsets that are
    exported: the run is refused.

    Raises KafkaException when another export is at work, or lost its directory to another, for a topic that is another
    one than the exported, and for a directory that no export leaves; IllegalArgumentException when `to` is a URI, for a
    run cannot become visible at once in an object store, when `ranges` has several copies of a partition, begins
    behind records that are not exported yet or before the offset at which the first run began, when the exported
    files are by date and these are not, or the other way round, when they have another `isolation.level`, and for the
    topic `__HIVE_DEFAULT_PARTITION__`, which Spark would read as NULL; OSError.
    """
    if "://" in to:
        raise IllegalArgumentException(f"{to} is not a directory: export writes to directories that all workers see")
    spark, to = ranges.sparkSession, os.path.abspath(to)
    run = f"{strftime('%Y%m%dT%H%M%SZ', gmtime())}-{uuid.uuid4().hex[:8]}"
    isolation = carried_isolation(ranges.schema)
    before = _begin(spark, to, run, by_date=by_date, isolation=isolation)
    try:
        work = partial(
            _parts, root=to, run=run, reached=before, by_date=by_date, compression=compression,
            mode=Mode.FAILFAST if Mode.of(mode) is Mode.FAILFAST else Mode.DROPMALFORMED,
        )  # fmt: skip
        found = [_Part(*row) for row in for_each_task(ranges, work, schema_of_rows(_Part), with_empty=True).collect()]
        files, reached, answer = _summed_up(found, before)
        _in_a_worker(spark, partial(_commit, to, run, files, reached, isolation))
    except BaseException:
        with suppress(Exception):  # Spark may be the one that failed
            _in_a_worker(spark, partial(_abandon, to, run))
        raise
    return spark.createDataFrame(answer, _ANSWER)


class _Part(NamedTuple):
    """A file that a task wrote; or, without `staged`, what the task saw of a partition in `directory`.

    `logStart`: the first offset that the log has. `start`: the first that is asked for. `end`: behind the last offset
    that the task saw. `epochBefore`: the leader epoch of the batch with the last exported offset, null when the task
    did not meet it. `another`: why the directory has another topic than the one that is exported, null if it has the
    same. `lastBatch`: that of the file's last record, as `LastBatch`.
    """

    topic: str
    partition: int
    logStart: int = -1
    start: int = -1
    end: int = -1
    epochBefore: int | None = None
    directory: str | None = None
    another: str | None = None
    topicId: str | None = None
    staged: str | None = None
    path: str | None = None
    first: int = -1
    last: int = -1
    lastEpoch: int = -1
    records: int = 0
    size: int = 0
    lastBatch: list[int] | None = None


# In the driver


def _begin(
    spark: "SparkSession", to: str, run: str, *, by_date: bool, isolation: str | None
) -> dict[TopicPartition, Reached]:
    """Let this run be the one at work; returns how far each partition is exported."""
    owner, instead_of = ProcessId.of_driver(), None
    while True:
        answer = _in_a_worker(spark, partial(_begun, to, run, tuple(owner), instead_of, by_date, isolation))
        if "reached" in answer:
            return {
                TopicPartition(topic, int(number)): Reached(*reached)
                for topic, partitions in answer["reached"].items()
                for number, reached in partitions.items()
            }
        mark = answer["running"]
        other = ProcessId(*mark["owner"])
        if other.may_be_alive:
            raise KafkaException(
                f"Process {other.pid} on {other.host} is exporting to {to}; if it is gone, remove _running.json there"
            )
        instead_of = mark["run"]


def _summed_up(
    found: list[_Part], before: dict[TopicPartition, Reached]
) -> tuple[list[ExportedFile], dict[TopicPartition, Reached], list[tuple[Any, ...]]]:
    """The files, where each partition ends with them, and the rows of the answer.

    Raises IllegalArgumentException for a topic whose name Spark takes for none, for a partition of which several copies
    were read, or where records that the log has would be passed over, KafkaException for one of another topic than the
    exported one.
    """
    files: list[ExportedFile] = []
    reached: dict[TopicPartition, Reached] = {}
    answer = []
    by_partition: dict[TopicPartition, list[_Part]] = {}
    for part in found:
        by_partition.setdefault(TopicPartition(part.topic, part.partition), []).append(part)
    for topic_partition, parts in sorted(by_partition.items()):
        if topic_partition.topic == _NO_TOPIC:
            raise IllegalArgumentException(
                f"{topic_partition} cannot be exported: Spark reads NULL from a directory topic={_NO_TOPIC}; leave the "
                "topic out"
            )
        written = sorted((part for part in parts if part.staged is not None), key=lambda part: part.first)
        files += [
            ExportedFile(
                *topic_partition, part.staged or "", part.path or "", part.first, part.last, part.records, part.size
            )
            for part in written
        ]
        seen = [part for part in parts if part.staged is None]
        topic_id = next((part.topicId for part in seen if part.topicId is not None), None)
        known = known_before.if_of(topic_id) if (known_before := before.get(topic_partition)) else None
        copies = sorted({part.directory for part in seen if part.directory is not None})
        if len(copies) > 1:
            raise IllegalArgumentException(
                f"{topic_partition} is in {copies[0]} and in {copies[1]}: export writes each record once, so name the "
                "directories of one copy"
            )
        for part in seen:
            if part.another is not None:
                raise KafkaException(
                    f"{part.directory} is another topic than the one that is exported: {part.another}; export it to "
                    "another directory, or leave the topic out"
                )
        start, log_start = min(part.start for part in seen), min(part.logStart for part in seen)
        if known is not None and start > max(known.next_offset, log_start):
            raise IllegalArgumentException(
                f"{topic_partition} is exported up to offset {known.next_offset}, and this run begins at {start}: what "
                "lies between would never be exported, so let it begin at the earliest offset"
            )
        # Retention may have moved the log start after this run was planned, and behind records that it has read.
        if not written or written[0].first >= log_start:
            start = max(start, log_start)
        if known is not None and known.start_offset is not None and start < known.start_offset:
            raise IllegalArgumentException(
                f"{topic_partition} is exported from offset {known.start_offset} on, and this run begins at {start}: "
                f"what lies before {known.start_offset} would never be exported, so let it begin there, or export to "
                "another directory"
            )
        missed, warning = _warning(known, seen, start)
        last = max(written, key=lambda part: part.last, default=None)
        if last is not None:
            began = start if known is None else known.start_offset
            reached[topic_partition] = Reached(last.last + 1, last.lastEpoch, topic_id, last.lastBatch, began)
        elif known is None:
            reached[topic_partition] = Reached(start, -1, topic_id, None, start)
        next_offset = reached.get(topic_partition, known).next_offset
        answer.append((
            *topic_partition, sum(part.records for part in written), len(written), sum(part.size for part in written),
            written[0].first if written else None, next_offset, missed, warning,
        ))  # fmt: skip
    return files, reached, answer


def _warning(known: Reached | None, seen: list[_Part], start: int) -> tuple[int, str | None]:
    """How many offsets were missed, and what to tell of the partition, which this run read from `start` on."""
    if known is None:
        return 0, None
    if start > known.next_offset:
        missed = start - known.next_offset
        return missed, f"offsets {known.next_offset} to {start - 1} were deleted before they were exported"
    end = max(part.end for part in seen)
    if end < known.next_offset:
        return 0, f"what can be read ends at {end}, but offsets up to {known.next_offset - 1} are exported"
    for part in seen:
        if part.epochBefore is not None and part.epochBefore != known.leader_epoch and known.leader_epoch >= 0:
            return 0, (
                f"offset {known.next_offset - 1} was exported in leader epoch {known.leader_epoch} and is now of epoch "
                f"{part.epochBefore}: a new leader has replaced records that are exported"
            )
    return 0, None


def _in_a_worker(spark: "SparkSession", function: "Callable[[], dict[str, Any]]") -> dict[str, Any]:
    """What `function` returns in one of Spark's workers."""

    def run(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"answer": [json.dumps(function())]})

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(run, "answer string").collect()
    answer: dict[str, Any] = json.loads(row["answer"])
    return answer


# In a worker


def _begun(
    to: str, run: str, owner: tuple[str, int, str], instead_of: str | None, by_date: bool, isolation: str | None
) -> dict[str, Any]:
    return ExportDirectory(to).begin(run, owner, instead_of, by_date=by_date, isolation=isolation)


def _commit(
    to: str, run: str, files: list[ExportedFile], reached: dict[TopicPartition, Reached], isolation: str | None
) -> dict[str, Any]:
    ExportDirectory(to).commit(run, files, reached, isolation)
    return {}


def _abandon(to: str, run: str) -> dict[str, Any]:
    ExportDirectory(to).abandon(run)
    return {}


def _parts(
    ranges: Iterator[ByteRange],
    *,
    root: str,
    run: str,
    reached: dict[TopicPartition, Reached],
    by_date: bool,
    compression: str,
    mode: Mode,
) -> Iterator[pa.RecordBatch]:
    """Write the files of one task, and tell of them."""
    rows = RecordRows(_COLUMNS, RowFilter(), OnDamage.of(mode), check_crcs=True)
    for (topic_partition, directory, storage), of_partition in groupby(
        ranges, key=lambda each: (each.topic_partition, os.path.dirname(each.segment.path), each.segment.storage)
    ):
        files = _PartitionFiles(root, run, topic_partition, by_date=by_date, compression=compression)
        segments = segments_in(storage, directory) or ()
        topic_id = noted_topic_id(storage, directory)
        known = known_before.if_of(topic_id) if (known_before := reached.get(topic_partition)) else None
        saw = _Part(
            *topic_partition, directory=directory, topicId=topic_id,
            logStart=_log_start(storage, directory, topic_partition, segments),
            another=None if known is None else _another_topic(known, topic_id, segments),
        )  # fmt: skip
        for each in of_partition if saw.another is None else ():
            start = each.start_offset if saw.start < 0 else min(saw.start, each.start_offset)
            watched = _Watched(each, known)
            for batch in rows.of_range(watched.byte_range, watched) if watched.byte_range else ():
                files.write(batch)
            epoch = saw.epochBefore if watched.epoch_before is None else watched.epoch_before
            saw = saw._replace(start=start, end=max(saw.end, watched.end), epochBefore=epoch)
        written = [
            part._replace(lastBatch=None if (batch := batch_at(segments, part.last)) is None else list(batch))
            for part in files.closed()
        ]
        yield batch_of_rows(_Part, [saw, *written])


def _log_start(
    storage: Storage, directory: str, topic_partition: TopicPartition, segments: Sequence[DiskSegment]
) -> int:
    try:
        noted = noted_offsets(storage, joined(os.path.dirname(directory), LOG_START_OFFSET_CHECKPOINT_FILE)) or {}
    except DAMAGE as error:
        if is_refused(error):
            raise
        noted = {}  # damage is told when a query is planned
    return max(noted.get(topic_partition, 0), *(segment.base_offset for segment in segments[:1]))


def _another_topic(known: Reached, topic_id: str | None, segments: Sequence[DiskSegment]) -> str | None:
    """Why the log is not that of the topic that is exported; None if it is, or nobody can tell."""
    if are_different(known.topic_id, topic_id):
        return f"its id is {topic_id}, and the exported one's was {known.topic_id}"
    last, before = known.next_offset - 1, known.last_batch
    if before is not None and is_another_log(segments, last, LastBatch(*before)):
        return f"offset {last} lies in another batch than the one that was exported"
    return None


class _Watched(Unwanted):
    """Leaves out what is exported already, and looks at the batches that go by.

    `byte_range`: what must be read of the given one, None for nothing.
    """

    def __init__(self, byte_range: ByteRange, known: Reached | None):
        self._next = 0 if known is None else known.next_offset
        self.end = (byte_range.segment.end_offset or 0) if byte_range.size else byte_range.end_offset
        self.epoch_before: int | None = None
        self.byte_range = _behind(byte_range, self._next - 1) if byte_range.size else None
        narrowed = byte_range._replace(start_offset=max(byte_range.start_offset, self._next))
        super().__init__(narrowed, RowFilter())

    def lets_through(self, batches: BatchColumns) -> "NDArray[np.bool_]":
        """As Unwanted does."""
        if len(batches):
            self.end = max(self.end, int(batches.last_offset.max()) + 1)
            is_before = (batches.base_offset < self._next) & (batches.last_offset >= self._next - 1)
            if self._next and is_before.any():
                self.epoch_before = int(batches.leader_epoch[is_before][0])
        return super().lets_through(batches)


def _behind(byte_range: ByteRange, offset: int) -> ByteRange | None:
    """The part of the range that may hold `offset` or a later one, None for none; what cannot be told is kept."""
    segment, (start, end) = byte_range.segment, byte_range.positions
    if segment.end_offset is not None and segment.end_offset <= offset:
        return None
    if offset < segment.base_offset:
        return byte_range
    try:
        with SegmentPositions(segment) as index:
            start = max(start, index.at_or_before(offset))
    except DAMAGE:
        return byte_range
    return byte_range._replace(positions=PositionRange(start, end)) if start < end else None


class _PartitionFiles:
    """The files that one task writes for one partition, below the run's staging directory."""

    def __init__(self, root: str, run: str, topic_partition: TopicPartition, *, by_date: bool, compression: str):
        self._root = Path(root)
        self._staging = ExportDirectory(root).staging(run)
        self._run = run
        self._topic_partition = topic_partition
        self._by_date = by_date
        self._compression = compression
        self._files: dict[str, _ParquetFile] = {}

    def write(self, rows: pa.RecordBatch) -> None:
        """Add rows, each to the file of its day."""
        for name, part in _days(rows) if self._by_date else [("", rows)]:
            if name not in self._files:
                self._files[name] = self._opened(name, part["offset"][0].as_py())
            self._files[name].write(part)

    def closed(self) -> Iterator[_Part]:
        """Finish the files, and tell of each."""
        for file in self._files.values():
            yield file.closed(self._topic_partition)

    def _opened(self, day: str, first_offset: int) -> "_ParquetFile":
        topic, partition = self._topic_partition
        attempt = uuid.uuid4().hex[:8]
        name = f"{first_offset:020}-{self._run}-{attempt}.parquet"
        path = Path(f"topic={topic}", f"partition={partition}", day, name)
        staged = self._staging.relative_to(self._root) / f"{uuid.uuid4().hex}.parquet"  # a topic's name may be long
        return _ParquetFile(self._root, staged, path, self._compression)


class _ParquetFile:
    """A Parquet file that is being written."""

    def __init__(self, root: Path, staged: Path, path: Path, compression: str):
        import pyarrow.parquet as pq

        self._file = root / staged
        self._staged, self._path = str(staged), str(path)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._writer: pq.ParquetWriter = pq.ParquetWriter(
            self._file, _COLUMNS, compression=compression, write_statistics=["offset", "timestamp"],
            use_dictionary=["timestampType", "leaderEpoch"],
            column_encoding={"offset": "DELTA_BINARY_PACKED", "timestamp": "DELTA_BINARY_PACKED"},
        )  # fmt: skip
        self._held: list[pa.RecordBatch] = []
        self._size = self._records = 0
        self._first = self._last = self._last_epoch = -1

    def write(self, rows: pa.RecordBatch) -> None:
        """Add rows, whose offsets are larger than those before."""
        if self._records == 0:
            self._first = rows["offset"][0].as_py()
        self._last, self._last_epoch = rows["offset"][-1].as_py(), rows["leaderEpoch"][-1].as_py()
        self._records += len(rows)
        self._held.append(rows)
        self._size += rows.nbytes
        if self._size >= _BYTES_A_ROW_GROUP:
            self._write_held()

    def closed(self, topic_partition: TopicPartition) -> _Part:
        """Finish the file, which is then on the device, and tell of it."""
        self._write_held()
        self._writer.close()
        return _Part(
            *topic_partition, staged=self._staged, path=self._path, first=self._first, last=self._last,
            lastEpoch=self._last_epoch, records=self._records, size=synced(self._file),
        )  # fmt: skip

    def _write_held(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held))
        self._held, self._size = [], 0


def _days(rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each day (UTC), with the name of its directory; those after the year 9999 have none, as those without
    a time.
    """
    days = rows["timestamp"].cast(pa.date32()).cast(pa.int32())
    days = pc.if_else(pc.less_equal(days, _LAST_DAY), days, None)
    for day in days.unique():
        number = day.as_py()
        is_day = days.is_null() if number is None else pc.equal(days, day)
        name = "__HIVE_DEFAULT_PARTITION__" if number is None else (_FIRST_DAY + timedelta(number)).isoformat()
        yield f"date={name}", rows.filter(is_day)
