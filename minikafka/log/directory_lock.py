"""One log on one directory."""

import errno
import fcntl
import gc
import os
from pathlib import Path

from minikafka.common.errors import KafkaStorageException


class DirectoryLock:
    """A partition's directory, held by the log that is open on it, or by a tool that looks at it or changes it.

    Two logs on one directory would write over each other's batches and tell nobody. The system keeps the lock (`flock`
    on the directory itself), so that it holds against this process and others, follows the directory when that is
    renamed, leaves no file behind and ends with the process. One that is not released ends when nobody holds its log
    any more, nor the scheduler that has the log's tasks.

    File systems without such locks (some on a network) go unguarded.

    Kafka: `LogManager` has one log for each partition in its map, and keeps other processes out by the lock on `.lock`
    in the log directory.
    """

    def __init__(self, directory: Path):
        """Take the lock. Raises KafkaStorageException when it is held, OSError when there is no such directory."""
        self._fd = -1
        self._fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if not self._acquired():
            gc.collect()  # a log that nobody can reach any more may not have been cleared away yet
            if not self._acquired():
                self.release()
                raise KafkaStorageException(
                    f"Failed to acquire the lock on directory {directory}. It is in use: by a log of this process that"
                    " is still open, or by another process."
                )

    def release(self) -> None:
        """Let others have the directory; a second time does nothing."""
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
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in (errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EINVAL):
                raise
        return True
