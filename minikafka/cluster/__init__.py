"""One partition with its replicas: leader and followers, the in-sync replicas, and the high watermark they allow.

Read `replica_state` and `replica` (what a leader knows of a follower), `committed_partition_state` and
`assignment_state` (who is in sync, who has the partition), then `partition`, which decides. The other modules are what
it is asked (`fetch_params`), what it answers (`log_read_info`, `epoch_end_offset`, `offset_result_holder`,
`log_delete_records_result`), and whom it asks or wakes (`alter_partition_manager`, `delayed_operations`, the
listeners).
"""
