"""Each of Kafka's messages once: requests and responses, and what lies in Kafka's own topics.

In reading order:

- `versions`, `message_schema`, `message_tables`: what every message of Kafka 4.3.0 is made of, out of `tables/`.
- `message_codec`, `message_bytes`, `message_sink`: messages as Python objects, read from bytes and written as bytes,
  step by step. `compiled_codec` does the same at the speed of code that was written for one message and version.
- `apis`, `cluster_metadata`, `control_records`: the messages of a table each, by their names. Their classes are made
  when they are asked for; the stubs beside them (`.pyi`, made from the same tables) tell a type checker the fields.
"""
