"""The lesson *Read isolation*. Its own pieces: `read_lanes`."""
