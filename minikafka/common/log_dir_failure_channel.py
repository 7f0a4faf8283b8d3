"""Where a log reports that its disk failed."""

import logging
import queue
import threading
from collections.abc import Callable
from pathlib import Path

from minikafka.common.errors import KafkaStorageException

logger = logging.getLogger(__name__)


class LogDirFailureChannel:
    """Log directories that went offline, each reported once. Kafka: `LogDirFailureChannel`."""

    def __init__(self, log_dir_num: int):
        """`log_dir_num`: how many log directories there are, and so how many can go offline."""
        self._lock = threading.Lock()
        self._offline_log_dirs: set[Path] = set()
        self._offline_log_dir_queue: queue.Queue[Path] = queue.Queue(log_dir_num)
        self._listener: Callable[[], object] = lambda: None

    def has_offline_log_dir(self, log_dir: Path) -> bool:
        """True when `log_dir` was reported. Kafka: `LogDirFailureChannel.hasOfflineLogDir`."""
        # Each append asks. As long as no directory is offline, no path is hashed, which takes as long as the rest.
        return bool(self._offline_log_dirs) and log_dir in self._offline_log_dirs

    def maybe_add_offline_log_dir(self, log_dir: Path, message: str, error: BaseException) -> None:
        """Report `log_dir` unless it is known. Kafka: `LogDirFailureChannel.maybeAddOfflineLogDir`."""
        logger.error("%s: %s", message, error)
        with self._lock:
            if log_dir in self._offline_log_dirs:
                return
            self._offline_log_dirs.add(log_dir)
            self._offline_log_dir_queue.put_nowait(log_dir)
        self._listener()

    def call_for_each_offline_log_dir(self, listener: Callable[[], object]) -> None:
        """Call `listener()` once for each directory that goes offline, and now for those that nobody has taken yet.

        It is called in the thread, and under the locks, of whoever met the failure. Not in Kafka, where a thread waits
        in `take_next_offline_log_dir`.
        """
        with self._lock:
            self._listener = listener
            reported = self._offline_log_dir_queue.qsize()
        for _ in range(reported):
            listener()

    def take_next_offline_log_dir(self) -> Path:
        """Wait for the next directory that goes offline. Kafka: `LogDirFailureChannel.takeNextOfflineLogDir`."""
        return self._offline_log_dir_queue.get()


def log_dir_failed(
    channel: LogDirFailureChannel | None, log_dir: Path, message: str, error: OSError
) -> KafkaStorageException:
    """The exception to raise for a failing file in `log_dir`, which is reported to the channel, if there is one."""
    if channel is not None:
        channel.maybe_add_offline_log_dir(log_dir, message, error)
    return KafkaStorageException(message)
