"""The lock that a broker holds on its log directory, taken by whoever works on a partition there without a broker."""

import os
from pathlib import Path

from minikafka.common.errors import KafkaException
from minikafka.common.file_lock import FileLock
from minikafka.log.partition_files import require_regular

LOCK_FILE_NAME = ".lock"


class LogDirLock:
    """The lock on the file `.lock` of a log directory. Only one on which a broker runs, or was killed, has such a file;
    elsewhere there is nothing to hold.

    A `shared` lock keeps brokers out, and may be held by several at a time, also where nothing can be written.

    Kafka: none. `LogManager.lockLogDirs` makes the file and holds its lock, `LogManager.shutdown` deletes it.
    """

    def __init__(self, log_dir: Path, *, shared: bool):
        """Take the lock. Raises KafkaException when somebody else holds it, OSError, also for what is no file."""
        lock_file = log_dir / LOCK_FILE_NAME
        self._lock: FileLock | None = None
        if not os.path.lexists(lock_file):
            return
        require_regular(lock_file, follow_links=True)
        lock = FileLock(lock_file, shared=shared)
        try:
            is_ours = lock.try_lock()
        except BaseException:
            lock.unlock_and_close()
            raise
        if not is_ours:
            lock.unlock_and_close()
            raise KafkaException(f"{lock_file} is held: a broker is running on this log directory, or another recover")
        self._lock = lock

    def release(self) -> None:
        """Release the lock; releasing it again does nothing."""
        if self._lock is not None:
            self._lock.unlock_and_close()

    def __enter__(self) -> "LogDirLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
