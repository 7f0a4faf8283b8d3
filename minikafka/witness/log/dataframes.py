"""A workload as Spark DataFrames: the operations, the batches and the records. Spark's queries see nothing else.

Sizes and timestamps follow from the workload alone; offsets stand as the workload writes them (an anchor such as `leo`
and a distance), because the query has to work out where they fall.
"""

from functools import cache

from minikafka.spark import session
from minikafka.witness.log.operations import AppendAsFollower, AppendAsLeader
from minikafka.witness.log.workload import Workload

OPERATIONS = """
    op BIGINT COMMENT 'number of the operation, from 0',
    kind STRING COMMENT 'its name',
    now BIGINT COMMENT 'the clock when it is done, in ms; for a tick: after it',
    ms BIGINT COMMENT 'tick: ms that pass',
    replica BIGINT COMMENT 'fetch: the follower',
    replicas ARRAY<BIGINT> COMMENT 'isr: the in-sync followers from here on',
    anchor STRING COMMENT 'where the offset (or timestamp) counts from: leo, hw, …; empty for a plain number',
    distance BIGINT COMMENT 'the offset (or timestamp), or its distance from the anchor',
    upper_anchor STRING COMMENT 'count: the upper bound; truncate_fully_and_start_at: the log start offset',
    upper_distance BIGINT COMMENT 'as distance',
    read_committed BOOLEAN COMMENT 'consume: without the records of aborted and open transactions',
    origin STRING COMMENT 'append_as_leader: who sends it',
    leader_epoch BIGINT COMMENT 'appends: the epoch of the leader',
    batches BIGINT COMMENT 'appends: how many batches',
    bytes BIGINT COMMENT 'appends: bytes of all batches together',
    records BIGINT COMMENT 'appends: records of all batches together',
    max_timestamp BIGINT COMMENT 'appends: the largest timestamp in ms',
    text STRING COMMENT 'the line of the workload'
"""

BATCHES = """
    op BIGINT COMMENT 'number of the operation that appends it',
    batch BIGINT COMMENT 'its place in the append, from 0',
    records BIGINT COMMENT 'how many records',
    bytes BIGINT COMMENT 'its size in bytes',
    max_timestamp BIGINT COMMENT 'the largest timestamp in ms',
    anchor STRING COMMENT 'where its first offset counts from (null: assigned, or where the batch before ends)',
    distance BIGINT COMMENT 'its first offset, or the distance from the anchor',
    thinned BOOLEAN COMMENT 'the header names another last offset than the count implies',
    leader_epoch BIGINT COMMENT 'partition leader epoch in the header',
    producer_id BIGINT, producer_epoch BIGINT, base_sequence BIGINT,
    transactional BOOLEAN,
    marker STRING COMMENT 'commit or abort for a control batch, else empty',
    codec STRING,
    damage STRING COMMENT 'how it was damaged, else empty',
    log_append_time BOOLEAN COMMENT 'it claims log append time'
"""

RECORDS = """
    op BIGINT COMMENT 'number of the operation that appends it',
    batch BIGINT COMMENT 'its batch in the append, from 0',
    record BIGINT COMMENT 'its place in the batch, from 0',
    timestamp BIGINT COMMENT 'in ms',
    key STRING COMMENT 'null: no key',
    value_bytes BIGINT COMMENT 'size of the value; null: null value',
    producer_id BIGINT,
    transactional BOOLEAN,
    marker STRING COMMENT 'commit or abort for a control record, else empty'
"""


def operations_frame(workload: Workload, spark=None):
    """One row per operation, with the columns of OPERATIONS."""
    return local_frame(_session(spark), operation_rows(workload), OPERATIONS)


def batches_frame(workload: Workload, spark=None):
    """One row per batch, with the columns of BATCHES."""
    return local_frame(_session(spark), batch_rows(workload), BATCHES)


def records_frame(workload: Workload, spark=None):
    """One row per record, with the columns of RECORDS."""
    return local_frame(_session(spark), record_rows(workload), RECORDS)


def local_frame(spark, rows, schema: str):
    """These rows as a DataFrame that stays in the driver. It is made through Arrow, because Python workers are slow."""
    import pyarrow

    spark_schema, arrow_schema = _schemas(schema)
    columns = list(zip(*rows)) or [()] * len(arrow_schema)
    arrays = [pyarrow.array(column, field.type) for column, field in zip(columns, arrow_schema)]
    return spark.createDataFrame(pyarrow.Table.from_arrays(arrays, schema=arrow_schema), spark_schema)


@cache
def _schemas(ddl: str) -> tuple:
    """The schema as Spark's and as Arrow's; Spark's JVM reads the text."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(ddl)
    return schema, to_arrow_schema(schema)


def _session(spark):
    if spark is not None:
        return spark
    return session()


def operation_rows(workload: Workload) -> list[tuple]:
    """A tuple for each operation, in the order of OPERATIONS."""
    rows = []
    for number, (operation, now) in enumerate(zip(workload, workload.clock())):
        ms = getattr(operation, "ms", None)
        at = getattr(operation, "offset", getattr(operation, "lower", getattr(operation, "timestamp", None)))
        upper = getattr(operation, "upper", getattr(operation, "log_start_offset", None))
        batches = getattr(operation, "batches", None)
        replicas = getattr(operation, "replicas", None)
        rows.append(
            (
                number,
                operation.kind,
                now + (ms or 0),
                ms,
                getattr(operation, "replica", None),
                None if replicas is None else list(replicas),
                *(at or (None, None)),
                *(upper or (None, None)),
                getattr(operation, "read_committed", None),
                getattr(operation, "origin", None),
                getattr(operation, "leader_epoch", None),
                None if batches is None else len(batches),
                None if batches is None else sum(batch.size_in_bytes(now) for batch in batches),
                None if batches is None else sum(batch.count for batch in batches),
                None if batches is None else max((batch.max_timestamp(now) for batch in batches), default=-1),
                str(operation),
            )
        )
    return rows


def _appended(workload: Workload):
    """(operation's number, batch's number, batch with its leader epoch, clock in ms) of every batch."""
    for number, (operation, now) in enumerate(zip(workload, workload.clock())):
        if isinstance(operation, (AppendAsLeader, AppendAsFollower)):
            epoch = operation.leader_epoch if isinstance(operation, AppendAsFollower) else -1
            for place, batch in enumerate(operation.batches):
                yield number, place, batch if batch.leader_epoch is not None else batch.with_(leader_epoch=epoch), now


def batch_rows(workload: Workload) -> list[tuple]:
    """A tuple for each batch, in the order of BATCHES."""
    return [
        (
            number,
            place,
            batch.count,
            batch.size_in_bytes(now),
            batch.max_timestamp(now),
            *(batch.offset or (None, None)),
            batch.last is not None,
            batch.leader_epoch,
            batch.pid,
            batch.epoch,
            batch.seq,
            batch.txn or batch.control,
            batch.marker,
            batch.codec,
            batch.damage,
            batch.log_append_time,
        )
        for number, place, batch, now in _appended(workload)
    ]


def record_rows(workload: Workload) -> list[tuple]:
    """A tuple for each record, in the order of RECORDS."""
    rows = []
    for number, place, batch, now in _appended(workload):
        for record, (timestamp, size) in enumerate(zip(batch.timestamps(now), batch.value_sizes)):
            key = batch.key(record)
            key = None if key is None else key.decode()
            rows.append(
                (number, place, record, timestamp, key, size, batch.pid, batch.txn or batch.control, batch.marker)
            )
    return rows
