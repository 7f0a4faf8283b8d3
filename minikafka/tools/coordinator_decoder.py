"""The records of `__consumer_offsets`, `__transaction_state` and `__share_group_state` as JSON."""

import base64

from minikafka.common.errors import BufferUnderflowException, RuntimeException
from minikafka.network.message_bytes import MessageBytes
from minikafka.network.message_codec import Message, read_message
from minikafka.network.message_schema import MessageSchema
from minikafka.network.message_tables import message_schema, message_schemas
from minikafka.record.record import Record
from minikafka.tools.java_json import java_json
from minikafka.tools.message_json import message_json
from minikafka.tools.record_decoders import CANNOT_DECODE, DecodedRecord, java_message

CONSUMER_PROTOCOL_TYPE = "consumer"


class CoordinatorDecoder:
    """Decodes what a coordinator writes: a key that begins with its type, a value that begins with its version.

    `table` is the name of the messages' table, "consumer-offsets" for instance. Kafka: `CoordinatorRecordSerde`,
    `DumpLogSegments.CoordinatorRecordMessageParser`.
    """

    def __init__(self, table: str):
        schemas = message_schemas(table)
        self._keys = {schema.api_key: schema for name, schema in schemas.items() if name.endswith("Key")}
        self._values = {schema.api_key: schema for name, schema in schemas.items() if name.endswith("Value")}

    def __call__(self, record: Record) -> DecodedRecord:
        """Raises RuntimeException for a record without a key; anything else that is wrong becomes the text."""
        if record.key is None:
            raise RuntimeException(
                f"Failed to decode message at offset {record.offset} using the specified decoder "
                "(message had a missing key)"
            )
        try:
            return self._decode(record)
        except CANNOT_DECODE as error:
            return DecodedRecord(f"Error at offset {record.offset}, skipping. {java_message(error)}", None)

    def _decode(self, record: Record) -> DecodedRecord:
        source = MessageBytes(record.key)
        record_type = _read_version(source, "key")
        if record_type not in self._keys:
            return DecodedRecord(f"Unknown record type {record_type} at offset {record.offset}, skipping.", None)
        schema = self._keys[record_type]
        # The type stands where a version would, and is taken for one, as in Kafka; a key has one version, 0.
        key = message_json(_read(schema, source, record_type, "key"), 0)
        value = "<DELETE>" if record.value is None else self._decode_value(record_type, MessageBytes(record.value))
        return DecodedRecord(java_json({"type": str(record_type), "data": key}), value)

    def _decode_value(self, record_type: int, source: MessageBytes) -> str:
        schema = self._values[record_type]
        version = _read_version(source, "value")
        if not schema.versions.lowest <= version <= schema.versions.highest:
            raise RuntimeException(f"Found an unknown record version {version} for {record_type} type")
        data = message_json(_read(schema, source, version, "value"), version)
        if schema.name == "GroupMetadataValue" and data["protocolType"] == CONSUMER_PROTOCOL_TYPE:
            for member in data["members"]:
                _open(member, "subscription", "ConsumerProtocolSubscription")
                _open(member, "assignment", "ConsumerProtocolAssignment")
        return java_json({"version": str(version), "data": data})


def _read_version(source: MessageBytes, part: str) -> int:
    try:
        return source.read_int(2)
    except BufferUnderflowException:
        raise RuntimeException(f"Could not read version from {part}'s buffer.") from None


def _read(schema: MessageSchema, source: MessageBytes, version: int, part: str) -> Message:
    try:
        return read_message(schema.struct, source, version)
    except CANNOT_DECODE as error:
        why = java_message(error)
        raise RuntimeException(
            f"Could not read record with version {version} from {part}'s buffer due to: {why}."
        ) from error


def _open(member: dict[str, object], field: str, message: str) -> None:
    """Put the message that a consumer sent in place of its bytes; they stay when they are none.

    Kafka: `DumpLogSegments.OffsetsMessageParser.replaceField`.
    """
    source = MessageBytes(base64.b64decode(member[field]))
    struct = message_schema("consumer-protocol", message).struct
    try:
        version = source.read_int(2)
        member[field] = message_json(read_message(struct, source, version), version)
    except CANNOT_DECODE:
        pass
