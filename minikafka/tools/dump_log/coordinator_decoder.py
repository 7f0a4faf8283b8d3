"""The records of `__consumer_offsets`, `__transaction_state` and `__share_group_state` as JSON."""

import base64

from minikafka.common.errors import RuntimeException
from minikafka.messages.compiled_codec import read_message
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_tables import message_schema
from minikafka.record.format.record import Record
from minikafka.tools.dump_log.coordinator_messages import CoordinatorMessages
from minikafka.tools.dump_log.java_json import java_json
from minikafka.tools.dump_log.message_json import message_json
from minikafka.tools.dump_log.record_decoders import CANNOT_DECODE, DecodedRecord, java_message

CONSUMER_PROTOCOL_TYPE = "consumer"


class CoordinatorDecoder:
    """Decodes what a coordinator writes: a key that begins with its type, a value that begins with its version.

    `table` is the name of the messages' table, "consumer-offsets" for instance. Kafka: `CoordinatorRecordSerde`,
    `DumpLogSegments.CoordinatorRecordMessageParser`.
    """

    def __init__(self, table: str):
        self._messages = CoordinatorMessages(table)

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
        record_type, key = self._messages.key(record.key)
        if key is None:
            return DecodedRecord(f"Unknown record type {record_type} at offset {record.offset}, skipping.", None)
        value = "<DELETE>" if record.value is None else self._decode_value(record_type, record.value)
        return DecodedRecord(java_json({"type": str(record_type), "data": message_json(key, 0)}), value)

    def _decode_value(self, record_type: int, value: bytes) -> str:
        schema, version, message = self._messages.value(record_type, value)
        data = message_json(message, version)
        if schema.name == "GroupMetadataValue" and data["protocolType"] == CONSUMER_PROTOCOL_TYPE:
            for member in data["members"]:
                _open(member, "subscription", "ConsumerProtocolSubscription")
                _open(member, "assignment", "ConsumerProtocolAssignment")
        return java_json({"version": str(version), "data": data})


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
