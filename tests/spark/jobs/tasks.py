"""The byte ranges that a query has, planned in this process without a Spark."""

from minikafka.spark.source.data_source import KafkaLogDataSource
from minikafka.spark.source.read_task import ByteRange


def tasks_of_ranges(path, **options) -> list[list[ByteRange]]:
    """The ranges of each task; an option's name has `__` for a dot."""
    given = {"path": str(path), **{name.replace("__", "."): str(value) for name, value in options.items()}}
    source = KafkaLogDataSource(given)
    return [task.ranges for task in source.reader(source.schema()).partitions()]
