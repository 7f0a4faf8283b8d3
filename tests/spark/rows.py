"""Reads with the data source in this process, as the driver's and the workers' Python do, without a Spark."""

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from minikafka.spark.source.data_source import KafkaLogDataSource


def rows(path, *filters, schema=None, **options) -> list[dict]:
    """The rows of a batch query; an option's name has `__` for a dot."""
    return [
        row for batches in batches_of(path, filters, schema, options) for each in batches for row in each.to_pylist()
    ]


def batches_of(path, filters, schema, options) -> list[list[pa.RecordBatch]]:
    """The Arrow batches of each task, each of the schema that Spark would require."""
    given = {
        "path": str(path),
        "pushFilters": "true",
        **{name.replace("__", "."): str(value) for name, value in options.items()},
    }
    source = KafkaLogDataSource(given)
    schema = schema or source.schema()
    reader = source.reader(schema)
    reader.pushFilters(list(filters))
    tasks = [list(reader.read(task)) for task in reader.partitions()]
    expected = to_arrow_schema(schema, timezone="UTC")
    assert all(batch.schema.equals(expected) and batch.validate(full=True) is None for task in tasks for batch in task)
    return tasks
