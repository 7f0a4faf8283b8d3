"""The lesson *Start and stop*. Its own piece: `nine_segments`."""
