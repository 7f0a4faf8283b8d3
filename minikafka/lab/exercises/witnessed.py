"""Cases whose right answers come from a witness: a workload, and where in a witness's table the answer stands."""

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.common.at_hand import HAS_SPARK
from minikafka.lab.exercises.exercise import Case
from minikafka.lab.exercises.plain_table import PlainTable, columns_of
from minikafka.spark import session
from minikafka.witness.log.dataframes import local_frame
from minikafka.witness.log.workload import Workload
from minikafka.witness.observation import Observations


@dataclass(frozen=True)
class WitnessedCase(Case):
    """A case that a witness can answer: `answer(observations)` reads it from the table that the witness gives of
    `workload`.

    `queries`: the names of Spark's queries that know it; the fewer, the sooner the check answers.
    """

    workload: Workload
    answer: Callable[[Observations], Any]
    queries: tuple[str, ...] = ("log_fold",)


def judged_by_spark(case: WitnessedCase) -> Any:
    """The answer to `case` by Spark, which knows the workload and nothing of the code."""
    return case.answer(_expected(str(case.workload), case.queries))


def frame(rows: Sequence[tuple], schema: str, draw: random.Random | None = None) -> Any:
    """A Spark DataFrame of a few rows; where Spark cannot be started a `PlainTable` of them.

    `draw` brings the rows into any order, because a table has none.
    """
    rows = draw.sample(rows, len(rows)) if draw else list(rows)
    if not HAS_SPARK:
        return PlainTable(columns_of(schema), rows)
    return local_frame(session(), rows, schema)


def as_rows(answer: Any) -> Any:
    """A DataFrame as a list: of plain values when it has one column, else of tuples."""
    if not hasattr(answer, "collect"):
        return answer
    rows = [tuple(row) for row in answer.collect()]
    return [row[0] for row in rows] if len(answer.columns) == 1 else rows


@functools.lru_cache(maxsize=64)
def _expected(text: str, queries: tuple[str, ...]) -> Observations:
    from minikafka.witness import spark_expected

    return spark_expected(Workload.parse(text), only=queries)
