"""Requests and responses as data: the wire's own messages, and the channel on which an answer goes back.

In reading order:

- `api_keys`: what can be asked, by name and number, and in which versions.
- `versions`, `message_schema`, `message_tables`: what every message of Kafka 4.3.0 is made of.
- `message_codec`, `message_bytes`, `message_sink`: messages as Python objects, read from bytes and written as bytes.
- `messages`: whole requests and responses with their headers; `error_responses`: what a request that fails is told.
- `request`, `request_channel`: a request that has arrived, and the way back.
- `server`: the sockets.
"""
