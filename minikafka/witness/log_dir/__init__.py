"""Workloads of a broker's log directories.

Read `workload` first, then `run`, which does it to `two_log_managers`. `expect` asks Spark, `draw` draws workloads.
"""
