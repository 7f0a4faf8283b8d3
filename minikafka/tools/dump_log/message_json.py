"""Kafka's messages as JSON, in the types that `java_json` writes. Kafka: the `*JsonConverter` classes."""

import base64

from minikafka.messages.message_codec import Message, default_value, snake_case


def message_json(message: Message, version: int) -> dict[str, object]:
    """What stands in the JSON of this version: the fields in the order of the schema."""
    schema = message.schema
    return {
        field.name: _json_value(getattr(message, snake_case(field.name)), version)
        for field in schema.fields
        if field.versions.has(version, schema.possible)
        and (field.tag is None or getattr(message, snake_case(field.name)) != default_value(field))
    }


def _json_value(value: object, version: int) -> object:
    if isinstance(value, list):
        return [_json_value(element, version) for element in value]
    if isinstance(value, Message):
        return message_json(value, version)
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
