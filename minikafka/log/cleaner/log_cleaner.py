"""The log cleaner of a broker: threads that compact logs in the background."""

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import sleep

from minikafka.common.errors import ConfigException, ThreadShutdownException
from minikafka.common.java.java_hash_map import JavaHashMap
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import ScheduledTask, Scheduler
from minikafka.common.throttler import Throttler
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.cleaner.cleaner_thread import CleanerThread
from minikafka.log.cleaner.log_cleaner_manager import LogCleanerManager
from minikafka.log.log import Log

logger = logging.getLogger(__name__)

_THROTTLE_CHECK_INTERVAL_MS = 300
_AWAIT_STEP_MS = 100


class LogCleaner:
    """Cleans the compacted logs among `logs`, the dirtiest first, for as long as it runs.

    - One `LogCleanerManager` tells the threads what to do, and everybody else what they must leave alone meanwhile.
    - All threads share one throttle.
    - After a cleaning has failed, its log is left alone.

    Simpler than Kafka: each of Kafka's threads is a loop. Here, each turn of a thread is a task on the `scheduler` that
    is passed in, and the task has the thread's name. The next turn follows at once if a log was cleaned, else after
    `backoff_ms`. With a manual clock, cleanings therefore happen at known times and can be repeated to the byte; a
    `KafkaScheduler` has threads of its own to run them. An exception that would end Kafka's thread ends the turns here,
    too.

    Kafka: `LogCleaner`.
    """

    def __init__(
        self,
        initial_config: CleanerConfig,
        log_dirs: Iterable[Path],
        logs: Mapping[TopicPartition, Log],
        *,
        scheduler: Scheduler,
        time: Time,
        log_dir_failure_channel: LogDirFailureChannel,
    ):
        """`logs` is the live map of all current logs in `log_dirs`. Raises OSError when a checkpoint cannot be made."""
        self.config = initial_config
        self.logs = logs
        self.cleaner_manager = LogCleanerManager(log_dirs, logs, log_dir_failure_channel)
        self.throttler = Throttler(initial_config.max_io_bytes_per_second, _THROTTLE_CHECK_INTERVAL_MS, time)
        self.cleaners: list[CleanerThread] = []
        self.dead_thread_count = 0
        self._log_dir_failure_channel = log_dir_failure_channel
        self._time = time
        self._scheduler = scheduler
        self._next_turns: dict[CleanerThread, ScheduledTask] = {}

    def startup(self) -> None:
        """Begin to clean. Kafka: `LogCleaner.startup`."""
        if self.config.num_threads < 1:
            logger.warning("log.cleaner.threads is %d: no log will be compacted", self.config.num_threads)
        logger.info("Starting the log cleaner")
        for thread_id in range(self.config.num_threads):
            thread = CleanerThread(
                thread_id,
                self.config,
                self.cleaner_manager,
                throttler=self.throttler,
                log_dir_failure_channel=self._log_dir_failure_channel,
                time=self._time,
            )
            self.cleaners.append(thread)
            self._schedule_turn(thread, 0)

    def shutdown(self) -> None:
        """Stop cleaning: cut short the turns under way, and wait for them. Kafka: `LogCleaner.shutdown`."""
        logger.info("Shutting down the log cleaner.")
        for thread in self.cleaners:
            thread.shutdown()
            self._next_turns.pop(thread).cancel()
        self.cleaners.clear()
        self.dead_thread_count = 0

    def validate_reconfiguration(self, new_config: CleanerConfig) -> None:
        """Raise ConfigException for a number of threads below 1, below half or above twice the present one.

        Kafka: `LogCleaner.validateReconfiguration`.
        """
        num_threads, current_threads = new_config.num_threads, self.config.num_threads
        if num_threads < 1:
            raise ConfigException("Log cleaner threads should be at least 1")
        if num_threads < current_threads // 2:
            raise ConfigException(
                f"Log cleaner threads cannot be reduced to less than half the current value {current_threads}"
            )
        if num_threads > current_threads * 2:
            raise ConfigException(
                f"Log cleaner threads cannot be increased to more than double the current value {current_threads}"
            )

    def reconfigure(self, new_config: CleanerConfig) -> None:
        """Go on with other settings and new threads; states and checkpoints stay. Kafka: `LogCleaner.reconfigure`."""
        self.config = new_config
        self.throttler.update_desired_rate_per_sec(new_config.max_io_bytes_per_second)
        self.shutdown()
        self.startup()

    # Requests of others, passed on to `LogCleanerManager`, which explains each

    def abort_cleaning(self, topic_partition: TopicPartition) -> None:
        """End a cleaning of the partition early, and wait until it has. Kafka: `LogCleaner.abortCleaning`."""
        self.cleaner_manager.abort_cleaning(topic_partition)

    def abort_and_pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """The same, and allow no other until it is resumed. Kafka: `LogCleaner.abortAndPauseCleaning`."""
        self.cleaner_manager.abort_and_pause_cleaning(topic_partition)

    def resume_cleaning(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Undo one pause of each partition. Kafka: `LogCleaner.resumeCleaning`."""
        self.cleaner_manager.resume_cleaning(topic_partitions)

    def pause_cleaning_for_non_compacted_partitions(self) -> dict[TopicPartition, Log]:
        """The logs that retention may delete from, paused until it has done so.

        Kafka: `LogCleaner.pauseCleaningForNonCompactedPartitions`.
        """
        paused: JavaHashMap[TopicPartition, Log] = JavaHashMap()
        for topic_partition, log in self.cleaner_manager.pause_cleaning_for_non_compacted_partitions():
            paused[topic_partition] = log
        return dict(paused.items())

    def update_checkpoints(self, data_dir: Path, partition_to_remove: TopicPartition | None) -> None:
        """Rewrite the checkpoint of `data_dir` without `partition_to_remove`. Kafka: `LogCleaner.updateCheckpoints`."""
        self.cleaner_manager.update_checkpoints(data_dir, None, partition_to_remove)

    def alter_checkpoint_dir(self, topic_partition: TopicPartition, source_log_dir: Path, dest_log_dir: Path) -> None:
        """The partition's log has moved to another log directory. Kafka: `LogCleaner.alterCheckpointDir`."""
        self.cleaner_manager.alter_checkpoint_dir(topic_partition, source_log_dir, dest_log_dir)

    def maybe_truncate_checkpoint(self, data_dir: Path, topic_partition: TopicPartition, offset: int) -> None:
        """The partition's log was cut off at `offset`. Kafka: `LogCleaner.maybeTruncateCheckpoint`."""
        self.cleaner_manager.maybe_truncate_checkpoint(data_dir, topic_partition, offset)

    def handle_log_dir_failure(self, log_dir: Path) -> None:
        """Leave the checkpoint of the failed `log_dir` alone. Kafka: `LogCleaner.handleLogDirFailure`."""
        self.cleaner_manager.handle_log_dir_failure(log_dir)

    def await_cleaned(self, topic_partition: TopicPartition, offset: int, max_wait_ms: int = 60_000) -> bool:
        """Wait until the partition is clean up to `offset`; False if that takes longer than `max_wait_ms` by the
        machine's clock. Kafka: `LogCleaner.awaitCleaned`.
        """
        remaining_ms = max_wait_ms
        while not self._is_cleaned(topic_partition, offset) and remaining_ms > 0:
            step_ms = min(_AWAIT_STEP_MS, remaining_ms)
            sleep(step_ms / 1000)
            remaining_ms -= step_ms
        return self._is_cleaned(topic_partition, offset)

    def _is_cleaned(self, topic_partition: TopicPartition, offset: int) -> bool:
        return self.cleaner_manager.all_cleaner_checkpoints().get(topic_partition, offset - 1) >= offset

    # Turns

    def _schedule_turn(self, thread: CleanerThread, delay_ms: int) -> None:
        self._next_turns[thread] = self._scheduler.schedule_once(thread.name, self._turn_of(thread), delay_ms)

    def _turn_of(self, thread: CleanerThread) -> Callable[[], None]:
        def take_turn() -> None:
            try:
                if thread.is_running:
                    delay_ms = thread.do_work()
                    if thread.is_running:
                        self._schedule_turn(thread, delay_ms)
            except ThreadShutdownException:
                pass
            except Exception:
                logger.exception("Error due to which %s ends", thread.name)
                self.dead_thread_count += 1

        return take_turn
