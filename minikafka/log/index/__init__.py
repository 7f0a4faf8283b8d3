"""The index files of a segment. Read `abstract_index` (entries of fixed size, mapped, with a binary search), then
`offset_index` and `time_index`, `lazy_index` (opened by the first use), and `transaction_index`, which is not related
to them.
"""
