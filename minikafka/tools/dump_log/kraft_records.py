"""Control records of the metadata log (`__cluster_metadata`) as Kafka's dump tool prints them: a name and JSON.

Kafka: `ControlRecordUtils`, `LeaderChangeMessage`, `SnapshotHeaderRecord`, `SnapshotFooterRecord`,
`KRaftVersionRecord`, `VotersRecord` and their JSON converters.
"""

from minikafka.common.errors import NullPointerException
from minikafka.messages.compiled_codec import read_message
from minikafka.messages.message_bytes import MessageBytes
from minikafka.messages.message_tables import message_schema
from minikafka.record.format.control_record import ControlRecordType
from minikafka.tools.dump_log.java_json import java_json
from minikafka.tools.dump_log.message_json import message_json

# What the tool writes before the JSON, and the message.
_MESSAGES = {
    ControlRecordType.LEADER_CHANGE: ("LeaderChange:", "LeaderChangeMessage"),
    ControlRecordType.SNAPSHOT_HEADER: ("SnapshotHeader", "SnapshotHeaderRecord"),
    ControlRecordType.SNAPSHOT_FOOTER: ("SnapshotFooter", "SnapshotFooterRecord"),
    ControlRecordType.KRAFT_VERSION: ("KRaftVersion", "KRaftVersionRecord"),
    ControlRecordType.KRAFT_VOTERS: ("KRaftVoters", "VotersRecord"),
}
KRAFT_RECORD_TYPES = frozenset(_MESSAGES)


def kraft_record_line(control_type: ControlRecordType, value: bytes | None) -> str:
    """`LeaderChange: {"version":0,…}`: the words of the type, one of KRAFT_RECORD_TYPES, and its message.

    Raises NullPointerException, BufferUnderflowException, IllegalArgumentException or RuntimeException for bad bytes.
    Kafka: `DumpLogSegments.printControlRecord`.
    """
    if value is None:
        raise NullPointerException("control record without a value")
    words, name = _MESSAGES[control_type]
    struct = message_schema("control-records", name).struct
    # Read by the rules of version 0, and written by those of the version that the message says it has.
    message = read_message(struct, MessageBytes(value), 0)
    return f"{words} {java_json(message_json(message, message.version))}"
