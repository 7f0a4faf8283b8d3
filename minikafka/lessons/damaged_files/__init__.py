"""The lesson *Damaged and missing files*. Its own pieces: `damaged_witnesses`."""
