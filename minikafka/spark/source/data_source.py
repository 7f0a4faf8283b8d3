"""The data source `minikafka`: records of Kafka log directories as rows, read without a broker.

    minikafka.spark.register(spark)
    spark.read.format("minikafka").load("/var/lib/kafka/data")

A path is a log directory, a partition's directory, a segment, a glob, or a URI of one of these; `load` also takes a
list of them. Nothing is changed or locked, and a broker may be writing beside us. A directory that is named twice is
read once. Where several log directories have the same partition, as those of several brokers do, the rows of each copy
are there; two directories of one partition in one log directory (`topic-0` and `topic-00`, with which no broker starts)
are refused.

The columns are those of Spark's own Kafka connector: `key`, `value`, `topic`, `partition`, `offset`, `timestamp`,
`timestampType`. `.schema("offset bigint, value binary")` asks for some of them alone, and only these are made. It may
also name `keySize int` and `valueSize int`, the bytes of a key and a value (null for a null): where these are enough,
no value is copied.

| option | meaning | default |
|---|---|---|
| `table` | `records`, or one of those that `tables` describes: `batches`, `segments`, `index`, … | `records` |
| `subscribe` | topics, with commas between them | all topics |
| `subscribePattern` | topics in whose names this regular expression of Java's is found; of Kafka's own none | |
| `assign` | partitions, JSON `{"t": [0, 1]}` | |
| `startingOffsets`, `endingOffsets` | `earliest` (-2), `latest` (-1), JSON `{"t": {"0": 23, "1": -1}}` that names all \
partitions of the query | all |
| `startingTimestamp`, `endingTimestamp` | ms: from, or up to, the first record that is no earlier | |
| `startingOffsetsByTimestamp`, `endingOffsetsByTimestamp` | JSON `{"t": {"0": 1700000000000}}` | |
| `startingOffsetsByTimestampStrategy` | where no record is late enough: `error`, or start at `latest` | `error` |
| `isolation.level` | `read_uncommitted`, `read_committed` (also as `kafka.isolation.level`) | `read_uncommitted` |
| `bounds` | `high_watermark`, `log_end` | `high_watermark` |
| `copies` | where several directories have the same partition: `all` reads each, `furthest` the one whose log end is \
furthest, `refuse` ends the query | `all` |
| `mode` | damage: `FAILFAST`, `PERMISSIVE` (adds a column `_corrupt`), `DROPMALFORMED` | `FAILFAST` |
| `failOnDataLoss` | whether the query ends where offsets that are asked for are gone | `true` in mode `FAILFAST` |
| `checkCrcs` | whether the checksum of each batch that is read is checked; without, `batches` on a local disk reads \
only the headers of large batches | `true` |
| `includeHeaders` | adds `headers`, null for a record without any | `false` |
| `includeBatches` | adds `leaderEpoch`, `producerId`, `producerEpoch`, `sequence`, `transactional`, `codec`, \
`baseOffset`, `segment`, `position` | `false` |
| `maxBytesPerTask` | a larger segment is split at batches that its index knows, if offsets ascend there; smaller ones \
share a task. A task costs Spark some 30 ms: on few cores larger ones are quicker | 134217728 |
| `maxRecordsPerPartition` | no task has more offsets, and none those of two partitions | no limit |
| `maxOffsetsPerTrigger` | streams: so many offsets a micro-batch, shared by the partitions | no limit |
| `minOffsetsPerTrigger` | streams: with fewer, a micro-batch waits, but not the first one | |
| `maxTriggerDelay` | streams: it waits no longer: `500ms`, `5s`, `15m`, … | `15m` |
| `minPartitions` | at least so many tasks, where the data allow it | 1 |
| `pushFilters` | filters spare reading, see below; for a DataFrame that one query uses once | `false` |
| `fs.…` | what leads to an object store, see below | |

`spark.readStream.format("minikafka")` follows a directory that a broker is writing; it starts at `latest` unless told,
as the connector does, and knows no end. `stream_reader` says what rolls, retention, truncation and compaction do to it.

An unknown option is refused, with the name of the nearest one: a mistyped name would read everything. Those of the
connector that have no meaning here are ignored: all `kafka.…` but `kafka.isolation.level`, `groupIdPrefix`,
`kafkaConsumer.pollTimeoutMs`, `fetchOffset.…`. What the connector refuses is refused: topics, partitions and offsets
that are not there, a batch query from `latest` or to `earliest`, a stream with an end.

Object stores. `load("s3://bucket/kafka")` reads a copy of a log directory, a partition or a segment, or what tiered
storage has put there (the layouts of Kafka's `LocalTieredStorage` and of Aiven's plugin, without its own compression
and encryption), by ranges and through `pyarrow.fs`. The settings of its `S3FileSystem` and `GcsFileSystem` are options
with `fs.` before them: `fs.access_key`, `fs.secret_key`, `fs.session_token`, `fs.anonymous`, `fs.region`,
`fs.endpoint_override` (`localhost:9000`, or with `http://` before it), `fs.scheme`, `fs.connect_timeout` and
`fs.request_timeout` (s) …; for `s3a://` also Hadoop's `fs.s3a.access.key`, `.secret.key`, `.session.token`,
`.endpoint`, `.endpoint.region`. What is not set comes from the environment, as for the store's own tools. The settings
travel to the workers; no row and no plan shows them. Where a segment has no index beside it, a query of few offsets
walks over its headers, and a segment is one task.

Tiered storage may have records twice, from two leaders. Of two segments with the same base offset the larger one
counts; of two that overlap, the one that begins later counts from its base offset on, unless an earlier one has all of
its offsets. To know that, the end of each segment of tiered storage is read (64 KB, 16 at once) when a query is
planned. A path that names a segment alone that does not count is refused.

Bounds. A query starts at the log start offset (the checkpoint's, or the first segment's) and ends at the high watermark
in `replication-offset-checkpoint` beside the partition, or at the log end where that file has no line for it. A broker
writes that file every 5 s and when it stops: after a kill, and beside a running broker, it lags behind what consumers
have seen. `bounds=log_end` reads on to the last whole batch. With `read_committed` a query ends before the first
transaction that is open at that bound. Where a log ends below its high watermark, records are lost, and that is a
damage (`failOnDataLoss`).

A topic of which a write has moved some partitions to their places and not the others is refused in every mode, see
`settled_partitions`.

Filters. With `pushFilters=true` those on `topic`, `partition`, `offset` and `timestamp` choose directories, segments,
byte ranges (by the indexes) and batches before anything is decoded, if `spark.sql.python.filterPushdown.enabled` is
set, which `register` does. The option is off by default because Spark 4.3.0 keeps one plan for each loaded DataFrame:
after a query with a filter, the next query of the same DataFrame (or view) without one, and the other uses of it in one
query, would get the rows of that filter only. So load a DataFrame anew for each use, or say what is wanted by options:
`subscribe` and the bounds prune as much.

Damage. A batch that Kafka would refuse is one damage, and none of its records are rows. So is one whose offsets lie
outside its segment or do not ascend from those of the batches around it, which tells of a changed base offset: that is
under no checksum. Where it cannot be told which of two batches is wrong, both are. Where a batch does not even say
how long it is, reading goes on with the next batch that the index knows. A segment that retention deletes after a query
was planned is still read while the broker keeps the renamed file, by default for a minute; after that it is a damage
too. Where compaction has replaced it, the records that are left are read. A timestamp beyond the microseconds that
Spark can count is null.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from minikafka.common.errors import IllegalArgumentException
from minikafka.spark.source.damage import warn_of_losses
from minikafka.spark.source.group_rows import GROUPS, OFFSETS_TOPIC, GroupRows
from minikafka.spark.source.log_segments_on_disk import DiskPartition
from minikafka.spark.source.metadata_rows import METADATA, MetadataRows, MetadataTask, find_metadata
from minikafka.spark.source.partition_bounds import Bounds
from minikafka.spark.source.pushed_filters import PushedFilters
from minikafka.spark.source.range_rows import PARTITIONS, RANGES, RangeRows
from minikafka.spark.source.read_task import (
    ByteRange,
    Found,
    PartitionTask,
    ReadTask,
    byte_ranges,
    empty_range,
    partition_tasks_of,
    parts_of,
    tasks_of,
)
from minikafka.spark.source.record_rows import RecordRows
from minikafka.spark.source.record_schema import require_known, schema_of
from minikafka.spark.source.settled_partitions import settled_partitions
from minikafka.spark.source.source_options import SourceOptions
from minikafka.spark.source.stream_reader import KafkaLogStreamReader
from minikafka.spark.source.subscription import Subscription
from minikafka.spark.source.tables import BATCHES, RECORDS, TableRows
from minikafka.spark.source.verify_rows import VERIFY, VerifyTask, verify_rows, verify_tasks

if TYPE_CHECKING:
    import pyarrow as pa

    from minikafka.spark.sink.log_dir_writer import KafkaLogWriter

NAME = "minikafka"


class KafkaLogDataSource(DataSource):
    """What Spark asks for a schema and a reader; made in the driver's Python for each query."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return NAME

    def schema(self) -> StructType:
        """The columns that the options ask for. Raises IllegalArgumentException for options without meaning."""
        return schema_of(SourceOptions.of(self.options))

    def reader(self, schema: StructType) -> "KafkaLogReader":
        """A reader of the columns of `schema`. Raises IllegalArgumentException for one that there is not."""
        options = SourceOptions.of_batch(self.options)
        require_known(schema, options.table)
        return KafkaLogReader(schema, options)

    def writer(self, schema: StructType, overwrite: bool) -> "KafkaLogWriter":
        """A writer of a log directory, see `minikafka.spark.write_log_dir`. Raises what beginning a write raises."""
        from minikafka.spark.sink.log_dir_writer import KafkaLogWriter
        from minikafka.spark.sink.sink_options import SinkOptions

        return KafkaLogWriter(schema, SinkOptions.of(self.options), overwrite=overwrite)

    def streamReader(self, schema: StructType) -> KafkaLogStreamReader:
        """A reader of a stream. Raises IllegalArgumentException for an unknown column, or another table."""
        options = SourceOptions.of_stream(self.options)
        if options.table != RECORDS:
            raise IllegalArgumentException(f"A stream has records; table={options.table} is for batch queries")
        require_known(schema, options.table)
        return KafkaLogStreamReader(schema, options)


class KafkaLogReader(DataSourceReader):
    """Plans a query in the driver's Python and reads a task in a worker's."""

    def __init__(self, schema: StructType, options: SourceOptions):
        self._schema = schema
        self._options = options
        self._filters = PushedFilters()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Note the filters that spare reading, if the option asks for it; Spark applies all of them again."""
        if self._options.push_filters:
            self._filters = PushedFilters(filters)
        return filters

    def partitions(self) -> list[Any]:
        """The tasks, at least one. Raises what `settled_partitions` raises, and IllegalArgumentException for a
        starting timestamp that no record has.
        """
        return _TABLES.get(self._options.table, _OF_FILES).tasks(self)

    def read(self, partition: Any) -> "Iterator[pa.RecordBatch]":
        """The rows of a task. Raises CorruptRecordException for damage in mode FAILFAST."""
        schema = to_arrow_schema(self._schema, timezone="UTC")
        yield from _TABLES.get(self._options.table, _OF_FILES).rows(self, partition, schema)

    # The tasks of the tables

    def verify_tasks(self) -> list[VerifyTask]:
        return verify_tasks(self._options)

    def metadata_tasks(self) -> list[MetadataTask]:
        return [MetadataTask(find_metadata(self._options.paths, self._options.storage_settings))]

    def group_tasks(self) -> list[PartitionTask]:
        """Whatever is asked for, of the topic with the offsets: its rows tell of the other topics."""
        found = settled_partitions(self._options, Subscription())
        offsets = [each for each in found if each.topic_partition.topic == OFFSETS_TOPIC and each.chosen]
        return partition_tasks_of(offsets, self._options.max_bytes_per_task, self._options.min_partitions)

    def directory_tasks(self) -> list[PartitionTask]:
        wanted = self._wanted(self._found())
        return partition_tasks_of(wanted, self._options.max_bytes_per_task, self._options.min_partitions)

    def file_tasks(self) -> list[PartitionTask]:
        wanted = self._wanted(self._found())
        count = max(1, min(self._options.min_partitions, len(wanted)))
        return [PartitionTask(wanted[number::count]) for number in range(count)]

    def byte_tasks(self) -> list[ReadTask]:
        found = self._found()
        for border, name in ((self._options.starting, "starting"), (self._options.ending, "ending")):
            border.require_partitions([each.topic_partition for each in found], name)
        return self._tasks_of_bytes(self._wanted(found))

    def _found(self) -> list[DiskPartition]:
        return settled_partitions(self._options, self._options.subscription)

    def _wanted(self, found: list[DiskPartition]) -> list[DiskPartition]:
        return [each for each in found if each.chosen and self._filters.lets_through(each.topic_partition)]

    def _tasks_of_bytes(self, partitions: list[DiskPartition]) -> list[ReadTask]:
        options, bounds = self._options, Bounds(self._options)
        if options.table != RECORDS:
            options = options._replace(max_records_per_partition=None)
        parts: list[Found] = []
        is_of_records = options.table == RECORDS  # other tables have other offsets and timestamps
        filters = self._filters if is_of_records else PushedFilters()
        for partition in partitions:
            requested = filters.narrowed(bounds.requested(partition))
            for damage in bounds.damages:
                if options.on_damage.fails_at(damage):
                    raise damage.exception_to_raise()
                parts.append([(partition.topic_partition, damage)])
            warn_of_losses(bounds.damages)
            bounds.damages.clear()
            for part in parts_of(requested, options.max_records_per_partition):
                parts.append(
                    [*byte_ranges(partition, part, options.max_bytes_per_task, filters.row_filter.min_timestamp)]
                )
            if options.table == RANGES and not any(isinstance(each, ByteRange) for each in parts[-1]):
                parts[-1].append(empty_range(partition, requested))
        return tasks_of(parts, options)

    # The rows of their tasks

    def record_rows(self, task: ReadTask, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        options = self._options
        return RecordRows(schema, self._filters.row_filter, options.on_damage, check_crcs=options.check_crcs).of(task)

    def range_rows(self, task: ReadTask, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        return RangeRows(schema, self._options.on_damage).of(task)

    def verify_rows(self, task: VerifyTask, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        return verify_rows(task, schema)

    def metadata_rows(self, task: MetadataTask, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        return MetadataRows(schema, self._options).of(task)

    def group_rows(self, task: PartitionTask, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        for each in task.partitions:
            yield from GroupRows(schema, self._options).of(each)

    def batch_rows(self, task: ReadTask, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        return self._table_rows(schema).of(task)

    def file_rows(self, task: PartitionTask, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        for each in task.partitions:
            yield from self._table_rows(schema).of_partition(each)

    def _table_rows(self, schema: "pa.Schema") -> TableRows:
        options = self._options
        return TableRows(options.table, schema, options.on_damage, check_crcs=options.check_crcs)


class Table(NamedTuple):
    """How a table is read: its tasks, planned in the driver, and the rows of a task, made in a worker."""

    tasks: "Callable[[KafkaLogReader], list[Any]]"
    rows: "Callable[[KafkaLogReader, Any, pa.Schema], Iterator[pa.RecordBatch]]"


_OF_FILES = Table(KafkaLogReader.file_tasks, KafkaLogReader.file_rows)
_TABLES = {
    RECORDS: Table(KafkaLogReader.byte_tasks, KafkaLogReader.record_rows),
    BATCHES: Table(KafkaLogReader.byte_tasks, KafkaLogReader.batch_rows),
    RANGES: Table(KafkaLogReader.byte_tasks, KafkaLogReader.range_rows),
    PARTITIONS: Table(KafkaLogReader.directory_tasks, KafkaLogReader.file_rows),
    GROUPS: Table(KafkaLogReader.group_tasks, KafkaLogReader.group_rows),
    METADATA: Table(KafkaLogReader.metadata_tasks, KafkaLogReader.metadata_rows),
    VERIFY: Table(KafkaLogReader.verify_tasks, KafkaLogReader.verify_rows),
}
"""The tables that are not made of whole files beside the segments."""
