"""Which partition, and which base offset, the names of directories and segments stand for.

Beside a broker's own names (`topic-3/00000000000000000042.log`) there are those that tiered storage gives to the same
bytes: Kafka's `LocalTieredStorage` has `topic-3-<topic id>/42-<segment id>.log` with the segment's indexes beside it,
Aiven's plugin `topic-<topic id>/3/00000000000000000042-<segment id>.log` and its indexes in a file of its own form.
"""

import os
import re
from pathlib import Path

from minikafka.common.errors import IllegalArgumentException, KafkaException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX, filename_prefix_from_offset, offset_from_file_name

# 16 bytes in base64, of whose last letter four bits are zeros. So none ends with a digit, as a partition does.
_ID = "[A-Za-z0-9_-]{21}[AQgw]"
_TIERED_SEGMENT = re.compile(rf"([0-9]{{1,20}})-{_ID}\.log")
_TIERED_PARTITION = re.compile(rf"(.+)-([0-9]+)-{_ID}")
_TIERED_TOPIC = re.compile(rf"(.+)-{_ID}")


def partition_of(directory: str) -> TopicPartition:
    """The partition whose directory has that path. Raises KafkaException for a directory that is no partition's."""
    parent, name = os.path.split(directory)
    try:
        return parse_topic_partition_name(Path(name))
    except KafkaException:
        if matched := _TIERED_PARTITION.fullmatch(name):
            return TopicPartition(matched[1], int(matched[2]))
        if is_number(name) and (matched := _TIERED_TOPIC.fullmatch(os.path.basename(parent))):
            return TopicPartition(matched[1], int(name))
        raise


def log_dir_of(directory: str) -> str:
    """The log directory in which the directory of a partition lies."""
    parent, name = os.path.split(directory)
    return os.path.dirname(parent) if is_number(name) and may_have_partitions(os.path.basename(parent)) else parent


def may_have_partitions(name: str) -> bool:
    """Whether a directory of that name may be a topic of tiered storage, with a directory for each partition."""
    return _TIERED_TOPIC.fullmatch(name) is not None


def is_number(name: str) -> bool:
    """Whether a directory of that name is a partition in the directory of its topic."""
    return name.isascii() and name.isdigit()


def is_tiered_segment(name: str) -> bool:
    """Whether tiered storage has given that name to a `.log` file."""
    return _TIERED_SEGMENT.fullmatch(name) is not None


def base_offset_of(name: str) -> int | None:
    """The offset that stands in the name of a `.log` file; None for a name that nobody gives to a segment."""
    if matched := _TIERED_SEGMENT.fullmatch(name):
        return int(matched[1])
    try:
        base_offset = offset_from_file_name(name)
    except IllegalArgumentException:
        return None
    return base_offset if name == filename_prefix_from_offset(base_offset) + LOG_FILE_SUFFIX else None
