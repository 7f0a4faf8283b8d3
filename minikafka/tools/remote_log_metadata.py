"""The records of `__remote_log_metadata` as text.

Kafka: `RemoteLogMetadataSerde`, and the `toString` of what it makes.
"""

from minikafka.common.errors import IllegalArgumentException, NullPointerException

_SEGMENT_STATES = (
    "COPY_SEGMENT_STARTED",
    "COPY_SEGMENT_FINISHED",
    "DELETE_SEGMENT_STARTED",
    "DELETE_SEGMENT_FINISHED",
)
_PARTITION_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


def remote_log_metadata_text(name: str, values: dict) -> str:
    """The text for the message of this name with these values.

    Raises IllegalArgumentException and NullPointerException for what no such object of Kafka's may have.
    """
    fields = _WRITERS[name](values)
    return f"{name.removesuffix('Record')}{{{', '.join(f'{field}={text}' for field, text in fields.items())}}}"


def _segment(values: dict) -> dict[str, object]:
    start, end = values["startOffset"], values["endOffset"]
    if start < 0:
        raise IllegalArgumentException(
            f"Unexpected start offset = {start}. StartOffset for a remote segment cannot be negative"
        )
    if end < start:
        raise IllegalArgumentException(
            f"Unexpected end offset = {end}. EndOffset for a remote segment cannot be less than startOffset = {start}"
        )
    return {
        "remoteLogSegmentId": _segment_id(values["remoteLogSegmentId"]),
        "startOffset": start,
        "endOffset": end,
        "brokerId": values["brokerId"],
        "maxTimestampMs": values["maxTimestampMs"],
        "eventTimestampMs": values["eventTimestampMs"],
        "segmentLeaderEpochs": _epochs(values["segmentLeaderEpochs"]),
        "segmentSizeInBytes": values["segmentSizeInBytes"],
        "customMetadata": _custom_metadata(values["customMetadata"]),
        "state": _segment_state(values),
        "txnIdxEmpty": str(values["txnIndexEmpty"]).lower(),
    }


def _segment_update(values: dict) -> dict[str, object]:
    return {
        "remoteLogSegmentId": _segment_id(values["remoteLogSegmentId"]),
        "customMetadata": _custom_metadata(values["customMetadata"]),
        "state": _segment_state(values),
        "eventTimestampMs": values["eventTimestampMs"],
        "brokerId": values["brokerId"],
    }


def _segment_snapshot(values: dict) -> dict[str, object]:
    state = _segment_state(values)  # asked first, and told late
    return {
        "segmentId": values["segmentId"],
        "startOffset": values["startOffset"],
        "endOffset": values["endOffset"],
        "maxTimestampMs": values["maxTimestampMs"],
        "segmentLeaderEpochs": _epochs(values["segmentLeaderEpochs"]),
        "segmentSizeInBytes": values["segmentSizeInBytes"],
        "customMetadata": _custom_metadata(values["customMetadata"]),
        "state": state,
        "txnIdxEmpty": str(values["txnIndexEmpty"]).lower(),
    }


def _partition_delete(values: dict) -> dict[str, object]:
    return {
        "topicPartition": _topic_id_partition(values["topicIdPartition"]),
        "state": _state(_PARTITION_STATES, values["remotePartitionDeleteState"], "null"),
        "eventTimestampMs": values["eventTimestampMs"],
        "brokerId": values["brokerId"],
    }


def _segment_id(values: dict) -> str:
    partition = _topic_id_partition(values["topicIdPartition"])
    return f"RemoteLogSegmentId{{topicIdPartition={partition}, id={values['id']}}}"


def _topic_id_partition(values: dict) -> str:
    return f"{values['id']}:{values['name']}-{values['partition']}"


def _epochs(entries: list[dict]) -> str:
    if not entries:
        raise IllegalArgumentException("segmentLeaderEpochs can not be null or empty")
    offsets = {entry["leaderEpoch"]: entry["offset"] for entry in entries}
    return "{" + ", ".join(f"{epoch}={offset}" for epoch, offset in sorted(offsets.items())) + "}"


def _custom_metadata(value: bytes | None) -> str:
    return "Optional.empty" if value is None else f"Optional[CustomMetadata{{{len(value)} bytes}}]"


def _segment_state(values: dict) -> str:
    return _state(_SEGMENT_STATES, values["remoteLogSegmentState"], "state can not be null")


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
