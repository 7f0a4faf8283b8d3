"""Which logs are being cleaned, which must not be, and how far each has been cleaned."""

import logging
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import (
    IllegalStateException,
    KafkaStorageException,
    LogCleaningAbortedException,
    LogCleaningException,
)
from minikafka.common.java.java_concurrent_hash_map import in_order_of_concurrent_hash_map
from minikafka.common.java.java_hash_map import JavaHashMap
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleanable_offsets import cleanable_offsets, max_compaction_delay
from minikafka.log.cleaner.log_cleaning_state import LogCleaningPaused, LogCleaningState
from minikafka.log.cleaner.log_to_clean import LogToClean
from minikafka.log.cleaner.pre_clean_stats import PreCleanStats
from minikafka.log.log import Log

logger = logging.getLogger(__name__)

OFFSET_CHECKPOINT_FILE = "cleaner-offset-checkpoint"
_POLL_SECONDS = 0.1


class LogCleanerManager:
    """Keeps the state of each partition and, in a file in each log directory, the offset up to which it is clean.

    A partition is in one of these states, of which the first is not stored:

    - *free*: it may be cleaned (→ in progress) or paused;
    - *in progress*: a cleaner works on it, or its old segments are being deleted (→ free, aborted);
    - *aborted*: that work must end soon (→ paused once);
    - *paused* once (→ free, paused twice), twice (→ paused once, three times), and so on.

    In addition, a partition whose cleaning failed is *uncleanable*: it is left alone until it is deleted, or until the
    broker restarts.

    One lock guards all of this; whoever aborts a cleaning waits until it has ended. A checkpoint names the first dirty
    offset: below it, each key has only the record that was its latest at the time of that cleaning.

    On disk: `cleaner-offset-checkpoint` in each log directory, made together with the manager; its lines are in the
    order of Java's HashMap.

    Kafka: `LogCleanerManager`.
    """

    def __init__(
        self,
        log_dirs: Iterable[Path],
        logs: Mapping[TopicPartition, Log],
        log_dir_failure_channel: LogDirFailureChannel | None,
    ):
        """`logs` is the live map of all current logs: others may add logs and remove them.

        Raises OSError when a checkpoint file cannot be made.
        """
        self._logs = logs
        self._checkpoints = {
            log_dir: OffsetCheckpointFile(log_dir / OFFSET_CHECKPOINT_FILE, log_dir_failure_channel)
            for log_dir in log_dirs
        }
        self._in_progress: dict[TopicPartition, LogCleaningState | LogCleaningPaused] = {}
        self._uncleanable_partitions: dict[Path, set[TopicPartition]] = {}
        self._lock = threading.RLock()
        self._paused_cleaning_cond = threading.Condition(self._lock)

    # Choosing what to do

    def grab_filthiest_compacted_log(self, time: Time, pre_clean_stats: PreCleanStats) -> LogToClean | None:
        """The log to clean next, which is now in progress; None if no log is dirty enough.

        A checkpoint that names an impossible offset is replaced, even if no log is grabbed. Whatever goes wrong with a
        log raises LogCleaningException, which names the log.
        Kafka: `LogCleanerManager.grabFilthiestCompactedLog`.
        """
        with self._lock:
            now = time.milliseconds()
            # 1. How far has each log been cleaned?
            last_clean = self.all_cleaner_checkpoints()

            # 2. Look at the logs that are compacted and free, and not uncleanable.
            dirty_logs = []
            for topic_partition, log in self._all_logs():
                if not self._is_cleanable(topic_partition, log):
                    continue
                # 3. Which part of it is dirty, and is it overdue?
                log_to_clean = self._log_to_clean(log, last_clean.get(topic_partition), now, pre_clean_stats)
                # 4. Skip a log without bytes.
                if log_to_clean.total_bytes > 0:
                    dirty_logs.append(log_to_clean)

            # 5. Keep those that are dirty enough, or overdue.
            cleanable_logs = [
                dirty
                for dirty in dirty_logs
                if (dirty.need_compaction_now and dirty.cleanable_bytes > 0)
                or dirty.cleanable_ratio > dirty.log.config.min_cleanable_ratio
            ]
            if not cleanable_logs:
                return None

            # 6. Take the dirtiest, or the first of several that are equally dirty.
            pre_clean_stats.record_cleanable_partitions(len(cleanable_logs))
            filthiest = max(cleanable_logs, key=lambda cleanable: cleanable.cleanable_ratio)
            self._in_progress[filthiest.topic_partition] = LogCleaningState.IN_PROGRESS
            return filthiest

    def _log_to_clean(
        self, log: Log, last_clean_offset: int | None, now: int, pre_clean_stats: PreCleanStats
    ) -> LogToClean:
        try:
            first_dirty_offset, uncleanable_offset, force_update_checkpoint = cleanable_offsets(
                log, last_clean_offset, now
            )
            if force_update_checkpoint:
                self.update_checkpoints(log.parent_dir, (log.topic_partition, first_dirty_offset), None)
            delay_ms = max_compaction_delay(log, first_dirty_offset, now)
            pre_clean_stats.update_max_compaction_delay(delay_ms)
            return LogToClean(log, first_dirty_offset, uncleanable_offset, need_compaction_now=delay_ms > 0)
        except Exception as error:
            raise LogCleaningException(
                log, f"Failed to calculate log cleaning stats for partition {log.topic_partition}"
            ) from error

    def deletable_logs(self) -> dict[TopicPartition, Log]:
        """All compacted logs that were free, and are now in progress: the caller deletes their old segments.

        Logs whose policy is only to compact are included, because of segments below their log start.
        Kafka: `LogCleanerManager.deletableLogs`.
        """
        with self._lock:
            deletable: JavaHashMap[TopicPartition, Log] = JavaHashMap()
            for topic_partition, log in self._all_logs():
                if self._is_cleanable(topic_partition, log):
                    deletable[topic_partition] = log
            self._in_progress.update(dict.fromkeys(deletable, LogCleaningState.IN_PROGRESS))
            return dict(deletable.items())

    def pause_cleaning_for_non_compacted_partitions(self) -> list[tuple[TopicPartition, Log]]:
        """All logs that were free and are not compacted, and are now paused: retention may delete from them, even if
        their policy changes meanwhile. Kafka: `LogCleanerManager.pauseCleaningForNonCompactedPartitions`.
        """
        with self._lock:
            deletable = [
                (topic_partition, log)
                for topic_partition, log in self._all_logs()
                if not log.config.compact and topic_partition not in self._in_progress
            ]
            for topic_partition, _ in deletable:
                self._in_progress[topic_partition] = LogCleaningPaused(1)
            return deletable

    def _all_logs(self) -> list[tuple[TopicPartition, Log]]:
        """The logs of this moment, in the order of Java's map; another thread may delete one meanwhile."""
        logs = dict(self._logs)
        return [(topic_partition, logs[topic_partition]) for topic_partition in in_order_of_concurrent_hash_map(logs)]

    def _is_cleanable(self, topic_partition: TopicPartition, log: Log) -> bool:
        return (
            log.config.compact
            and topic_partition not in self._in_progress
            and topic_partition not in self._uncleanable_partitions.get(log.parent_dir, ())
        )

    # Ending the work

    def done_cleaning(self, topic_partition: TopicPartition, data_dir: Path, end_offset: int) -> None:
        """Note that a cleaning has ended: the log is clean up to `end_offset` (exclusive), unless it was aborted.

        Raises IllegalStateException if none was in progress. Kafka: `LogCleanerManager.doneCleaning`.
        """
        with self._lock:
            if self._in_progress.get(topic_partition) is LogCleaningState.IN_PROGRESS:
                self.update_checkpoints(data_dir, (topic_partition, end_offset), None)
            self._end_work(topic_partition)

    def done_deleting(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Note that the old segments of these are deleted. Raises IllegalStateException for one not in progress.

        Kafka: `LogCleanerManager.doneDeleting`.
        """
        with self._lock:
            for topic_partition in topic_partitions:
                self._end_work(topic_partition)

    def _end_work(self, topic_partition: TopicPartition) -> None:
        match self._in_progress.get(topic_partition):
            case None:
                raise IllegalStateException(f"State for partition {topic_partition} should exist.")
            case LogCleaningState.IN_PROGRESS:
                del self._in_progress[topic_partition]
            case LogCleaningState.ABORTED:
                self._in_progress[topic_partition] = LogCleaningPaused(1)
                self._paused_cleaning_cond.notify_all()
            case state:
                raise IllegalStateException(f"In-progress partition {topic_partition} cannot be in {state} state.")

    # Asking for the end of the work

    def abort_cleaning(self, topic_partition: TopicPartition) -> None:
        """End a cleaning of the partition early, and wait until it has. Kafka: `LogCleanerManager.abortCleaning`."""
        with self._lock:
            self.abort_and_pause_cleaning(topic_partition)
            self.resume_cleaning([topic_partition])

    def abort_and_pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """End a cleaning of the partition early, wait until it has ended, and allow no other until it is resumed.

        The thread that cleans the partition must not call this: it would wait for itself. Raises IllegalStateException
        while another abort is under way. Kafka: `LogCleanerManager.abortAndPauseCleaning`.
        """
        with self._lock:
            match self._in_progress.get(topic_partition):
                case None:
                    self._in_progress[topic_partition] = LogCleaningPaused(1)
                case LogCleaningState.IN_PROGRESS:
                    self._in_progress[topic_partition] = LogCleaningState.ABORTED
                case LogCleaningPaused(paused_count):
                    self._in_progress[topic_partition] = LogCleaningPaused(paused_count + 1)
                case state:
                    raise IllegalStateException(
                        f"Compaction for partition {topic_partition} cannot be aborted and paused since it is in"
                        f" {state} state."
                    )
            while not isinstance(self._in_progress.get(topic_partition), LogCleaningPaused):
                self._paused_cleaning_cond.wait(_POLL_SECONDS)

    def resume_cleaning(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Undo one pause of each partition. Raises IllegalStateException for one that is not paused.

        Kafka: `LogCleanerManager.resumeCleaning`.
        """
        with self._lock:
            for topic_partition in topic_partitions:
                match self._in_progress.get(topic_partition):
                    case None:
                        raise IllegalStateException(
                            f"Compaction for partition {topic_partition} cannot be resumed since it is not paused."
                        )
                    case LogCleaningPaused(1):
                        del self._in_progress[topic_partition]
                    case LogCleaningPaused(paused_count):
                        self._in_progress[topic_partition] = LogCleaningPaused(paused_count - 1)
                    case state:
                        raise IllegalStateException(
                            f"Compaction for partition {topic_partition} cannot be resumed since it is in"
                            f" {state} state."
                        )

    def check_cleaning_aborted(self, topic_partition: TopicPartition) -> None:
        """Raises LogCleaningAbortedException if the cleaning of the partition must end.

        Kafka: `LogCleanerManager.checkCleaningAborted`.
        """
        with self._lock:
            if self._in_progress.get(topic_partition) is LogCleaningState.ABORTED:
                raise LogCleaningAbortedException(f"Cleaning of {topic_partition} was aborted")

    def cleaning_state(self, topic_partition: TopicPartition) -> LogCleaningState | LogCleaningPaused | None:
        """The state of the partition, None if it is free. Kafka: `LogCleanerManager.cleaningState`."""
        with self._lock:
            return self._in_progress.get(topic_partition)

    # Checkpoints

    def all_cleaner_checkpoints(self) -> dict[TopicPartition, int]:
        """The first dirty offset of each partition, by the files of all log directories; unreadable files are skipped.

        Raises IllegalStateException for a partition in two of them, NumberFormatException for a field that is not a
        number. Kafka: `LogCleanerManager.allCleanerCheckpoints`.
        """
        with self._lock:
            offsets: dict[TopicPartition, int] = {}
            for checkpoint in self._checkpoints.values():
                try:
                    in_this_dir = checkpoint.read()
                except KafkaStorageException as error:
                    logger.error("Failed to access checkpoint file %s: %s", checkpoint.file, error)
                    continue
                for topic_partition, offset in in_this_dir.items():
                    if topic_partition in offsets:
                        raise IllegalStateException(
                            f"Duplicate key {topic_partition} (attempted merging values {offsets[topic_partition]} and"
                            f" {offset})"
                        )
                    offsets[topic_partition] = offset
            return offsets

    def update_checkpoints(
        self,
        data_dir: Path,
        partition_to_update_or_add: tuple[TopicPartition, int] | None,
        partition_to_remove: TopicPartition | None,
    ) -> None:
        """Rewrite the file of `data_dir`, without partitions that no longer exist.

        Does nothing for an unknown directory; a failing disk is reported by the file itself.
        Kafka: `LogCleanerManager.updateCheckpoints`.
        """
        with self._lock:
            checkpoint = self._checkpoints.get(data_dir)
            if checkpoint is None:
                return
            try:
                current: JavaHashMap[TopicPartition, int] = JavaHashMap()
                for topic_partition, offset in _read_map(checkpoint).items():
                    if topic_partition in self._logs:
                        current[topic_partition] = offset
                updated = JavaHashMap.copy_of(current)
                if partition_to_remove is not None and partition_to_remove in updated:
                    del updated[partition_to_remove]
                if partition_to_update_or_add is not None:
                    topic_partition, offset = partition_to_update_or_add
                    updated[topic_partition] = offset
                checkpoint.write(dict(updated.items()))
            except KafkaStorageException as error:
                logger.error("Failed to access checkpoint file %s: %s", checkpoint.file, error)

    def alter_checkpoint_dir(self, topic_partition: TopicPartition, source_log_dir: Path, dest_log_dir: Path) -> None:
        """Let the partition's line, and its mark as uncleanable, follow its log to another log directory.

        Kafka: `LogCleanerManager.alterCheckpointDir`.
        """
        with self._lock:
            try:
                checkpoint = self._checkpoints.get(source_log_dir)
                offset = None if checkpoint is None else checkpoint.read().get(topic_partition)
                if offset is not None:
                    self.update_checkpoints(source_log_dir, None, topic_partition)
                    self.update_checkpoints(dest_log_dir, (topic_partition, offset), None)
            except KafkaStorageException as error:
                logger.error("Failed to access checkpoint file in dir %s: %s", source_log_dir, error)
            uncleanable = self._uncleanable_partitions.get(source_log_dir, set())
            if topic_partition in uncleanable:
                uncleanable.remove(topic_partition)
                self.mark_partition_uncleanable(dest_log_dir, topic_partition)

    def maybe_truncate_checkpoint(self, data_dir: Path, topic_partition: TopicPartition, offset: int) -> None:
        """Note that the log was cut off at `offset`: it is clean up to there at most.

        Raises KafkaStorageException. Kafka: `LogCleanerManager.maybeTruncateCheckpoint`.
        """
        with self._lock:
            checkpoint = self._checkpoints.get(data_dir)
            if not self._logs[topic_partition].config.compact or checkpoint is None:
                return
            existing = _read_map(checkpoint)
            if existing.get(topic_partition, 0) > offset:
                existing[topic_partition] = offset
                checkpoint.write(dict(existing.items()))

    def handle_log_dir_failure(self, log_dir: Path) -> None:
        """Leave the file of the failed `log_dir` alone from now on. Kafka: `LogCleanerManager.handleLogDirFailure`."""
        logger.warning("Stopping cleaning logs in dir %s", log_dir)
        with self._lock:
            self._checkpoints = {d: c for d, c in self._checkpoints.items() if d != log_dir}

    # Partitions that cannot be cleaned

    def uncleanable_partitions(self, log_dir: Path) -> set[TopicPartition]:
        """The partitions in `log_dir` whose cleaning failed. Kafka: `LogCleanerManager.uncleanablePartitions`."""
        with self._lock:
            return set(self._uncleanable_partitions.get(log_dir, ()))

    def mark_partition_uncleanable(self, log_dir: Path, partition: TopicPartition) -> None:
        """Leave the partition alone from now on. Kafka: `LogCleanerManager.markPartitionUncleanable`."""
        with self._lock:
            self._uncleanable_partitions.setdefault(log_dir, set()).add(partition)

    def maintain_uncleanable_partitions(self) -> None:
        """Forget partitions that have been deleted. Kafka: `LogCleanerManager.maintainUncleanablePartitions`."""
        with self._lock:
            kept = {d: {tp for tp in tps if tp in self._logs} for d, tps in self._uncleanable_partitions.items()}
            self._uncleanable_partitions = {log_dir: partitions for log_dir, partitions in kept.items() if partitions}


def _read_map(checkpoint: OffsetCheckpointFile) -> JavaHashMap[TopicPartition, int]:
    """The lines of the file, as a map in the order in which Java walks it. Kafka: `OffsetCheckpointFile.read`."""
    lines = checkpoint.read()
    offsets: JavaHashMap[TopicPartition, int] = JavaHashMap(len(lines))
    for topic_partition, offset in lines.items():
        offsets[topic_partition] = offset
    return offsets
