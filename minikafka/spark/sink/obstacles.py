"""What stands in the way of a write: names in the log directory that hold something else than a broker leaves there.

A write moves, replaces and deletes what has the names of its partitions and of the log directory's own files, and reads
some of it. A fifo would make it wait for ever, a link would lead it elsewhere, and somebody's notes in a partition's
directory would be gone. So it looks first, and opens nothing until it has looked.
"""

import re
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME
from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.common.bounded_file import MAX_TEXT_SIZE
from minikafka.common.errors import KafkaException, KafkaStorageException, TopicExistsException
from minikafka.common.file_kind import kind_of
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE
from minikafka.log.log_dir_lock import LOCK_FILE_NAME
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import DELETE_DIR_SUFFIX
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.spark.shared_directory import is_directory, is_regular_file, refuse_other_than_file

_REPLACED = (
    RECOVERY_POINT_CHECKPOINT_FILE,
    HIGH_WATERMARK_CHECKPOINT_FILE,
    LOG_START_OFFSET_CHECKPOINT_FILE,
    OFFSET_CHECKPOINT_FILE,
    META_PROPERTIES_NAME,
)
FILES = (LOCK_FILE_NAME, CLEAN_SHUTDOWN_FILE_NAME, *_REPLACED, *(f"{name}.tmp" for name in _REPLACED))
_SEGMENT_FILE = re.compile(
    r"([0-9]{20})\.(log|index|timeindex|txnindex|snapshot)(\.cleaned|\.swap|\.deleted)?", re.ASCII
)
_FILE_OF_PARTITION = re.compile(r"(leader-epoch-checkpoint|partition\.metadata)(\.tmp)?")


def refuse_obstacles(log_dir: Path, topic: str) -> None:
    """Look at all that a write of the topic would read, move, replace or delete; nothing is opened or changed.

    Raises KafkaStorageException for what is no plain file where a file belongs, or one that is too large to be read,
    and for what has the name of one of the topic's partitions but is no directory with a log's files alone; OSError.
    """
    for name in FILES:
        refuse_other_than_file(log_dir / name)
    for name in _REPLACED:
        _refuse_too_large(log_dir / name)
    for path, partition in _named_as_partitions(log_dir):
        if partition.topic == topic:
            refuse_other_than_log(path)


def refuse_records(partition_dir: Path) -> None:
    """Raises TopicExistsException when the partition has, or had, records; OSError."""
    if has_records(partition_dir):
        raise TopicExistsException(f"{partition_dir} has records; mode='overwrite' would replace the topic")


def has_records(partition_dir: Path) -> bool:
    """Whether the partition has, or had, records: a new log has one empty segment with the base offset 0.

    Raises OSError.
    """
    found = ((path, _SEGMENT_FILE.fullmatch(path.name)) for path in partition_dir.iterdir())
    return any(matched[2] == "log" and (int(matched[1]) or path.lstat().st_size) for path, matched in found if matched)


def partition_directories(log_dir: Path) -> list[tuple[Path, TopicPartition]]:
    """All directories of partitions, by name, the cluster's metadata among them, but for those that are to be deleted.

    Links are none. Raises OSError.
    """
    return [(path, partition) for path, partition in _named_as_partitions(log_dir) if is_directory(path)]


def _named_as_partitions(log_dir: Path) -> list[tuple[Path, TopicPartition]]:
    named = []
    for path in sorted(log_dir.iterdir()):
        if not path.name.endswith(DELETE_DIR_SUFFIX) and (partition := _partition_named(path)) is not None:
            named.append((path, partition))
    return named


def _partition_named(path: Path) -> TopicPartition | None:
    try:
        return parse_topic_partition_name(path)
    except KafkaException:  # none of Kafka's
        return None


def _refuse_too_large(file: Path) -> None:
    """What it says of other topics could not be read when the write is all but done."""
    if file.exists() and (size := file.stat().st_size) > MAX_TEXT_SIZE:
        raise KafkaStorageException(f"{file} is in the way: it is a file of {size} bytes, too large for its kind")


def refuse_other_than_log(path: Path) -> None:
    """Look at a log's directory that will be moved or deleted.

    Raises KafkaStorageException for what is no directory, or a link to one, or has other files in it than a log's;
    OSError.
    """
    if not is_directory(path):
        raise KafkaStorageException(f"{path} is in the way: it is {kind_of(path)}, not a partition's directory")
    for file in sorted(path.iterdir()):
        _refuse_other_than_file_of_log(file)


def refuse_other_than_staged(path: Path) -> None:
    """Look at a directory that a write has staged, with a log's directory in it, or that it has put aside, with a log's
    files; where a broker has found the former, it has both. It will be deleted.

    Raises KafkaStorageException for anything else in it, OSError.
    """
    for each in sorted(path.iterdir()):
        if is_directory(each) and _partition_named(each) is not None:
            refuse_other_than_log(each)
        else:
            _refuse_other_than_file_of_log(each)


def _refuse_other_than_file_of_log(file: Path) -> None:
    of_a_log = _SEGMENT_FILE.fullmatch(file.name) or _FILE_OF_PARTITION.fullmatch(file.name)
    if not of_a_log or not is_regular_file(file):
        raise KafkaStorageException(
            f"{file.parent} is in the way: {file.name!r} in it, {kind_of(file)}, is none of a log's files"
        )
