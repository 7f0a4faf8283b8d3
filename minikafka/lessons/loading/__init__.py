"""The lesson *Loading*."""
