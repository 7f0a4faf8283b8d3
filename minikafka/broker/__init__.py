"""Where a request arrives: every API by name, and a whole broker put together out of the rooms below.

In reading order:

- `kafka_apis`: the table of all APIs, and the handlers of the short ones.
- `produce_handler`, `fetch_handler` (with `current_leaders`), `metadata_handler` (with `auto_topic_creation_manager`):
  what happens to these requests before and after the replica manager.
- `controller_apis`, `producer_id_manager`: what the controller decides.
- `config_helper`, `config_admin_manager` (with `runtime_logger_manager`): settings, told and changed.
- `describe_cluster_handler`, `describe_topic_partitions_handler`, `describe_log_dirs_handler`,
  `describe_producers_handler`, `list_config_resources_handler`: what administrators ask.
- `authorizer`, `auth_helper`: who may do what.
- `broker`: the parts of a broker, put together, from registration to shutdown or crash.
- `cluster`: a few brokers, their controller and a clock, for whoever wants to see them at work.
- `broker_server`: one node with sockets, on the machine's clock: what `minikafka serve` runs.
"""
