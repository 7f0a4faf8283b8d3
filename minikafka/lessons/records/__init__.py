"""The lesson *Records*. Its own pieces: `header_witnesses`, `noticed_flips`."""
