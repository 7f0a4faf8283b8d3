"""The records of `__remote_log_metadata` as text.

Kafka: `RemoteLogMetadataSerde`, and the `toString` of what it makes.
"""

from minikafka.common.errors import IllegalArgumentException, NullPointerException
from minikafka.messages.message_codec import Message

_SEGMENT_STATES = (
    "COPY_SEGMENT_STARTED",
    "COPY_SEGMENT_FINISHED",
    "DELETE_SEGMENT_STARTED",
    "DELETE_SEGMENT_FINISHED",
)
_PARTITION_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


def remote_log_metadata_text(name: str, message: Message) -> str:
    """The text for the message of this name.

    Raises IllegalArgumentException and NullPointerException for what no such object of Kafka's may have.
    """
    fields = _WRITERS[name](message)
    return f"{name.removesuffix('Record')}{{{', '.join(f'{field}={text}' for field, text in fields.items())}}}"


def _segment(message: Message) -> dict[str, object]:
    start, end = message.start_offset, message.end_offset
    if start < 0:
        raise IllegalArgumentException(
            f"Unexpected start offset = {start}. StartOffset for a remote segment cannot be negative"
        )
    if end < start:
        raise IllegalArgumentException(
            f"Unexpected end offset = {end}. EndOffset for a remote segment cannot be less than startOffset = {start}"
        )
    return {
        "remoteLogSegmentId": _segment_id(message.remote_log_segment_id),
        "startOffset": start,
        "endOffset": end,
        "brokerId": message.broker_id,
        "maxTimestampMs": message.max_timestamp_ms,
        "eventTimestampMs": message.event_timestamp_ms,
        "segmentLeaderEpochs": _epochs(message.segment_leader_epochs),
        "segmentSizeInBytes": message.segment_size_in_bytes,
        "customMetadata": _custom_metadata(message.custom_metadata),
        "state": _segment_state(message),
        "txnIdxEmpty": str(message.txn_index_empty).lower(),
    }


def _segment_update(message: Message) -> dict[str, object]:
    return {
        "remoteLogSegmentId": _segment_id(message.remote_log_segment_id),
        "customMetadata": _custom_metadata(message.custom_metadata),
        "state": _segment_state(message),
        "eventTimestampMs": message.event_timestamp_ms,
        "brokerId": message.broker_id,
    }


def _segment_snapshot(message: Message) -> dict[str, object]:
    state = _segment_state(message)  # asked first, and told late
    return {
        "segmentId": message.segment_id,
        "startOffset": message.start_offset,
        "endOffset": message.end_offset,
        "maxTimestampMs": message.max_timestamp_ms,
        "segmentLeaderEpochs": _epochs(message.segment_leader_epochs),
        "segmentSizeInBytes": message.segment_size_in_bytes,
        "customMetadata": _custom_metadata(message.custom_metadata),
        "state": state,
        "txnIdxEmpty": str(message.txn_index_empty).lower(),
    }


def _partition_delete(message: Message) -> dict[str, object]:
    return {
        "topicPartition": _topic_id_partition(message.topic_id_partition),
        "state": _state(_PARTITION_STATES, message.remote_partition_delete_state, "null"),
        "eventTimestampMs": message.event_timestamp_ms,
        "brokerId": message.broker_id,
    }


def _segment_id(message: Message) -> str:
    partition = _topic_id_partition(message.topic_id_partition)
    return f"RemoteLogSegmentId{{topicIdPartition={partition}, id={message.id}}}"


def _topic_id_partition(message: Message) -> str:
    return f"{message.id}:{message.name}-{message.partition}"


def _epochs(entries: list[Message]) -> str:
    if not entries:
        raise IllegalArgumentException("segmentLeaderEpochs can not be null or empty")
    offsets = {entry.leader_epoch: entry.offset for entry in entries}
    return "{" + ", ".join(f"{epoch}={offset}" for epoch, offset in sorted(offsets.items())) + "}"


def _custom_metadata(value: bytes | None) -> str:
    return "Optional.empty" if value is None else f"Optional[CustomMetadata{{{len(value)} bytes}}]"


def _segment_state(message: Message) -> str:
    return _state(_SEGMENT_STATES, message.remote_log_segment_state, "state can not be null")


def _state(states: tuple[str, ...], number: int, complaint: str) -> str:
    if not 0 <= number < len(states):
        raise NullPointerException(complaint)
    return states[number]


_WRITERS = {
    "RemoteLogSegmentMetadataRecord": _segment,
    "RemoteLogSegmentMetadataUpdateRecord": _segment_update,
    "RemoteLogSegmentMetadataSnapshotRecord": _segment_snapshot,
    "RemotePartitionDeleteMetadataRecord": _partition_delete,
}
