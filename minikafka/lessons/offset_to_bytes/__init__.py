"""The lesson *From an offset to bytes*. Its own pieces: `answer_on_file`, `fetches`."""
