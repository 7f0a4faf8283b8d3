"""Many records at once, as columns of integers, without an object for each.

`kernel` decodes, `record_columns` makes Kafka's exceptions of its status, `record_walk` goes through a long batch and
`batch_run` through many short ones. Compaction writes records anew: `record_filter` and `writing_kernel`. New batches
are made of columns by `unbatched_records` and `batch_encoder`. `compiled_kernel` is the same functions, compiled by
numba.
"""
