"""Bytes: record batches in memory and in files, their records as columns, and the codecs.

Read first how a record and a batch lie in bytes: `record`, `varint`, `record_writer`, `batch_header`, `record_batch`
and `batch` (what every batch can be asked). Then sequences of batches: `log_input_stream`, `memory_records`,
`memory_records_builder`, and in files `file_channel_record_batch` and `file_records`. Then how many records are read
fast: `kernel`, `record_columns`, `record_walk` and `column_scan`; and how compaction writes them anew: `batch_run`,
`record_filter` and `writing_kernel`; or makes batches of columns: `unbatched_records` and `batch_encoder`.
`compression` and the codecs (with `snappy_kernel`), `control_record`, and the old formats (`legacy_record`,
`legacy_record_batch`) can be read on their own.
"""
