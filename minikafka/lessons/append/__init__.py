"""The lesson *Append*. Its own pieces: `refusals`."""
