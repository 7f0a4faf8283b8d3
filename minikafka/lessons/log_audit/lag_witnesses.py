"""The three witnesses of a consumer group that is behind: the job `lag` on the directory that a log writes, Spark from
the workload alone, and a consumer's reads from Apache Kafka's own log.

Each says after every operation, for a group that has committed the offset `committed`: its `lag` in offsets, and how
many seconds after the workload's start the first record is that it has not had (`oldest_unread`; `oldest_committed`
for a read_committed consumer), None for none.
"""

from typing import Any

from minikafka.lab.stage.background import asked_beside, told_while_starting
from minikafka.lab.stage.file_readers import note_high_watermark, readable_by_lines
from minikafka.lab.stage.readers import records_seen
from minikafka.lab.stage.workbench import kafka_witness, scratch
from minikafka.witness.log.run import Runner, minikafka_log
from minikafka.witness.observation import Observations

_EXPECTED = """
    SELECT op, max(hw) - {committed} AS lag,
           min_by(timestamp, offset) FILTER (WHERE is_visible AND offset >= {committed}) AS unread,
           min_by(timestamp, offset) FILTER (WHERE is_committed AND offset >= {committed}) AS unread_committed
    FROM readable GROUP BY op ORDER BY op
"""


@told_while_starting()
def three_witnesses(workload: Any, committed: int) -> tuple[Any, Any, Any]:
    """What the job, Spark and Apache Kafka say of `workload`; the third is None where Kafka's jars are absent.

    What the workload may do: see `readable_by_lines`.
    """
    kafka = kafka_witness()
    with asked_beside(_by_spark, workload, committed) as spark:
        ours = by_lag_job(workload, committed)
        theirs = None if kafka is None else _by_kafka(workload, committed, kafka)
        return ours, spark.result(), theirs


def by_lag_job(workload: Any, committed: int) -> Observations:
    """What a worker of the job does with this one directory, after each operation, in this process."""
    import pyarrow as pa

    from minikafka.spark.jobs.unread_records import unread_records

    runner, rows = Runner(minikafka_log, scratch("orders-0"), workload), []
    asked = pa.RecordBatch.from_pylist([{"directory": str(runner.directory), "offsets": [committed]}])
    for operation in workload:
        runner.apply(operation)
        note_high_watermark(runner)
        every, stable = (
            next(unread_records([asked], settings={}, isolation_level=level, mode="FAILFAST")).to_pylist()[0]
            for level in ("read_uncommitted", "read_committed")
        )
        lag = every["readableEnd"] - committed
        rows.append(_row(workload, lag, every["oldestUnread"], stable["oldestUnread"]))
    runner.let_go()
    return Observations("job lag", workload, tuple(rows))


def _by_spark(workload: Any, committed: int) -> Observations:
    """What the lines of the workload say, and nothing else."""
    found = readable_by_lines(workload, _EXPECTED, committed=committed)
    rows = tuple(_row(workload, row.lag, row.unread, row.unread_committed) for row in found)
    return Observations("spark", workload, rows)


def _by_kafka(workload: Any, committed: int, kafka: Any) -> Observations:
    runner, rows = Runner(kafka, scratch("orders-0"), workload), []
    for operation in workload:
        runner.apply(operation)
        every, stable = (
            next(
                (
                    record.timestamp
                    for record in records_seen(runner.log, read_committed=read_committed)
                    if record.offset >= committed
                ),
                None,
            )
            for read_committed in (False, True)
        )
        rows.append(_row(workload, runner.log.high_watermark - committed, every, stable))
    runner.let_go()
    return Observations("kafka", workload, tuple(rows))


def _row(workload: Any, lag: int, *timestamps: int | None) -> dict[str, int | float | None]:
    seconds = [None if each is None else (each - workload.start_ms) / 1000 for each in timestamps]
    return {"lag": lag, "oldest_unread": seconds[0], "oldest_committed": seconds[1]}
