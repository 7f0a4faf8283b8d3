"""What the tools print for people, in which there may be words of others: names of files, keys, values, messages.

A terminal obeys what stands between the words: an escape sequence in a file's name could hide a finding, or type at the
prompt. Everything for people therefore passes through `printable`, mostly by `tell`. What programs read (`--json`) does
not: JSON writes such characters as escapes, and the names in it can be used.
"""

import io
import logging
from typing import TextIO, cast
from unicodedata import category

import click

from minikafka.tools.failure import one_line

_LONE_BYTES = "".join(map(chr, range(0xDCA0, 0xDD00)))
"""What Python makes of the bytes from 0xa0 to 0xff where they are not UTF-8."""


def printable(text: str, *, keep: str = "") -> str:
    """`text` with U+FFFD in place of every character that a terminal would obey, or that nobody would see.

    Those are Unicode's control and format characters (ESC, BEL, the marks that change the direction of writing), ends
    of lines, what is no character yet, and what Python makes of bytes that are not UTF-8. Blanks of every width stay,
    and so do the characters of `keep`.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in keep or category(letter) == "Zs" else "\ufffd" for letter in text
    )


def tell(line: str, *, err: bool = False) -> None:
    """Print one line for people on the standard output, or on stderr. An end of a line within it becomes a blank.

    A name that is not UTF-8 keeps its bytes, except those from 0x80 to 0x9f, which some terminals obey.
    """
    click.echo(printable(one_line(line), keep=_LONE_BYTES), err=err)


def on_terminal_printable(stream: TextIO) -> TextIO:
    """The stream, or one that writes to it what is printable, ends of lines and tabs if the stream is a terminal.

    For lines in a format that programs know: a file or a pipe gets them as they are.
    """
    return cast(TextIO, _PrintableStream(stream)) if stream.isatty() else stream


class _PrintableStream(io.TextIOBase):
    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(printable(text, keep="\n\t"))
        return len(text)


class PrintableFormatter(logging.Formatter):
    """Warnings as they may stand on a terminal: each message on one line, tracebacks on several."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        return one_line(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record), keep="\n")
