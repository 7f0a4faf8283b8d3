"""The storage layer itself: `LogManager`, `Log` and the classes below them, named and cut as in Kafka.

Read from the bottom: `log_offset_metadata`, then the rooms `index` and `producer`, `log_segment` and `log_segments`,
`local_log` (segments as one log), `log_validator` and `append_analysis` (the checks of an append), `log` (the whole),
and `log_loader` (how a directory becomes a log again). `segment_files` says how segments are deleted and replaced,
`retention` which of them go, and `leader_epoch_file_cache` which leader wrote what.

The room `manager` has all logs of a broker. The room `cleaner` compacts logs; the manager starts it.
"""
