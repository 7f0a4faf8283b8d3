"""A lock that keeps a partition's directory for one log."""

import errno
import gc
import os
from pathlib import Path

from minikafka.common.at_hand import LOCK_EX, LOCK_NB, flock
from minikafka.common.errors import KafkaStorageException


class DirectoryLock:
    """The lock on a partition's directory, held by an open log or by a tool that reads or changes the directory.

    Two logs on one directory would overwrite each other's batches without any sign. The system keeps the lock (`flock`
    on the directory itself): it works within this process and against others, follows the directory when that is
    renamed, leaves no file behind and ends with the process. A lock that was not released ends when neither its log nor
    the scheduler with the log's tasks can be reached any more.

    Where there are no such locks (some network file systems, a browser's tab) nothing is guarded.

    Kafka: none. `LogManager` has one log for each partition in its map, and its lock on the file `.lock` in the log
    directory keeps other processes out.
    """

    def __init__(self, directory: Path):
        """Take the lock. Raises KafkaStorageException when it is taken, OSError when there is no such directory."""
        self._fd = -1
        self._fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if not self._acquired():
            gc.collect()  # a log that cannot be reached any more may not have been freed yet
            if not self._acquired():
                self.release()
                raise KafkaStorageException(
                    f"Failed to acquire the lock on directory {directory}. It is in use: by a log of this process that"
                    " is still open, or by another process."
                )

    def release(self) -> None:
        """Release the lock; releasing it again does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> "DirectoryLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        self.release()

    def _acquired(self) -> bool:
        try:
            flock(self._fd, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in (errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EINVAL):
                raise
        return True
