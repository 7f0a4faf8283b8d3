"""The lesson *Read*. Its own pieces: `read_lanes`."""
