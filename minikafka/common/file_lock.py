"""A file whose lock says that somebody uses the directory in which it lies."""

import errno
import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.errors import ClosedChannelException

_WHOLE_FILE = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
"""`struct flock`: exclusive, from the beginning to the end, whatever that will be; no process."""


class FileLock:
    """The lock on a file, against other processes and against other locks of this one.

    Java's lock on a file belongs to the process: the system grants it a second time, and takes it away when the process
    closes the file, which somebody may have opened only to read it. This lock (Linux: *open file description lock*)
    belongs to the one open file. The two keep each other out. Where the system knows no such lock, Java's is taken.

    Kafka: `FileLock`.
    """

    def __init__(self, file: Path):
        """Make the file if it is missing; nothing is locked yet. Raises OSError."""
        self.file = file
        self._fd = -1
        self._locked = False
        self._fd = file_ops.open_file(file)

    def try_lock(self) -> bool:
        """Take the lock; False when somebody else has it. Raises OSError. Kafka: `FileLock.tryLock`."""
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
        """Delete the file, if that is possible, and give the lock up.

        Raises ClosedChannelException when it was destroyed before. Kafka: `FileLock.destroy`.
        """
        if self._locked and self._fd < 0:
            raise ClosedChannelException()
        with suppress(OSError):
            file_ops.delete_if_exists(self.file)
        self.unlock_and_close()

    def unlock_and_close(self) -> None:
        """Give the lock up and leave the file; a second time does nothing. Kafka: `FileLock.unlockAndClose`."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.unlock_and_close()
