"""Batches in files: `file_channel` reads and writes bytes, `file_channel_record_batch` is one batch, `file_records` all
of them; `stream_window` keeps the part of a decompressed stream that is being read.
"""
