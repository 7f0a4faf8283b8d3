"""Which segments of Kafka logs lie below the paths that a query names; nothing on the disk is changed or locked."""

import glob
import os
import time
from pathlib import Path
from typing import NamedTuple

from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME
from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME
from minikafka.common.errors import IllegalArgumentException, IOException, KafkaException, NumberFormatException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import (
    DELETE_DIR_SUFFIX,
    DELETED_FILE_SUFFIX,
    FUTURE_DIR_SUFFIX,
    LOG_FILE_SUFFIX,
    STRAY_DIR_SUFFIX,
    offset_from_file,
)
from minikafka.log.partition_files import objection_to

_ASIDE = (DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, STRAY_DIR_SUFFIX)
_CLUSTER_METADATA = "__cluster_metadata"
_TRIES = 3
_PAUSE_S = 0.01


class DiskSegment(NamedTuple):
    """The `.log` file of a segment, as it was found.

    `end_offset`: the base offset of the next segment, None for the last one. `size`: bytes. `inode` tells the file from
    another one that later gets its name: a compaction puts a new file in the place of the old one.
    """

    base_offset: int
    end_offset: int | None
    path: str
    size: int
    inode: int

    @property
    def is_last(self) -> bool:
        """True for the active segment, to which a broker may be appending."""
        return self.end_offset is None


class DiskPartition(NamedTuple):
    """A partition's directory and its segments, by offset; `chosen` are those that the query's paths name."""

    topic_partition: TopicPartition
    directory: str
    segments: tuple[DiskSegment, ...]
    chosen: tuple[DiskSegment, ...]

    @property
    def names_some(self) -> bool:
        """True when a path names single segments instead of the whole partition."""
        return len(self.chosen) < len(self.segments)


def find_partitions(paths: list[str], topics: frozenset[str] | None = None) -> list[DiskPartition]:
    """The partitions below `paths`: log directories, partitions' directories, segments, or globs of them.

    Of a log directory, directories that are put aside (`-delete`, `-future`, `-stray`) and the cluster's metadata are
    left out, as a consumer sees neither. `topics` are the only ones wanted, None for all. A partition that goes away
    while it is looked at is left out. Raises IllegalArgumentException for a path that is none of these, OSError for
    what cannot be listed.
    """
    chosen: dict[str, set[str] | None] = {}  # directory -> names of segments, None for all
    for path in _expanded(paths):
        if path.name.endswith(LOG_FILE_SUFFIX) and not path.is_dir():
            _require_segment(path)
            names = chosen.setdefault(str(path.parent), set())
            if names is not None:
                names.add(path.name)
        else:
            chosen |= {str(each): None for each in _partition_directories(path)}
    partitions = []
    for directory, names in sorted(chosen.items()):
        topic_partition = parse_topic_partition_name(Path(directory))
        if topics is not None and topic_partition.topic not in topics:
            continue
        segments = _segments(Path(directory))
        if segments is not None:
            wanted = tuple(each for each in segments if names is None or os.path.basename(each.path) in names)
            partitions.append(DiskPartition(topic_partition, directory, segments, wanted))
    return partitions


def open_segment(segment: DiskSegment) -> int:
    """A descriptor of the very file that was found, also when a broker has renamed it since.

    Retention and compaction rename a segment before they delete it, a minute later by default. Raises
    FileNotFoundError when the file is gone, IOException for anything but a regular file.
    """
    for tries_left in reversed(range(_TRIES)):
        for path in (segment.path, segment.path + DELETED_FILE_SUFFIX):
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            if os.fstat(fd).st_ino == segment.inode:
                return fd
            os.close(fd)
        if tries_left:
            time.sleep(_PAUSE_S)  # a rename may have come between the two looks
    raise FileNotFoundError(f"{segment.path} was deleted or replaced after the query was planned")


def _expanded(paths: list[str]) -> list[Path]:
    expanded = []
    for path in paths:
        path = path.removeprefix("file://")
        if os.path.exists(path):
            found = [path]
        else:
            found = sorted(glob.glob(path))
            if not found:
                raise IllegalArgumentException(f"{path} does not exist")
        expanded += [Path(os.path.abspath(each)) for each in found]
    return expanded


def _require_segment(path: Path) -> None:
    try:
        offset_from_file(path)
        parse_topic_partition_name(path.parent)
    except (NumberFormatException, KafkaException) as error:
        raise IllegalArgumentException(f"{path} is not a segment in a partition's directory: {error}") from None


def _partition_directories(path: Path) -> list[Path]:
    names = sorted(os.listdir(path)) if path.is_dir() else []
    if any(name.endswith(LOG_FILE_SUFFIX) or name == PARTITION_METADATA_FILE_NAME for name in names):
        try:
            parse_topic_partition_name(path)
        except KafkaException as error:
            raise IllegalArgumentException(str(error)) from None
        return [path]
    partitions = [path / name for name in names if _is_current_partition(name) and (path / name).is_dir()]
    if not partitions and META_PROPERTIES_NAME not in names:
        raise IllegalArgumentException(
            f"{path} is neither a log directory nor a partition's directory nor a segment of one"
        )
    return partitions


def _is_current_partition(name: str) -> bool:
    if name.endswith(_ASIDE):
        return False
    try:
        return parse_topic_partition_name(Path(name)).topic != _CLUSTER_METADATA
    except KafkaException:
        return False


def _segments(directory: Path) -> tuple[DiskSegment, ...] | None:
    """The segments by offset; None when the directory is gone."""
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if not entry.name.endswith(LOG_FILE_SUFFIX):
                    continue
                path = directory / entry.name
                try:
                    objection = objection_to(path, follow_links=True)
                    status = path.stat()
                except FileNotFoundError:  # it was deleted or renamed after the directory was listed
                    continue
                if objection is not None:
                    raise IOException(f"{path} {objection}")
                try:
                    base_offset = offset_from_file(path)
                except NumberFormatException:
                    continue  # no broker would load it either
                found.append((base_offset, str(path), status.st_size, status.st_ino))
    except FileNotFoundError:
        return None
    found.sort()
    ends = [*(base_offset for base_offset, *_ in found[1:]), None]
    return tuple(
        DiskSegment(base_offset, end, name, size, inode)
        for (base_offset, name, size, inode), end in zip(found, ends, strict=True)
    )
