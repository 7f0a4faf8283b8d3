"""The lesson *Segments*."""
