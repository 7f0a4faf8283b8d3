"""The one call that makes the data source `minikafka` known to a Spark session."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession") -> None:
    """Let `spark` read Kafka's log directories: `spark.read.format("minikafka").load(path)`.

    Also lets the session push filters down to Python's data sources. The columns and options are described in
    `minikafka.spark.source.data_source`. Workers need minikafka installed, and the paths must be theirs as well.

    A session that is started with `spark.python.unix.domain.socket.enabled=true` spares each task some 40 ms: over TCP
    Spark and its Python workers write in pieces so small that the other side's system holds back its answer.
    """
    from minikafka.spark.source.data_source import KafkaLogDataSource

    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(KafkaLogDataSource)
