"""The lesson *Start here*."""
