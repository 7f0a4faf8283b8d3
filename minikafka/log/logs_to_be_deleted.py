"""Logs whose directories have been renamed, waiting to be deleted."""

import logging
from collections import deque
from collections.abc import Callable, Iterator

from minikafka.common.errors import KafkaStorageException
from minikafka.common.scheduler import Scheduler
from minikafka.common.time import Time
from minikafka.log.log import Log

logger = logging.getLogger(__name__)

DELETE_LOGS_TASK = "kafka-delete-logs"


class LogsToBeDeleted:
    """A queue of logs, each deleted `file.delete.delay.ms` after it was added: readers may still be at it.

    The delay is that of the broker's settings at the moment when the queue is looked at. What has not been deleted when
    the broker stops is found again at its next start, by its directory's name, and waits for the whole delay again.

    Kafka: `LogManager`, its field `logsToBeDeleted` and the task `kafka-delete-logs`.
    """

    def __init__(self, scheduler: Scheduler, time: Time, file_delete_delay_ms: Callable[[], int]):
        self._scheduler = scheduler
        self._time = time
        self._file_delete_delay_ms = file_delete_delay_ms
        self._queue: deque[tuple[Log, int]] = deque()

    def add(self, log: Log) -> None:
        """Let the log wait from now on. Kafka: `LogManager.addLogToBeDeleted`."""
        self._queue.append((log, self._time.milliseconds()))

    def __iter__(self) -> Iterator[Log]:
        return (log for log, _ in self._queue)

    def start(self, delay_ms: int) -> None:
        """Look for logs to delete in `delay_ms`, then again and again."""
        self._scheduler.schedule_once(DELETE_LOGS_TASK, self.delete_logs, delay_ms)

    def delete_logs(self) -> None:
        """Delete all logs whose time has come, and be called again when the next one's has.

        A log that cannot be deleted is told of, and dropped from the queue. Kafka: `LogManager.deleteLogs`.
        """
        next_delay_ms = 0
        try:
            file_delete_delay_ms = self._file_delete_delay_ms()
            while (next_delay_ms := self._next_delay_ms(file_delete_delay_ms)) <= 0:
                log, _ = self._queue.popleft()
                try:
                    log.delete()
                    logger.info("Deleted log for partition %s in %s.", log.topic_partition, log.dir)
                except KafkaStorageException as error:
                    logger.error("Exception while deleting %s in dir %s: %s", log, log.parent_dir, error)
        except Exception:
            logger.exception("Exception in %s.", DELETE_LOGS_TASK)
        finally:
            self.start(next_delay_ms)

    def _next_delay_ms(self, file_delete_delay_ms: int) -> int:
        if self._queue:
            _, since_ms = self._queue[0]
            return since_ms + file_delete_delay_ms - self._time.milliseconds()
        return max(file_delete_delay_ms, 1)
