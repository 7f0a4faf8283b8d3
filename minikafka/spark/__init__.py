"""Spark for minikafka: its session with Apache Kafka's classes in the same JVM, and log directories as DataFrames."""
