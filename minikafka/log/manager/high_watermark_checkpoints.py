"""What a log directory remembers of its logs' high watermarks from one start to the next."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from minikafka.checkpoint.lazy_offset_checkpoints import LazyOffsetCheckpoints
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import KafkaStorageException
from minikafka.common.java.scala_hash_map import in_order_of_an_any_ref_map
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import Scheduler
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log

logger = logging.getLogger(__name__)

HIGH_WATERMARK_CHECKPOINT_FILE = "replication-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT_TASK = "highwatermark-checkpoint"


class HighWatermarkCheckpoints:
    """`replication-offset-checkpoint` in each log directory: the high watermark of each log, leader's or follower's.

    When a log is opened, its high watermark is its log start; whoever knows the partition's replicas raises it to the
    offset in this file (`Log.update_high_watermark` keeps it within the log). The log manager has no part in this: in
    Kafka, the replica manager owns the files and the task.

    Lines are in the order of the map that Kafka makes for them, though no reader relies on it.

    Kafka: `ReplicaManager`, its field `highWatermarkCheckpoints`.
    """

    def __init__(self, log_dirs: Iterable[Path], log_dir_failure_channel: LogDirFailureChannel):
        """The files of these directories; missing ones are made, empty. Raises OSError."""
        self._files = {
            log_dir: OffsetCheckpointFile(log_dir / HIGH_WATERMARK_CHECKPOINT_FILE, log_dir_failure_channel)
            for log_dir in log_dirs
        }

    def start(self, scheduler: Scheduler, logs: Callable[[], Iterable[Log]], period_ms: int = 5_000) -> None:
        """Write the high watermarks of the logs that `logs()` returns, now and then every `period_ms`.

        The period is `replica.high.watermark.checkpoint.interval.ms`.
        Kafka: `ReplicaManager.startHighWatermarkCheckPointThread`.
        """
        scheduler.schedule(
            HIGH_WATERMARK_CHECKPOINT_TASK, lambda: self.checkpoint_high_watermarks(logs()), 0, period_ms
        )

    def checkpoint_high_watermarks(self, logs: Iterable[Log]) -> None:
        """Replace the file of each directory that holds some of the `logs`, by their high watermarks.

        A failing disk is reported by the file itself. Kafka: `ReplicaManager.checkpointHighWatermarks`.
        """
        by_dir: dict[Path, dict[TopicPartition, int]] = {}
        for log in logs:
            by_dir.setdefault(log.parent_dir, {})[log.topic_partition] = log.high_watermark
        for log_dir, high_watermarks in by_dir.items():
            if log_dir not in self._files:
                continue
            try:
                self._files[log_dir].write(
                    {key: high_watermarks[key] for key in in_order_of_an_any_ref_map(high_watermarks)}
                )
            except KafkaStorageException as error:
                logger.error("Error while writing to highwatermark file in directory %s: %s", log_dir, error)

    def lazily(self) -> LazyOffsetCheckpoints:
        """What the files say, each read when it is first asked. Kafka: `ReplicaManager.applyDelta`."""
        return LazyOffsetCheckpoints(self._files)

    def handle_failure(self, log_dir: Path) -> None:
        """Forget the file of a directory whose disk failed. Kafka: `ReplicaManager.handleLogDirFailure`."""
        self._files = {known: file for known, file in self._files.items() if known != log_dir}
