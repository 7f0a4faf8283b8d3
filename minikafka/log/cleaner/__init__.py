"""The log cleaner: compacted logs keep the latest record of each key.

Read `skimpy_offset_map` (the latest offset of each key), `log_cleaner_filter` (which records stay),
`cleaned_transaction_metadata` (what becomes of transactions), `segment_grouping` (which segments become one) and
`cleaner` (one log, from start to end; it reads into an `io_buffer`). Then `cleanable_offsets`, `log_to_clean` and
`log_cleaner_manager` (which log, from where, and which must be left alone), and `cleaner_thread` and `log_cleaner` (the
turns in which it is done). `offset_map_kernel` is what the map does, number by number.
"""
