"""A file whose lock shows that the directory it is in is in use."""

import errno
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Self

from minikafka.common import file_ops
from minikafka.common.at_hand import HAS_LOCKS
from minikafka.common.errors import ClosedChannelException
from minikafka.common.own_process import OwnProcess
from minikafka.common.plain_ways import FileLocks

if HAS_LOCKS:
    import fcntl

_plain_locks = FileLocks()


def _whole_file(kind: int) -> bytes:
    """`struct flock`: a lock from the first byte to the end, wherever the end may come to be; no process."""
    return struct.pack("hhqqi", kind, os.SEEK_SET, 0, 0, 0)


class FileLock:
    """The lock on a file, which excludes other processes and other locks of this process.

    Java's lock on a file belongs to the process: the system grants it a second time, and drops it when the process
    closes any descriptor of the file, even one that was opened only for reading. This lock (on Linux, an *open file
    description lock*) belongs to one open file. The two exclude each other. Where the system has no such locks, this
    class takes the kind that Java takes. In a browser's tab, which is one process, it excludes the tab's other locks.

    Kafka: `FileLock`.
    """

    def __init__(self, file: Path, *, shared: bool = False):
        """Make the file if it is missing. It is not locked yet. Raises OSError.

        A `shared` lock excludes only those that are not shared. It takes a file that is there, and reads it at most, so
        that the file may lie where nothing can be written.
        """
        self.file = file
        self._fd = -1
        self._locked = False
        self._shared = shared
        self._own_process = OwnProcess()
        self._fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC) if shared else file_ops.open_file(file)

    @classmethod
    def taken(cls, file: Path, *, shared: bool = False) -> Self | None:
        """A new lock on the file, taken; None when `try_lock` is False. Raises OSError."""
        lock, is_ours = cls(file, shared=shared), False
        try:
            is_ours = lock.try_lock()
        finally:
            if not is_ours:
                lock.unlock_and_close()
        return lock if is_ours else None

    def try_lock(self) -> bool:
        """Take the lock; False when somebody else holds it, or has deleted the file since it was opened here.

        Raises OSError. Kafka: `FileLock.tryLock`.
        """
        if not HAS_LOCKS:
            self._locked = self._locked or _plain_locks.take(self._fd, self._shared)
            return self._locked
        try:
            if hasattr(fcntl, "F_OFD_SETLK"):
                fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, _whole_file(fcntl.F_RDLCK if self._shared else fcntl.F_WRLCK))
            else:
                fcntl.lockf(self._fd, (fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            return False
        self._locked = True
        if self._is_gone():
            self.unlock_and_close()
        return self._fd >= 0

    def _is_gone(self) -> bool:
        """Whether the one who had the lock has deleted the file since it was opened here: then this lock keeps nobody
        out.
        """
        try:
            return not os.path.samestat(os.fstat(self._fd), os.stat(self.file))
        except FileNotFoundError:
            return True

    def destroy(self) -> None:
        """Delete the file, if possible, and release the lock. In a forked process the file stays: the lock does, too.

        Raises ClosedChannelException when it was destroyed before. Kafka: `FileLock.destroy`.
        """
        if self._locked and self._fd < 0:
            raise ClosedChannelException()
        if self._own_process.is_this:
            with suppress(OSError):
                file_ops.delete_if_exists(self.file)
        self.unlock_and_close()

    def unlock_and_close(self) -> None:
        """Release the lock and leave the file; a second call does nothing. Kafka: `FileLock.unlockAndClose`.

        A child that is just being started has the file open, too, until it becomes another program: so the lock is
        given up before the file is closed. A forked process only closes the file, and the lock stays.
        """
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        if self._locked and not HAS_LOCKS:
            _plain_locks.give_up(fd)
        elif self._locked and self._own_process.is_this and hasattr(fcntl, "F_OFD_SETLK"):
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _whole_file(fcntl.F_UNLCK))
        os.close(fd)

    def __del__(self) -> None:
        self.unlock_and_close()
