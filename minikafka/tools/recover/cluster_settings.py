"""The settings of topics and brokers in the metadata log of their cluster, and where partitions belong."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME, MetaProperties
from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.file_kind import is_there
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY
from minikafka.log.manager.broker_settings import log_settings
from minikafka.log.partition_files import require_regular
from minikafka.messages.cluster_metadata import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.record.files.file_records import FileRecords
from minikafka.tools.dump_log.cluster_messages import (
    ReplayedImage,
    decided,
    messages_of,
    snapshot_end,
)
from minikafka.tools.failure import TOLD, naming


class ClusterSettings(NamedTuple):
    """Settings by the name of each topic that there is, and by the broker's number; "" stands for all brokers.

    They are those of a broker that starts: the settings of a topic that was deleted are those of the next one of its
    name, if both stand in one file of the metadata log.
    """

    topics: dict[str, dict[str, str]]
    brokers: dict[str, dict[str, str]]
    brokers_at_load: dict[str, dict[str, str]] = {}
    """Those of brokers that count when a broker loads its logs: what the newest snapshot says of them.

    Kafka: `DynamicBrokerConfig.readDynamicBrokerConfigsFromSnapshot`.
    """
    replicas: dict[tuple[str, int], tuple[int, ...]] = {}
    """The brokers that have a partition, by its topic's id and its number."""

    def why_stray(self, topic_id: str | None, partition: int, node_id: str) -> str | None:
        """Why broker `node_id` would not take such a partition for its own; None if it does.

        Kafka: `LogManager.isStrayReplica`.
        """
        if topic_id is None:
            return "it has no topic id (partition.metadata)"
        if (replicas := self.replicas.get((topic_id, partition))) is None:
            return f"the metadata log has no partition {partition} of a topic with its id, {topic_id}"
        return None if int(node_id) in replicas else f"the metadata log has it on other brokers than {node_id}"

    def of_topic(self, topic: str, node_id: str) -> dict[str, object] | None:
        """The topic's settings, over those of broker `node_id`, over those of all brokers; None for a topic that is not
        named. Once it has started, a broker of Kafka's goes by them.
        """
        if topic not in self.topics:
            return None
        brokers = self.brokers.get("", {}) | self.brokers.get(node_id, {})
        return {**log_settings(brokers), **self.topics[topic]}


def cluster_settings_in(log_dir: Path) -> ClusterSettings | None:
    """What the newest snapshot in a log directory's metadata log says, and the records after it; None without such a
    log. One that has not changed is read once, damaged or not.

    Raises OSError, what damaged batches raise, KafkaException with file and offset for an unreadable record, and
    RuntimeException for a topic that is deleted and was never there. Kafka: `ConfigurationsDelta`, `TopicsDelta`;
    `MetadataLoader`, to which a starting broker gives each file as one delta.
    """
    metadata = log_dir / CLUSTER_METADATA_DIRECTORY
    if not metadata.is_dir():
        return None
    with os.scandir(metadata) as entries:
        files = [(entry.name, entry.stat()) for entry in entries if entry.is_file()]
    found = _read_once(metadata, frozenset((name, status.st_size, status.st_mtime_ns) for name, status in files))
    if isinstance(found, Exception):
        raise found.with_traceback(None)
    return found


def known_cluster_settings(log_dir: Path) -> ClusterSettings | None:
    """The same; None also where the log cannot be read, or is damaged."""
    try:
        return cluster_settings_in(log_dir)
    except TOLD:
        return None


def node_id_in(log_dir: Path) -> str:
    """The number of the broker whose log directory it is, "" where nothing says so. Raises as `meta_properties_in`."""
    properties = meta_properties_in(log_dir)
    return "" if properties is None or properties.node_id is None else str(properties.node_id)


def meta_properties_in(log_dir: Path) -> MetaProperties | None:
    """What `meta.properties` says, None if it is missing. Raises OSError, KafkaException, IllegalArgumentException."""
    file = log_dir / META_PROPERTIES_NAME
    if not is_there(file):
        return None
    require_regular(file, follow_links=True)
    with naming(file):
        return MetaProperties.read(file)


@lru_cache(maxsize=8)
def _read_once(metadata: Path, _files: frozenset[tuple[str, int, int]]) -> ClusterSettings | Exception:
    """The settings in a metadata log with these files (name, bytes, ns), or its damage. Raises OSError."""
    try:
        return _read(metadata)
    except (RuntimeError, ValueError, IndexError) as damage:
        return damage


def _read(metadata: Path) -> ClusterSettings:
    replayed = ReplayedImage((TopicRecord, RemoveTopicRecord, PartitionRecord, PartitionChangeRecord, ConfigRecord))
    names = [file.name for file in metadata.iterdir()]
    before: dict[str, MetadataImage] = {}  # each file that is read, the newest snapshot first

    def records_of(name: str) -> AbstractContextManager[FileRecords]:
        before[name] = replayed.end_delta()
        return _records_of(metadata / name)

    for _, message in decided(messages_of(names, records_of)):
        replayed.replay(message)
    image = replayed.image()
    of_snapshot = next((state for name, state in before.items() if snapshot_end(name) is None), image)
    found = ClusterSettings({name: {} for name in image.topics.topics_by_name}, {}, _of_brokers(of_snapshot), {})
    for topic_id, topic in image.topics.topics_by_id.items():
        for number, partition in topic.partitions.items():
            found.replicas[topic_id, number] = tuple(partition.replicas)
    for resource, settings in image.configs.resource_data.items():
        if resource.type is ConfigResourceType.TOPIC and resource.name in found.topics:
            found.topics[resource.name] = dict(settings)
    found.brokers.update(_of_brokers(image))
    return found


def _of_brokers(image: MetadataImage) -> dict[str, dict[str, str]]:
    resources = image.configs.resource_data.items()
    return {each.name: dict(settings) for each, settings in resources if each.type is ConfigResourceType.BROKER}


@contextmanager
def _records_of(file: Path) -> Iterator[FileRecords]:
    require_regular(file, follow_links=True)
    records = FileRecords.open(file, mutable=False)
    try:
        with naming(file):
            yield records
    finally:
        records.close_handlers()
