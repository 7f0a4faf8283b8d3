"""What kind of directory a tool was given: that of one partition, or a log directory with many."""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME
from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME
from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.common.file_kind import leads_to_directory
from minikafka.common.java.java_file_names import is_found_by_java
from minikafka.common.topic import CLUSTER_METADATA_TOPIC_NAME
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_dir_name import REMOTE_LOG_INDEX_CACHE, parse_topic_partition_name
from minikafka.log.log_file_utils import DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, LOG_FILE_SUFFIX, STRAY_DIR_SUFFIX
from minikafka.log.partition_files import passed_over
from minikafka.tools.checkpoints import NOTED

_MARK_OF_WRITE = re.compile(r"\.minikafka-write-[0-9a-f]{12}")
PUT_ASIDE = (DELETE_DIR_SUFFIX, STRAY_DIR_SUFFIX)
_OF_A_LOG_DIR = (META_PROPERTIES_NAME, CLEAN_SHUTDOWN_FILE_NAME, *NOTED)
"""What lies in a log directory beside the partitions."""


def is_mark_of_write(name: str) -> bool:
    """Whether a write leaves a file of that name in a log directory."""
    return _MARK_OF_WRITE.fullmatch(name) is not None


def entries_of(directory: Path) -> tuple[list[Path], list[str]]:
    """The partition directories that `directory` stands for (itself, or those in it), and the names of others in it.

    Raises OSError, KafkaException for a partition directory without a partition's name, IllegalArgumentException for
    a directory that is neither.
    """
    names = sorted(os.listdir(directory))
    if any(name.endswith(LOG_FILE_SUFFIX) or name == PARTITION_METADATA_FILE_NAME for name in names):
        parse_topic_partition_name(directory)
        return [directory], []
    partitions, others = [], []
    for name in names:
        path = directory / name
        if path.is_dir():
            (partitions if may_be_partition(path) else others).append(path)
    if not partitions and META_PROPERTIES_NAME not in names and not any(map(is_mark_of_write, names)):
        raise neither(directory)
    return partitions, [path.name for path in others]


def what_it_stands_for(directory: Path) -> Path:
    """Where a link to a partition's directory leads, as the files that tell of a partition lie beside its own
    directory; a link with such files beside it stands for itself, as it does for a broker.
    """
    beside = Path(os.path.abspath(directory)).parent
    if not directory.is_symlink() or any(os.path.lexists(beside / name) for name in _OF_A_LOG_DIR):
        return directory
    there = Path(os.path.realpath(directory))
    return there if may_be_partition(there) else directory


def passed_over_in(directory: Path) -> list[str]:
    """What `passed_over` says of `directory`, and of the partitions in it if it is a log directory, each on a line."""
    there = [directory]
    with suppress(OSError):
        if is_log_dir(directory):
            there += [path for path in sorted(directory.iterdir()) if may_be_partition(path)]
    return [f"{each}: {what}" for each in there for what in passed_over(each)]


def duplicates(directories: Iterable[Path]) -> dict[Path, Path]:
    """Which of the partition directories are second ones of a current or future log, each with the first one.

    Java reads `+0` and `00` as 0, so their names can differ. A start of Kafka ends there. Kafka: `LogManager.loadLog`.
    """
    first: dict[tuple[TopicPartition, bool], Path] = {}
    found = {}
    for directory in directories:
        partition = parse_topic_partition_name(directory)
        if directory.name.endswith(PUT_ASIDE) or partition.topic == CLUSTER_METADATA_TOPIC_NAME:
            continue  # no log manager loads the metadata log
        log = partition, directory.name.endswith(FUTURE_DIR_SUFFIX)
        if (other := first.setdefault(log, directory)) is not directory:
            found[directory] = other
    return found


def duplicates_beside(directories: Iterable[Path]) -> dict[Path, Path]:
    """Of the partition directories the `duplicates`, also of such that are not given and lie beside them."""
    given: dict[Path, list[Path]] = {}
    for directory in directories:
        given.setdefault(Path(os.path.abspath(directory)).parent, []).append(directory)
    found = {}
    for log_dir, there in given.items():
        try:
            beside = duplicates(path for path in sorted(log_dir.iterdir()) if may_be_partition(path))
        except PermissionError:  # what lies in it can be opened by its name all the same
            continue
        found |= {path: beside[absolute] for path in there if (absolute := Path(os.path.abspath(path))) in beside}
    return found


def second_directory(first: Path) -> str:
    """What is wrong with a directory that `duplicates` has found."""
    return f"a second directory of the partition of {first.name}"


def is_log_dir(directory: Path) -> bool:
    """True for a directory that holds partition directories, whatever its own name. Raises OSError."""
    names = os.listdir(directory)
    if any(name.endswith(LOG_FILE_SUFFIX) or name == PARTITION_METADATA_FILE_NAME for name in names):
        return False
    paths = (directory / name for name in names)
    return META_PROPERTIES_NAME in names or any(map(may_be_partition, paths))


def may_be_partition(path: Path) -> bool:
    """True for a directory with a partition's name that Kafka finds, but for a log directory of such a name."""
    if not (is_found_by_java(path.name) and path.is_dir() and has_name_of_partition(path)):
        return False
    try:
        return not _holds_partitions(path)
    except OSError:  # whoever reads it will say why it cannot be read
        return True


STRAY = "a directory whose name is not that of a partition"
"""What is wrong with a directory for which `is_stray` is true."""


def is_stray(path: Path) -> bool:
    """True for a directory in a log directory for which Kafka does not start. Kafka: `LogManager.loadLogs`.

    One in the place of the mark of a clean stop is none: Kafka has deleted it by then, or given up the log directory.
    """
    if not is_found_by_java(path.name) or path.name in (REMOTE_LOG_INDEX_CACHE, CLEAN_SHUTDOWN_FILE_NAME):
        return False
    return path.is_dir() and not has_name_of_partition(path)


def neither(directory: Path) -> IllegalArgumentException:
    """The complaint about a directory that no tool for log directories can take."""
    found = sorted(path.name for path in directory.iterdir() if path.is_dir() and _holds_partitions(path))
    hint = f"; it holds log directories: {', '.join(found)}" if found else ""
    return IllegalArgumentException(f"{directory} is neither a partition's directory nor a log directory{hint}")


def _holds_partitions(directory: Path) -> bool:
    with os.scandir(directory) as entries:
        return any(
            entry.name == META_PROPERTIES_NAME
            or (is_found_by_java(entry.name) and leads_to_directory(entry) and has_name_of_partition(Path(entry.path)))
            for entry in entries
        )


def has_name_of_partition(directory: Path) -> bool:
    """True for the name of a partition directory, including one that is put aside."""
    try:
        parse_topic_partition_name(Path(os.path.abspath(directory)))
    except KafkaException:
        return False
    return True
