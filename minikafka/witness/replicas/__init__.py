"""Workloads of brokers that replicate. Read `workload` first, then `run`, which is their controller, too
(`scripted_controller`).

It does the same to `minikafka_cluster` and to `minikafka.witness.kafka.kafka_cluster`. `draw` draws workloads, `differ`
compares, without the ids in names of directories (`unique_ids`). `expect` asks Spark: its DataFrames are in `trace`,
its fold is `fold`, and `quantities` puts what brokers show into the same words.
"""
