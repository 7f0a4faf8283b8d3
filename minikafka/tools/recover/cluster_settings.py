"""The settings of topics and brokers in the metadata log of their cluster."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from minikafka.common.config_resource import ConfigResourceType
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.log.partition_files import require_regular
from minikafka.messages.message_codec import Message
from minikafka.record.files.file_records import FileRecords
from minikafka.tools.dump_log.cluster_messages import (
    METADATA_DIRECTORY,
    SNAPSHOT_SUFFIX,
    NamedMessage,
    decided,
    messages_in,
    snapshot_end,
)
from minikafka.tools.failure import naming


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
    for name, message in decided(_messages(directory)):
        image.replay(name, message)
    settings = image.settings
    return ClusterSettings(dict(settings[ConfigResourceType.TOPIC]), dict(settings[ConfigResourceType.BROKER]))


def topic_settings_beside(partition: Path, topic: str) -> dict[str, str]:
    """The topic's settings in the metadata log of the log directory in which `partition` lies; none without such a log.

    Raises what `read_cluster_settings` raises.
    """
    metadata = partition.parent / METADATA_DIRECTORY
    return read_cluster_settings(metadata).topics.get(topic, {}) if metadata.is_dir() else {}


class _Image:
    """What the records so far have led to."""

    def __init__(self) -> None:
        self.settings: dict[int, dict[str, dict[str, str]]] = {
            ConfigResourceType.TOPIC: defaultdict(dict),
            ConfigResourceType.BROKER: defaultdict(dict),
        }
        self._names: dict[str, str] = {}

    def replay(self, name: str, message: Message) -> None:
        match name:
            case "TopicRecord":
                self._names[message.topic_id] = message.name
            case "RemoveTopicRecord":
                self.settings[ConfigResourceType.TOPIC].pop(self._names.pop(message.topic_id, ""), None)
            case "ConfigRecord" if message.resource_type in self.settings:
                settings = self.settings[message.resource_type][message.resource_name]
                if message.value is None:
                    settings.pop(message.name, None)
                else:
                    settings[message.name] = message.value


def _messages(directory: Path) -> Iterator[NamedMessage]:
    snapshots = [file for file in directory.glob(f"*{SNAPSHOT_SUFFIX}") if snapshot_end(file.name) is not None]
    newest = max(snapshots, default=None, key=lambda file: file.name)
    read_to = 0 if newest is None else snapshot_end(newest.name) or 0
    if newest is not None:
        yield from _messages_of(newest, 0)
    for log in sorted(directory.glob(f"*{LOG_FILE_SUFFIX}")):
        yield from _messages_of(log, read_to)


def _messages_of(file: Path, first_offset: int) -> Iterator[NamedMessage]:
    require_regular(file, follow_links=True)
    records = FileRecords.open(file, mutable=False)
    try:
        with naming(file):
            yield from messages_in(records, first_offset)
    finally:
        records.close_handlers()
