"""The three witnesses of a query: the data source on the directory that a log writes, Spark from the workload alone,
and a consumer's reads from Apache Kafka's own log.

Each says after every operation which records a read_uncommitted and a read_committed reader gets, and which of the
former have a timestamp of `since` or later: what a query with a filter on time must find.
"""

from typing import Any

from minikafka.lab.stage.background import asked_beside, told_while_starting
from minikafka.lab.stage.file_readers import note_high_watermark, readable_by_lines
from minikafka.lab.stage.readers import records_seen
from minikafka.lab.stage.source_by_hand import Query
from minikafka.lab.stage.workbench import kafka_witness, scratch
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.observation import Observations

_EXPECTED = """
    SELECT op,
           sort_array(collect_list(offset) FILTER (WHERE is_visible)) AS visible,
           sort_array(collect_list(offset) FILTER (WHERE is_committed)) AS committed,
           sort_array(collect_list(offset) FILTER (WHERE is_visible AND timestamp >= {since})) AS recent
    FROM readable GROUP BY op ORDER BY op
"""


@told_while_starting()
def three_witnesses(workload: Any, since: int) -> tuple[Any, Any, Any]:
    """What the data source, Spark and Apache Kafka say of `workload`; the third is None where Kafka's jars are absent.

    `since`: ms. What the workload may do: see `readable_by_lines`.
    """
    kafka = kafka_witness()
    with asked_beside(_by_spark, workload, since) as spark:
        ours = by_data_source(workload, since)
        theirs = None if kafka is None else _by_kafka(workload, since, kafka)
        return ours, spark.result(), theirs


def by_data_source(workload: Any, since: int) -> Observations:
    """A query of the data source after each operation, planned and read in this process."""
    runner, rows = Runner(minikafka_log, scratch("orders-0"), workload), []
    for operation in workload:
        runner.apply(operation)
        note_high_watermark(runner)
        every, committed = (
            [row["offset"] for row in Query(runner.directory, isolation_level=level).rows()]
            for level in ("read_uncommitted", "read_committed")
        )
        recent = Query(runner.directory, f"timestamp >= {since}").rows()
        recent = [row["offset"] for row in recent if row["timestamp"] >= since]  # as Spark does
        rows.append(_row(every, committed, recent))
    runner.let_go()
    return Observations("data source", workload, tuple(rows))


def _by_spark(workload: Any, since: int) -> Observations:
    """What the lines of the workload say, and nothing else."""
    found = readable_by_lines(workload, _EXPECTED, since=since)
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
