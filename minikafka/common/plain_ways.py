"""Plain Python in the place of what `at_hand` does not find: slower, with the same results."""

import os
from collections.abc import Sequence
from typing import Any

from minikafka.common.bytes_like import BytesLike

_POLYNOMIAL = 0x82F63B78  # of CRC-32C, its bits reversed


def _checksum_of(octet: int) -> int:
    for _ in range(8):
        octet = octet >> 1 ^ (_POLYNOMIAL if octet & 1 else 0)
    return octet


_CHECKSUMS = tuple(map(_checksum_of, range(256)))


def crc32c(data: BytesLike, value: int = 0) -> int:
    """The CRC-32C of `data`; `value` is that of what comes before it. Kafka: `Crc32C.compute`."""
    checksum, checksums = value ^ 0xFFFFFFFF, _CHECKSUMS
    for octet in memoryview(data).cast("B"):
        checksum = checksums[(checksum ^ octet) & 0xFF] ^ checksum >> 8
    return checksum ^ 0xFFFFFFFF


def preadv(fd: int, buffers: Sequence[bytearray | memoryview], position: int) -> int:
    """Fill `buffers`, one after the other, from byte `position` of the file; returns how many bytes it had.

    Raises OSError.
    """
    done = 0
    for buffer in buffers:
        view = memoryview(buffer)
        data = os.pread(fd, len(view), position + done)
        view[: len(data)] = data
        done += len(data)
        if len(data) < len(view):
            break
    return done


def sendfile(out: int, source: int, position: int, count: int) -> int:
    """Write `count` bytes of the file `source` from `position` on into `out`; returns how many. Raises OSError."""
    return os.write(out, os.pread(source, count, position))


class PipeEnd:
    """The sending or the receiving end of a pipe, in the place of a socket: bytes go one way."""

    def __init__(self, fd: int):
        self._fd = fd

    def fileno(self) -> int:
        """The descriptor of the open pipe."""
        return self._fd

    def recv(self, most: int) -> bytes:
        """At most `most` of the bytes that were sent. Raises OSError."""
        return os.read(self._fd, most)

    def __del__(self) -> None:
        os.close(self._fd)


def socketpair() -> tuple[PipeEnd, PipeEnd]:
    """One end that sends and one that receives. Raises OSError."""
    receiver, sender = os.pipe()
    return PipeEnd(sender), PipeEnd(receiver)


class FileLocks:
    """Which open files this process has locked: enough where no other process can be."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[tuple[int, int], bool]] = {}

    def take(self, fd: int, shared: bool) -> bool:
        """Lock the open file; False when it is locked, unless both locks are `shared`. Raises OSError."""
        status = os.fstat(fd)
        file = status.st_dev, status.st_ino
        if any(locked == file and not (shared and its_shared) for locked, its_shared in self._held.values()):
            return False
        self._held[fd] = file, shared
        return True

    def give_up(self, fd: int) -> None:
        """Give up the lock that was taken."""
        del self._held[fd]


class CopiedFile(bytearray):
    """The bytes of an open file, in the place of a mapping: what is written into them is written to the file as well.

    The file may be renamed meanwhile. Two of one file do not see each other's writes.
    """

    def __init__(self, fd: int, length: int):
        """The first `length` bytes of the file, which the caller may close. Raises OSError."""
        super().__init__(os.pread(fd, length, 0).ljust(length, b"\0"))
        self._fd = os.dup(fd)

    def __setitem__(self, where: Any, data: Any) -> None:
        """`where` is a slice of as many bytes as `data` has. Raises OSError."""
        os.pwrite(self._fd, data, where.start)
        super().__setitem__(where, data)

    def flush(self) -> None:
        """Force the file down to the device. Raises OSError."""
        os.fsync(self._fd)

    def madvise(self, option: int, start: int, length: int) -> None:
        """Do nothing: a write raises OSError where the disk has no room, and no signal comes."""

    def __del__(self) -> None:
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)
