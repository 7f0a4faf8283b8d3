"""The lesson *Storage layer*. Its own pieces: `log_dir_lanes`, `storage_layer`."""
