"""Spark's own Kafka connector, fetched as Kafka's jars are. It is a peer, and no part of minikafka."""

from minikafka.jvm.kafka_jars import _resolve

VERSION = "4.2.0"
"""The newest that Maven has. It works with Spark 4.3.0, of which PyPI has PySpark and Maven has nothing."""

_NEEDED = ("spark-sql-kafka-0-10_", "spark-token-provider-kafka-0-10_", "commons-pool2-", "kafka-clients-")


def connector_jars() -> list[str]:
    """The connector's jars, and what it needs and Spark lacks. Raises KafkaJarsUnavailableError."""
    resolved = _resolve((f"org.apache.spark:spark-sql-kafka-0-10_2.13:{VERSION}",))
    return [jar for jar in resolved if any(name in jar for name in _NEEDED)]
