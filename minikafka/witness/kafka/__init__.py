"""Apache Kafka's own classes, with minikafka's names, so that one runner drives both.

`kafka_errors` turns its exceptions into minikafka's, `kafka_time` are its clock and scheduler. `kafka_log` (with
`kafka_log_cleaner`) is a `UnifiedLog`, whose state `KafkaLogState.scala` tells in one call; `kafka_log_manager` is a
`LogManager`; `kafka_cluster` has several brokers in one JVM (KafkaApis, ReplicaManager, Partition, followers), driven
by `KafkaReplicas.scala`; `scala_objects` makes objects of these classes. `kafka_broker` is a whole broker in a process
of its own, and `kafka_tools` are its tools.
"""
