"""Workloads of one log.

Read `workload` first, with `operations`, `batch` and `offsets` (what its lines say), then `run`, whose followers are in
`leading_partition`, whose cleaner is `cleaning`, and which damages files by `file_damage`. `expect` asks Spark:
`dataframes` are the workload as tables, `views` and `queries` the SQL above them, `fold` what SQL cannot say, and
`survivors` who is left after a cleaning. `draw` draws workloads; `differ` compares minikafka with Kafka by them.
"""
