"""What a log directory notes of one partition, for those who open a single log without a log manager."""

from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.file_kind import is_there
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.partition_files import require_regular


def checkpointed_offset(file: Path, partition: TopicPartition) -> int:
    """The partition's offset in a checkpoint file of the log directory; 0 if there is none.

    A damaged file counts as empty, as at Kafka's start. Raises OSError when the file cannot be read, and IOException
    when it is no regular file.
    """
    if not is_there(file):
        return 0
    require_regular(file, follow_links=True)
    return OffsetCheckpointFile(file).read_or_empty().get(partition, 0)
