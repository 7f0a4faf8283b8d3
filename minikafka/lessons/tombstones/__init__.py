"""The lesson *Tombstones and markers*."""
