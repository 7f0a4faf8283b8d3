"""What Spark works out of a workload's lines alone: which request is in work when, and in which order answers go out.

Spark knows the size of each request, and one rule: a request is handed over when its last byte has arrived and the
request before it on the same connection is done.
"""

from minikafka.spark import session
from minikafka.witness.connections.workload import ConnectionWorkload, framed_request
from minikafka.witness.log.dataframes import local_frame
from minikafka.witness.observation import Observations

_TIMES = """
WITH arrived AS (
    SELECT connection, number, size, op,
           sum(bytes) OVER (PARTITION BY connection, number ORDER BY op) AS come
    FROM {pieces}),
whole AS (
    SELECT connection, number, min(op) AS whole_at FROM arrived WHERE come >= size GROUP BY connection, number),
ended AS (SELECT number, min(op) AS done_at, min_by(kind, op) AS kind FROM {ends} GROUP BY number),
placed AS (
    SELECT w.connection, w.number, w.whole_at, e.done_at, e.kind,
           coalesce(lag(e.done_at) OVER (PARTITION BY w.connection ORDER BY w.number), -1) AS before,
           row_number() OVER (PARTITION BY w.connection ORDER BY w.number) AS place,
           count(e.done_at) OVER (PARTITION BY w.connection ORDER BY w.number
                                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS done_before
    FROM whole w LEFT JOIN ended e USING (number))
SELECT connection, number, greatest(whole_at, before) AS handed_at, done_at, kind
FROM placed WHERE done_before = place - 1 ORDER BY connection, number
"""


def connections_expected(workload: ConnectionWorkload) -> Observations:
    """What `in_work` and `answered` have to be after each operation.

    Of `close` and junk Spark knows nothing: the workload has none. Requests of a connection have rising numbers, and
    each is answered when it is in work.
    """
    pieces = [
        (op, operation.connection, number, high - low, len(framed_request(number)))
        for op, operation in enumerate(workload)
        if operation.kind == "send"
        for number, low, high in operation.pieces
    ]
    ends = [
        (op, operation.number, operation.kind)
        for op, operation in enumerate(workload)
        if operation.kind in ("answer", "no_response")
    ]
    spark = session()
    found = spark.sql(
        _TIMES,
        pieces=local_frame(spark, pieces, "op INT, connection STRING, number INT, bytes INT, size INT"),
        ends=local_frame(spark, ends, "op INT, number INT, kind STRING"),
    ).collect()
    rows = []
    for op in range(len(workload)):
        there = [name for name in workload.connections if any(o <= op and c == name for o, c, *_ in pieces)]
        in_work = sorted(r.number for r in found if r.handed_at <= op and (r.done_at is None or r.done_at > op))
        answered = tuple(
            (
                name,
                tuple(
                    row.number
                    for row in found
                    if row.connection == name and row.kind == "answer" and row.done_at is not None and row.done_at <= op
                ),
            )
            for name in there
        )
        rows.append({"in_work": tuple(in_work), "answered": answered})
    return Observations("spark", workload, tuple(rows))
