"""The Spark witness: what a workload must lead to, by queries over its DataFrames alone.

Neither this module nor the queries import anything from `minikafka.log`: an expected result that reads the code under
test proves nothing. Each query says which operations it admits. A workload with any other operation leaves the query's
quantities blank, and a blank never counts as agreement. Where the answer depends on something that the query does not
follow, it answers null, which is blank too.

One thing is not worked out here: how many bytes a batch has. Its size comes with the workload, from the builder of
`minikafka.record`, which the tests hold against Kafka's builder and against the format's own rule. What follows from
the sizes (where segments end, which batches are indexed) is worked out here.
"""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

from minikafka.spark import session
from minikafka.witness.log.fold import log_fold
from minikafka.witness.log.queries import SQL_QUERIES, Query
from minikafka.witness.log.survivors import survivors
from minikafka.witness.log.views import create_views
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observations

QUERIES: tuple[Query, ...] = (log_fold, *SQL_QUERIES, survivors)

_one_workload_at_a_time = threading.Lock()  # the session has one set of views


def spark_expected(workload: Workload, spark=None, only=None) -> Observations:
    """What Spark expects after each operation of `workload`.

    `spark`: the session (None: `minikafka.spark.session()`); `only`: names of the queries to ask (None: all). The
    result's `notes` say, for each query that does not admit the workload, why not. Once a query has answered a quantity
    completely, no narrower query is asked for it; where two queries speak of one cell, the first in QUERIES counts.
    """
    if unknown := set(only or ()) - {query.name for query in QUERIES}:
        raise ValueError(
            f"there is no query {', '.join(sorted(unknown))}; there are {', '.join(q.name for q in QUERIES)}"
        )
    if spark is None:
        spark = session()
    with _one_workload_at_a_time:
        return _ask_all(workload, spark, only)


def _ask_all(workload: Workload, spark, only) -> Observations:
    chosen = [query for query in QUERIES if only is None or query.name in only]
    notes = {query.name: reason for query in chosen if (reason := query.refuses(workload))}
    asked = [query for query in chosen if query.name not in notes]
    broad = [query for query in asked if not any(set(query.quantities) < set(other.quantities) for other in asked)]
    rows = [{} for _ in workload]
    with ThreadPoolExecutor(2) as two_at_a_time:  # most of a small query is planning, on one core
        prepared = [two_at_a_time.submit(query.prepare, spark, workload.kinds) for query in asked]
        if asked:
            create_views(workload, spark)
        wait(prepared)
        answers = two_at_a_time.map(lambda query: query.ask(spark, workload).collect(), broad)
        for query, answer in zip(broad, answers, strict=True):
            _enter(rows, query, answer)
    for query in asked:
        if query not in broad and any(quantity not in row for row in rows for quantity in query.quantities):
            _enter(rows, query, query.ask(spark, workload).collect())
    return Observations("spark", workload, tuple(rows), notes)


def _enter(rows: list[dict], query: Query, answer: list) -> None:
    """Fill the blank cells with what `answer` says."""
    for row in answer:
        for quantity in query.quantities:
            if row[quantity] is not None:
                rows[row["op"]].setdefault(quantity, _value(row[quantity]))


def _value(value):
    """Spark's rows and arrays as tuples, as the other witnesses write them."""
    return tuple(_value(item) for item in value) if isinstance(value, (list, tuple)) else value
