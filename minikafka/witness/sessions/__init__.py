"""What a reader asks for in a fetch session, what lies in the partitions meanwhile, and what the broker answers.

In reading order:

- `workload`: the operations as text.
- `fetch_sessions`: what is asked of a broker's sessions; `minikafka_sessions` asks minikafka's `FetchManager`, and
  `witness.kafka.kafka_fetch_sessions` Kafka's.
- `run`: does a workload on either, and notes what is seen after each operation.
- `draw`: workloads by chance.
"""
