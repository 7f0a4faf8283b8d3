"""The checkpoint files beside the partitions of a log directory."""

import os
from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.topic_partition import TopicPartition
from minikafka.tools.failure import TOLD
from minikafka.tools.partition_files import require_regular
from minikafka.tools.read_bounded import of_the_machine, require_bounded


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


def checkpointed_offsets(file: Path) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint file; none if it is missing or damaged, as at Kafka's start.

    Raises OSError when the file cannot be read.
    """
    if not os.path.lexists(file):
        return {}
    require_regular(file, follow_links=True)
    return OffsetCheckpointFile(require_bounded(file)).read_or_empty()
