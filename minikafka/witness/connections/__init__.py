"""What is sent over connections to a broker's sockets, and when its requests are answered.

In reading order:

- `workload`: the operations as text, and the bytes of its requests.
- `minikafka_server`: minikafka's `SocketServer`, moved by hand; Kafka's is `witness.kafka.kafka_socket_server`.
- `run`: does a workload on either, and notes what is seen after each operation.
- `draw`: workloads by chance; `expect`: what Spark works out of a workload's lines.
"""
