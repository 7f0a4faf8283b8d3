"""Where a request arrives: every API by name, and a whole broker put together out of the rooms below."""
