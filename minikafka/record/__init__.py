"""Bytes: record batches in memory and in files, their records as columns, and the codecs.

`RecordBatch` is a view on the bytes of one batch; `MemoryRecords` and `FileRecords` are sequences of batches;
`MemoryRecordsBuilder` writes a batch; `RecordColumns`, made by the one kernel, holds a batch's records as ranges.
"""
