"""Kafka's milliseconds as Spark's timestamps, in the columns of jobs."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from minikafka.spark.source.record_rows import LARGEST_MS


def spark_time(milliseconds: Column | str) -> Column:
    """Milliseconds since 1970 as a timestamp: null where there is no time (-1), or more than Spark can count."""
    column = F.col(milliseconds) if isinstance(milliseconds, str) else milliseconds
    return F.when(column.between(0, LARGEST_MS), F.timestamp_millis(column))
