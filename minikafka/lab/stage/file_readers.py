"""Logs that workloads write, and readers that know their files alone, as they know a broker's.

Beside the log of a `Runner` stands its high watermark, as a broker writes it; and Spark says, from the lines of a
workload, what a reader gets after each operation.
"""

from typing import Any

from minikafka.witness.log.run import Runner

_READABLE = """
    WITH stored AS (
        SELECT *, row_number() OVER (ORDER BY op, batch, record) - 1 AS offset FROM {records}),
    ends AS (
        SELECT o.op, o.kind, count(s.offset) AS log_end
        FROM {operations} o LEFT JOIN stored s ON s.op <= o.op GROUP BY o.op, o.kind),
    marks AS (
        SELECT op, max(IF(kind = 'update_high_watermark', log_end, 0)) OVER (ORDER BY op) AS hw FROM ends),
    fates AS (  -- after each operation, of each record below the mark: its producer's first marker from it on
        SELECT m.op, m.hw, s.*, first_value(nullif(s.marker, '')) IGNORE NULLS OVER (
                   PARTITION BY m.op, s.producer_id ORDER BY s.offset
                   ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS fate
        FROM marks m LEFT JOIN (SELECT * EXCEPT (op) FROM stored) s ON s.offset < m.hw),
    stable AS (
        SELECT *, min(IF(transactional AND fate IS NULL, offset, NULL)) OVER (PARTITION BY op) AS unstable FROM fates),
    readable AS (
        SELECT op, hw, offset, timestamp, marker = '' AS is_visible,
               marker = '' AND offset < coalesce(unstable, offset + 1)
                   AND (NOT transactional OR fate = 'commit') AS is_committed
        FROM stable)
"""


def note_high_watermark(runner: Runner) -> None:
    """Write the log's high watermark into the checkpoint file beside its directory, whose name is `orders-0`."""
    mark = f"0\n1\norders 0 {runner.log.high_watermark}\n"
    (runner.directory.parent / "replication-offset-checkpoint").write_text(mark, encoding="utf-8")


def readable_by_lines(workload: Any, select: str, **numbers: int) -> list[Any]:
    """Rows of the query `select`, by Spark, from what the lines of the workload say and nothing else.

    It asks the table `readable`, which has for each operation (`op`) the offsets below the high watermark after it
    (`hw`), each with its `timestamp` in ms and whether a read_uncommitted reader gets it (`is_visible`), and a
    read_committed one (`is_committed`); one row without an offset where there is none. The workload may append, roll,
    tick, and raise the mark to the end by `update_high_watermark leo`. `numbers`: values for names in braces.
    """
    from minikafka.spark import session
    from minikafka.witness.log.dataframes import operations_frame, records_frame

    spark = session()
    frames = {"records": records_frame(workload, spark), "operations": operations_frame(workload, spark)}
    return spark.sql(_READABLE + select, **frames, **numbers).collect()
