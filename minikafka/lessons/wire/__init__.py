"""The lesson *The wire*. Its own pieces: `hand_run_broker`, `connection_lanes`, `request_bytes`, `fetch_sessions`."""
