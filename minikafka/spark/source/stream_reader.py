"""A stream of the records that a broker writes into a directory, followed without the broker."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.source.damage import Damage, Mode
from minikafka.spark.source.log_segments_on_disk import DiskPartition, find_partitions
from minikafka.spark.source.partition_bounds import Bounds, PartitionBounds
from minikafka.spark.source.read_task import ByteRange, ReadTask, byte_ranges, tasks_of
from minikafka.spark.source.record_rows import RecordRows, RowFilter
from minikafka.spark.source.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition

Offsets = dict[TopicPartition, int]


class KafkaLogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says where micro-batches end, plans them in the driver's Python, and reads a task in a worker's.

    The offsets that Spark notes in its checkpoint are those of its Kafka connector, `{"topic": {"0": 23}}`: the next
    offset of each partition. They make each record part of one micro-batch, also after a restart.

    - A partition that appears later is read from its log start offset on.
    - Rolls change nothing. A partition that goes away, offsets that retention deleted before they were read, and a log
      that ends before what was read (truncated by a new leader; only `bounds=log_end` can see that in a sound cluster)
      are damages: `mode` says what becomes of them. Where it lets the query go on, it goes on behind the gap.
    - A micro-batch that is run again after a compaction lacks what the compaction removed.
    """

    def __init__(self, schema: StructType, options: SourceOptions):
        self._schema = schema
        self._options = options
        self._last: Offsets | None = None  # where a query of the trigger availableNow ends

    def initialOffset(self) -> dict[str, dict[str, int]]:
        """Where the query's first micro-batch starts."""
        bounds = Bounds(self._options)
        return _told({name: bounds.requested(each).start for name, each in self._found().items() if each.segments})

    def prepareForTriggerAvailableNow(self) -> None:
        """Note where the partitions end now: the query reads no further."""
        self._last = {name: bounds.end for name, (_, bounds) in self._readable().items()}

    def getDefaultReadLimit(self) -> ReadLimit:
        """`maxOffsetsPerTrigger`."""
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: dict[str, dict[str, int]], limit: ReadLimit) -> dict[str, dict[str, int]]:
        """Where the micro-batch from `start` on ends; a limit is shared in proportion to what each partition has."""
        before, ends = _offsets(start), dict[TopicPartition, int]()
        for name, (_, bounds) in self._readable().items():
            ends[name] = bounds.end if self._last is None else min(bounds.end, self._last.get(name, bounds.start))
            before.setdefault(name, bounds.start)
        # A query never goes back: what was truncated is told when the micro-batch is planned.
        ends = {name: max(ends.get(name, first), first) for name, first in before.items()}
        if isinstance(limit, ReadMaxRows):
            ends = _limited(before, ends, limit.max_rows)
        return _told(ends)

    def partitions(self, start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> list[ReadTask]:
        """The tasks of a micro-batch, at least one; among them what of it is gone."""
        before, readable = _offsets(start), self._readable()
        found: list[ByteRange | tuple[TopicPartition, Damage]] = []
        for name, last in _offsets(end).items():
            if name not in readable:
                if before.get(name, 0) < last:
                    found.append((name, Damage(str(name), 0, "the partition is gone")))
                continue
            partition, bounds = readable[name]
            first = before.get(name, bounds.start)
            if first >= last:
                continue
            if first < bounds.start or last > bounds.end:
                gone = f"offsets {first} to {last} are asked for, and there are {bounds.start} to {bounds.end}"
                found.append((name, Damage(partition.directory, 0, gone)))
            wanted = PartitionBounds(max(first, bounds.start), min(last, bounds.end), bounds.aborted, whole=False)
            found += byte_ranges(partition, wanted, self._options.max_bytes_per_task, None)
        if self._options.mode is Mode.FAILFAST:
            for each in found:
                if not isinstance(each, ByteRange):
                    raise each[1].exception_to_raise()
        return tasks_of(found, self._options.max_bytes_per_task, self._options.min_partitions)

    def read(self, partition: "InputPartition") -> "Iterator[pa.RecordBatch]":
        """The rows of a task. Raises CorruptRecordException for damage in mode FAILFAST."""
        assert isinstance(partition, ReadTask)
        schema = to_arrow_schema(self._schema, timezone="UTC")
        return RecordRows(schema, RowFilter(), self._options.mode, check_crcs=self._options.check_crcs).of(partition)

    def _found(self) -> dict[TopicPartition, DiskPartition]:
        found: dict[TopicPartition, DiskPartition] = {}
        for partition in find_partitions(self._options.paths, self._options.topics):
            name = partition.topic_partition
            if name in found:
                raise IllegalArgumentException(
                    f"A stream follows one copy of {name}, but there are {found[name].directory} and "
                    f"{partition.directory}"
                )
            found[name] = partition
        return found

    def _readable(self) -> dict[TopicPartition, tuple[DiskPartition, PartitionBounds]]:
        bounds, readable = Bounds(self._options), {}
        for name, partition in self._found().items():
            if not partition.segments:
                continue
            try:
                readable[name] = partition, bounds.readable(partition)
            except FileNotFoundError:  # a roll or a deletion came between the looks; the next trigger looks again
                continue
        return readable


def _limited(before: Offsets, ends: Offsets, limit: int) -> Offsets:
    """`ends` brought so close to `before` that no more than `limit` offsets lie between, but at least one if any do."""
    total = sum(ends[name] - before[name] for name in ends)
    if total <= limit:
        return ends
    limited, left = {}, max(1, limit)
    for name in sorted(ends):
        available = ends[name] - before[name]
        share = min(available, left, -(-available * max(1, limit) // total))
        limited[name] = before[name] + share
        left -= share
    return limited


def _told(offsets: Offsets) -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        told.setdefault(topic, {})[str(partition)] = offset
    return told


def _offsets(told: dict[str, dict[str, int]]) -> Offsets:
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in told.items()
        for partition, offset in partitions.items()
    }
