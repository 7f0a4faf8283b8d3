"""The settings of topics and brokers in the metadata log of their cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from minikafka.common.config_resource import ConfigResourceType
from minikafka.log.manager.broker_settings import log_settings
from minikafka.log.partition_files import require_regular
from minikafka.messages.cluster_metadata import ConfigRecord, RemoveTopicRecord, TopicRecord
from minikafka.record.files.file_records import FileRecords
from minikafka.tools.dump_log.cluster_messages import (
    METADATA_DIRECTORY,
    ReplayedImage,
    decided,
    messages_of,
)
from minikafka.tools.failure import naming


class ClusterSettings(NamedTuple):
    """Settings by the name of each topic, and by the broker's number; "" stands for all brokers."""

    topics: dict[str, dict[str, str]]
    brokers: dict[str, dict[str, str]]

    def of_topic(self, topic: str) -> dict[str, object] | None:
        """The topic's settings, over those of all brokers; None for a topic that is not named."""
        if topic not in self.topics:
            return None
        return {**log_settings(self.brokers.get("", {})), **self.topics[topic]}


def read_cluster_settings(directory: Path) -> ClusterSettings:
    """What the newest snapshot in a metadata log's directory says, and the records after it.

    Raises OSError, what damaged batches raise, KafkaException with file and offset for an unreadable record, and
    RuntimeException for a topic that is deleted and was never there. Kafka: `ConfigurationsDelta`, `TopicsDelta`.
    """
    replayed = ReplayedImage((TopicRecord, RemoveTopicRecord, ConfigRecord))
    names = [file.name for file in directory.iterdir()]
    for _, message in decided(messages_of(names, lambda name: _records_of(directory / name))):
        replayed.replay(message)
    image = replayed.image()
    found = ClusterSettings({name: {} for name in image.topics.topics_by_name}, {})
    for resource, settings in image.configs.resource_data.items():
        if resource.type is ConfigResourceType.TOPIC:
            found.topics[resource.name] = dict(settings)
        elif resource.type is ConfigResourceType.BROKER:
            found.brokers[resource.name] = dict(settings)
    return found


def topic_settings_beside(partition: Path, topic: str) -> dict[str, object] | None:
    """What the metadata log in the log directory of `partition` says of the topic: its settings, over those of all
    brokers; None without such a log, or if it does not name the topic.

    Raises what `read_cluster_settings` raises.
    """
    metadata = partition.parent / METADATA_DIRECTORY
    return read_cluster_settings(metadata).of_topic(topic) if metadata.is_dir() else None


@contextmanager
def _records_of(file: Path) -> Iterator[FileRecords]:
    require_regular(file, follow_links=True)
    records = FileRecords.open(file, mutable=False)
    try:
        with naming(file):
            yield records
    finally:
        records.close_handlers()
