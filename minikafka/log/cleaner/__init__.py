"""The log cleaner: compacted logs keep the latest record of each key.

Read `skimpy_offset_map` (the latest offset of each key), `log_cleaner_filter` (which records stay),
`cleaned_transaction_metadata` (what becomes of transactions), `cleaner` (one log, from beginning to end); then
`cleanable_offsets`, `log_to_clean` and `log_cleaner_manager` (which log, from where, and who may not be touched), and
`log_cleaner` (the threads that do it). `offset_map_kernel` is what the map does, number by number.
"""
