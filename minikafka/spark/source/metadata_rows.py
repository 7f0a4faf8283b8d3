"""The table `metadata`: the topics of a cluster, out of the log `__cluster_metadata` and its snapshots.

| column | meaning |
|---|---|
| `topic`, `partition`, `topicId` | |
| `leader`, `leaderEpoch`, `partitionEpoch` | the leader's broker, -1 for none; how often it and the partition changed |
| `replicas`, `isr` | brokers: in the order of preference, and those in sync |
| `addingReplicas`, `removingReplicas` | brokers of a reassignment that is going on |
| `settings` | the topic's own settings, without defaults, by name |

A path is a log directory (one of `metadata.log.dir` or `log.dirs` has the metadata), the directory
`__cluster_metadata-0`, or a snapshot (`.checkpoint`), which tells the state at its offset; paths that are none of these
are passed over, but not all of them. Of a directory the newest
snapshot is read, and the whole log behind it: a part at its end that no quorum has agreed on yet is told as well.
`subscribe`, `subscribePattern` and `assign` choose.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import ArrayType, DataType, IntegerType, MapType, StringType

from minikafka.common.config_resource import ConfigResource
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY, CLUSTER_METADATA_TOPIC_NAME
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.messages.cluster_metadata import (
    ClearElrRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from minikafka.metadata.metadata_image import MetadataImage
from minikafka.record.files.file_records import FileRecords
from minikafka.spark.source.damage import DAMAGE, Damage
from minikafka.spark.source.record_rows import CORRUPT, damage_row
from minikafka.spark.source.source_options import SourceOptions
from minikafka.spark.source.storage import Storage, joined
from minikafka.spark.source.storage_of import storage_of
from minikafka.spark.source.subscription import Subscription
from minikafka.tools.dump_log.cluster_messages import ReplayedImage, decided, messages_of, snapshot_end

METADATA = "metadata"
_BROKERS = ArrayType(IntegerType())
METADATA_COLUMNS: dict[str, DataType] = {
    "topicId": StringType(),
    "leader": IntegerType(),
    "leaderEpoch": IntegerType(),
    "partitionEpoch": IntegerType(),
    "replicas": _BROKERS,
    "isr": _BROKERS,
    "addingReplicas": _BROKERS,
    "removingReplicas": _BROKERS,
    "settings": MapType(StringType(), StringType()),
}
"""The columns of `metadata` behind topic and partition."""

_PARTITION = TopicPartition(CLUSTER_METADATA_TOPIC_NAME, 0)
_OF_TOPICS = (TopicRecord, RemoveTopicRecord, PartitionRecord, PartitionChangeRecord, ClearElrRecord, ConfigRecord)
"""The records that change topics, or settings."""


class MetadataLog(NamedTuple):
    """The metadata of one cluster: the directory of its log, or a snapshot."""

    path: str
    storage: Storage


@dataclass
class MetadataTask(InputPartition):
    """The metadata that one task reads."""

    logs: list[MetadataLog]


def find_metadata(paths: list[str], settings: Mapping[str, str]) -> list[MetadataLog]:
    """The metadata that lie below the paths; `settings` are those of `storage_of`.

    Of several log directories of a broker, one has them. Raises IllegalArgumentException for a path that does not
    exist, and where none of the paths has any; OSError for what cannot be listed.
    """
    found = []
    for given in paths:
        storage, pattern = storage_of(given, settings)
        expanded = storage.expanded(pattern)
        if not expanded:
            raise IllegalArgumentException(f"{pattern} does not exist")
        for path in expanded:
            name = os.path.basename(path)
            if storage.is_directory(path):
                directory = path if name == CLUSTER_METADATA_DIRECTORY else joined(path, CLUSTER_METADATA_DIRECTORY)
                if _has_metadata(storage, directory):
                    found.append(MetadataLog(directory, storage))
            elif snapshot_end(name) is not None:
                found.append(MetadataLog(path, storage))
    if not found:
        raise IllegalArgumentException(
            f"{' and '.join(paths)} has no metadata log ({CLUSTER_METADATA_DIRECTORY}): it is in metadata.log.dir, or "
            "in the first of log.dirs"
        )
    return list(dict.fromkeys(found))


def _has_metadata(storage: Storage, directory: str) -> bool:
    return storage.is_directory(directory) and any(
        entry.name.endswith(LOG_FILE_SUFFIX) or snapshot_end(entry.name) is not None
        for entry in storage.entries(directory)
    )


class MetadataRows:
    """Makes the rows of `metadata`, with the columns of `schema` and no others."""

    def __init__(self, schema: pa.Schema, options: SourceOptions):
        self._schema = schema
        self._options = options

    def of(self, task: MetadataTask) -> Iterator[pa.RecordBatch]:
        """The rows of a task. Raises CorruptRecordException for damage in mode FAILFAST.

        Behind a damage nothing can be told, so the rows are those of the state before it.
        """
        for log in task.logs:
            replayed = _Replayed()
            for damage in replayed.read(log):
                yield from damage_row(self._schema, self._options.on_damage, _PARTITION, damage)
            rows = list(_rows(replayed.image(), self._options.subscription))
            if rows:
                arrays = [pa.array([row[field.name] for row in rows], field.type) for field in self._schema]
                yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)


class _Replayed:
    """The state that messages lead to."""

    def __init__(self) -> None:
        self._image = ReplayedImage(_OF_TOPICS)
        self._file = ""

    def read(self, log: MetadataLog) -> Iterator[Damage]:
        """Replay all of `log`; a damage ends it."""
        self._file = log.path
        directory, name = os.path.split(log.path)
        try:
            if snapshot_end(name) is not None:
                names = [name]
            else:
                directory, names = log.path, [entry.name for entry in log.storage.entries(log.path)]
            for _, message in decided(
                messages_of(names, lambda name: self._records_of(log.storage, joined(directory, name)))
            ):
                if isinstance(message, RemoveTopicRecord):
                    # The topic's settings go, also those of the same delta, as the cluster that runs knows it.
                    self._image.end_delta()
                self._image.replay(message)
        except DAMAGE as error:
            yield Damage.of(self._file, 0, error)

    def image(self) -> MetadataImage:
        """The state now."""
        return self._image.image()

    @contextmanager
    def _records_of(self, storage: Storage, path: str) -> Iterator[FileRecords]:
        self._file = path
        opened, size = storage.open_now(path)
        try:
            yield FileRecords(Path(path), opened, 0, size, is_slice=True)
        finally:
            opened.close()


def _rows(image: MetadataImage, subscription: Subscription) -> Iterator[dict[str, Any]]:
    for name, topic in sorted(image.topics.topics_by_name.items()):
        settings = sorted(image.configs.config_map_for_resource(ConfigResource.topic(name)).items())
        for number, partition in sorted(topic.partitions.items()):
            if not subscription.includes(TopicPartition(name, number)):
                continue
            yield {
                "topic": name,
                "partition": number,
                "topicId": topic.id,
                "leader": partition.leader,
                "leaderEpoch": partition.leader_epoch,
                "partitionEpoch": partition.partition_epoch,
                "replicas": partition.replicas,
                "isr": partition.isr,
                "addingReplicas": partition.adding_replicas,
                "removingReplicas": partition.removing_replicas,
                "settings": settings,
                CORRUPT: None,
            }
