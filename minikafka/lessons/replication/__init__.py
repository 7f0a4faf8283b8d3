"""The lesson *Replication*."""
