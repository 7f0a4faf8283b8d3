"""Loads partitions as Kafka would at its next start.

`before_recovery` asks whether it can be done, `offline_log` opens a log, `undo` keeps what it takes to undo a run that
is interrupted, `recover_log_dir` recovers all logs of a log directory.
"""
