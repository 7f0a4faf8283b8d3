"""The lesson *Leader epochs*. Its own piece: `replica_deal`."""
