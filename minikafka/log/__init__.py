"""The storage layer itself: `Log` and the classes below it, named and cut as in Kafka.

Read from the bottom: `log_offset_metadata`, then the rooms `index` and `producer`, `log_segment` and `log_segments`,
`local_log` (segments as one log), `log_validator` and `append_analysis` (the checks of an append), `log` (the whole),
and `log_loader` (how a directory becomes a log again). `segment_files` holds how segments are deleted and
replaced, `retention` which of them go.
"""
