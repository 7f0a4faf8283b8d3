"""The lesson *High watermark*. Its own pieces: `replicas`."""
