"""A file whose lock says that somebody uses the directory in which it lies."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.errors import ClosedChannelException

_held_by_this_process: set[tuple[int, int]] = set()
"""Device and inode of each file that a `FileLock` of this process holds."""


class FileLock:
    """The lock on a file, made if it is missing: against other processes by the system, within this one by a list.

    The system's lock (`fcntl`) is the one that Java takes, so a broker and minikafka keep each other out. It belongs to
    the process, whose own second attempt would succeed and whose closing of any descriptor of the file would give it
    up. Therefore this process notes what it holds, and never opens the file a second time.

    Kafka: `FileLock`.
    """

    def __init__(self, file: Path):
        """Make the file if it is missing; nothing is locked yet. Raises OSError."""
        self.file = file
        self._fd = -1
        self._locked = False
        if not _is_held_by_this_process(file):
            self._fd = file_ops.open_file(file)

    def try_lock(self) -> bool:
        """Take the lock; False when another process, or another `FileLock` of this one, has it. Raises OSError.

        Kafka: `FileLock.tryLock`.
        """
        if self._fd < 0 or _identity(os.fstat(self._fd)) in _held_by_this_process:
            return False
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        _held_by_this_process.add(_identity(os.fstat(self._fd)))
        self._locked = True
        return True

    def unlock(self) -> None:
        """Give the lock up, if it was taken; the file stays open.

        Raises ClosedChannelException after `destroy`. Kafka: `FileLock.unlock`.
        """
        if not self._locked:
            return
        if self._fd < 0:
            raise ClosedChannelException()
        fcntl.lockf(self._fd, fcntl.LOCK_UN)
        _held_by_this_process.discard(_identity(os.fstat(self._fd)))

    def destroy(self) -> None:
        """Give the lock up and delete the file, if that is possible.

        Raises ClosedChannelException when the lock was destroyed before. Kafka: `FileLock.destroy`.
        """
        self.unlock()
        with suppress(OSError):
            file_ops.delete_if_exists(self.file)
        self._close()

    def unlock_and_close(self) -> None:
        """Give the lock up and leave the file. Kafka: `FileLock.unlockAndClose`."""
        self.unlock()
        self._close()

    def _close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def _is_held_by_this_process(file: Path) -> bool:
    try:
        return _identity(os.stat(file)) in _held_by_this_process
    except FileNotFoundError:
        return False


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
