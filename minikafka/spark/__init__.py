"""Spark for minikafka: its session with Apache Kafka's classes in the same JVM, and log directories as DataFrames."""

from minikafka.spark.session import kafka_available, session, why_kafka_is_absent

__all__ = ["kafka_available", "session", "why_kafka_is_absent"]
