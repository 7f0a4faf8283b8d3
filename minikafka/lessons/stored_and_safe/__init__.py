"""The lesson *Stored and safe*."""
