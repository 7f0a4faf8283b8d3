"""What a log remembers of its producers. Read `producer_state_entry` (a producer's last batches),
`producer_append_info` (the checks of one append), `producer_state_manager` (all producers of a partition),
`snapshot_file` (their file), then the rest: completed transactions, and what waits for verification.
"""
