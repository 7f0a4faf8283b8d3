"""Logs at hand. Read `workbench` first (a fresh log, a broker's directory, the three witnesses), then `producers` and
`readers`, `cleaning` (with `colliding_keys` for its offset map) and `tables` (a table kept in a log); then what goes
wrong: `damage`, `killed_broker`, `planted_bugs`. `storage_layer` is a broker's log manager with its log directories,
`log_dir_witnesses` its three witnesses. `background` is work that is done while one reads.
"""
