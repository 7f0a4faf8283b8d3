"""A file whose lock shows that the directory it is in is in use."""

import errno
import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.errors import ClosedChannelException

_WHOLE_FILE = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
"""`struct flock`: an exclusive lock from the first byte to the end, wherever the end may come to be; no process."""


class FileLock:
    """The lock on a file, which excludes other processes and other locks of this process.

    Java's lock on a file belongs to the process: the system grants it a second time, and drops it when the process
    closes any descriptor of the file, even one that was opened only for reading. This lock (on Linux, an *open file
    description lock*) belongs to one open file. The two exclude each other. Where the system has no such locks, this
    class takes the kind that Java takes.

    Kafka: `FileLock`.
    """

    def __init__(self, file: Path):
        """Make the file if it is missing. It is not locked yet. Raises OSError."""
        self.file = file
        self._fd = -1
        self._locked = False
        self._fd = file_ops.open_file(file)

    def try_lock(self) -> bool:
        """Take the lock; False when somebody else holds it. Raises OSError. Kafka: `FileLock.tryLock`."""
        try:
            if hasattr(fcntl, "F_OFD_SETLK"):
                fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, _WHOLE_FILE)
            else:
                fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            return False
        self._locked = True
        return True

    def destroy(self) -> None:
        """Delete the file, if possible, and release the lock.

        Raises ClosedChannelException when it was destroyed before. Kafka: `FileLock.destroy`.
        """
        if self._locked and self._fd < 0:
            raise ClosedChannelException()
        with suppress(OSError):
            file_ops.delete_if_exists(self.file)
        self.unlock_and_close()

    def unlock_and_close(self) -> None:
        """Release the lock and leave the file; a second call does nothing. Kafka: `FileLock.unlockAndClose`."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.unlock_and_close()
