"""What a log directory remembers about its logs from one start to the next: recovery points and log start offsets."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import (
    LOG_START_OFFSET_CHECKPOINT_FILE,
    RECOVERY_POINT_CHECKPOINT_FILE,
    OffsetCheckpointFile,
)
from minikafka.common.errors import KafkaStorageException
from minikafka.common.java.scala_hash_map import in_order_of_a_map_grown, in_order_of_a_map_made_at_once
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log

logger = logging.getLogger(__name__)


class LogDirCheckpoints:
    """Two files in each log directory, read when the logs are loaded, and replaced every minute and at shutdown.

    - `recovery-point-offset-checkpoint`: for each log, the offset below which everything is on the device. After an
      unclean stop, the log is recovered from there.
    - `log-start-offset-checkpoint`: for each log that starts inside its first segment, the offset where it starts. (All
      others start where their first segment does.)

    A future log is listed under its partition's plain name, since it is never in the same directory as the current log.

    Kafka: `LogManager`, its fields `recoveryPointCheckpoints` and `logStartOffsetCheckpoints`.
    """

    def __init__(self, log_dirs: Iterable[Path], log_dir_failure_channel: LogDirFailureChannel):
        """The files of these directories; missing ones are made, empty. Raises OSError."""
        self._files = {
            log_dir: (
                OffsetCheckpointFile(log_dir / RECOVERY_POINT_CHECKPOINT_FILE, log_dir_failure_channel),
                OffsetCheckpointFile(log_dir / LOG_START_OFFSET_CHECKPOINT_FILE, log_dir_failure_channel),
            )
            for log_dir in log_dirs
        }

    def read_recovery_points(self, log_dir: Path) -> dict[TopicPartition, int]:
        """The recovery points of a directory's logs; none from a file that cannot be read. Kafka: `loadLogs`."""
        recovery_points, _ = self._files[log_dir]
        return _read(recovery_points, "resetting the recovery checkpoint to 0")

    def read_log_start_offsets(self, log_dir: Path) -> dict[TopicPartition, int]:
        """The log start offsets of a directory's logs; none from a file that cannot be read. Kafka: `loadLogs`."""
        _, log_start_offsets = self._files[log_dir]
        return _read(log_start_offsets, "resetting to the base offset of the first segment")

    def checkpoint_recovery_offsets_in_dir(self, log_dir: Path, logs: Mapping[TopicPartition, Log]) -> None:
        """Replace the recovery points of a directory by those of its `logs`; does nothing if the directory failed.

        Kafka: `LogManager.checkpointRecoveryOffsetsInDir`.
        """
        if log_dir in self._files:
            recovery_points, _ = self._files[log_dir]
            offsets = {partition: log.recovery_point for partition, log in logs.items()}
            _write(recovery_points, offsets, in_order_of_a_map_made_at_once)

    def checkpoint_log_start_offsets_in_dir(self, log_dir: Path, logs: Mapping[TopicPartition, Log]) -> None:
        """Replace the log start offsets of a directory by those of its `logs`; does nothing if the directory failed.

        Kafka: `LogManager.checkpointLogStartOffsetsInDir`.
        """
        if log_dir in self._files:
            _, log_start_offsets = self._files[log_dir]
            _write(log_start_offsets, log_starts_to_checkpoint(logs), in_order_of_a_map_grown)

    def handle_failure(self, log_dir: Path) -> None:
        """Forget the files of a directory whose disk failed. Kafka: `LogManager.handleLogDirFailure`."""
        self._files = {known: files for known, files in self._files.items() if known != log_dir}


def log_starts_to_checkpoint(logs: Mapping[TopicPartition, Log]) -> dict[TopicPartition, int]:
    """The log start offsets that no segment's name tells: of logs that start above the base of their first segment.

    Kafka: `LogManager.checkpointLogStartOffsetsInDir`.
    """
    return {
        partition: log.log_start_offset
        for partition, log in logs.items()
        if log.log_start_offset > log.log_segments[0].base_offset
    }


def _read(checkpoint: OffsetCheckpointFile, so: str) -> dict[TopicPartition, int]:
    try:
        return checkpoint.read()
    except Exception as error:
        logger.warning("Error occurred while reading %s, %s: %s", checkpoint.file, so, error)
        return {}


def _write(
    checkpoint: OffsetCheckpointFile,
    offsets: Mapping[TopicPartition, int],
    in_kafkas_order: Callable[[Collection[TopicPartition]], list[TopicPartition]],
) -> None:
    try:
        checkpoint.write({partition: offsets[partition] for partition in in_kafkas_order(offsets)})
    except KafkaStorageException as error:
        logger.error("Disk error while writing %s: %s", checkpoint.file, error)
