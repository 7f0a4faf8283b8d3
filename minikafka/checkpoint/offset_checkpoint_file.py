"""One offset for each partition of a log directory."""

import logging
from collections.abc import Mapping
from pathlib import Path

from minikafka.checkpoint.checkpoint_file import CheckpointFile, split_fields
from minikafka.common.errors import KafkaStorageException
from minikafka.common.java.java_numbers import parse_int, parse_long
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.topic_partition import TopicPartition

logger = logging.getLogger(__name__)

CURRENT_VERSION = 0

# Kafka: `LogManager`. They stand here because a single log reads its log start, too (`Log.open`).
RECOVERY_POINT_CHECKPOINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT_FILE = "log-start-offset-checkpoint"


class OffsetCheckpointFile:
    """A map from partition to offset in a file of the log directory.

    Four files have this form: `recovery-point-offset-checkpoint`, `log-start-offset-checkpoint`,
    `replication-offset-checkpoint` (high watermarks) and `cleaner-offset-checkpoint`. A line is
    `<topic> <partition> <offset>`; lines are written in the map's order.

    Kafka: `OffsetCheckpointFile`.
    """

    def __init__(self, file: Path, log_dir_failure_channel: LogDirFailureChannel | None = None):
        self.file = file
        self._checkpoint = CheckpointFile(file, CURRENT_VERSION, _Formatter, log_dir_failure_channel, file.parent)

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace all offsets. Raises KafkaStorageException. Kafka: `OffsetCheckpointFile.write`."""
        self._checkpoint.write(offsets.items())

    def read(self) -> dict[TopicPartition, int]:
        """All offsets; of two lines for one partition the later counts.

        Raises KafkaStorageException and NumberFormatException as `CheckpointFile.read`.
        Kafka: `OffsetCheckpointFile.read`.
        """
        return dict(self._checkpoint.read())

    def read_or_empty(self) -> dict[TopicPartition, int]:
        """All offsets, or none when the contents are damaged: what a starting broker goes on with.

        Raises OSError and MemoryError where the machine is at fault and the contents may be sound. (A broker goes on
        without offsets then, too.) Kafka: `LogManager.loadLogs`.
        """
        try:
            return self.read()
        except (KafkaStorageException, ValueError) as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno is not None:
                raise error.__cause__ from None
            logger.warning("Error occurred while reading %s, which counts as empty: %s", self.file, error)
            return {}


class _Formatter:
    """`<topic> <partition> <offset>`. Kafka: `OffsetCheckpointFile.Formatter`."""

    @staticmethod
    def to_string(entry: tuple[TopicPartition, int]) -> str:
        (topic, partition), offset = entry
        return f"{topic} {partition} {offset}"

    @staticmethod
    def from_string(line: str) -> tuple[TopicPartition, int] | None:
        fields = split_fields(line)
        if len(fields) != 3:
            return None
        return TopicPartition(fields[0], parse_int(fields[1])), parse_long(fields[2])
