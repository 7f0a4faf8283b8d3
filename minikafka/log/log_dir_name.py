"""Names of partition directories: `topic-partition`, with a suffix while the directory is deleted or moved."""

import errno
import os
import re
import stat
import uuid
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.common.canonical_path import canonical_path
from minikafka.common.errors import KafkaException, NumberFormatException
from minikafka.common.java.java_file_names import is_found_by_java
from minikafka.common.java.java_numbers import parse_int
from minikafka.common.topic import CLUSTER_METADATA_TOPIC_NAME
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_file_utils import DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, STRAY_DIR_SUFFIX

REMOTE_LOG_INDEX_CACHE = "remote-log-index-cache"
_MAX_NAME_LENGTH = 255
_LEADS_NOWHERE = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENAMETOOLONG)
_SUFFIXES = (DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, STRAY_DIR_SUFFIX)
_WITH_UNIQUE_ID = re.compile(r"(\S+)-(\S+)\.(\S+)(-delete|-future|-stray)", re.ASCII)


def log_dir_name(topic_partition: TopicPartition) -> str:
    """The name `topic-partition`. Kafka: `LocalLog.logDirName`."""
    return f"{topic_partition.topic}-{topic_partition.partition}"


def log_delete_dir_name(topic_partition: TopicPartition, unique_id: str | None = None) -> str:
    """The name `topic-partition.<unique id>-delete`, the topic cut so that the whole has at most 255 characters.

    The id (32 hex digits) is drawn unless given. Kafka: `LocalLog.logDeleteDirName`.
    """
    return _dir_name_with_suffix_capped_length(topic_partition, DELETE_DIR_SUFFIX, unique_id)


def log_stray_dir_name(topic_partition: TopicPartition) -> str:
    """The name `topic-partition.<unique id>-stray`, at most 255 characters. Kafka: `LocalLog.logStrayDirName`."""
    return _dir_name_with_suffix_capped_length(topic_partition, STRAY_DIR_SUFFIX)


def log_future_dir_name(topic_partition: TopicPartition) -> str:
    """The name `topic-partition.<unique id>-future`. Kafka: `LocalLog.logFutureDirName`."""
    return f"{log_dir_name(topic_partition)}.{uuid.uuid4().hex}{FUTURE_DIR_SUFFIX}"


def parse_topic_partition_name(directory: Path) -> TopicPartition:
    """The topic and partition that the name of a partition's directory stands for.

    Raises KafkaException for any other name, and OSError where the way to such a directory leads in a circle. Kafka:
    `LocalLog.parseTopicPartitionName`.
    """
    name = directory.name
    if "-" not in name:
        raise _not_a_partition(directory)
    if name.endswith(_SUFFIXES):
        if not _WITH_UNIQUE_ID.fullmatch(name):
            raise _not_a_partition(directory)
        name = name.rpartition(".")[0]
    topic, _, partition = name.rpartition("-")
    if not topic or not partition:
        raise _not_a_partition(directory)
    try:
        return TopicPartition(topic, parse_int(partition))
    except NumberFormatException:
        raise _not_a_partition(directory) from None


def partition_directories(log_dir: Path, *, stop_at_os_errors: bool = False) -> list[tuple[Path, TopicPartition]]:
    """The partition directories in a log directory, by name; none if the log directory cannot be listed.

    A link that leads nowhere, in a circle say, is no directory, and neither is an entry that cannot be looked at, nor
    one whose name is not UTF-8 (`is_found_by_java`). With `stop_at_os_errors`, an entry that cannot be looked at, and a
    log directory that cannot be listed, raise OSError. The cluster's metadata and the cache of remote storage, which a
    log directory may also hold, are left out, and so is a directory that stands for the mark of a clean stop: a start
    has deleted it by then. Raises KafkaException for any other directory whose name is not that of a partition.
    Kafka: `LogManager.loadLogs`.
    """
    try:
        names = sorted(filter(is_found_by_java, os.listdir(log_dir)))
    except OSError:
        if stop_at_os_errors:
            raise
        return []
    names = [name for name in names if _is_directory(log_dir / name, stop_at_os_errors=stop_at_os_errors)]
    directories = [log_dir / name for name in names if name not in (REMOTE_LOG_INDEX_CACHE, CLEAN_SHUTDOWN_FILE_NAME)]
    partitions = [(directory, parse_topic_partition_name(directory)) for directory in directories]
    return [
        (directory, partition) for directory, partition in partitions if partition.topic != CLUSTER_METADATA_TOPIC_NAME
    ]


def _is_directory(path: Path, *, stop_at_os_errors: bool) -> bool:
    """Kafka: `File.isDirectory`, which knows no errors."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except OSError as error:
        if stop_at_os_errors and error.errno not in _LEADS_NOWHERE:
            raise
        return False


def _dir_name_with_suffix_capped_length(
    topic_partition: TopicPartition, suffix: str, unique_id: str | None = None
) -> str:
    full_suffix = f"-{topic_partition.partition}.{unique_id or uuid.uuid4().hex}{suffix}"
    return topic_partition.topic[: _MAX_NAME_LENGTH - len(full_suffix)] + full_suffix


def _not_a_partition(directory: Path) -> KafkaException:
    return KafkaException(
        f"Found directory {canonical_path(directory)}, '{directory.name}' is not in the form of topic-partition or "
        "topic-partition.uniqueId-delete (if marked for deletion).\n"
        "Kafka's log directories (and children) should only contain Kafka topic data."
    )
