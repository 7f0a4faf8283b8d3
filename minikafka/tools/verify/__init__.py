"""Checks partitions and log directories without changing a byte.

`findings` says what can be wrong. `log_dir_verifier` finds a log directory's partitions and what lies beside them,
`log_dir_files` asks the files beside them, `log_dir_state` what those say about the next start, `partition_verifier` a
partition, `segment_verifier` a segment, with `index_walk`, `snapshot_comparison`, `epoch_comparison` and `offset_gaps`
beside it; `rehearsal` lets the real loader do what the next start will do, and `metadata_snapshots` what it does with
the snapshots of the metadata log.
"""
