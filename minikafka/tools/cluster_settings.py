"""The settings of topics and brokers in the metadata log of their cluster."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from minikafka.common.errors import KafkaException, MetadataParseException
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.log.partition_files import require_regular
from minikafka.network.message_codec import Message
from minikafka.record.file_records import FileRecords
from minikafka.tools.failure import naming
from minikafka.tools.framed_message import read_framed

METADATA_DIRECTORY = "__cluster_metadata-0"
_SNAPSHOT_SUFFIX = ".checkpoint"
_OFFSET_DIGITS = 20
_TOPIC, _BROKER = 2, 4
"""The kinds of resources that have settings. Kafka: `ConfigResource.Type`."""


class ClusterSettings(NamedTuple):
    """Settings by the topic's name, and by the broker's number; "" stands for all brokers."""

    topics: dict[str, dict[str, str]]
    brokers: dict[str, dict[str, str]]


def read_cluster_settings(directory: Path) -> ClusterSettings:
    """What the newest snapshot in a metadata log's directory says, and the records after it.

    Raises OSError, what damaged batches raise, and KafkaException with file and offset for an unreadable record.
    Kafka: `ConfigurationsDelta`, `TopicsDelta`.
    """
    image = _Image()
    snapshots = [file for file in directory.glob(f"*-*{_SNAPSHOT_SUFFIX}") if file.name[:_OFFSET_DIGITS].isdigit()]
    read_to = 0
    if snapshots:
        newest = max(snapshots, key=lambda file: file.name)
        read_to = int(newest.name[:_OFFSET_DIGITS])
        for name, message in _messages(newest, 0):
            image.replay(name, message)
    for log in sorted(directory.glob(f"*{LOG_FILE_SUFFIX}")):
        for name, message in _messages(log, read_to):
            image.replay(name, message)
    return ClusterSettings(dict(image.settings[_TOPIC]), dict(image.settings[_BROKER]))


class _Image:
    """What the records so far have led to; those of an open transaction wait for its end."""

    def __init__(self) -> None:
        self.settings: dict[int, dict[str, dict[str, str]]] = {
            _TOPIC: defaultdict(dict),
            _BROKER: defaultdict(dict),
        }
        self._names: dict[str, str] = {}
        self._waiting: list[tuple[str, Message]] | None = None

    def replay(self, name: str, message: Message) -> None:
        match name:
            case "BeginTransactionRecord":
                self._waiting = []
            case "AbortTransactionRecord":
                self._waiting = None
            case "EndTransactionRecord":
                waiting, self._waiting = self._waiting or [], None
                for each in waiting:
                    self._replay(*each)
            case _ if self._waiting is not None:
                self._waiting.append((name, message))
            case _:
                self._replay(name, message)

    def _replay(self, name: str, message: Message) -> None:
        match name:
            case "TopicRecord":
                self._names[message.topic_id] = message.name
            case "RemoveTopicRecord":
                self.settings[_TOPIC].pop(self._names.pop(message.topic_id, ""), None)
            case "ConfigRecord" if message.resource_type in self.settings:
                settings = self.settings[message.resource_type][message.resource_name]
                if message.value is None:
                    settings.pop(message.name, None)
                else:
                    settings[message.name] = message.value


def _messages(file: Path, first_offset: int) -> Iterator[tuple[str, Message]]:
    require_regular(file, follow_links=True)
    records = FileRecords.open(file, mutable=False)
    try:
        with naming(file):
            for batch in records.batches():
                if batch.is_control_batch or batch.last_offset < first_offset:
                    continue
                for record in batch.records():
                    if record.offset >= first_offset:
                        yield _message(file, record)
    finally:
        records.close_handlers()


def _message(file: Path, record) -> tuple[str, Message]:
    try:
        schema, _, message = read_framed("cluster-metadata", record.value)
    except MetadataParseException as error:
        raise KafkaException(f"The record at offset {record.offset} in {file} cannot be read: {error}") from error
    return schema.name, message
