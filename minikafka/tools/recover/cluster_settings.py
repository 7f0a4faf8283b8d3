"""The settings of topics and brokers in the metadata log of their cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from minikafka.common.config_resource import ConfigResourceType
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
    """Settings by the topic's name, and by the broker's number; "" stands for all brokers."""

    topics: dict[str, dict[str, str]]
    brokers: dict[str, dict[str, str]]


def read_cluster_settings(directory: Path) -> ClusterSettings:
    """What the newest snapshot in a metadata log's directory says, and the records after it.

    Raises OSError, what damaged batches raise, KafkaException with file and offset for an unreadable record, and
    RuntimeException for a topic that is deleted and was never there. Kafka: `ConfigurationsDelta`, `TopicsDelta`.
    """
    replayed = ReplayedImage((TopicRecord, RemoveTopicRecord, ConfigRecord))
    names = [file.name for file in directory.iterdir()]
    for _, message in decided(messages_of(names, lambda name: _records_of(directory / name))):
        replayed.replay(message)
    found = ClusterSettings({}, {})
    for resource, settings in replayed.image().configs.resource_data.items():
        if resource.type is ConfigResourceType.TOPIC:
            found.topics[resource.name] = dict(settings)
        elif resource.type is ConfigResourceType.BROKER:
            found.brokers[resource.name] = dict(settings)
    return found


def topic_settings_beside(partition: Path, topic: str) -> dict[str, str]:
    """The topic's settings in the metadata log of the log directory in which `partition` lies; none without such a log.

    Raises what `read_cluster_settings` raises.
    """
    metadata = partition.parent / METADATA_DIRECTORY
    return read_cluster_settings(metadata).topics.get(topic, {}) if metadata.is_dir() else {}


@contextmanager
def _records_of(file: Path) -> Iterator[FileRecords]:
    require_regular(file, follow_links=True)
    records = FileRecords.open(file, mutable=False)
    try:
        with naming(file):
            yield records
    finally:
        records.close_handlers()
