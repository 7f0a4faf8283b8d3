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
    """A queue of logs, each deleted `file.delete.delay.ms` after it was added, because it may still have readers.

    The delay is the broker's setting at the moment when the queue is examined. A log that has not been deleted when the
    broker stops is found by its directory's name at the next start, and waits for the whole delay again.

    Kafka: `LogManager`, its field `logsToBeDeleted` and the task `kafka-delete-logs`.
    """

    def __init__(self, scheduler: Scheduler, time: Time, file_delete_delay_ms: Callable[[], int]):
        self._scheduler = scheduler
        self._time = time
        self._file_delete_delay_ms = file_delete_delay_ms
        self._queue: deque[tuple[Log, int]] = deque()

    def add(self, log: Log) -> None:
        """Add a log, whose delay begins now. Kafka: `LogManager.addLogToBeDeleted`."""
        self._queue.append((log, self._time.milliseconds()))

    def __iter__(self) -> Iterator[Log]:
        return (log for log, _ in self._queue)

    def start(self, delay_ms: int) -> None:
        """Run `delete_logs` in `delay_ms`, and from then on whenever the next log is due."""
        self._scheduler.schedule_once(DELETE_LOGS_TASK, self.delete_logs, delay_ms)

    def delete_logs(self) -> None:
        """Delete all logs that are due, and schedule the next run for when the next one is.

        A log that cannot be deleted is reported and leaves the queue. Kafka: `LogManager.deleteLogs`.
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
