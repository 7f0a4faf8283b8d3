"""The lesson *A log directory at scale*. Its own pieces: `payments`, `source_witnesses`."""
