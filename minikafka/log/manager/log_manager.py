"""All logs of a broker: found in its log directories at the start, kept, and closed in order at the end."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.partition_metadata_file import stored_topic_id
from minikafka.common.directory_id import LOST_DIR, UNASSIGNED_DIR
from minikafka.common.errors import (
    ConfigException,
    IllegalStateException,
    InconsistentTopicIdException,
    KafkaException,
    KafkaStorageException,
    NoSuchElementException,
    RuntimeException,
)
from minikafka.common.file_lock import FileLock
from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.common.job_pool import JobPool
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import Scheduler
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.cleaner.log_cleaner import LogCleaner
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_name import (
    log_delete_dir_name,
    log_dir_name,
    log_future_dir_name,
    log_stray_dir_name,
    partition_directories,
)
from minikafka.log.log_file_utils import DELETE_DIR_SUFFIX, STRAY_DIR_SUFFIX
from minikafka.log.manager.config_repository import ConfigRepository
from minikafka.log.manager.log_config_provider import LogConfigProvider
from minikafka.log.manager.log_dir_checkpoints import LogDirCheckpoints
from minikafka.log.manager.log_dirs import LogDirs
from minikafka.log.manager.logs_to_be_deleted import LogsToBeDeleted
from minikafka.log.producer.producer_state_manager_config import ProducerStateManagerConfig

logger = logging.getLogger(__name__)

UNKNOWN_BROKER_EPOCH = -1


class LogManager:
    """All logs of a broker, in one or more log directories.

    - `current_logs`: the log of each partition, which is appended to and read.
    - `future_logs`: for each partition that is being moved to another log directory, the log that grows there.
    - `stray_logs`: logs whose partition no longer belongs to this broker. They are put aside, never deleted.
    - `logs_to_be_deleted`: logs whose directory has been renamed and will be deleted a little later.

    Invariants:

    1. A partition has at most one current and one future log, in different log directories.
    2. Which of these a log is in agrees with the name of its directory: `topic-partition` alone, or followed by
       `.<32 hex>` and `-future`, `-stray` or `-delete`. The next start has nothing but these names to go by.
    3. Logs are added to the maps and removed from them under one lock.
    4. A log directory holds a clean-shutdown marker only while nobody has its logs open.
    5. Once a disk has failed (`LogDirFailureChannel`), the logs in its directory do nothing more, and the directory
       gets neither checkpoints nor a marker: the next start recovers it.

    On the scheduler that is passed in, `startup` begins the background tasks `kafka-log-retention`,
    `kafka-log-flusher`, `kafka-recovery-point-checkpoint`, `kafka-log-start-offset-checkpoint` and `kafka-delete-logs`.

    On disk, in each log directory: `.lock` and `meta.properties` (`LogDirs`), two checkpoints (`LogDirCheckpoints`),
    `.kafka_cleanshutdown` (`CleanShutdownFileHandler`), and a directory for each log.

    Logs are loaded and closed one after the other by the calling thread; Kafka has two threads for each log directory.
    Python's threads take turns, so more of them gain nothing on a fast disk: 1,000 partitions were opened in 1.5 s by
    one thread and in 1.8 s by two (Kafka: 1.2 s and 1.0 s, see `benchmarks/log_manager_bench.py`). Processes could not
    hand over the open files, nor what they learned. For slow disks there is `recovery_threads_per_data_dir`; it changes
    neither the order in which logs are added nor any result.

    Simpler than Kafka: there are no metrics and no remote storage, as for `Log`. Directories are loaded in the order
    of their names; Kafka takes the order in which the system lists them, which nothing may depend on. Where Kafka
    halts the process, because no log directory is left, FatalExitError is raised: whoever runs the process ends it.

    Kafka: `kafka.log.LogManager`.
    """

    def __init__(
        self,
        log_dirs: Sequence[Path],
        initial_offline_dirs: Iterable[Path] = (),
        *,
        config_repository: ConfigRepository,
        initial_default_config: LogConfig,
        scheduler: Scheduler,
        time: Time,
        log_dir_failure_channel: LogDirFailureChannel | None = None,
        cleaner_config: CleanerConfig | None = None,
        cleaner_scheduler: Scheduler | None = None,
        recovery_threads_per_data_dir: int = 1,
        flush_check_ms: int = LONG_MAX,
        flush_recovery_offset_checkpoint_ms: int = 60_000,
        flush_start_offset_checkpoint_ms: int = 60_000,
        retention_check_ms: int = 300_000,
        initial_task_delay_ms: int = 30_000,
        max_transaction_timeout_ms: int = 900_000,
        producer_state_manager_config: ProducerStateManagerConfig | None = None,
        producer_id_expiration_check_interval_ms: int = 600_000,
        stop_at_os_errors: bool = False,
        held_locks: Iterable[FileLock] = (),
    ):
        """Make, check and lock the log directories; no log is loaded before `startup`.

        - `initial_offline_dirs`: log directories that must not be used, because their disk is known to have failed.
        - `cleaner_config`: the settings of the cleaner; None for a broker's defaults.
        - `cleaner_scheduler`: where logs are compacted, so that nothing else waits for it; None: on `scheduler`.
        - `recovery_threads_per_data_dir`: how many logs of one log directory are loaded or closed at a time.
        - The times (ms) between two runs of a task, and before the first one (`initial_task_delay_ms`). A broker's
          settings call them, in this order: log.flush.scheduler.interval.ms, log.flush.offset.checkpoint.interval.ms,
          log.flush.start.offset.checkpoint.interval.ms, log.retention.check.interval.ms, log.initial.task.delay.ms.
        - `stop_at_os_errors`: an error of the operating system ends the load of a log, and cuts nothing (`Log.create`).
        - `held_locks`: locks on log directories that the caller has taken, and gives away (`lock_log_dir`).

        Raises KafkaException when a log directory is named twice or is in use, FatalExitError when none can be used;
        OSError.
        """
        self.log_dir_failure_channel = log_dir_failure_channel or LogDirFailureChannel(max(len(log_dirs), 1))
        self.log_dirs = LogDirs(log_dirs, initial_offline_dirs, self.log_dir_failure_channel, held_locks)
        try:
            self.checkpoints = LogDirCheckpoints(self.live_log_dirs, self.log_dir_failure_channel)
        except BaseException:
            self.log_dirs.let_go()
            raise
        self.configs = LogConfigProvider(config_repository, initial_default_config)
        self.cleaner: LogCleaner | None = None
        """Compacts logs, from `startup` on; None if it is disabled."""
        self._cleaner_config = cleaner_config or CleanerConfig.of({})
        self.scheduler = scheduler
        self._cleaner_scheduler = cleaner_scheduler or scheduler
        self.time = time
        self.recovery_threads_per_data_dir = recovery_threads_per_data_dir
        """May be changed: the next start or shutdown follows it. Kafka: `LogManager.resizeRecoveryThreadPool`."""
        self._flush_check_ms = flush_check_ms
        self._flush_recovery_offset_checkpoint_ms = flush_recovery_offset_checkpoint_ms
        self._flush_start_offset_checkpoint_ms = flush_start_offset_checkpoint_ms
        self._retention_check_ms = retention_check_ms
        self._initial_task_delay_ms = initial_task_delay_ms
        self._max_transaction_timeout_ms = max_transaction_timeout_ms
        self._producer_state_manager_config = producer_state_manager_config or ProducerStateManagerConfig()
        self._producer_id_expiration_check_interval_ms = producer_id_expiration_check_interval_ms
        self._stop_at_os_errors = stop_at_os_errors
        self.current_logs: dict[TopicPartition, Log] = {}
        self.future_logs: dict[TopicPartition, Log] = {}
        self.stray_logs: dict[TopicPartition, Log] = {}
        self.logs_to_be_deleted = LogsToBeDeleted(
            scheduler, time, lambda: self.configs.current_default_config.file_delete_delay_ms
        )
        self._preferred_log_dirs: dict[TopicPartition, Path] = {}
        self._had_clean_shutdown: dict[Path, bool] = {}
        self._load_logs_completed: dict[Path, bool] = {}
        self._failed_to_load: set[Path] = set()  # log directories of which a log is missing since a disk failed
        self._log_creation_or_deletion_lock = threading.RLock()

    # Startup

    def startup(self, topic_names: Collection[str] = (), is_stray: Callable[[Log], bool] = lambda log: False) -> None:
        """Load all logs, then start the background work.

        `topic_names`: the topics whose own settings are looked up. `is_stray` tells whether the partition of a loaded
        log no longer belongs to this broker. Raises what `load_logs` raises. Kafka: `LogManager.startup`.
        """
        self.log_dirs.require_own_process()
        # 1. The settings of each topic, all on top of the same defaults.
        default_config = self.configs.current_default_config
        topic_config_overrides = self.configs.fetch_topic_config_overrides(default_config, topic_names)
        # 2. The logs, which take a while to load if the last stop was not clean.
        self.load_logs(default_config, topic_config_overrides, is_stray)
        # 3. The tasks. With equal times they run in this order.
        schedule, delay_ms = self.scheduler.schedule, self._initial_task_delay_ms
        schedule("kafka-log-retention", self._cleanup_logs, delay_ms, self._retention_check_ms)
        schedule("kafka-log-flusher", self._flush_dirty_logs, delay_ms, self._flush_check_ms)
        schedule(
            "kafka-recovery-point-checkpoint",
            self.checkpoint_log_recovery_offsets,
            delay_ms,
            self._flush_recovery_offset_checkpoint_ms,
        )
        schedule(
            "kafka-log-start-offset-checkpoint",
            self.checkpoint_log_start_offsets,
            delay_ms,
            self._flush_start_offset_checkpoint_ms,
        )
        # 4. The deletion of logs, which decides for itself when to run again.
        self.logs_to_be_deleted.start(delay_ms)
        # 5. The cleaner, for the current logs.
        if self._cleaner_config.enable_cleaner:
            self.cleaner = LogCleaner(
                self._cleaner_config,
                self.live_log_dirs,
                self.current_logs,
                scheduler=self._cleaner_scheduler,
                time=self.time,
                log_dir_failure_channel=self.log_dir_failure_channel,
            )
            self.cleaner.startup()

    def load_logs(
        self,
        default_config: LogConfig,
        topic_config_overrides: Mapping[str, LogConfig],
        is_stray: Callable[[Log], bool],
    ) -> None:
        """Load the logs of all log directories, and recover those where the last stop was not clean.

        A log directory whose disk fails meanwhile is reported as offline; the others are loaded. Raises KafkaException
        for a directory whose name is not that of a partition, IllegalStateException for two current (or two future)
        logs of one partition, and whatever loading a damaged log raises. Kafka: `LogManager.loadLogs`.
        """
        failed_dirs: dict[Path, OSError] = {}
        failures: list[Exception] = []
        pools: list[JobPool] = []
        jobs: list[tuple[Path, Callable[[], Log]]] = []
        try:
            for log_dir in self.live_log_dirs:
                try:
                    # 1. Was the last stop clean? Delete the marker before any log opens: a crash from here on is
                    #    unclean.
                    marker = CleanShutdownFileHandler(log_dir)
                    had_clean_shutdown = self._had_clean_shutdown[log_dir] = marker.exists()
                    if had_clean_shutdown:  # a link that leads nowhere stays
                        marker.delete()
                    # 2. What the checkpoints say about each log: its recovery point and its start.
                    recovery_points = self.checkpoints.read_recovery_points(log_dir)
                    log_start_offsets = self.checkpoints.read_log_start_offsets(log_dir)
                    # 3. The directories of partitions.
                    directories = partition_directories(log_dir, stop_at_os_errors=self._stop_at_os_errors)
                except OSError as error:
                    failed_dirs[log_dir] = error
                    continue
                except KafkaException as error:  # a directory that is not a partition's ends the start; jobs run on
                    failures.append(error)
                    break
                # 4. One job for each of them; the pool runs a few at a time.
                pools.append(pool := JobPool(self.recovery_threads_per_data_dir, f"log-recovery-{log_dir}-"))
                self._load_logs_completed[log_dir] = not directories
                for directory, topic_partition in directories:
                    load = partial(
                        self._load_log,
                        directory,
                        config=topic_config_overrides.get(topic_partition.topic, default_config),
                        log_start_offset=log_start_offsets.get(topic_partition, 0),
                        recovery_point=recovery_points.get(topic_partition, 0),
                        had_clean_shutdown=had_clean_shutdown,
                    )
                    jobs.append((log_dir, pool.submit(load)))
            # 5. Wait for all of them, in order; each log goes where its directory's name says.
            for log_dir, loaded in jobs:
                try:
                    self._add_log(loaded(), is_stray)
                except OSError as error:
                    failed_dirs[log_dir] = error
                except KafkaStorageException as error:
                    if isinstance(error.__cause__, OSError):
                        self._failed_to_load.add(log_dir)  # it has been reported, and this log is missing
                    else:
                        failures.append(error)
                except Exception as error:
                    failures.append(error)
        finally:
            for pool in pools:
                pool.shutdown()
        self._load_logs_completed.update(dict.fromkeys(self._load_logs_completed, True))
        # 6. Any failure other than the disk's ends the start; the first one is raised.
        if failures:
            raise failures[0]
        # 7. Directories whose disk failed go offline.
        self._failed_to_load.update(failed_dirs)
        for log_dir, failure in failed_dirs.items():
            self.log_dir_failure_channel.maybe_add_offline_log_dir(
                log_dir, f"Error while loading log dir {log_dir}", failure
            )

    def _load_log(
        self,
        directory: Path,
        *,
        config: LogConfig,
        log_start_offset: int = 0,
        recovery_point: int = 0,
        had_clean_shutdown: bool = True,
        topic_id: str | None = None,
    ) -> Log:
        return Log.create(
            directory,
            config,
            log_start_offset,
            recovery_point,
            scheduler=self.scheduler,
            time=self.time,
            max_transaction_timeout_ms=self._max_transaction_timeout_ms,
            producer_state_manager_config=self._producer_state_manager_config,
            producer_id_expiration_check_interval_ms=self._producer_id_expiration_check_interval_ms,
            log_dir_failure_channel=self.log_dir_failure_channel,
            last_shutdown_clean=had_clean_shutdown,
            topic_id=topic_id,
            stop_at_os_errors=self._stop_at_os_errors,
        )

    def _add_log(self, log: Log, is_stray: Callable[[Log], bool]) -> None:
        """Put a loaded log into the map that its directory's name asks for. Kafka: `LogManager.loadLog`."""
        topic_partition, directory = log.topic_partition, log.dir
        if log.name.endswith(DELETE_DIR_SUFFIX):
            self.logs_to_be_deleted.add(log)
        elif log.name.endswith(STRAY_DIR_SUFFIX):
            self._put_aside(log)
            logger.warning("Loaded stray log: %s", directory)
        elif is_stray(log):
            log.rename_dir(log_stray_dir_name(topic_partition), should_reinitialize=False)
            self._put_aside(log)
            logger.warning("Log in %s marked stray and renamed to %s", directory, log.dir)
        else:
            logs = self.future_logs if log.is_future else self.current_logs
            previous, logs[topic_partition] = logs.get(topic_partition), log
            if previous is not None:
                raise IllegalStateException(_duplicate(log, previous))

    def _put_aside(self, log: Log) -> None:
        """Know a stray log. Of several of one partition only the last is known, as in Kafka: let go of the others."""
        known = self.stray_logs.get(log.topic_partition)
        if known is not None:
            known.close_handlers()
        self.stray_logs[log.topic_partition] = log

    # Shutdown

    def shutdown(self, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
        """Close all logs, write checkpoints and markers, and release the log directories.

        The scheduler must have been shut down before. `broker_epoch` goes into the markers. Raises
        ClosedChannelException when a log directory was taken out of use earlier. Kafka: `LogManager.shutdown`.
        """
        self.log_dirs.require_own_process()
        # 1. Stop compacting.
        if self.cleaner is not None:
            self.cleaner.shutdown()
        logs_by_dir = self._logs_by_dir()
        pools: list[JobPool] = []
        jobs: dict[Path, list[Callable[[], None]]] = {}
        try:
            # 2. Flush and close the current and future logs, a few at a time.
            for log_dir in self.live_log_dirs:
                pools.append(pool := JobPool(self.recovery_threads_per_data_dir, f"log-closing-{log_dir}"))
                logs = logs_by_dir.get(log_dir, {})
                jobs[log_dir] = [pool.submit(partial(_flush_and_close, log)) for log in logs.values()]
            for log_dir, closing in jobs.items():
                # 3. Skip a directory with a log that could not be closed or loaded: its next start is unclean. (Kafka
                #    differs if a log could not be loaded, or the marker not deleted, and the directory is not offline
                #    yet: it writes the checkpoints, without what it has not loaded, and the marker.)
                if not _all_completed(closing) or log_dir in self._failed_to_load:
                    continue
                # 4. Write the recovery points, which are now the logs' ends, and the log starts.
                logs = logs_by_dir.get(log_dir, {})
                self.checkpoints.checkpoint_recovery_offsets_in_dir(log_dir, logs)
                self.checkpoints.checkpoint_log_start_offsets_in_dir(log_dir, logs)
                # 5. Write the marker, unless the load after an unclean stop never finished.
                if self._had_clean_shutdown.get(log_dir) or self._load_logs_completed.get(log_dir):
                    write_clean_shutdown_file(log_dir, broker_epoch)
        finally:
            for pool in pools:
                pool.shutdown()
            # 6. Logs that are put aside or wait for deletion stay as they are.
            for log in (*self.stray_logs.values(), *self.logs_to_be_deleted):
                log.close_handlers()
            # 7. Release the locks, whatever happened.
            self.log_dirs.destroy_locks()

    def let_go(self) -> None:
        """Release all files and locks and write nothing, as when the process is killed; a cleaning that is under way
        ends before that. Not in Kafka.
        """
        if self.cleaner is not None:
            self.cleaner.shutdown()
        for log in (*self.all_logs, *self.stray_logs.values(), *self.logs_to_be_deleted):
            log.close_handlers()
        self.log_dirs.let_go()

    # Which logs there are

    @property
    def live_log_dirs(self) -> list[Path]:
        """The log directories in use. Kafka: `LogManager.liveLogDirs`."""
        return self.log_dirs.live_log_dirs

    @property
    def all_logs(self) -> list[Log]:
        """The current logs, then the future ones. Kafka: `LogManager.allLogs`."""
        return [*self.current_logs.values(), *self.future_logs.values()]

    def get_log(self, topic_partition: TopicPartition, *, is_future: bool = False) -> Log | None:
        """The current (or the future) log of a partition, None if there is none. Kafka: `LogManager.getLog`."""
        return self._logs(is_future=is_future).get(topic_partition)

    def logs_by_topic(self, topic: str) -> list[Log]:
        """The current and future logs of a topic. Kafka: `LogManager.logsByTopic`."""
        return [log for log in self.all_logs if log.topic_partition.topic == topic]

    def _logs(self, *, is_future: bool) -> dict[TopicPartition, Log]:
        return self.future_logs if is_future else self.current_logs

    # Creating logs

    def maybe_update_preferred_log_dir(self, topic_partition: TopicPartition, log_dir: Path) -> None:
        """Remember in which log directory (absolute) the partition's next log is to be made.

        Does nothing if its current or future log is already there. Kafka: `LogManager.maybeUpdatePreferredLogDir`.
        """
        logs = self.get_log(topic_partition), self.get_log(topic_partition, is_future=True)
        if all(log is None or log.parent_dir != log_dir for log in logs):
            self._preferred_log_dirs[topic_partition] = log_dir

    def get_or_create_log(
        self,
        topic_partition: TopicPartition,
        *,
        is_new: bool = False,
        is_future: bool = False,
        topic_id: str | None = None,
        target_log_directory_id: str | None = None,
    ) -> Log:
        """The current (or future) log of a partition, made if there is none.

        - `is_new`: the partition cannot have been on this broker before. If it can, its log might be in a log directory
          that is offline, so KafkaStorageException is raised as long as there is one. Kafka calls all partitions new
          when a broker starts, and makes the log of one whose disk has just failed anew, empty, in another directory;
          here KafkaStorageException is raised for one that such a directory holds, by its topic id.
        - `topic_id`, 22 characters. Raises InconsistentTopicIdException when the log has another one.
        - `target_log_directory_id`: the log directory that the controller chose; a preferred one takes precedence.

        Raises KafkaStorageException when the log cannot be made in any of the log directories; IllegalStateException
        for a future log if no log directory is preferred, or the current log's is; LogDirNotFoundException; what
        `Log.create` raises. Kafka: `LogManager.getOrCreateLog`.
        """
        self.log_dirs.require_own_process()
        with self._log_creation_or_deletion_lock:
            # 1. Is there one already?
            log = self.get_log(topic_partition, is_future=is_future)
            if log is None:
                # 2. It might exist in a log directory that is offline.
                if not is_new and (offline := self.log_dirs.offline_log_dirs):
                    raise KafkaStorageException(
                        f"Can not create log for {topic_partition} because log directories "
                        f"{','.join(map(str, offline))} are offline"
                    )
                if topic_id is not None and (failed := self._failed_log_dir_with(topic_partition, topic_id)):
                    raise KafkaStorageException(f"The log of {topic_partition} is in {failed}, whose disk has failed")
                # 3. Make its directory, in the first log directory that allows it.
                log_dirs = self._log_dirs_for(topic_partition, target_log_directory_id, is_future=is_future)
                name = log_future_dir_name(topic_partition) if is_future else log_dir_name(topic_partition)
                directory = self.log_dirs.create_log_directory(log_dirs, name)
                # 4. Open the log, with its topic's present settings.
                config = self.configs.fetch_log_config(topic_partition.topic)
                log = self._load_log(directory, config=config, topic_id=topic_id)
                self._logs(is_future=is_future)[topic_partition] = log
                logger.info("Created log for partition %s in %s", topic_partition, directory)
                # 5. The preference has been met.
                self._preferred_log_dirs.pop(topic_partition, None)
            # 6. Is it the same topic?
            if topic_id is not None and log.topic_id is not None and topic_id != log.topic_id:
                raise InconsistentTopicIdException(
                    f"Tried to assign topic ID {topic_id} to log for topic partition {topic_partition},"
                    f"but log already contained topic ID {log.topic_id}"
                )
            return log

    def _failed_log_dir_with(self, topic_partition: TopicPartition, topic_id: str) -> Path | None:
        """The log directory that has failed and holds the partition of this topic, or may hold it. Not in Kafka."""
        for log_dir in self.log_dirs.log_dirs:
            if log_dir not in self.live_log_dirs or self.log_dir_failure_channel.has_offline_log_dir(log_dir):
                directory = log_dir / log_dir_name(topic_partition)
                try:
                    if directory.is_dir() and stored_topic_id(directory) == topic_id:
                        return log_dir
                except Exception:  # it cannot be read
                    return log_dir
        return None

    def _log_dirs_for(
        self, topic_partition: TopicPartition, target_log_directory_id: str | None, *, is_future: bool
    ) -> list[Path]:
        """The log directories in which the log may be made, the best first."""
        preferred = self._preferred_log_dirs.get(topic_partition)
        if preferred is None and target_log_directory_id not in (None, UNASSIGNED_DIR, LOST_DIR):
            preferred = self.log_dirs.directory_path(target_log_directory_id)
        if is_future:
            if preferred is None:
                raise IllegalStateException(
                    f"Can not create the future log for {topic_partition} without having a preferred log directory"
                )
            current_log = self.get_log(topic_partition)
            if current_log is None:
                raise NoSuchElementException("None.get")
            if current_log.parent_dir == preferred:
                raise IllegalStateException(
                    f"Can not create the future log for {topic_partition} in the current log directory of this "
                    "partition"
                )
        if preferred is not None:
            return [preferred]
        return self.log_dirs.next_log_dirs(Counter(log.parent_dir for log in self.all_logs))

    # Deleting logs

    def async_delete(
        self,
        topic_partition: TopicPartition,
        *,
        is_future: bool = False,
        checkpoint: bool = True,
        is_stray: bool = False,
    ) -> Log | None:
        """Take a log out of use: its directory is renamed now and deleted later, or put aside if it `is_stray`.

        Returns the log, None when there is none. `checkpoint`: write the checkpoints of its log directory without it.
        Raises KafkaStorageException when there is none and a log directory is offline, or the disk fails.
        Kafka: `LogManager.asyncDelete`.
        """
        self.log_dirs.require_own_process()
        # 1. Take it out of the map: nobody finds it any more.
        with self._log_creation_or_deletion_lock:
            log = self._logs(is_future=is_future).pop(topic_partition, None)
        if log is None:
            if offline := self.log_dirs.offline_log_dirs:
                raise KafkaStorageException(
                    f"Failed to delete log for {'future' if is_future else ''} {topic_partition} because it may be in "
                    f"one of the offline directories {','.join(map(str, offline))}"
                )
            return None
        # 2. The cleaner stops compacting it, and forgets it.
        if self.cleaner is not None and not is_future:
            self.cleaner.abort_cleaning(topic_partition)
            if checkpoint:
                self.cleaner.update_checkpoints(log.parent_dir, topic_partition)
        # 3. Rename its directory: the name tells the next start what to do with it.
        if is_stray:
            log.rename_dir(log_stray_dir_name(topic_partition), should_reinitialize=False)
            logger.warning("Log for partition %s is marked as stray and renamed to %s", topic_partition, log.dir)
        else:
            log.rename_dir(log_delete_dir_name(topic_partition), should_reinitialize=False)
            self.logs_to_be_deleted.add(log)
            logger.info("Log for partition %s is renamed to %s and is scheduled for deletion", topic_partition, log.dir)
        # 4. Write the checkpoints without it.
        if checkpoint:
            self._checkpoint_dir(log.parent_dir)
        return log

    def async_delete_all(
        self,
        topic_partitions: Iterable[TopicPartition],
        error_handler: Callable[[TopicPartition, Exception], None],
        *,
        is_stray: bool,
    ) -> None:
        """`async_delete` for the current and future logs of many partitions; checkpoints are written once, at the end.

        An exception that a partition raises goes to `error_handler`. Kafka: `LogManager.asyncDelete` (of many).
        """
        self.log_dirs.require_own_process()
        log_dirs: dict[Path, None] = {}
        for topic_partition in topic_partitions:
            try:
                for is_future in (False, True):
                    if log := self.get_log(topic_partition, is_future=is_future):
                        log_dirs[log.parent_dir] = None
                        self.async_delete(topic_partition, is_future=is_future, checkpoint=False, is_stray=is_stray)
            except Exception as error:
                error_handler(topic_partition, error)
        for log_dir in log_dirs:
            if self.cleaner is not None:
                self.cleaner.update_checkpoints(log_dir, None)
            self._checkpoint_dir(log_dir)

    # Moving logs between log directories

    def replace_current_with_future_log(self, topic_partition: TopicPartition) -> None:
        """Put the future log, which has caught up, in the place of the current one, which is deleted later.

        The cleaner must have been paused for the partition when the future log was made (`abort_and_pause_cleaning`);
        here it is resumed. Raises KafkaStorageException when one of the two is missing or the disk fails,
        IllegalStateException when the cleaner was not paused. Kafka: `LogManager.replaceCurrentWithFutureLog`.
        """
        with self._log_creation_or_deletion_lock:
            source_log = self.get_log(topic_partition)
            dest_log = self.get_log(topic_partition, is_future=True)
            if source_log is None:
                raise KafkaStorageException(f"The current replica for {topic_partition} is offline")
            if dest_log is None:
                raise KafkaStorageException(f"The future replica for {topic_partition} is offline")
            self._replace_with_future_log(source_log, dest_log, update_high_watermark=True)

    def recover_abandoned_future_logs(self, directory_id_of: Callable[[str, int], str | None]) -> None:
        """Complete the moves that a stop interrupted: a future log becomes the current one where the controller has it.

        `directory_id_of(topic_id, partition)` is the id of the log directory in which the cluster's metadata places
        this broker's replica, None if there is none. Raises RuntimeException for a future log without a topic id,
        KafkaStorageException. Kafka: `LogManager.recoverAbandonedFutureLogs`.
        """
        for future_log in list(self.future_logs.values()):
            if future_log.topic_id is None:
                raise RuntimeException(
                    f"The log dir {future_log} does not have a topic ID, which is not allowed when running in KRaft "
                    "mode."
                )
            directory_id = directory_id_of(future_log.topic_id, future_log.topic_partition.partition)
            if directory_id is None or self.log_dirs.directory_id(future_log.parent_dir) != directory_id:
                continue
            current_log = self.get_log(future_log.topic_partition)
            if current_log is not None and current_log.topic_id != future_log.topic_id:
                current_log = None
            self.abort_and_pause_cleaning(future_log.topic_partition)
            self._replace_with_future_log(current_log, future_log)

    def _replace_with_future_log(
        self, source_log: Log | None, dest_log: Log, *, update_high_watermark: bool = False
    ) -> None:
        topic_partition = dest_log.topic_partition
        # 1. The future log's directory gets the plain name. A crash before the next rename leaves two such directories.
        dest_log.rename_dir(log_dir_name(topic_partition), should_reinitialize=True)
        if update_high_watermark and source_log is not None:
            dest_log.update_high_watermark(source_log.high_watermark)
        # 2. It is now the current log.
        self.future_logs.pop(topic_partition, None)
        self.current_logs[topic_partition] = dest_log
        if self.cleaner is not None:
            if source_log is not None:
                self.cleaner.alter_checkpoint_dir(topic_partition, source_log.parent_dir, dest_log.parent_dir)
            self.resume_cleaning(topic_partition)
        if source_log is None:
            return
        try:
            # 3. The old one waits for its deletion. It stays open, so that its readers may go on.
            source_log.rename_dir(log_delete_dir_name(topic_partition), should_reinitialize=True)
            self._checkpoint_dir(source_log.parent_dir)
            self.logs_to_be_deleted.add(source_log)
        except KafkaStorageException:
            source_log.close_handlers()  # it is in none of the maps any more, so nobody else would
            raise

    # Truncating

    def truncate_to(self, partition_offsets: Mapping[TopicPartition, int], *, is_future: bool = False) -> None:
        """Cut current (or future) logs to these offsets (exclusive), and write the recovery points where one was cut.

        Partitions without a log are skipped. Raises what `Log.truncate_to` raises. Kafka: `LogManager.truncateTo`.
        """
        affected_dirs: dict[Path, None] = {}
        for topic_partition, offset in partition_offsets.items():
            log = self.get_log(topic_partition, is_future=is_future)
            if log is None:
                continue
            # The cleaner never touches the active segment, so it matters only if the cut reaches below that.
            concerns_cleaner = offset < log.active_segment.base_offset and not is_future
            with self._cleaning_paused(log) if concerns_cleaner else nullcontext():
                if log.truncate_to(offset):
                    affected_dirs[log.parent_dir] = None
        for log_dir in affected_dirs:
            self.checkpoints.checkpoint_recovery_offsets_in_dir(log_dir, self._logs_in_dir(log_dir))

    def truncate_fully_and_start_at(
        self,
        topic_partition: TopicPartition,
        new_offset: int,
        log_start_offset: int | None = None,
        *,
        is_future: bool = False,
    ) -> None:
        """Empty a log and let it begin at `new_offset`; its log start is `log_start_offset` if given.

        A partition without a log is skipped. Raises KafkaStorageException.
        Kafka: `LogManager.truncateFullyAndStartAt`.
        """
        log = self.get_log(topic_partition, is_future=is_future)
        if log is None:
            return
        with self._cleaning_paused(log) if not is_future else nullcontext():
            log.truncate_fully_and_start_at(new_offset, log_start_offset)
        log_dir = log.parent_dir
        self.checkpoints.checkpoint_recovery_offsets_in_dir(log_dir, self._logs_in_dir(log_dir))

    # Keeping the cleaner away

    def abort_and_pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """End a cleaning of the partition early, wait until it has ended, and allow no other until `resume_cleaning`.

        Kafka: `LogManager.abortAndPauseCleaning`.
        """
        if self.cleaner is not None:
            self.cleaner.abort_and_pause_cleaning(topic_partition)

    def resume_cleaning(self, topic_partition: TopicPartition) -> None:
        """Undo one `abort_and_pause_cleaning`. Raises IllegalStateException if there was none.

        Kafka: `LogManager.resumeCleaning`.
        """
        if self.cleaner is not None:
            self.cleaner.resume_cleaning([topic_partition])

    @contextmanager
    def _cleaning_paused(self, log: Log) -> Iterator[None]:
        """Keep the cleaner away while the log is truncated; after that, no cleaning begins above the last segment."""
        self.abort_and_pause_cleaning(log.topic_partition)
        try:
            yield
            if self.cleaner is not None:
                self.cleaner.maybe_truncate_checkpoint(
                    log.parent_dir, log.topic_partition, log.active_segment.base_offset
                )
        finally:
            self.resume_cleaning(log.topic_partition)

    # Settings and failures

    def update_topic_config(self, topic: str, new_topic_config: Mapping[str, object]) -> None:
        """Give the logs of a topic these settings, on top of the broker's present ones.

        Raises ConfigException, also when they ask for remote storage. Kafka: `LogManager.updateTopicConfig`.
        """
        self.configs.topic_config_updated(topic)
        new_config = self.configs.with_overrides(new_topic_config)
        if new_config.values["remote.storage.enable"]:
            raise ConfigException(
                "You have to delete all topics with the property remote.storage.enable=true before disabling tiered "
                "storage cluster-wide"
            )
        for log in self.logs_by_topic(topic):
            old_config = log.update_config(new_config)
            if self.cleaner is not None and old_config.compact and not new_config.compact:
                self.cleaner.abort_cleaning(log.topic_partition)

    def update_default_config(self, new_default_config: LogConfig) -> None:
        """Give all logs these defaults; each keeps its topic's own settings.

        Kafka: `DynamicLogConfig.reconfigure`, `LogManager.reconfigureDefaultLogConfig`.
        """
        self.configs.current_default_config = new_default_config
        self.configs.broker_config_updated()
        for log in self.all_logs:
            overrides = {name: log.config.props[name] for name in log.config.overridden_configs}
            log.update_config(LogConfig.from_props(new_default_config.props, overrides))

    def handle_log_dir_failure(self, log_dir: Path) -> None:
        """Stop using a log directory (absolute) whose disk has failed, and its logs; write nothing there any more.

        Logs that wait for their deletion stay in the queue. Raises FatalExitError when no log directory is left.
        Kafka: `LogManager.handleLogDirFailure`.
        """
        logger.warning("Stopping serving logs in dir %s", log_dir)
        with self._log_creation_or_deletion_lock:
            # 1. Write nothing there any more.
            self.log_dirs.handle_failure(log_dir)
            self.checkpoints.handle_failure(log_dir)
            if self.cleaner is not None:
                self.cleaner.handle_log_dir_failure(log_dir)
            # 2. Forget its logs.
            for logs in (self.current_logs, self.future_logs):
                for topic_partition, log in list(logs.items()):
                    if log.parent_dir == log_dir:
                        del logs[topic_partition]
                        log.close_handlers()
            # 3. Release its lock.
            self.log_dirs.destroy_lock(log_dir)

    def read_broker_epoch_from_clean_shutdown_files(self) -> int | None:
        """The broker epoch that the markers of all log directories agree on; None if they do not, or one is missing.

        To be called before `startup`, which removes the markers.
        Kafka: `LogManager.readBrokerEpochFromCleanShutdownFiles`.
        """
        if self.log_dirs.offline_log_dirs:
            return None
        broker_epoch = UNKNOWN_BROKER_EPOCH
        for log_dir in self.live_log_dirs:
            epoch_of_dir = CleanShutdownFileHandler(log_dir).read()
            if epoch_of_dir is None or broker_epoch not in (UNKNOWN_BROKER_EPOCH, epoch_of_dir):
                return None
            broker_epoch = epoch_of_dir
        return broker_epoch

    # Checkpoints

    def checkpoint_log_recovery_offsets(self) -> None:
        """Write the recovery points of all logs. Kafka: `LogManager.checkpointLogRecoveryOffsets`."""
        self.log_dirs.require_own_process()
        logs_by_dir = self._logs_by_dir()
        for log_dir in self.live_log_dirs:
            self.checkpoints.checkpoint_recovery_offsets_in_dir(log_dir, logs_by_dir.get(log_dir, {}))

    def checkpoint_log_start_offsets(self) -> None:
        """Write the starts of all logs. Kafka: `LogManager.checkpointLogStartOffsets`."""
        self.log_dirs.require_own_process()
        logs_by_dir = self._logs_by_dir()
        for log_dir in self.live_log_dirs:
            self.checkpoints.checkpoint_log_start_offsets_in_dir(log_dir, logs_by_dir.get(log_dir, {}))

    def _checkpoint_dir(self, log_dir: Path) -> None:
        """Write both checkpoints of a log directory."""
        self.log_dirs.require_own_process()
        logs = self._logs_in_dir(log_dir)
        self.checkpoints.checkpoint_recovery_offsets_in_dir(log_dir, logs)
        self.checkpoints.checkpoint_log_start_offsets_in_dir(log_dir, logs)

    def _logs_by_dir(self) -> dict[Path, dict[TopicPartition, Log]]:
        """Kafka: `LogManager.logsByDir`."""
        by_dir: dict[Path, dict[TopicPartition, Log]] = {}
        for log in self.all_logs:
            by_dir.setdefault(log.parent_dir, {})[log.topic_partition] = log
        return by_dir

    def _logs_in_dir(self, log_dir: Path) -> dict[TopicPartition, Log]:
        """Kafka: `LogManager.logsInDir`."""
        return self._logs_by_dir().get(log_dir, {})

    # Tasks

    def _cleanup_logs(self) -> None:
        """Apply retention to every log that is not compacted, and to its future log.

        Compacted logs are left to the cleaner. An error ends the round. Kafka: `LogManager.cleanupLogs`.
        """
        if self.cleaner is None:
            logs = list(self.current_logs.items())
            deletable_logs = {partition: log for partition, log in logs if not log.config.compact}
        else:
            deletable_logs = self.cleaner.pause_cleaning_for_non_compacted_partitions()
        try:
            for topic_partition, log in deletable_logs.items():
                log.delete_old_segments()
                future_log = self.get_log(topic_partition, is_future=True)
                if future_log is not None:
                    future_log.delete_old_segments()
        finally:
            if self.cleaner is not None:
                self.cleaner.resume_cleaning(deletable_logs)

    def _flush_dirty_logs(self) -> None:
        """Flush each log that has not been flushed for `flush.ms`. Kafka: `LogManager.flushDirtyLogs`."""
        for log in self.all_logs:
            try:
                if self.time.milliseconds() - log.last_flush_time >= log.config.flush_ms:
                    log.flush(force_flush_active_segment=False)
            except Exception:
                logger.exception("Error flushing %s", log.topic_partition)


def _duplicate(log: Log, previous: Log) -> str:
    if log.is_future:
        return f"Duplicate log directories found: {log.dir}, {previous.dir}"
    return (
        f"Duplicate log directories for {log.topic_partition} are found in both {log.dir} and {previous.dir}. "
        "The broker may have stopped while it put the future log in the place of the current one: one of the two, best "
        "that of the disk that has failed, must be removed by hand."
    )


def _flush_and_close(log: Log) -> None:
    try:
        log.flush(force_flush_active_segment=True)  # to the very end, so that the recovery point is the end of the log
        log.close()
    except BaseException:
        log.close_handlers()
        raise


def _all_completed(jobs: list[Callable[[], None]]) -> bool:
    """Wait for all jobs; True when none failed. Kafka: `storage.internals.log.LogManager.waitForAllToComplete`."""
    failed = []
    for job in jobs:
        try:
            job()
        except Exception as error:
            logger.warning("There was an error during LogManager shutdown: %s", error)
            failed.append(error)
    return not failed


def write_clean_shutdown_file(log_dir: Path, broker_epoch: int) -> None:
    try:
        CleanShutdownFileHandler(log_dir).write(broker_epoch)
    except OSError as error:
        logger.warning("Could not write the clean shutdown marker in %s: %s", log_dir, error)
