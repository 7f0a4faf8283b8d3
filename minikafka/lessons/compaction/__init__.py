"""The lesson *Compaction*. Its own pieces: `cleaning`, `colliding_keys`, `compaction_shelves`, `dirty_ratios`,
`offset_map_slots`.
"""
