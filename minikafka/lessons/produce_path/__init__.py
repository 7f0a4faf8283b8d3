"""The lesson *The produce path*. Its own pieces: `produce_path`, `purgatory_boxes`, `purgatory_moments`."""
