"""Requests and responses as they come over a wire, and the channel on which an answer goes back.

In reading order:

- `api_keys`: what can be asked, by name and number; `api_key_base`: in which versions, and where.
- `messages`: whole requests and responses with their headers; `error_responses`: what a request that fails is told.
- `request`, `request_channel`: a request that has arrived, and the way back.
- `server`: the sockets.
"""
