"""Prints segments, indexes, snapshots and checkpoints as Kafka's own tool does.

`dump_log_segments` prints. `record_decoders` decodes records: `kraft_records` those of the metadata log,
`cluster_messages` its messages, `coordinator_decoder` and `coordinator_messages` those of groups and transactions,
`remote_log_metadata` those of tiered storage; `message_json` and `java_json` write them.
"""
