"""Reads the file with a learner's log: Python, whose imports name the standard library and crc32c alone."""

import ast
import sys
from pathlib import Path

from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.exercises.plain_file import read_plain_file

ALLOWED = frozenset(sys.stdlib_module_names) | {"crc32c"}
"""What the file may import. Where it runs there is nothing else; here a learner is told early, and by the line."""

_MOST_BYTES = 1 << 20
"""Room for a log that is a hundred times as long as the template."""


def source_of(file: Path) -> bytes:
    """The text of the file, none of which is run.

    Raises OSError, IOException for what is no regular file or has more than a MiB, and IllegalArgumentException for a
    syntax error and for a foreign import, each in one line.
    """
    source = read_plain_file(file, _MOST_BYTES, follow_links=True)
    try:
        tree = ast.parse(source, str(file))
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise IllegalArgumentException(f"{file}{line} is no Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise IllegalArgumentException(f"{file} is no Python: {error or type(error).__name__}") from None
    for node in ast.walk(tree):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""] if not node.level else ["."]
        for name in names:
            if name.partition(".")[0] not in ALLOWED:
                raise IllegalArgumentException(
                    f"{file}, line {node.lineno}: import {name}: only the standard library and crc32c are allowed"
                )
    return source
