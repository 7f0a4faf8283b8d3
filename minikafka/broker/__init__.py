"""Where a request arrives: every API by name, and a whole broker put together out of the rooms below.

In reading order:

- `kafka_apis`: the table of all APIs.
- A module for each API, found by its name: `produce_handler`, `fetch_handler`, `list_offsets_handler` and so on. Its
  head says which versions there are and what Kafka does. Several of them use `current_leaders`,
  `auto_topic_creation_manager`, `config_admin_manager` (with `runtime_logger_manager`) and `producer_id_manager`, and
  ask the controller (`topic_controller`).
- `authorizer`, `auth_helper`: who may do what.
- `broker`: the parts of a broker, put together, from registration to shutdown or crash.
- `cluster`: a few brokers, their controller and a clock, for whoever wants to see them at work.
- `broker_server`: one node with sockets, on the machine's clock: what `minikafka serve` runs.
"""
