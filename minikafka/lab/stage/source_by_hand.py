"""The data source `minikafka` without Spark: its own code, called here as Spark calls it in its Python processes.

Spark plans a query in a process of its own and reads each task in another one, where neither the stepper nor a planted
bug can come. `Query` does both in this process.
"""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_CONDITION = re.compile(r"(\w+)\s*(>=|<=|=|>|<)\s*(?:'([^']*)'|(\d+))")


class Query:
    """A query of the data source: `Query(path, "topic = 'orders' AND offset >= 20", table="batches")`.

    `where`: what Spark would push down with `pushFilters=true`: comparisons of a column with a text, a number, or for
    `timestamp` a number of ms, joined by AND. Options have their names, with `_` for the dot (`isolation_level`).
    """

    def __init__(self, path: str | Path, where: str = "", **options: object):
        from minikafka.spark.source.data_source import KafkaLogDataSource

        given = {name.replace("_", "."): str(value) for name, value in options.items()}
        source = KafkaLogDataSource({"path": str(path), "pushFilters": "true", **given})
        self.reader = source.reader(source.schema())
        if where:
            list(self.reader.pushFilters([_filter(condition) for condition in where.split(" AND ")]))

    def plan(self) -> list[Any]:
        """The tasks, as Spark's planning process makes them."""
        return self.reader.partitions()

    def read(self, task: Any) -> list[int]:
        """Read a task as one of Spark's workers does; returns the numbers of rows that it hands over at a time."""
        return [batch.num_rows for batch in self.reader.read(task)]

    def rows(self) -> list[dict[str, Any]]:
        """All rows, task after task, each as column → value; timestamps are ms. Spark would apply `where` once more."""
        found = []
        for task in self.plan():
            for batch in self.reader.read(task):
                found += batch.to_pylist()
        return [{name: _plain(value) for name, value in row.items()} for row in found]


def _filter(condition: str) -> Any:
    from pyspark.sql import datasource

    kinds = {
        "=": datasource.EqualTo, ">": datasource.GreaterThan, ">=": datasource.GreaterThanOrEqual,
        "<": datasource.LessThan, "<=": datasource.LessThanOrEqual,
    }  # fmt: skip
    column, sign, word, number = _CONDITION.fullmatch(condition.strip()).groups()
    value: object = word if number is None else int(number)
    if column == "timestamp":
        value = datetime.fromtimestamp(int(number) / 1000, UTC)
    return kinds[sign]((column,), value)


def _plain(value: Any) -> Any:
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else value
