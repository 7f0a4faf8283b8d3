"""How a record and a batch lie in bytes, and sequences of batches in memory.

Read `record`, `varint`, `record_writer`, `batch_header`, `record_batch` and `batch` (what every batch can be asked),
then `log_input_stream`, `memory_records` and `memory_records_builder`. `control_record` has the markers of
transactions, `sequence` the arithmetic of sequence numbers, `long_record` the first bytes of a record that is longer
than what has been read of it.
"""
