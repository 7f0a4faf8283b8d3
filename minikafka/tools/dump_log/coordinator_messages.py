"""The messages in the keys and values of a coordinator's records."""

from minikafka.common.errors import BufferUnderflowException, RuntimeException
from minikafka.messages.compiled_codec import read_message
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_codec import Message
from minikafka.messages.message_schema import MessageSchema
from minikafka.messages.message_tables import message_schemas
from minikafka.tools.dump_log.record_decoders import CANNOT_DECODE, java_message


class CoordinatorMessages:
    """Reads what a coordinator writes: a key that begins with its type, a value that begins with its version.

    `table` is the name of the messages' table, "consumer-offsets" for instance. Kafka: `CoordinatorRecordSerde`.
    """

    def __init__(self, table: str):
        schemas = message_schemas(table)
        self._keys = {schema.api_key: schema for name, schema in schemas.items() if name.endswith("Key")}
        self._values = {schema.api_key: schema for name, schema in schemas.items() if name.endswith("Value")}

    def key(self, data: bytes) -> tuple[int, Message | None]:
        """The type of the record, and its key; no key for an unknown type. Raises RuntimeException."""
        source = MessageBytes(data)
        record_type = _read_version(source, "key")
        if record_type not in self._keys:
            return record_type, None
        # The type stands where a version would, and is taken for one, as in Kafka; a key has one version, 0.
        return record_type, _read(self._keys[record_type], source, record_type, "key")

    def value(self, record_type: int, data: bytes) -> tuple[MessageSchema, int, Message]:
        """The schema, the version and the value of a record of that type, which has a key. Raises RuntimeException."""
        schema, source = self._values[record_type], MessageBytes(data)
        version = _read_version(source, "value")
        if not schema.versions.lowest <= version <= schema.versions.highest:
            raise RuntimeException(f"Found an unknown record version {version} for {record_type} type")
        return schema, version, _read(schema, source, version, "value")


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
