"""Spark for minikafka: a session with Apache Kafka's classes in the same JVM, and log directories as DataFrames.

Read `session` first, then `spark_jvm` (how its JVM is started, with what the room `minikafka.jvm` gives),
`worker_garbage` (why its Python workers' tasks are short) and `our_line_first` (what stands in front of Spark's lines).
`shared_directory` has how a run reads what another left. `register` makes the data source of the room `source` known to
any session; `write_log_dir`, in the room `sink`, makes log directories of DataFrames; `jobs` are questions to them.
"""

from minikafka.spark.register import register
from minikafka.spark.session import kafka_available, session, why_kafka_is_absent
from minikafka.spark.sink.write_log_dir import write_log_dir
from minikafka.spark.worker_garbage import spare_modules_in_a_worker

__all__ = ["kafka_available", "register", "session", "why_kafka_is_absent", "write_log_dir"]

spare_modules_in_a_worker()
