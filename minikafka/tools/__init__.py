"""Tools that work on a Kafka log directory without a broker; `minikafka.cli` has their commands.

Read `tool_command` first (how a command ends) and `printable` (what may stand on a terminal), then the room of a
command. `interrupted_work` finds what a killed command or write has left, `process_id` tells whether
its process still runs.

- `dump_log/`: `dump_log_segments` prints, `record_decoders` decode records, as messages of the room `network`;
- `ls/`: `partition_listing` looks into a partition, `listing_table` prints;
- `verify/`: `partition_verifier` and `segment_verifier` check the bytes, `rehearsal` foretells the next start;
- `recover/`: `before_recovery` asks whether it can be done, `offline_log` opens the log, `undo` keeps what it takes to
  undo a run that is interrupted; `recover_log_dir` does all logs of a log directory, with the settings that
  `cluster_settings` finds;
- `clean/`: `before_cleaning` asks whether all batches are sound, `cleaning_round` cleans.
"""
