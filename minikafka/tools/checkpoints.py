"""The checkpoint files beside the partitions of a log directory."""

import re
from collections.abc import Mapping
from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import (
    LOG_START_OFFSET_CHECKPOINT_FILE,
    RECOVERY_POINT_CHECKPOINT_FILE,
    OffsetCheckpointFile,
)
from minikafka.common.errors import KafkaException
from minikafka.common.file_kind import is_there
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE as CLEANER_OFFSET_CHECKPOINT_FILE
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.log.partition_files import require_regular
from minikafka.tools.failure import TOLD
from minikafka.tools.read_bounded import of_the_machine, require_bounded

_NOT_STORABLE = re.compile(r"[\s\ud800-\udfff]", re.ASCII)
"""Blanks, which end a field or a line, and what Python makes of bytes that are not UTF-8."""


NOTED = {
    LOG_START_OFFSET_CHECKPOINT_FILE: "the checkpointed log start offset",
    HIGH_WATERMARK_CHECKPOINT_FILE: "the high watermark",
    RECOVERY_POINT_CHECKPOINT_FILE: "the recovery point",
    CLEANER_OFFSET_CHECKPOINT_FILE: "the cleaner's point",
}
"""What the checkpoints of a log directory note of a partition, by their names."""


def beyond_the_end(noted: Mapping[str, int], log_end_offset: int) -> dict[str, str]:
    """What is wrong, in words, with the offsets that checkpoints (by name) have `noted`: none lies beyond the log's end
    (exclusive). A broker that is killed leaves none there, but a loss of power may.
    """
    return {
        name: f"{NOTED[name]} {offset} lies beyond the log's end {log_end_offset}"
        for name, offset in noted.items()
        if offset > log_end_offset
    }


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
    if not is_there(file):
        return {}
    require_regular(file, follow_links=True)
    return OffsetCheckpointFile(require_bounded(file)).read_or_empty()
