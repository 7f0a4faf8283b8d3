"""The lesson *A log directory at scale*. Its own pieces: `shop_night`, `source_by_hand`, `source_witnesses`."""
