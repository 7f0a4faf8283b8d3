"""The lesson *Producers and transactions*. Its own pieces: `transaction_lanes`."""
