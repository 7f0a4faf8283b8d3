"""Which segments of Kafka logs lie below the paths that a query names; nothing on the disk is changed or locked."""

import glob
import os
import stat
import time
from pathlib import Path
from typing import NamedTuple

from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME
from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME
from minikafka.common.errors import IllegalArgumentException, IOException, KafkaException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import (
    DELETE_DIR_SUFFIX,
    DELETED_FILE_SUFFIX,
    FUTURE_DIR_SUFFIX,
    LOG_FILE_SUFFIX,
    STRAY_DIR_SUFFIX,
    SWAP_FILE_SUFFIX,
    filename_prefix_from_offset,
    offset_from_file_name,
)
from minikafka.log.partition_files import require_regular

_ASIDE = (DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, STRAY_DIR_SUFFIX)
_CLUSTER_METADATA = "__cluster_metadata"
_SWAP = LOG_FILE_SUFFIX + SWAP_FILE_SUFFIX
_TRIES = 3
_LOOKS = 100
_PAUSE_S = 0.01


class DiskSegment(NamedTuple):
    """The `.log` file of a segment, as it was found; nothing says yet that it can be read.

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
    FileNotFoundError when the file is gone, IOException for anything but a regular file. A compaction's new segment may
    not have its own name yet.
    """
    for tries_left in reversed(range(_TRIES)):
        for path in (segment.path, segment.path + DELETED_FILE_SUFFIX, segment.path + SWAP_FILE_SUFFIX):
            try:
                require_regular(Path(path), follow_links=True)
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
    if _base_offset(path.name) is None:
        raise IllegalArgumentException(f"{path} does not have the name of a segment, 20 digits and {LOG_FILE_SUFFIX}")
    try:
        parse_topic_partition_name(path.parent)
    except KafkaException as error:
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
    """The segments by offset; None when the directory is gone. Raises IOException if it never stands still.

    A broker may be renaming files while the directory is listed, which can hide some of them. So it is listed until two
    lists agree, but for what rolls add and retention takes away.
    """
    try:
        listed = _listed(directory)
        for _ in range(_LOOKS):
            before, listed = listed, _listed(directory)
            if _is_settled(before, listed) and (found := _found(directory, before)) is not None:
                ends = [*(segment.base_offset for segment in found[1:]), None]
                return tuple(segment._replace(end_offset=end) for segment, end in zip(found, ends, strict=False))
            time.sleep(_PAUSE_S)
    except FileNotFoundError:
        return None
    raise IOException(f"{directory} was changed by somebody between any two of {_LOOKS} looks")


def _listed(directory: Path) -> dict[int, tuple[str, int]]:
    """Base offset -> name and inode of each segment, by offset.

    Between two renames of a compaction the old segments are gone, and the new one still ends with `.swap`. Other names
    than those that a broker gives are none of a segment's: it would not read these files either.
    """
    found: dict[int, tuple[str, int]] = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(LOG_FILE_SUFFIX):
                if (base_offset := _base_offset(entry.name)) is not None:
                    found[base_offset] = entry.name, entry.inode()
            elif entry.name.endswith(_SWAP):
                if (base_offset := _base_offset(entry.name.removesuffix(SWAP_FILE_SUFFIX))) is not None:
                    found.setdefault(base_offset, (entry.name, entry.inode()))
    return dict(sorted(found.items()))


def _base_offset(name: str) -> int | None:
    """The offset that stands in the name of a `.log` file; None for a name that no broker gives."""
    try:
        base_offset = offset_from_file_name(name)
    except IllegalArgumentException:
        return None
    return base_offset if name == filename_prefix_from_offset(base_offset) + LOG_FILE_SUFFIX else None


def _is_settled(before: dict[int, tuple[str, int]], after: dict[int, tuple[str, int]]) -> bool:
    """Whether both lists have the same segments, but for new ones at the end and deleted ones at the beginning."""
    last, first = max(before, default=-1), min(after, default=0)
    left = {base_offset: facts for base_offset, facts in before.items() if base_offset >= first}
    return left == {base_offset: facts for base_offset, facts in after.items() if base_offset <= last}


def _found(directory: Path, listed: dict[int, tuple[str, int]]) -> list[DiskSegment] | None:
    """The listed segments with their sizes; None when one of them has another name by now."""
    found = []
    for base_offset, (name, _) in listed.items():
        path = str(directory / name)
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                status = _behind_link(path, status)
        except FileNotFoundError:
            return None
        log = path.removesuffix(SWAP_FILE_SUFFIX)
        found.append(DiskSegment(base_offset, None, log, status.st_size, status.st_ino))
    return found


def _behind_link(path: str, link: os.stat_result) -> os.stat_result:
    """What a symbolic link leads to; the link itself where it leads nowhere."""
    try:
        return os.stat(path)
    except OSError:  # it dangles, or leads in a circle
        return link
