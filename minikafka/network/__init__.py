"""Requests and responses as data: the wire's own messages, and the channel on which an answer goes back."""
