"""The lesson *The wire*. Its own pieces: `hand_run_broker`, `connection_lanes`, `request_bytes`, `session_boxes`,
`served_connections`, `wire_witnesses`.
"""
