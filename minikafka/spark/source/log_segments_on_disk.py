"""Which segments of Kafka logs lie below the paths that a query names; nothing is changed or locked."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME
from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME
from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.common.topic import CLUSTER_METADATA_TOPIC_NAME
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_file_utils import DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, LOG_FILE_SUFFIX, STRAY_DIR_SUFFIX
from minikafka.spark.source.damage import by_names_of_java
from minikafka.spark.source.local_storage import LocalStorage
from minikafka.spark.source.partition_names import (
    base_offset_of,
    is_number,
    is_tiered_segment,
    log_dir_of,
    may_have_partitions,
    partition_of,
)
from minikafka.spark.source.storage import Entry, OpenFile, Storage, StoredFile, joined
from minikafka.spark.source.storage_of import storage_of
from minikafka.spark.source.subscription import Subscription
from minikafka.spark.source.tiered_segments import without_those_within_others
from minikafka.tools.log_dir_entries import what_it_stands_for

_ASIDE = (DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, STRAY_DIR_SUFFIX)


class DiskSegment(NamedTuple):
    """The `.log` file of a segment, as it was found in `storage`; nothing says yet that it can be read.

    `end_offset`: the base offset of the next segment, None for the last one. `size`: bytes. `identity` tells the file
    from another one that later gets its name: a compaction puts a new file in the place of the old one.
    """

    base_offset: int
    end_offset: int | None
    path: str
    size: int
    identity: int
    storage: Storage = LocalStorage()

    @property
    def is_last(self) -> bool:
        """True for the active segment, to which a broker may be appending."""
        return self.end_offset is None

    def open(self) -> OpenFile:
        """The very file that was found, also when a broker has renamed it since.

        Raises FileNotFoundError when the file is gone, IOException for what cannot be read.
        """
        return self.storage.open(StoredFile(self.path, self.size, self.identity))


_Chosen = dict[tuple[str, Storage], set[str] | None]
"""Directories in a storage, and the names of the segments that are chosen in each; None for all of them."""


class DiskPartition(NamedTuple):
    """A partition's directory and its segments, by offset; `chosen` are those that the query's paths name."""

    topic_partition: TopicPartition
    directory: str
    segments: tuple[DiskSegment, ...]
    chosen: tuple[DiskSegment, ...]
    storage: Storage = LocalStorage()


def find_partitions(
    paths: list[str], subscription: Subscription | None = None, settings: Mapping[str, str] | None = None
) -> list[DiskPartition]:
    """The partitions below `paths`: log directories, partitions' directories, segments, or globs of them.

    Of a log directory and of a glob, directories that are put aside (`-delete`, `-future`, `-stray`) are left out, and
    of a log directory the cluster's metadata, as a consumer sees neither. `subscription` says which are wanted, None
    for all; `settings` are those of `storage_of`. A partition that goes away while it is looked at is left out. One
    that several log directories have, as those of several brokers, is there several times; a directory to which links
    lead is there once.

    Raises IllegalArgumentException for a path that is none of these, and for two directories of one partition in the
    same log directory (`topic-0` and `topic-00`), UnknownTopicOrPartitionException for a topic that is named and not
    there, IOException for what cannot be listed.
    """
    with by_names_of_java():
        return _find_partitions(paths, subscription or Subscription(), settings or {})


def _find_partitions(paths: list[str], subscription: Subscription, settings: Mapping[str, str]) -> list[DiskPartition]:
    chosen: _Chosen = {}
    for given in paths:
        storage, pattern = storage_of(given, settings)
        expanded = storage.expanded(pattern)
        if not expanded:
            raise IllegalArgumentException(f"{pattern} does not exist")
        expanded = [path for path in expanded if not _is_put_aside(path, pattern)]
        for path in expanded:
            if path.endswith(LOG_FILE_SUFFIX) and not storage.is_directory(path):
                _require_segment(path)
                directory, name = os.path.split(path)
                names = chosen.setdefault((directory, storage), set())
                if names is not None:
                    names.add(name)
            else:
                chosen |= {(each, storage): None for each in _partition_directories(storage, path)}
    chosen = _without_aliases(chosen)
    named = {directory: partition_of(directory) for directory, _ in chosen}
    subscription.require_topics({each.topic for each in named.values()}, ", ".join(paths))
    partitions = []
    seen: dict[tuple[str, TopicPartition], str] = {}
    for (directory, storage), names in sorted(chosen.items(), key=lambda each: each[0][0]):
        topic_partition = named[directory]
        if not subscription.includes(topic_partition):
            continue
        other = seen.setdefault((log_dir_of(directory), topic_partition), directory)
        if other != directory:
            raise IllegalArgumentException(
                f"Duplicate log directories found: {other}, {directory}, which are both {topic_partition}; "
                "name the one to read"
            )
        segments = segments_in(storage, directory)
        if segments is not None:
            _require_that_they_count(directory, names or (), segments)
            wanted = tuple(each for each in segments if names is None or os.path.basename(each.path) in names)
            partitions.append(DiskPartition(topic_partition, directory, segments, wanted, storage))
    return partitions


def _require_that_they_count(directory: str, names: Iterable[str], segments: Iterable[DiskSegment]) -> None:
    """Where another segment of tiered storage counts in the place of one with a name of `names`, that one has such a
    name, too.

    Raises IllegalArgumentException where a path names the first one alone, which would give no rows.
    """
    counting = {os.path.basename(each.path): each.base_offset for each in segments}
    for name in sorted(set(names) - counting.keys()):
        base_offset = base_offset_of(name)
        before = [each for each, begins in counting.items() if base_offset is not None and begins <= base_offset]
        if is_tiered_segment(name) and before and before[-1] not in names:
            raise IllegalArgumentException(
                f"{joined(directory, name)} does not count, as {before[-1]} has its records, too: name that one, or "
                "the partition's directory"
            )


def _without_aliases(chosen: _Chosen) -> _Chosen:
    """Each directory once, with the segments chosen by any of the paths that lead to it, under the first one of them;
    or under its own path, where that is a link beside which none of the files lie that tell of a partition.
    """
    paths: dict[tuple[str, Storage], str] = {}
    once: _Chosen = {}
    for (directory, storage), names in sorted(chosen.items(), key=lambda each: each[0][0]):
        place = own = directory
        if storage.is_local:
            place, own = os.path.realpath(directory), str(what_it_stands_for(Path(directory)))
        path = paths.setdefault((place, storage), own)
        others = once.setdefault((path, storage), set())
        once[path, storage] = None if names is None or others is None else names | others
    return once


def _is_put_aside(path: str, pattern: str) -> bool:
    """Whether a glob has found a directory that is no partition any more, or not yet; by its own name it is read."""
    return path.endswith(_ASIDE) and os.path.basename(path) != os.path.basename(pattern.rstrip("/"))


def _require_segment(path: str) -> None:
    if base_offset_of(os.path.basename(path)) is None:
        raise IllegalArgumentException(f"{path} does not have the name of a segment, 20 digits and {LOG_FILE_SUFFIX}")
    try:
        partition_of(os.path.dirname(path))
    except KafkaException as error:
        raise IllegalArgumentException(f"{path} is not a segment in a partition's directory: {error}") from None


def _partition_directories(storage: Storage, path: str) -> list[str]:
    """The partitions' directories that the directory `path` is or has."""
    entries = storage.entries(path) if storage.is_directory(path) else []
    if any(entry.name.endswith(LOG_FILE_SUFFIX) or entry.name == PARTITION_METADATA_FILE_NAME for entry in entries):
        try:
            partition_of(path)
        except KafkaException as error:
            raise IllegalArgumentException(str(error)) from None
        return [path]
    if may_have_partitions(os.path.basename(path)):
        return _numbered(path, entries)
    partitions = []
    for entry in entries:
        directory = joined(path, entry.name)
        if entry.is_directory and may_have_partitions(entry.name):
            numbered = _numbered(directory, storage.entries(directory))
            partitions += numbered or ([directory] if _is_current_partition(directory) else [])
        elif entry.is_directory and _is_current_partition(directory):
            partitions.append(directory)
    if not partitions and all(entry.name != META_PROPERTIES_NAME for entry in entries):
        raise IllegalArgumentException(
            f"{path} is neither a log directory nor a partition's directory nor a segment of one"
        )
    return partitions


def _numbered(directory: str, entries: list[Entry]) -> list[str]:
    return [joined(directory, entry.name) for entry in entries if entry.is_directory and is_number(entry.name)]


def _is_current_partition(directory: str) -> bool:
    if directory.endswith(_ASIDE):
        return False
    try:
        return partition_of(directory).topic != CLUSTER_METADATA_TOPIC_NAME
    except KafkaException:
        return False


def segments_in(storage: Storage, directory: str) -> tuple[DiskSegment, ...] | None:
    """The segments by offset; None when the directory is gone."""
    try:
        found = without_those_within_others(storage, storage.segment_files(directory))
    except FileNotFoundError:
        return None
    ends = [*sorted(found)[1:], None]
    return tuple(
        DiskSegment(base_offset, end, *found[base_offset], storage)
        for base_offset, end in zip(sorted(found), ends, strict=False)
    )
