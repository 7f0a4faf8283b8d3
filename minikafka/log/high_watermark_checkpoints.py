"""The high watermarks of a broker's logs between two starts."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import KafkaStorageException
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import Scheduler
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log

logger = logging.getLogger(__name__)

HIGH_WATERMARK_CHECKPOINT_FILE = "replication-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT_TASK = "highwatermark-checkpoint"


class HighWatermarkCheckpoints:
    """`replication-offset-checkpoint` in each log directory: the high watermark of each log, leader's or follower's.

    A log that is opened begins with its log start for a high watermark; who knows the partition's replicas raises it to
    what stands here (`Log.update_high_watermark` keeps it within the log). The log manager itself has no part in this:
    in Kafka it is the replica manager who owns the files and the task.

    Simpler than Kafka: lines stand in the order of the logs, there in that of a hash map; no reader depends on it.

    Kafka: `ReplicaManager`, its field `highWatermarkCheckpoints`.
    """

    def __init__(self, log_dirs: Iterable[Path], log_dir_failure_channel: LogDirFailureChannel):
        """The files of these directories; those missing are made, empty. Raises OSError."""
        self._files = {
            log_dir: OffsetCheckpointFile(log_dir / HIGH_WATERMARK_CHECKPOINT_FILE, log_dir_failure_channel)
            for log_dir in log_dirs
        }

    def start(self, scheduler: Scheduler, logs: Callable[[], Iterable[Log]], period_ms: int = 5_000) -> None:
        """Write the high watermarks of what `logs()` gives at once, and every `period_ms`.

        The period is `replica.high.watermark.checkpoint.interval.ms`.
        Kafka: `ReplicaManager.startHighWatermarkCheckPointThread`.
        """
        scheduler.schedule(
            HIGH_WATERMARK_CHECKPOINT_TASK, lambda: self.checkpoint_high_watermarks(logs()), 0, period_ms
        )

    def checkpoint_high_watermarks(self, logs: Iterable[Log]) -> None:
        """Replace the high watermarks of each directory that has one of the `logs`, by theirs.

        A disk that fails is reported, and told of here. Kafka: `ReplicaManager.checkpointHighWatermarks`.
        """
        by_dir: dict[Path, dict[TopicPartition, int]] = {}
        for log in logs:
            by_dir.setdefault(log.dir.parent, {})[log.topic_partition] = log.high_watermark
        for log_dir, high_watermarks in by_dir.items():
            if log_dir not in self._files:
                continue
            try:
                self._files[log_dir].write(high_watermarks)
            except KafkaStorageException as error:
                logger.error("Error while writing to highwatermark file in directory %s: %s", log_dir, error)

    def high_watermark(self, log: Log) -> int:
        """What the file of the log's directory has for it; 0 if it has nothing.

        Raises KafkaStorageException and NumberFormatException for a damaged file. Kafka: `LazyOffsetCheckpoints.fetch`.
        """
        return self._files[log.dir.parent].read().get(log.topic_partition, 0)

    def handle_failure(self, log_dir: str) -> None:
        """Forget the file of a directory whose disk failed. Kafka: `ReplicaManager.handleLogDirFailure`."""
        self._files = {known: file for known, file in self._files.items() if str(known) != log_dir}
