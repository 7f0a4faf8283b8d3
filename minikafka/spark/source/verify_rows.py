"""The table `verify`: what the job of that name looks at, in pieces that can be looked at side by side.

| column | meaning |
|---|---|
| `number` | the pieces of one directory have one number, in the order of `minikafka verify` |
| `directory` | a directory that the query names (`partition` is false), or a partition's |
| `partition` | |
| `baseOffset` | of a segment; null for the rest of the directory |

As in `minikafka verify`, a log directory stands for all its partitions, those that are put aside included. A partition
in an object store is one piece.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import BooleanType, DataType, IntegerType, LongType, StringType

from minikafka.common.errors import KafkaException
from minikafka.common.file_kind import leads_to_file
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_file_utils import log_file
from minikafka.spark.source.directory_on_disk import DirectoryOnDisk
from minikafka.spark.source.partition_names import partition_of
from minikafka.spark.source.read_task import neighbours
from minikafka.spark.source.source_options import SourceOptions
from minikafka.spark.source.storage_of import storage_of
from minikafka.spark.source.subscription import Subscription
from minikafka.tools.failure import TOLD
from minikafka.tools.log_dir_entries import what_it_stands_for
from minikafka.tools.verify.log_dir_verifier import partitions_of
from minikafka.tools.verify.partition_verifier import base_offsets_of

VERIFY = "verify"
VERIFY_COLUMNS: dict[str, DataType] = {
    "number": IntegerType(),
    "directory": StringType(),
    "partition": BooleanType(),
    "baseOffset": LongType(),
}

_Piece = tuple[int, str, bool, int | None]


@dataclass
class VerifyTask(InputPartition):
    """Pieces for one task, each with the values of the columns."""

    pieces: list[_Piece]


def verify_tasks(options: SourceOptions) -> list[VerifyTask]:
    """The tasks; what cannot be listed is told when its directory is looked at.

    Raises IllegalArgumentException for a scheme or a setting that there is not, UnknownTopicOrPartitionException for a
    topic that is named and not there.
    """
    settings, subscription = options.storage_settings, options.subscription
    # Without what is secret in a URI.
    paths = [
        storage_of(path, settings)[1] if "://" in path else str(what_it_stands_for(Path(path)))
        for path in options.paths
    ]
    pieces: list[_Piece] = [(number, path, False, None) for number, path in enumerate(paths)]
    sizes = [0] * len(pieces)
    found = [(partition, _name_of(partition)) for path in paths for partition in _partitions(path, settings)]
    subscription.require_topics({name.topic for _, name in found if name is not None}, ", ".join(paths))
    partitions = [
        partition
        for partition, name in found
        if subscription == Subscription() or (name is not None and subscription.includes(name))
    ]
    for number, partition in enumerate(partitions, len(paths)):
        pieces.append((number, partition, True, None))
        if "://" in partition:
            sizes.append(_stored_bytes(partition, settings))
            continue
        sizes.append(0)
        for base_offset, size in _segments(Path(partition)):
            pieces.append((number, partition, True, base_offset))
            sizes.append(size)
    groups = neighbours(pieces, sizes, options.max_bytes_per_task, options.min_partitions)
    return [VerifyTask(group) for group in groups]


def verify_rows(task: VerifyTask, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The task's pieces, with the columns of `schema`."""
    columns = dict(zip(VERIFY_COLUMNS, zip(*task.pieces, strict=True), strict=True))
    nothing = (None,) * len(task.pieces)  # of damage, which the job itself tells
    arrays = [pa.array(columns.get(field.name, nothing), field.type) for field in schema]
    yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _partitions(path: str, settings: Mapping[str, str]) -> list[str]:
    directory = DirectoryOnDisk(path, settings, is_partition=False)
    try:
        with directory as there:
            found = partitions_of(there, lambda finding: None, lambda line: None)
    except TOLD:
        return []
    return [directory.named(str(partition)) for partition in found]


def _name_of(directory: str) -> TopicPartition | None:
    """The partition that a directory's name says, None for another name."""
    try:
        return partition_of(directory)
    except KafkaException:
        return None


def _stored_bytes(partition: str, settings: Mapping[str, str]) -> int:
    """The bytes of the segments of a partition behind a URI, as far as they can be seen."""
    storage, uri = storage_of(partition, settings)
    try:
        return sum(file.size for file in storage.segment_files(uri).values())
    except OSError:
        return 0


def _segments(partition: Path) -> list[tuple[int, int]]:
    """The base offset and the bytes of each segment, as far as they can be seen."""
    try:
        with os.scandir(partition) as entries:
            sizes = {entry.name: entry.stat().st_size for entry in entries if leads_to_file(entry)}
    except OSError:
        return []
    return [(offset, sizes[log_file(partition, offset).name]) for offset in base_offsets_of(sizes)]
