"""The lesson *Compaction*. Its own pieces: `colliding_keys`, `dirty_ratios`, `offset_map_slots`."""
