"""The lesson *Replication and leader epochs*. Its own pieces: `replica_deal`, `replica_lanes`."""
