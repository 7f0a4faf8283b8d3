"""The index files of a segment. Read `abstract_index` (entries of fixed size, mapped and searched by halving), then
`offset_index` and `time_index`, `lazy_index` (opened at the first use), and `transaction_index`, which is no kin of
theirs.
"""
