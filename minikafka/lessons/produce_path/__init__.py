"""The lesson *The produce path*. Its own pieces: `minimum_over_time`, `produce_path`, `purgatory_boxes`,
`purgatory_moments`.
"""
