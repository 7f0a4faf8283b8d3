"""The keys and values of records as text: what `dump-log` prints behind `key: ` and `payload: `.

The decoders of Kafka's internal topics tell a record that cannot be decoded in its place, in Kafka's words, and the
dump goes on.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from minikafka.common.errors import BufferUnderflowException, IllegalArgumentException, NullPointerException
from minikafka.common.java.java_utf8 import decode_utf8
from minikafka.messages.framed_message import read_framed
from minikafka.record.format.record import Record
from minikafka.tools.dump_log.java_json import java_json
from minikafka.tools.dump_log.message_json import message_json
from minikafka.tools.dump_log.remote_log_metadata import remote_log_metadata_text

CANNOT_DECODE = (RuntimeError, IllegalArgumentException)
"""What the bytes of a record may raise."""


class DecodedRecord(NamedTuple):
    """The texts of a record; None where there is nothing to print."""

    key: str | None
    value: str | None


RecordDecoder = Callable[[Record], DecodedRecord]


def decode_text(record: Record) -> DecodedRecord:
    """Keys and values as UTF-8. Kafka: `DumpLogSegments.DecoderMessageParser`, `StringDecoder`."""
    return DecodedRecord(_text(record.key), _text(record.value))


def decode_cluster_metadata(record: Record) -> DecodedRecord:
    """The value as a record of the metadata log; its key is passed over.

    Kafka: `DumpLogSegments.ClusterMetadataLogMessageParser`.
    """
    try:
        schema, version, message = read_framed("cluster-metadata", record.value)
        data = message_json(message, version)
        text = java_json({"type": _constant_name(schema.name), "version": version, "data": data})
    except CANNOT_DECODE as error:
        text = f"Error at {record.offset}, skipping. {java_message(error)}"
    return DecodedRecord(None, text)


def decode_remote_log_metadata(record: Record) -> DecodedRecord:
    """The value as a record of `__remote_log_metadata`; its key is passed over.

    Kafka: `DumpLogSegments.RemoteMetadataLogMessageParser`.
    """
    try:
        if record.value is None:
            raise NullPointerException(
                'Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of '
                '"org.apache.kafka.common.record.internal.Record.value()" is null'
            )
        schema, _, message = read_framed("remote-log-metadata", record.value)
        text = remote_log_metadata_text(schema.name, message)
    except CANNOT_DECODE as error:
        text = f"Error at offset {record.offset}, skipping. {java_message(error)}"
    return DecodedRecord(None, text)


def java_message(error: Exception) -> str:
    """What Java's `getMessage` gives: the end of a buffer has no message."""
    return "null" if isinstance(error, BufferUnderflowException) else str(error)


def _constant_name(name: str) -> str:
    """`TopicRecord` as the constant `TOPIC_RECORD`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()


def _text(data: bytes | None) -> str | None:
    return None if data is None else decode_utf8(data)
