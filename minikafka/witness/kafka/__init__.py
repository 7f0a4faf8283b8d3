"""Apache Kafka's own classes, with minikafka's names, so that one runner drives both.

`kafka_errors` turns its exceptions into minikafka's, `kafka_time` are its clock and scheduler. `kafka_log` (with
`kafka_log_cleaner`) is a `UnifiedLog`, `kafka_log_manager` a `LogManager`; `kafka_cluster` has several brokers in one
JVM (KafkaApis, ReplicaManager, Partition, followers), driven by `KafkaReplicas.scala`. `kafka_broker` is a whole broker
in a process of its own, and `kafka_tools` are its tools.
"""
