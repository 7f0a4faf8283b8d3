"""One of the threads that clean logs, turn by turn."""

import logging
import threading
from typing import cast

from minikafka.common.errors import (
    KafkaStorageException,
    LogCleaningAbortedException,
    LogCleaningException,
    ThreadShutdownException,
)
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.throttler import Throttler
from minikafka.common.time import Time
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaner import Cleaner
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.cleaner.cleaner_stats import CleanerStats
from minikafka.log.cleaner.log_cleaner_manager import LogCleanerManager
from minikafka.log.cleaner.log_to_clean import LogToClean
from minikafka.log.cleaner.pre_clean_stats import PreCleanStats
from minikafka.log.cleaner.skimpy_offset_map import SkimpyOffsetMap
from minikafka.log.log import Log

logger = logging.getLogger(__name__)

_MB = 1024 * 1024


class CleanerThread:
    """Takes turns: chooses the dirtiest log, cleans it, and lets all compacted logs delete what they no longer need.

    - `do_work` is one turn. Kafka's thread takes one turn after another; here the owner calls it, so that a turn can
      also be taken by hand. Turns of one thread never overlap.
    - `last_stats` belongs to the last cleaning that was completed, `last_pre_clean_stats` to the choice that preceded
      the last cleaning that was begun.

    Kafka: `LogCleaner.CleanerThread`.
    """

    def __init__(
        self,
        thread_id: int,
        config: CleanerConfig,
        cleaner_manager: LogCleanerManager,
        *,
        throttler: Throttler,
        log_dir_failure_channel: LogDirFailureChannel,
        time: Time,
    ):
        self.name = f"kafka-log-cleaner-thread-{thread_id}"
        self.last_stats = CleanerStats()
        self.last_pre_clean_stats = PreCleanStats()
        self._cleaner_manager = cleaner_manager
        self._log_dir_failure_channel = log_dir_failure_channel
        self._time = time
        self._backoff_ms = config.backoff_ms
        self._is_running = True
        self._disk_failed = False
        self._turn = threading.RLock()
        memory = config.dedupe_buffer_size // config.num_threads
        if memory > INT_MAX:
            logger.warning("Cannot use more than 2G of cleaner buffer space per cleaner thread, ignoring excess")
        self.cleaner = Cleaner(
            thread_id,
            SkimpyOffsetMap(min(memory, INT_MAX)),
            io_buffer_size=config.io_buffer_size // config.num_threads // 2,
            max_io_buffer_size=config.max_message_size,
            dup_buffer_load_factor=config.dedupe_buffer_load_factor,
            throttler=throttler,
            time=time,
            check_done=self._check_done,
        )

    @property
    def is_running(self) -> bool:
        """False once `shutdown` was called. Kafka: `ShutdownableThread.isRunning`."""
        return self._is_running

    def shutdown(self) -> None:
        """Take no more turns; cut short one that is under way, and wait for it.

        Kafka: `ShutdownableThread.shutdown`.
        """
        self._is_running = False
        with self._turn:
            pass

    def do_work(self) -> int:
        """Take one turn; returns how many ms to wait before the next one, 0 if a log was cleaned.

        After a failure of the disk, Kafka's thread tries again at once until the log is taken away; this one waits,
        since a manual clock would never move on. Raises ThreadShutdownException when `shutdown` is called meanwhile.
        Kafka: `CleanerThread.doWork`.
        """
        with self._turn:
            # Kafka does this at the end of a turn, after the wait, which amounts to the same.
            self._cleaner_manager.maintain_uncleanable_partitions()
            self._disk_failed = False
            return 0 if self._try_clean_filthiest_log() and not self._disk_failed else self._backoff_ms

    def _try_clean_filthiest_log(self) -> bool:
        try:
            return self.clean_filthiest_log()
        except LogCleaningException as error:
            log = cast(Log, error.log)
            logger.warning(
                "Unexpected exception thrown when cleaning log %s. Marking its partition (%s) as uncleanable",
                log, log.topic_partition, exc_info=error,
            )  # fmt: skip
            self._cleaner_manager.mark_partition_uncleanable(log.parent_dir, log.topic_partition)
            return False

    def clean_filthiest_log(self) -> bool:
        """Clean the dirtiest log if it is dirty enough, then delete old segments; returns whether a log was cleaned.

        Raises LogCleaningException, which names the log that failed. Kafka: `CleanerThread.cleanFilthiestLog`.
        """
        # 1. Choose.
        pre_clean_stats = PreCleanStats()
        cleanable = self._cleaner_manager.grab_filthiest_compacted_log(self._time, pre_clean_stats)
        if cleanable is not None:
            # 2. Clean.
            self.last_pre_clean_stats = pre_clean_stats
            try:
                self._clean_log(cleanable)
            except ThreadShutdownException:
                raise
            except Exception as error:
                raise LogCleaningException(cleanable.log, str(error)) from error

        # 3. Delete what retention allows, and what lies below the log start.
        deletable = self._cleaner_manager.deletable_logs()
        try:
            for log in deletable.values():
                try:
                    log.delete_old_segments()
                except ThreadShutdownException:
                    raise
                except Exception as error:
                    raise LogCleaningException(log, str(error)) from error
        finally:
            self._cleaner_manager.done_deleting(deletable)
        return cleanable is not None

    def _clean_log(self, cleanable: LogToClean) -> None:
        """Clean a log, and note up to where it is clean now: no further than before if the cleaning was not completed.

        Kafka: `CleanerThread.cleanLog`.
        """
        log = cleanable.log
        end_offset = cleanable.first_dirty_offset
        try:
            end_offset, stats = self.cleaner.clean(cleanable)
            self._record_stats(log.name, cleanable.first_dirty_offset, end_offset, stats)
        except LogCleaningAbortedException:
            pass  # somebody asked for it
        except KafkaStorageException:
            self._disk_failed = True  # it has been reported already
        except OSError as error:
            self._disk_failed = True
            message = (
                f"Failed to clean up log for {cleanable.topic_partition} in dir {log.parent_dir} due to IOException"
            )
            self._log_dir_failure_channel.maybe_add_offline_log_dir(log.parent_dir, message, error)
        finally:
            self._cleaner_manager.done_cleaning(cleanable.topic_partition, log.parent_dir, end_offset)

    def _check_done(self, topic_partition: TopicPartition) -> None:
        """Raises an exception when the cleaning of the partition must end. Kafka: `CleanerThread.checkDone`."""
        if not self._is_running:
            raise ThreadShutdownException(f"{self.name} is shutting down")
        self._cleaner_manager.check_cleaning_aborted(topic_partition)

    def _record_stats(self, name: str, start: int, end: int, stats: CleanerStats) -> None:
        """Kafka: `CleanerThread.recordStats`."""
        self.last_stats = stats
        logger.info(
            "%s cleaned log %s (dirty section = [%d, %d]) in %.1f seconds, %.1f of them for the offset map, which is"
            " %.1f%% full: of %.1f MB (%d messages) there remain %.1f MB (%d messages)",
            self.name, name, start, end, stats.elapsed_secs, stats.elapsed_index_secs,
            100 * stats.buffer_utilization, stats.bytes_read / _MB, stats.messages_read,
            stats.bytes_written / _MB, stats.messages_written,
        )  # fmt: skip
        if stats.invalid_messages_read > 0:
            logger.warning("Found %d messages without a key in log %s", stats.invalid_messages_read, name)
