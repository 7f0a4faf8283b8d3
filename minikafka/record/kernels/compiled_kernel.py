"""The kernels, compiled: numba turns the functions of `kernel`, `writing_kernel` and `snappy_kernel` into machine code
and caches it.

Importing this module imports numba and numpy, which takes about as long as the plain kernel needs for a few hundred
thousand records; `record_columns` does it when that many have been decoded.
"""

import contextlib
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from minikafka.common.bytes_like import BytesLike
from minikafka.record.codecs import snappy_kernel
from minikafka.record.kernels import kernel, writing_kernel
from minikafka.record.kernels.numba_import import imported_numba

R = TypeVar("R")
_numba = imported_numba()


def octets(data: BytesLike) -> NDArray[np.uint8]:
    """`data` as the compiled functions take it, without a copy."""
    return np.frombuffer(data, np.uint8)


def room_for(size: int) -> NDArray[np.int64]:
    """An `out` of `size` integers, not yet set."""
    return np.empty(size, np.int64)


def compile_function(function: Callable[..., R], **compiled_helpers: Callable[..., object]) -> Callable[..., R]:
    """`function` compiled, with the helpers it calls replaced by their compiled twins.

    The twin takes arrays (`octets`, `room_for`) where the plain function takes bytes and lists.
    """
    copy = types.FunctionType(function.__code__, {**function.__globals__, **compiled_helpers}, function.__name__)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    compiled: Callable[..., R]
    try:
        compiled = _numba.njit(cache=True, nogil=True)(copy)
    except RuntimeError:
        # No directory for the cache can be written to.
        compiled = _numba.njit(nogil=True)(copy)
    return compiled


def on_arrays(compiled: Callable[..., R]) -> Callable[..., R]:
    """`compiled` for columns of either kernel, which it takes as arrays, without a copy."""

    def on_columns(*arguments: object) -> R:
        return compiled(*(each if isinstance(each, int) else np.asarray(each) for each in arguments))

    return on_columns


_read_varint = compile_function(kernel.read_varint)

skip_headers = compile_function(kernel.skip_headers, read_varint=_read_varint)

locate_headers = compile_function(kernel.locate_headers, read_varint=_read_varint)

decode = compile_function(
    kernel.decode,
    read_varint=_read_varint,
    read_varlong=compile_function(kernel.read_varlong),
    wrapping_add=compile_function(kernel.wrapping_add),
    skip_headers=skip_headers,
)


def load_decode() -> None:
    """Load the machine code of `decode` now instead of at its first call, for bytes that may and may not be changed.

    What a compilation takes of memory is never given back, some 30 MB, and it holds Python's lock for seconds: where
    the cache is empty, another process fills it.
    """
    if not _is_cached():
        command = [sys.executable, "-P", "-c", _FILL_CACHE, *sys.path]
        with contextlib.suppress(OSError):  # then it is compiled here
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    call_decode()


_FILL_CACHE = f"import sys; sys.path[:] = sys.argv[1:]; from {__name__} import call_decode; call_decode()"


def _is_cached() -> bool:
    """Whether the cache has machine code of `decode` that is newer than its source; True, too, where there is none."""
    dispatcher: Any = decode
    directory = dispatcher.stats.cache_path
    if directory is None:
        return True
    written_s = Path(kernel.__file__).stat().st_mtime
    found = Path(directory).glob(f"kernel.decode-*.py{sys.version_info.major}{sys.version_info.minor}*.nbi")
    return any(file.stat().st_mtime >= written_s for file in found)


def call_decode() -> None:
    """Have numba load the machine code of `decode`, or compile it."""
    for data in (bytes(1), bytearray(1)):
        decode(octets(data), 0, 0, 0, 0, 0, 0, 0, 0, 0, kernel.BUFFER, room_for(kernel.SUMMARY_SIZE), 0, 0)


_read_int = compile_function(kernel.read_int)

measure_run = compile_function(kernel.measure_run, read_int=_read_int)

decode_run = compile_function(
    kernel.decode_run,
    read_int=_read_int,
    read_long=compile_function(kernel.read_long, read_int=_read_int),
    decode=decode,
)

_size_of_varint = compile_function(writing_kernel.size_of_varint)
_write_varint = compile_function(writing_kernel.write_varint)

_size_of_nullable = compile_function(writing_kernel.size_of_nullable, size_of_varint=_size_of_varint)
_write_nullable = compile_function(writing_kernel.write_nullable, write_varint=_write_varint)
_writers = {
    "size_of_varint": _size_of_varint,
    "size_of_body": compile_function(
        writing_kernel.size_of_body, size_of_varint=_size_of_varint, size_of_nullable=_size_of_nullable
    ),
    "write_head": compile_function(writing_kernel.write_head, write_varint=_write_varint),
    "write_nullable": _write_nullable,
    "write_headers": compile_function(writing_kernel.write_headers, write_varint=_write_varint),
}

encode = compile_function(
    writing_kernel.encode,
    headers_can_be_copied=compile_function(
        writing_kernel.headers_can_be_copied, read_varint=_read_varint, size_of_varint=_size_of_varint
    ),
    **_writers,
)

write_rows = compile_function(writing_kernel.write_rows, **_writers)

write_headers_of_rows = compile_function(writing_kernel.write_headers_of_rows, write_nullable=_write_nullable)

_read_four = compile_function(snappy_kernel.read_four)
_replace = compile_function(snappy_kernel.replace, read_four=_read_four)
_write_one_copy = compile_function(snappy_kernel.write_one_copy)

compress_snappy = compile_function(
    snappy_kernel.compress,
    write_size=compile_function(snappy_kernel.write_size),
    find_match=compile_function(snappy_kernel.find_match, replace=_replace),
    replace=_replace,
    write_literal=compile_function(snappy_kernel.write_literal),
    write_copy=compile_function(snappy_kernel.write_copy, write_one_copy=_write_one_copy),
)
