"""The storage layer itself: `LogManager`, `Log` and the classes below them, named and cut as in Kafka.

Read from the bottom: `log_offset_metadata`, then the rooms `index` and `producer`, `log_segment` and `log_segments`,
`local_log` (segments as one log), `log_validator` and `append_analysis` (the checks of an append), `log` (the whole),
and `log_loader` (how a directory becomes a log again). `segment_files` says how segments are deleted and replaced,
`retention` which of them go, and `leader_epoch_file_cache` which leader wrote what.

Then all logs of a broker: `log_dirs` and `log_dir_name` (where they are, and which directories can be used),
`log_dir_checkpoints` and `high_watermark_checkpoints` (what is remembered of them between two starts), `log_configs`
and `broker_settings` (their settings, and the broker's defaults), `logs_to_be_deleted`, and `log_manager`, which puts
these together. The room `cleaner` compacts logs; the manager starts it.
"""
