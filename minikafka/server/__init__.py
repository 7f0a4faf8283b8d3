"""All partitions of a broker, requests that must wait, and followers that copy from their leaders.

Read `replica_manager` first: the way of a produce request, then that of a fetch. It stands on `all_partitions`
(which partitions there are), and asks `transaction_verification` before a transactional append. What it says and is
told of one partition: `log_append_result` and `produce_partition_status`, `log_read_result`, `fetch_partition_status`
and `fetch_partition_data`, `list_offsets`. `preferred_read_replica` sends consumers elsewhere.

Then fetch sessions: `fetch_manager` (which session a request has), `fetch_context` (what it reads and is told),
`fetch_session` (what is remembered of its reader, by `fetch_metadata`), `fetch_session_cache` and
`fetch_session_cache_shard` (which sessions there are).

Then what waits: `delayed_operation`, `delayed_operation_purgatory` and `timer`, with `delayed_produce`, `delayed_fetch`
and `delayed_delete_records`; `delayed_action_queue` says when they are woken.

Then how replicas get their roles: `broker_metadata_publisher` (what a new image sets going), `leaders_and_followers`,
and `default_alter_partition_manager` (how a leader has its ISR changed).

Then how followers follow: `replica_fetcher_manager`, `replica_fetcher` and what it knows of a partition
(`partition_fetch_state`, `initial_fetch_state`, `offset_truncation_state`, `failed_partitions`), and
`leader_end_point`, through which it asks its leader (`remote_leader_end_point`, by a `blocking_send`:
`in_process_send`). `broker_config` has the settings of all of these, `dynamic_broker_config` those that were changed
while the broker runs, and `broker_reconfiguration` says which changes its parts refuse.
"""
