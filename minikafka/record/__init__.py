"""Bytes: record batches in memory and in files, their records as columns, and the codecs.

Read `format` first: how a record and a batch lie in bytes, and sequences of batches in memory. Then `files`: batches in
segment files. Then `kernels`: how many records are read, compacted and written fast. `codecs` (compression) and
`legacy` (the formats before magic 2) can be read on their own.
"""
