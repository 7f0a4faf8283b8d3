"""What a broker knows of the whole cluster, and the small controller that decides it.

The cluster's state is a log of records: a controller appends them, and every broker replays them into an image of
topics, partitions, brokers and settings. Two brokers that have replayed the same records hold the same image.

The records are messages, `minikafka.messages.cluster_metadata`; `metadata_version` says in which versions they are
written.

Read first what is known: `partition_registration` and `broker_registration` (what records lead to), `metadata_image`
with its parts (`features_image`, `topics_image`, `cluster_image`, `configurations_image`), `metadata_delta` with its
parts (the way from one image to the next; `local_replica_changes`: what it means for one broker), and `metadata_cache`,
which a broker asks.

Then who decides: `partition_change_builder` (who leads), `replication_control_manager` (when, and who may be in an
ISR), `cluster_control_manager` (brokers), `configuration_control_manager` (settings), `topic_creation` with
`striped_replica_placer` (`creatable_topic` names a topic that is wanted), and `controller`, which has them all and
appends to the `metadata_log`.

What stands in a broker's file: `kafka_config_def` (the settings that Kafka knows) and `kafka_config` (which of them it
refuses), with `kafka_listeners`.
"""
