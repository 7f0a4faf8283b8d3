"""The lesson *An audit of a log directory*. Its own pieces: `groups`, `copies`, `lag_witnesses`."""
