"""The lesson *Crash and recovery*."""
