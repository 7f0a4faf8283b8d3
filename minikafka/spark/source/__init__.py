"""The data source `minikafka`, which makes rows of Kafka's log directories.

Read `data_source` first: its text describes every option. All files are read through a `storage`: `local_storage` or
`uri_storage`, which `storage_of` chooses. Then how a query is planned: `source_options`, `partition_names`,
`log_segments_on_disk`, `index_entries`, `segment_positions`, `partition_bounds`, `transactions_on_disk`,
`pushed_filters` and `read_task`; and how a task reads: `batch_runs_on_disk` and `record_rows`, or `tables` for all
that is not a record. `offset_order` finds base offsets that have changed. `settled_segments` and `replaced_segments`
stand what a broker does meanwhile, `settled_partitions` what a write does. `range_rows` makes rows of the tasks
themselves, which jobs spread; `verify_rows` does so for the job `verify`, for which `directory_on_disk` copies what
lies in an object store. `stream_reader` follows a directory. `damage` says what becomes of bytes that Kafka would
refuse.
"""
