"""The standard streams of a tool, in every state that a shell can hand them over: closed, full, or fit for ASCII
only.
"""

import codecs
import io
import os
import sys

STANDARD_OUTPUT = "standard output"


def set_up_standard_streams() -> None:
    """Make `sys.stdin`, `sys.stdout` and `sys.stderr` safe to use; those that a test or a notebook put in stay.

    - A closed descriptor is filled first; otherwise the next file that is opened (a log!) would get its number, and
      with it whatever is printed. Input is then empty, and printing is an error as on any closed output.
    - Output is UTF-8; a name of a file that is not is printed with the bytes that it has.
    - A failure to print is raised once, as an OSError that names the standard output; what is printed after it is
      dropped, so that Python has nothing to complain about when it exits.
    - Nobody can be told that stderr fails, so what cannot be printed there is dropped.
    """
    for descriptor, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        _fill(descriptor, mode)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_StandardOutput(1, "w", closefd=False))
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_StandardError(2, "w", closefd=False), line_buffering=True)


class _StandardOutput(io.FileIO):
    """Raises its first failure, with a name, and pretends to write the rest."""

    _failed = False

    def write(self, data) -> int:
        if self._failed:
            return len(data)
        try:
            return super().write(data)
        except OSError as error:
            self._failed = True
            error.filename = STANDARD_OUTPUT
            raise


class _StandardError(io.FileIO):
    """Pretends to write what cannot be written."""

    def write(self, data) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _fill(descriptor: int, mode: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        # The lowest free number is this one: those below are filled.
        os.open(os.devnull, mode)


def _text(raw: io.FileIO, line_buffering: bool = False) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8",
        errors=_AS_IT_CAME,
        newline="\n",
        line_buffering=line_buffering or raw.isatty(),
    )


_AS_IT_CAME = "minikafka.as_it_came"


def _as_it_came(error: UnicodeError) -> tuple[bytes, int]:
    """The byte that Python's `surrogateescape` stands for; `?`, as in Java, for any other half of a pair."""
    units = (ord(unit) for unit in error.object[error.start : error.end])
    return bytes(unit - 0xDC00 if 0xDC80 <= unit <= 0xDCFF else ord("?") for unit in units), error.end


codecs.register_error(_AS_IT_CAME, _as_it_came)
