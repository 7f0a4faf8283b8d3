"""The three witnesses of a query: the data source on the directory that a log writes, Spark from the workload alone,
and a consumer's reads from Apache Kafka's own log.

Each says after every operation which records a read_uncommitted and a read_committed reader gets, and which of the
former have a timestamp of `since` or later: what a query with a filter on time must find.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from minikafka.lab.stage.background import told_while_starting
from minikafka.lab.stage.readers import records_seen
from minikafka.lab.stage.workbench import kafka_witness, scratch
from minikafka.lessons.log_directory.source_by_hand import Query
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.observation import Observations

_EXPECTED = """
    WITH stored AS (
        SELECT *, row_number() OVER (ORDER BY op, batch, record) - 1 AS offset FROM {records}),
    ends AS (
        SELECT o.op, o.kind, count(s.offset) AS log_end
        FROM {operations} o LEFT JOIN stored s ON s.op <= o.op GROUP BY o.op, o.kind),
    marks AS (
        SELECT op, max(IF(kind = 'update_high_watermark', log_end, 0)) OVER (ORDER BY op) AS hw FROM ends),
    fates AS (  -- after each operation, of each record below the mark: its producer's first marker from it on
        SELECT m.op, s.*, first_value(nullif(s.marker, '')) IGNORE NULLS OVER (
                   PARTITION BY m.op, s.producer_id ORDER BY s.offset
                   ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS fate
        FROM marks m LEFT JOIN (SELECT * EXCEPT (op) FROM stored) s ON s.offset < m.hw),
    stable AS (
        SELECT *, min(IF(transactional AND fate IS NULL, offset, NULL)) OVER (PARTITION BY op) AS unstable FROM fates)
    SELECT op,
           sort_array(collect_list(offset) FILTER (WHERE marker = '')) AS visible,
           sort_array(collect_list(offset) FILTER (WHERE marker = '' AND offset < coalesce(unstable, offset + 1)
                                                     AND (NOT transactional OR fate = 'commit'))) AS committed,
           sort_array(collect_list(offset) FILTER (WHERE marker = '' AND timestamp >= {since})) AS recent
    FROM stable GROUP BY op ORDER BY op
"""


@told_while_starting()
def three_witnesses(workload: Any, since: int) -> tuple[Any, Any, Any]:
    """What the data source, Spark and Apache Kafka say of `workload`; the third is None where Kafka's jars are absent.

    `since`: ms. The workload may append, roll, tick, and raise the mark to the end by `update_high_watermark leo`.
    """
    kafka = kafka_witness()
    with ThreadPoolExecutor(1) as beside:
        spark = beside.submit(by_spark, workload, since)
        ours = by_data_source(workload, since)
        theirs = None if kafka is None else _by_kafka(workload, since, kafka)
        return ours, spark.result(), theirs


def by_data_source(workload: Any, since: int) -> Observations:
    """A query of the data source after each operation, planned and read in this process."""
    runner, rows = Runner(minikafka_log, scratch("orders-0"), workload), []
    for operation in workload:
        runner.apply(operation)
        mark = f"0\n1\norders 0 {runner.log.high_watermark}\n"
        (runner.directory.parent / "replication-offset-checkpoint").write_text(mark, encoding="utf-8")
        every, committed = (
            [row["offset"] for row in Query(runner.directory, isolation_level=level).rows()]
            for level in ("read_uncommitted", "read_committed")
        )
        recent = Query(runner.directory, f"timestamp >= {since}").rows()
        recent = [row["offset"] for row in recent if row["timestamp"] >= since]  # as Spark does
        rows.append(_row(every, committed, recent))
    runner.let_go()
    return Observations("data source", workload, tuple(rows))


def by_spark(workload: Any, since: int) -> Observations:
    """What the lines of the workload say, and nothing else."""
    from minikafka.spark import session
    from minikafka.witness.log.dataframes import operations_frame, records_frame

    spark = session()
    found = spark.sql(
        _EXPECTED, records=records_frame(workload, spark), operations=operations_frame(workload, spark), since=since
    ).collect()
    return Observations("spark", workload, tuple(_row(row.visible, row.committed, row.recent) for row in found))


def _by_kafka(workload: Any, since: int, kafka: Any) -> Observations:
    runner, rows = Runner(kafka, scratch("orders-0"), workload), []
    for operation in workload:
        runner.apply(operation)
        every = records_seen(runner.log)
        committed = [record.offset for record in records_seen(runner.log, read_committed=True)]
        recent = [record.offset for record in every if record.timestamp >= since]
        rows.append(_row([record.offset for record in every], committed, recent))
    runner.let_go()
    return Observations("kafka", workload, tuple(rows))


def _row(every: Any, committed: Any, recent: Any) -> dict[str, tuple[int, ...]]:
    return {"read_uncommitted": tuple(every), "read_committed": tuple(committed), "since_then": tuple(recent)}
