"""Reads the file with a learner's log, which must be Python; what it imports, the sandbox has or has not."""

from pathlib import Path

from minikafka.common.errors import IllegalArgumentException
from minikafka.common.python_source import parse
from minikafka.lab.exercises.plain_file import read_plain_file

_MOST_BYTES = 1 << 20
"""Room for a log that is a hundred times as long as the template."""


def source_of(file: Path) -> bytes:
    """The text of the file, none of which is run.

    Raises OSError, IOException for what is no regular file or has more than a MiB, and IllegalArgumentException for a
    syntax error, each in one line.
    """
    source = read_plain_file(file, _MOST_BYTES, follow_links=True)
    try:
        parse(source, str(file))
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise IllegalArgumentException(f"{file}{line} is no Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise IllegalArgumentException(f"{file} is no Python: {error or type(error).__name__}") from None
    return source
