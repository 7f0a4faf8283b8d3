"""An open file that is read and written at given positions."""

import os
from typing import Protocol

from minikafka.common import file_ops
from minikafka.common.at_hand import preadv, sendfile
from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import ClosedChannelException, IllegalArgumentException


class HasFileno(Protocol):
    """A socket or an open file: what the system can write to."""

    def fileno(self) -> int:
        """The descriptor."""


class FileChannel:
    """A file descriptor that knows when it is closed, shared by a `FileRecords` and its slices.

    When it is closed, every method but `close` raises ClosedChannelException. Kafka: `java.nio.channels.FileChannel`.
    """

    __slots__ = ("_fd",)

    def __init__(self, fd: int):
        self._fd = fd

    def fileno(self) -> int:
        """The descriptor."""
        if self._fd < 0:
            raise ClosedChannelException("the file is closed")
        return self._fd

    @property
    def is_open(self) -> bool:
        """False once the file is closed. Kafka: `FileChannel.isOpen`."""
        return self._fd >= 0

    @property
    def size(self) -> int:
        """Bytes of the file, preallocated ones included. Kafka: `FileChannel.size`."""
        return file_ops.size(self.fileno())

    def read(self, position: int, size: int) -> bytes:
        """The bytes from `position` on, at most `size`; fewer at the end of the file. Kafka: `Utils.readFully`.

        Raises IllegalArgumentException for a negative position.
        """
        if position < 0:
            raise IllegalArgumentException(f"The file channel position cannot be negative, but it is {position}")
        fd = self.fileno()
        try:
            data = os.pread(fd, size, position)
            while 0 < len(data) < size:
                more = os.pread(fd, size - len(data), position + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise file_ops.named(error, fd) from None
        return data

    def read_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """Fill `buffer` from `position` on; returns how many bytes the file had. Kafka: `Utils.readFully`."""
        fd, view = self.fileno(), memoryview(buffer)
        done = 0
        try:
            while done < len(view):
                count = preadv(fd, [view[done:]], position + done)
                if count == 0:
                    break
                done += count
        except OSError as error:
            raise file_ops.named(error, fd) from None
        return done

    def write(self, data: BytesLike, position: int) -> int:
        """Write all of `data` at `position`; returns its size. Kafka: `FileChannel.write`."""
        return file_ops.write(self.fileno(), data, position)

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes. Kafka: `FileChannel.truncate`."""
        file_ops.truncate(self.fileno(), size)

    def force(self) -> None:
        """Force the file down to the device. Kafka: `FileChannel.force`."""
        file_ops.fsync(self.fileno())

    def transfer_to(self, destination: HasFileno, position: int, count: int) -> int:
        """Let the system copy bytes to a socket or file; returns how many. Kafka: `FileChannel.transferTo`."""
        return sendfile(destination.fileno(), self.fileno(), position, count)

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()
