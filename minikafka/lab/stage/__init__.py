"""Logs at hand, for several lessons. Read `workbench` first (a fresh log, a broker's directory, the three witnesses),
then `producers`, `readers`, `batch_bytes` and `tables` (a table kept in a log); then what goes wrong: `damage`,
`killed_broker`, `planted_bugs`. `storage_layer` is a broker's log manager with a clock that is moved by hand,
`cleaning` a cleaner's thread, `replication` has brokers that replicate; `log_dir_witnesses` and `replica_witnesses` are
their three witnesses. `shop_night` has the disks of two real brokers; `source_by_hand` and `file_readers` have readers
of a log's files. `background` is work that is done while one reads. `recorded_answers` speak where Kafka cannot be
started; `beside_kafkas_files` compares directories.
"""
