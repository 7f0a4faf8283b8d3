"""The checkpoint files beside the partitions of a log directory."""

import os
import re
from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import KafkaException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.partition_files import require_regular
from minikafka.tools.failure import TOLD
from minikafka.tools.read_bounded import of_the_machine, require_bounded

_NOT_STORABLE = re.compile(r"[\s\ud800-\udfff]", re.ASCII)
"""Blanks, which end a field or a line, and what Python makes of bytes that are not UTF-8."""


def read_checkpoint(file: Path) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint file.

    Raises OSError when the file cannot be read, KafkaStorageException and others when it is damaged.
    """
    require_regular(file, follow_links=True)
    try:
        return OffsetCheckpointFile(require_bounded(file)).read()
    except TOLD as error:
        if of_the_machine(error):
            raise (error.__cause__ or error) from None
        raise


def require_storable(partition: TopicPartition) -> None:
    """Raises KafkaException for a topic whose name would make a checkpoint unreadable, or cannot be written.

    Only a directory that no broker made can have such a name. Kafka writes the checkpoint, and cannot read it at its
    next start.
    """
    if _NOT_STORABLE.search(partition.topic):
        raise KafkaException(f"A checkpoint cannot hold the name of the topic {partition.topic!r}")


def checkpointed_offsets(file: Path) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint file; none if it is missing or damaged, as at Kafka's start.

    Raises OSError when the file cannot be read.
    """
    if not os.path.lexists(file):
        return {}
    require_regular(file, follow_links=True)
    return OffsetCheckpointFile(require_bounded(file)).read_or_empty()
