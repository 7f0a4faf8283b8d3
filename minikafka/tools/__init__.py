"""Tools that work on a Kafka log directory without a broker; `minikafka.cli` starts them.

Each command has a module of its name: `dump_log`, `ls`, `verify`, `recover` and `clean`. Read `tool_command` first (how
a command ends) and `printable` (what may stand on a terminal), then a command and what it imports:

- `dump_log`: `dump_log_segments` prints, `record_decoders` decode records, as messages of the room `network`;
- `ls`: `partition_listing` looks into a partition, `listing_table` prints;
- `verify`: `partition_verifier` and `segment_verifier` check the bytes, `rehearsal` foretells the next start;
- `recover` and `clean`: `before_recovery` asks whether it can be done, `before_cleaning` whether all batches are sound,
  `offline_log` opens the log, `cleaning_round` cleans it, `undo` keeps what it takes to undo a run that is interrupted;
  `recover_log_dir` does all logs of a log directory, with the settings that `cluster_settings` finds.
"""
