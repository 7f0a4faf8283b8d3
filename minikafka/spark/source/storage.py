"""Where the files of a query lie: on a disk, or behind a URI. All that the source reads goes through a `Storage`."""

import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol


class Entry(NamedTuple):
    """What a directory holds under a name."""

    name: str
    is_directory: bool


class StoredFile(NamedTuple):
    """A file as it was found: `size` in bytes; `identity` tells it from another that gets its path later."""

    path: str
    size: int
    identity: int


class OpenFile(Protocol):
    """An open file, read at given positions (bytes). Reading raises OSError."""

    def read(self, position: int, size: int) -> bytes:
        """At most `size` bytes from `position` on; fewer where the file ends."""

    def read_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """Fill `buffer` from `position` on; returns how many bytes the file had."""

    def close(self) -> None:
        """Let the file go."""


class Storage(Protocol):
    """A storage of files, which tasks carry to the workers: it can be pickled, and connects where it is used.

    Paths are whole ones, with the URI's scheme and authority. Every method raises OSError for what cannot be read, and
    FileNotFoundError for what is not there.
    """

    @property
    def is_local(self) -> bool:
        """Whether the files are on a disk here, where a read of few bytes costs microseconds."""

    def expanded(self, path: str) -> list[str]:
        """The paths that `path`, which may be a glob, stands for; none if there are none."""

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory."""

    def entries(self, directory: str) -> list[Entry]:
        """What the directory holds, by name."""

    def segment_files(self, directory: str) -> dict[int, StoredFile]:
        """The `.log` files of a partition's directory by base offset; nothing says yet that they can be read."""

    def open(self, file: StoredFile) -> OpenFile:
        """That very file; FileNotFoundError when it was deleted or replaced since, IOException if it is none."""

    def open_now(self, path: str) -> tuple[OpenFile, int]:
        """The file as it is now, and its size in bytes; IOException for anything but a regular file."""

    def on_disk(self, path: str) -> AbstractContextManager[Path]:
        """A small file, for readers that want it on a disk: itself, or a copy for as long as the context lasts."""


def as_python(glob: str) -> str:
    """The glob in Python's form: Spark's (Hadoop's), and those of shells, have `[^1]` for `[!1]`, too."""
    return re.sub(r"\[(\^?)(.[^\]]*\])", lambda found: f"[{'!' * len(found[1])}{found[2]}", glob, flags=re.DOTALL)


def joined(directory: str, name: str) -> str:
    """The path of `name` in `directory`."""
    return f"{directory.rstrip('/')}/{name}"


def beside(log: str, suffix: str) -> str:
    """The path of another file of the segment with the file `log`: its index, for instance."""
    return log.removesuffix(".log") + suffix
