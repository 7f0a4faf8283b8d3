"""What Java makes of a file's name that is not UTF-8.

Python keeps such bytes as lone surrogates. Java puts U+FFFD in place of them, and then finds no file of that name:
`File.isFile` and `File.isDirectory` are false, so Kafka passes over the entry. `java.nio.file.Path` keeps the bytes.
"""

import os


def is_found_by_java(name: str) -> bool:
    """Whether Java finds the file of this name, which it has listed itself. Kafka: `File.listFiles`, `File.isFile`."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def name_in_java(name: str) -> str:
    """The name as Java tells it."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")


def escaped_name(name: str) -> str:
    r"""The name with `\xff` in place of a byte that is not UTF-8, for people."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")
