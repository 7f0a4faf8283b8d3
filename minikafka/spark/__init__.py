"""Spark for minikafka: a session with Apache Kafka's classes in the same JVM, and log directories as DataFrames.

Read `session` first, then `jvm` (how its JVM is started), `java_home` (which Java), `kafka_jars` (where the jars come
from), `java_network` (by which way), `class_archive` (why a second start is faster), `worker_garbage` (why its Python
workers' tasks are short), and `own_directory` (where this process and its JVM keep what lies on the disk for a while,
found again by the lock of a `locked_directory`);
`scala_compiler` compiles what is asked of the JVM in Scala. `shared_directory` has how a run reads what another left.
`register` makes the data source of the room `source` known to any session; `write_log_dir`, in the room `sink`, makes
log directories of DataFrames.
"""

from minikafka.spark.register import register
from minikafka.spark.session import kafka_available, session, why_kafka_is_absent
from minikafka.spark.sink.write_log_dir import write_log_dir
from minikafka.spark.worker_garbage import spare_modules_in_a_worker

__all__ = ["kafka_available", "register", "session", "why_kafka_is_absent", "write_log_dir"]

spare_modules_in_a_worker()
