"""An open file that is read and written at given positions."""

import os
from typing import Protocol

from minikafka.common import file_ops
from minikafka.common.at_hand import preadv, sendfile
from minikafka.common.bytes_like import BytesLike
from minikafka.common.errors import ClosedChannelException, IllegalArgumentException
from minikafka.common.held_descriptor import HeldDescriptor


class HasFileno(Protocol):
    """A socket or an open file: what the system can write to."""

    def fileno(self) -> int:
        """The descriptor."""


class FileChannel:
    """A file descriptor that knows when it is closed, shared by a `FileRecords` and its slices.

    When it is closed, every method but `close` raises ClosedChannelException. A read or a write that meets the close is
    done whole, on its own file. Kafka: `java.nio.channels.FileChannel`.
    """

    __slots__ = ("_held",)

    def __init__(self, fd: int):
        self._held: HeldDescriptor | None = HeldDescriptor(fd)

    @property
    def is_open(self) -> bool:
        """False once the file is closed. Kafka: `FileChannel.isOpen`."""
        return self._held is not None

    @property
    def size(self) -> int:
        """Bytes of the file, preallocated ones included. Kafka: `FileChannel.size`."""
        held = self._open()
        return file_ops.size(held.fd)

    def read(self, position: int, size: int) -> bytes:
        """The bytes from `position` on, at most `size`; fewer at the end of the file. Kafka: `Utils.readFully`.

        Raises IllegalArgumentException for a negative position.
        """
        if position < 0:
            raise IllegalArgumentException(f"The file channel position cannot be negative, but it is {position}")
        held = self._open()
        try:
            data = os.pread(held.fd, size, position)
            while 0 < len(data) < size:
                more = os.pread(held.fd, size - len(data), position + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise file_ops.named(error, held.fd) from None
        return data

    def read_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """Fill `buffer` from `position` on; returns how many bytes the file had. Kafka: `Utils.readFully`."""
        held, view = self._open(), memoryview(buffer)
        done = 0
        try:
            while done < len(view):
                count = preadv(held.fd, [view[done:]], position + done)
                if count == 0:
                    break
                done += count
        except OSError as error:
            raise file_ops.named(error, held.fd) from None
        return done

    def write(self, data: BytesLike, position: int) -> int:
        """Write all of `data` at `position`; returns its size. Kafka: `FileChannel.write`."""
        held = self._open()
        return file_ops.write(held.fd, data, position)

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes. Kafka: `FileChannel.truncate`."""
        held = self._open()
        file_ops.truncate(held.fd, size)

    def preallocate(self, size: int) -> None:
        """Give a new file its full length in advance, all zeros. Kafka: `RandomAccessFile.setLength`."""
        held = self._open()
        file_ops.preallocate(held.fd, size)

    def force(self) -> None:
        """Force the file down to the device. Kafka: `FileChannel.force`."""
        held = self._open()
        file_ops.fsync(held.fd)

    def transfer_to(self, destination: HasFileno, position: int, count: int) -> int:
        """Let the system copy bytes to a socket or file; returns how many. Kafka: `FileChannel.transferTo`."""
        held = self._open()
        return sendfile(destination.fileno(), held.fd, position, count)

    def close(self) -> None:
        """Close the file; a second time does nothing. Raises OSError."""
        held, self._held = self._held, None
        if held is not None:
            failures = held.failures
            del held  # the file is closed now, or by the last of those who are reading it
            if failures:
                raise failures[0]

    def _open(self) -> HeldDescriptor:
        if (held := self._held) is None:
            raise ClosedChannelException("the file is closed")
        return held
