"""Many records at once, as columns of integers, without an object for each.

`kernel` decodes, `record_columns` makes Kafka's exceptions of its status, `record_walk` and `column_scan` go through
long batches. Compaction writes records anew: `batch_run`, `record_filter` and `writing_kernel`. New batches are made of
columns by `unbatched_records` and `batch_encoder`. `compiled_kernel` is the same functions, compiled by numba.
"""
