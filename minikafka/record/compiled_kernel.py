"""The kernel, compiled: numba makes machine code of the functions in `kernel`, once, and caches it beside them.

Importing this module imports numba and numpy, which takes about as long as the plain kernel needs for a few hundred
thousand records; `record_columns` does it when that many have been decoded.
"""

import types

import numba

from minikafka.record import kernel


def _compile(function, **compiled_helpers):
    """`function` compiled, with the helpers it calls replaced by their compiled twins."""
    copy = types.FunctionType(function.__code__, {**vars(kernel), **compiled_helpers}, function.__name__)
    copy.__module__ = kernel.__name__
    copy.__qualname__ = function.__qualname__
    try:
        return numba.njit(copy, cache=True, nogil=True)
    except RuntimeError:
        # There is no directory for the cache that can be written.
        return numba.njit(copy, nogil=True)


_read_varint = _compile(kernel.read_varint)

skip_headers = _compile(kernel.skip_headers, read_varint=_read_varint)

decode = _compile(
    kernel.decode,
    read_varint=_read_varint,
    read_varlong=_compile(kernel.read_varlong),
    wrapping_add=_compile(kernel.wrapping_add),
    skip_headers=skip_headers,
)

_read_int = _compile(kernel.read_int)

measure_run = _compile(kernel.measure_run, read_int=_read_int)

decode_run = _compile(
    kernel.decode_run,
    read_int=_read_int,
    read_long=_compile(kernel.read_long, read_int=_read_int),
    decode=decode,
)
