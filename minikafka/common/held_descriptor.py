"""A file descriptor that stays open as long as anybody uses it."""

import os


class HeldDescriptor:
    """A descriptor that is closed when nobody refers to this object any more.

    The system gives the number of a closed descriptor to the file that is opened next. Who reads by a bare number while
    another thread closes the file may therefore get the bytes of another file, and who writes may change them. Whoever
    uses `fd` keeps a reference to this object until that is done; closing is to drop the last reference.

    `failures` has the OSError with which closing it ended, if it did.

    Kafka: none, as Java's channels do this themselves.
    """

    __slots__ = ("fd", "failures")

    def __init__(self, fd: int):
        self.fd = fd
        self.failures: list[OSError] = []

    def __del__(self) -> None:
        try:
            os.close(self.fd)
        except OSError as error:
            self.failures.append(error)
