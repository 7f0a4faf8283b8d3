"""The lesson *Compaction*. Its own pieces: `cleaning`, `colliding_keys`, `compaction_shelves`, `offset_map_slots`."""
