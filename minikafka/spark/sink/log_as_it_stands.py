"""What tells a log from what it was before: whether anybody has used it since."""

import hashlib
from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE, OffsetCheckpointFile
from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_dir_name import log_dir_name
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX, SWAP_FILE_SUFFIX
from minikafka.log.segment_end import find_end

_OF_RECORDS_OR_ID = (LOG_FILE_SUFFIX, LOG_FILE_SUFFIX + SWAP_FILE_SUFFIX, PARTITION_METADATA_FILE_NAME)


def state_of(partition_dir: Path) -> str:
    """A digest of the names, sizes and times of change of the files with the log's records and with the topic's id.

    A start and a stop of a broker between which no record came or went leave it the same, and so does a rename of the
    directory. Raises OSError.
    """
    told = hashlib.sha256()
    for file in sorted(partition_dir.iterdir()):
        if file.name.endswith(_OF_RECORDS_OR_ID):
            status = file.lstat()
            told.update(f"{file.name}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return told.hexdigest()


def offsets_in(partition_dir: Path) -> tuple[int, int]:
    """The base offset of the log's first segment, and the offset after its last batch (exclusive), as its files have
    them; (0, 0) without a segment. Raises OSError, and KafkaException for a file of 2 GiB or more.
    """
    segments = sorted(path for path in partition_dir.iterdir() if path.name.endswith(LOG_FILE_SUFFIX))
    if not segments:
        return 0, 0
    base_offset, last_base_offset = (
        int(path.name.removesuffix(LOG_FILE_SUFFIX)) for path in (segments[0], segments[-1])
    )
    next_offset = find_end(segments[-1]).next_offset
    return base_offset, last_base_offset if next_offset is None else next_offset


def offsets_noted(file: Path) -> dict[TopicPartition, int]:
    """What a checkpoint file says; a missing or damaged one says nothing, as to a broker. Raises OSError."""
    return OffsetCheckpointFile(file).read_or_empty() if file.exists() else {}


def log_starts_of(log_dir: Path, topic: str) -> dict[str, int]:
    """The log start offsets that are noted for the topic's partitions, by the names of their directories.

    They say which records were deleted that are still in the files. Raises OSError.
    """
    noted = offsets_noted(log_dir / LOG_START_OFFSET_CHECKPOINT_FILE)
    return {log_dir_name(partition): offset for partition, offset in noted.items() if partition.topic == topic}
