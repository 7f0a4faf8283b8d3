"""What this Python and this machine have at hand. It is decided here, once, and nowhere else.

In a browser's tab, Python runs as WebAssembly: no other process and no thread can be started, a file can be neither
locked nor mapped, and packages with compiled code are there only where somebody compiled them for it. All else of
minikafka asks this module, and is the same code on both sides. What stands in where something is missing is in
`plain_ways`. numpy and numba are imported where they are needed, by few.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from minikafka.common import plain_ways

IN_A_BROWSER = sys.platform == "emscripten"


def _is_there(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    return find_spec(module) is not None


HAS_THREADS = not IN_A_BROWSER
"""Can a thread be started?"""
HAS_MAPPINGS = _is_there("mmap") and not IN_A_BROWSER
"""Can a file be mapped into memory?"""
HAS_LOCKS = _is_there("fcntl") and not IN_A_BROWSER
"""Can a file be locked?"""
HAS_ALARMS = hasattr(signal, "setitimer") and not IN_A_BROWSER
"""Can the system interrupt what takes too long?"""
HAS_SPARK = _is_there("pyspark") and not IN_A_BROWSER
"""Can Spark be started, and Kafka in its JVM?"""

LOCK_SH, LOCK_EX, LOCK_NB = 1, 2, 4
"""As `flock` takes them."""

if _is_there("crc32c"):
    from crc32c import crc32c as crc32c
else:
    from minikafka.common.plain_ways import crc32c as crc32c  # type: ignore[assignment]

preadv = getattr(os, "preadv", plain_ways.preadv)
sendfile = getattr(os, "sendfile", plain_ways.sendfile)


def call_after_fork(action: Callable[[], object]) -> None:
    """Call `action()` in each process that is forked from this one; where none can be, never."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=action)


def zeros(size: int) -> memoryview:
    """Memory of `size` bytes, all zero, which the system provides as it is written to, where it can.

    Raises MemoryError.
    """
    if not HAS_MAPPINGS or not size:
        return memoryview(bytearray(size))
    import mmap

    try:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for {size} bytes") from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # What is read and written all over it would else wait for the processor's table of pages.
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory)


def socketpair() -> tuple[Any, Any]:
    """`socket.socketpair`; where there are no sockets, the ends of a pipe, of which the first sends.

    Raises OSError.
    """
    if IN_A_BROWSER:
        return plain_ways.socketpair()
    import socket

    return socket.socketpair()


def flock(file: Any, operation: int) -> None:
    """Lock an open file. Raises BlockingIOError when another holds the lock, OSError where there are no locks."""
    if not HAS_LOCKS:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    import fcntl

    fcntl.flock(file, operation)


def zstd_writer() -> Any:
    """pyzstd, whose frames have the bytes of Kafka's; else Python's own zstd (3.14), whose frames Kafka reads as well.

    Raises ModuleNotFoundError where there is neither.
    """
    if _is_there("pyzstd"):
        import pyzstd

        return pyzstd
    return import_module("compression.zstd")


def zstd_reader() -> tuple[Any, type[Exception]]:
    """What makes a decompressor for one frame, and the exception that such a decompressor raises."""
    if _is_there("zstandard"):
        import zstandard

        return zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError
    zstd = zstd_writer()
    return zstd.ZstdDecompressor, zstd.ZstdError
