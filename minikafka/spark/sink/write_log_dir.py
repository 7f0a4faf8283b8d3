"""A table becomes a topic in a log directory that a broker can start on."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from minikafka.common import errors
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.java.java_numbers import INT_MAX, LONG_MAX
from minikafka.spark.our_line_first import raised_by_us

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

logger = logging.getLogger(__name__)

HEADERS = "array<struct<key: string, value: binary>>"
_ORDER = "__order"


def write_log_dir(
    df: "DataFrame",
    directory: str,
    *,
    topic: str,
    partitions: int | None = None,
    topic_id: str | None = None,
    settings: Mapping[str, object] | None = None,
    batch_size: int = 16384,
    leader_epoch: int = 0,
    order_by: Sequence[str] | None = None,
    mode: str = "error",
    broker: tuple[str, int] | None = None,
) -> None:
    """Write the rows of `df` as the records of `topic` into the log directory `directory`, without a broker.

    The log directory is one that every worker and the driver see under this path (a shared file system, or one
    machine). It is made if missing. No broker may be running on it.

    Columns of `df`, by name; others are ignored:

    - `value`, and optionally `key`: binary or string, null allowed.
    - `headers`: array<struct<key: string, value: binary>>; null, and no such column, stand for none.
    - `timestamp`: a timestamp, of which the milliseconds count, or a bigint of ms. Where it is null or missing, the
      time of the write. -1 ms (just before 1970) stands for none, as where the data source reads it.
    - `partition`: int from 0. Where it is null or missing, the partition that a producer would choose: murmur2 of the
      key. A record without a key has the partition of its value's hash, so that a task that runs twice does the same.
      (A producer fills one partition after another in an order that depends on time.)
    - `offset`: bigint. If there is such a column, records keep these offsets, gaps included, and none may be null or
      occur twice in a partition; the log starts at the first one. Without it, offsets count from 0.

    Order in a partition: by `offset` if there is one; else by the columns `order_by`; else by `timestamp` if there is
    one, where a row without one stands among the others by the time of the write, which it gets. Rows that are equal in
    these, and all rows with `order_by=[]`, are in the order of `df`.

    - `partitions`: how many the topic has. Default: as many as the column `partition` asks for (a query of its own), or
      1. A partition without rows gets an empty log.
    - `topic_id`: 22 characters; a broker takes a directory for a stray if its cluster does not know this id, or has not
      put the partition on this broker. A topic that the metadata log in the directory does not name is warned of.
      Default: that of the topic's directories, if a broker has made empty ones there, else drawn.
    - `settings`: the topic's, by Kafka's names. `compression.type` and its levels decide about the codec (`producer`,
      the default, leaves records uncompressed); `segment.bytes`, `segment.ms`, `index.interval.bytes`, … about the
      files. With `message.timestamp.type=LogAppendTime`, the timestamps are taken for the times of the append. The
      settings are not kept: a cluster knows them from its metadata.
    - `batch_size`: bytes of a batch before compression, as the producer's `batch.size`.
    - `leader_epoch`: of all records; the cluster's may not be smaller.
    - `mode`: `error` refuses a topic that has records in the directory; `overwrite` replaces it.
    - `broker`: cluster id and node id, for a directory that is to become a broker's: writes `meta.properties`.

    What is there afterwards: for each partition the directory that a broker would have after it was sent the same
    batches and was stopped; `recovery-point-offset-checkpoint` and `replication-offset-checkpoint` with the log ends,
    so that consumers see all records at once; `.kafka_cleanshutdown` if no other log was there. Records have no
    producer ids, so no transactions. A log ends after its last record: a group that has committed a later offset, as
    where a marker or a record that compaction removed came last, starts anew by its `auto.offset.reset`.

    All or nothing: until the last step the files lie in directories that a broker would delete and that no reader looks
    at (`staged_write`). A failed write leaves nothing; what a killed one leaves is removed, or finished, by the next.
    What is there under a name that the write needs, but was left by no broker and no write (a file, a fifo or a link
    where a partition's directory belongs, other files in one), is refused, in each mode, and kept.

    Nothing is appended to a topic that has records. In `foreachBatch`, with `mode="overwrite"`, each micro batch
    replaces the topic, which keeps its id: right for a table that comes whole each time (`outputMode("complete")`),
    where the micro batch that Spark repeats after a restart puts the same table in its place. Records that come once
    belong into a log directory or a topic of their micro batch, with its number in the name, also with `overwrite`: so
    the repeated one replaces itself, and each record is there once. With `mode="error"` it would be refused.

    Works with Spark Connect, too. Raises one of Kafka's exceptions, with one line, for what is wrong with the
    arguments, the rows or the disk; whatever else Spark raises is passed on.
    """
    from minikafka.spark.register import at_work, register
    from minikafka.spark.sink.sink_options import SinkOptions

    if mode not in ("error", "overwrite"):
        raise IllegalArgumentException(f"mode={mode} is neither error nor overwrite")
    if isinstance(order_by, str):
        raise IllegalArgumentException(f"order_by={order_by!r} is one name, not a list of names")
    if df.isStreaming:
        raise IllegalArgumentException(
            "The rows are a stream, which has no end: write its micro batches (foreachBatch)"
        )
    with _told_in_one_line():
        rows, order = _normalized(df, order_by)
        options = {
            "topic": topic,
            "batch.size": str(batch_size),
            "leaderEpoch": str(leader_epoch),
            "settings": json.dumps({name: str(value) for name, value in (settings or {}).items()}),
            "partitions": str(_partitions_asked_for(df) if partitions is None else partitions),
        }
        if topic_id is not None:
            options["topicId"] = topic_id
        if broker is not None:
            options |= {"cluster.id": broker[0], "node.id": str(broker[1])}
        checked = SinkOptions.of({**options, "path": directory})  # what can be refused at once is refused here

        register(df.sparkSession)
        writer = _distributed(rows, checked.partitions, order).write.format("minikafka").options(**options)
        with at_work(df.sparkSession):
            writer.mode("overwrite" if mode == "overwrite" else "append").save(directory)
    if not is_known_beside(Path(directory), topic):
        logger.warning(
            "The metadata log in %s does not know the topic %s: its broker will put the topic aside as a stray",
            directory,
            topic,
        )


def is_known_beside(directory: Path, topic: str) -> bool:
    """False when there is a metadata log in the log directory, and it does not name the topic."""
    from minikafka.tools.recover.cluster_settings import known_cluster_settings

    cluster = known_cluster_settings(directory)
    return cluster is None or topic in cluster.topics


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    """What Spark raises becomes what we raised in it, or IllegalArgumentException for what it cannot make sense of."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as failure:
        raised = raised_by_us(str(failure))
        if raised is not None:
            name, message = raised
            raise getattr(errors, name)(message) from None
        if isinstance(failure, AnalysisException):
            raise IllegalArgumentException(str(failure).partition("\n")[0]) from None
        raise


def _normalized(df: "DataFrame", order_by: Sequence[str] | None) -> "tuple[DataFrame, list[str]]":
    """The rows with the writer's columns and those by which they are sorted, and the names of the latter.

    Raises IllegalArgumentException for a column of a type that a record cannot have.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import (
        ArrayType,
        BinaryType,
        ByteType,
        IntegerType,
        LongType,
        NullType,
        ShortType,
        StringType,
        TimestampNTZType,
        TimestampType,
    )

    whole_number = (ByteType, ShortType, IntegerType, LongType)
    types = {field.name: field.dataType for field in df.schema}
    if "value" not in types:
        raise IllegalArgumentException(f"The rows have no column `value`; they have: {', '.join(types)}")

    def column(name: str, allowed: tuple[type, ...], wanted: str) -> "Column":
        if name not in types:
            return F.lit(None).cast(wanted)
        if not isinstance(types[name], (*allowed, NullType)) or (name == "headers" and not _are_headers(types[name])):
            raise IllegalArgumentException(f"Column `{name}` is {types[name].simpleString()}, which is no {wanted}")
        return F.col(name).cast(wanted)

    columns = {
        "key": column("key", (BinaryType, StringType), "binary"),
        "value": column("value", (BinaryType, StringType), "binary"),
        # No nulls: Spark asks before each row how large the batch for Python is, and Arrow then goes through all null
        # lists since the last other one.
        "headers": F.coalesce(column("headers", (ArrayType,), HEADERS), F.array().cast(HEADERS)),
        "timestamp": F.timestamp_millis(
            _bounded(
                "timestamp", LONG_MAX // 1000, "InvalidTimestampException: A timestamp in ms is no time that is known"
            )
        )
        if isinstance(types.get("timestamp"), LongType)
        else column("timestamp", (TimestampType, TimestampNTZType), "timestamp"),
        "partition": _bounded("partition", INT_MAX, "IllegalArgumentException: A row's partition is no int").cast("int")
        if isinstance(types.get("partition"), LongType)
        else column("partition", whole_number, "int"),
    }
    if "offset" in types:
        columns["offset"] = column("offset", whole_number, "bigint")
        order = ["offset"]
    else:
        keys = ["timestamp"] if order_by is None and "timestamp" in types else order_by or []
        # A record without a timestamp gets the time of the write, and is sorted by it, too.
        stamped = F.coalesce(columns["timestamp"], F.current_timestamp())
        columns |= {
            f"{_ORDER}{number}": stamped if key == "timestamp" else F.col(key) for number, key in enumerate(keys)
        }
        columns[_ORDER] = F.monotonically_increasing_id()
        order = [name for name in columns if name.startswith(_ORDER)]
    return df.select(*(kept.alias(name) for name, kept in columns.items())), order


def _are_headers(kind: "DataType") -> bool:
    """Whether a column of this type has arrays of structs of a string `key` and a `value`, in this order."""
    from pyspark.sql.types import ArrayType, BinaryType, NullType, StringType, StructType

    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return isinstance(kind, NullType)
    allowed = {"key": (StringType,), "value": (BinaryType, StringType, NullType)}
    fields = kind.elementType.fields
    return [field.name for field in fields] == list(allowed) and all(
        isinstance(field.dataType, allowed[field.name]) for field in fields
    )


def _bounded(name: str, most: int, refusal: str) -> "Column":
    """A bigint column; where a number is not from -`most` to `most`, the write ends with the exception `refusal`.

    Spark's own cast would wrap such a number, or not, as `spark.sql.ansi.enabled` says.
    """
    from pyspark.sql import functions as F

    column = F.col(name)
    told = F.concat(F.lit(f"minikafka.common.errors.{refusal}: "), column.cast("string"))
    return F.when(~column.between(-most, most), F.raise_error(told)).otherwise(column)


def _partitions_asked_for(df: "DataFrame") -> int:
    """One more than the largest partition that is named. Raises IllegalArgumentException for a negative one."""
    from pyspark.sql import functions as F

    if "partition" not in df.columns:
        return 1
    ((least, most),) = df.agg(F.min("partition"), F.max("partition")).collect()
    if least is not None and least < 0:
        raise IllegalArgumentException(f"A row is of partition {least}; the first one is 0")
    return 1 if most is None else int(most) + 1


def _distributed(rows: "DataFrame", partitions: int, order: list[str]) -> "DataFrame":
    """The rows of each Kafka partition in a Spark partition of their own, in their order."""
    from pyspark.sql import functions as F

    from minikafka.spark.sink.partitioner import partition_of

    chosen = F.lit(0) if partitions == 1 else partition_of(F.coalesce("key", "value", F.lit(b"")), partitions)
    placed = rows.withColumn("partition", F.coalesce("partition", chosen))
    shared_out = placed.repartitionById(partitions, "partition").sortWithinPartitions("partition", *order)
    return shared_out.drop(*(name for name in order if name.startswith(_ORDER)))
