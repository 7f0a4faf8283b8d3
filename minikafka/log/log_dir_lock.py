"""The lock that a broker holds on its log directory, taken by whoever works on a partition there without a broker."""

import os
from contextlib import suppress
from pathlib import Path

from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME
from minikafka.common.errors import KafkaException
from minikafka.common.file_lock import FileLock
from minikafka.log.partition_files import require_regular

LOCK_FILE_NAME = ".lock"


class LogDirLock:
    """The lock on the file `.lock` of a log directory, which a broker makes when it starts and deletes when it stops.

    A `shared` lock keeps brokers out, and may be held by several at a time, also where nothing can be written. Where
    the file is missing, no broker is running. Who `changes` a partition makes it, so that none can start meanwhile, if
    `meta.properties` tells that the directory is a broker's. Elsewhere, and for who only reads, there is nothing to
    hold.

    Kafka: none. `LogManager.lockLogDirs` makes the file and holds its lock, `LogManager.shutdown` deletes it.
    """

    def __init__(self, log_dir: Path, *, shared: bool, changes: bool):
        """Take the lock. Raises KafkaException when somebody else holds it, OSError, also for what is no file."""
        lock_file = log_dir / LOCK_FILE_NAME
        self._lock: FileLock | None = None
        self._is_made = False
        self._times_ns = self._changed_ns = 0, 0  # of the directory: before the file was made, and after that
        if not os.path.lexists(lock_file):
            if not changes or not os.path.lexists(log_dir / META_PROPERTIES_NAME):
                return
            self._times_ns = _times_ns(log_dir)
            FileLock(lock_file).unlock_and_close()
            self._is_made, self._changed_ns = True, _times_ns(log_dir)
        require_regular(lock_file, follow_links=True)
        self._lock = FileLock.taken(lock_file, shared=shared)
        if self._lock is None:
            raise KafkaException(f"{lock_file} is held: a broker is running on this log directory, or another recover")

    def release(self) -> None:
        """Release the lock, and delete the file if this lock has made it and nobody else holds it; releasing it again
        does nothing. Where nothing else has changed the directory, it gets back its time: who is refused leaves no
        trace.
        """
        lock, self._lock = self._lock, None
        if lock is None:
            return
        lock.unlock_and_close()
        if self._is_made:
            with suppress(OSError):
                if (last := FileLock.taken(lock.file)) is not None:
                    log_dir = lock.file.parent
                    is_changed = _times_ns(log_dir)[1] != self._changed_ns[1]
                    last.destroy()
                    if not is_changed:
                        os.utime(log_dir, ns=self._times_ns)

    def __enter__(self) -> "LogDirLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _times_ns(directory: Path) -> tuple[int, int]:
    """When the directory was read and changed last."""
    status = directory.stat()
    return status.st_atime_ns, status.st_mtime_ns
