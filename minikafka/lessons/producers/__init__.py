"""The lesson *Producers and transactions*."""
