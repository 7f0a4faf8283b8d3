"""Messages behind a frame: a version of the frame, the message's api key and version, the message.

Kafka: `AbstractApiMessageSerde`, the base of `MetadataRecordSerde` and `RemoteLogMetadataSerde`.
"""

from functools import cache
from typing import Any

from minikafka.common.errors import IllegalArgumentException, MetadataParseException
from minikafka.common.java.java_numbers import SHORT_MAX
from minikafka.messages.compiled_codec import read_message, write_message
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_codec import Message
from minikafka.messages.message_schema import MessageSchema
from minikafka.messages.message_sink import MessageSink
from minikafka.messages.message_tables import message_schema, message_schemas

_FRAME_VERSION = 1


def read_framed(table: str, data: bytes | None) -> tuple[MessageSchema, int, Any]:
    """The message's schema (one of the table's), its version, and the message. Raises MetadataParseException.

    Kafka: `AbstractApiMessageSerde.read`.
    """
    if data is None:
        raise MetadataParseException("Error while reading frame version")
    source = MessageBytes(data)
    frame_version = _read_short(source, "frame version")
    if frame_version == 0:
        raise MetadataParseException(
            "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release "
            "of KRaft in 2.8 to newer versions are not supported."
        )
    if frame_version != _FRAME_VERSION:
        raise MetadataParseException(
            f"Could not deserialize metadata record due to unknown frame version {frame_version}"
            f"(only frame version {_FRAME_VERSION} is supported)"
        )
    api_key, version = _read_short(source, "type"), _read_short(source, "version")
    schema = _by_api_key(table).get(api_key)
    if schema is None:
        raise MetadataParseException(
            f"org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id {api_key}"
        )
    try:
        message = read_message(schema.struct, source, version)
    except (RuntimeError, IllegalArgumentException) as error:
        raise MetadataParseException(f"Failed to deserialize record with type {api_key}") from error
    if source.remaining > 0:
        raise MetadataParseException(f"Found {source.remaining} byte(s) of garbage after {api_key}")
    return schema, version, message


def write_framed(table: str, message: Message, version: int) -> bytes:
    """The bytes of a message of a table behind its frame. Raises what `write_message` raises.

    Kafka: `AbstractApiMessageSerde.write`.
    """
    sink = MessageSink()
    for number in (_FRAME_VERSION, message_schema(table, message.schema.name).api_key, version):
        sink.write_unsigned_varint(number)
    write_message(message, sink, version)
    return bytes(sink)


@cache
def _by_api_key(table: str) -> dict[int, MessageSchema]:
    return {schema.api_key: schema for schema in message_schemas(table).values()}


def _read_short(source: MessageBytes, what: str) -> int:
    try:
        value = source.read_unsigned_varint()
    except (RuntimeError, IllegalArgumentException) as error:
        raise MetadataParseException(f"Error while reading {what}") from error
    if value > SHORT_MAX:
        raise MetadataParseException(f"Value for {what} was too large.")
    return int.from_bytes((value & 0xFFFF).to_bytes(2, "big"), "big", signed=True)
