"""Workloads of a broker's log directories.

Read `workload` first, then `run`, which does it to `one_log_manager`. `expect` asks Spark, `draw` draws workloads.
"""
