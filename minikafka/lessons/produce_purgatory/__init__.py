"""The lesson *The produce purgatory*. Its own pieces: `minimum_over_time`, `purgatory_boxes`, `purgatory_moments`."""
