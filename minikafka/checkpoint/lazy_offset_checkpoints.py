"""Offsets from checkpoint files that are read when they are first needed."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.topic_partition import TopicPartition


class OffsetCheckpoints(Protocol):
    """Where the checkpointed offset of a partition can be asked for. Kafka: `OffsetCheckpoints`."""

    def fetch(self, log_dir: Path, topic_partition: TopicPartition) -> int | None:
        """The offset of the partition's log in that log directory, None without one.

        Kafka: `OffsetCheckpoints.fetch`.
        """


class LazyOffsetCheckpoints:
    """The checkpoint files of some log directories, each read once, when the first offset is asked of it.

    So that however many partitions become leaders or followers at once, a file is read no more than once, and what is
    written meanwhile changes nothing. Kafka: `LazyOffsetCheckpoints`.
    """

    def __init__(self, checkpoints_by_log_dir: Mapping[Path, OffsetCheckpointFile]):
        self._files = checkpoints_by_log_dir
        self._offsets: dict[Path, dict[TopicPartition, int]] = {}  # of the files that have been read
        self._lock = threading.Lock()

    def fetch(self, log_dir: Path, topic_partition: TopicPartition) -> int | None:
        """The offset that the file of `log_dir` has for the partition, None if it has none.

        Raises IllegalArgumentException for a directory without a file, and what reading a damaged file raises.
        Kafka: `LazyOffsetCheckpoints.fetch`.
        """
        if log_dir not in self._files:
            raise IllegalArgumentException(f"No checkpoint file for log dir {log_dir}")
        with self._lock:
            if log_dir not in self._offsets:
                self._offsets[log_dir] = self._files[log_dir].read()
            return self._offsets[log_dir].get(topic_partition)
