"""Files on this machine's disks. Nothing is changed or locked, and a broker may be writing beside us."""

import errno
import fnmatch
import glob
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from minikafka.common.file_kind import leads_to_directory
from minikafka.common.java.java_file_names import is_found_by_java
from minikafka.log.log_file_utils import DELETE_DIR_SUFFIX, DELETED_FILE_SUFFIX, SWAP_FILE_SUFFIX
from minikafka.log.partition_files import require_regular
from minikafka.record.files.file_channel import FileChannel
from minikafka.spark.source.file_identity import file_identity, log_mark
from minikafka.spark.source.settled_segments import settled_segments
from minikafka.spark.source.storage import Entry, StoredFile, as_python

_TRIES = 3
_PAUSE_S = 0.01
_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)


@dataclass(frozen=True)
class LocalStorage:
    """The operating system's files; a symbolic link stands for what it leads to. See `Storage`."""

    @property
    def is_local(self) -> bool:
        """They are."""
        return True

    def expanded(self, path: str) -> list[str]:
        """As `glob`, but for a path that exists by just that name, and for what may not be looked at: that is an error,
        and not left out.
        """
        found = [path] if os.path.exists(path) else _matching(as_python(path))
        return [os.path.abspath(each) for each in found]

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory."""
        return os.path.isdir(path)

    def entries(self, directory: str) -> list[Entry]:
        """What the directory holds, and Kafka finds."""
        with os.scandir(directory) as entries:
            found = (entry for entry in entries if is_found_by_java(entry.name))
            return sorted(Entry(entry.name, leads_to_directory(entry)) for entry in found)

    def segment_files(self, directory: str) -> dict[int, StoredFile]:
        """The files, seen while no compaction renames them."""
        return settled_segments(directory)

    def open(self, file: StoredFile) -> FileChannel:
        """The file, also when a broker has renamed it, or its directory.

        Retention and compaction rename a segment before they delete it, a minute later by default, and so is the
        directory of a deleted topic's partition. A compaction's new segment may not have its own name yet.
        """
        for tries_left in reversed(range(_TRIES)):
            for path in _may_lie_at(file.path):
                if (opened := _opened(path, file.identity)) is not None:
                    return opened
            if tries_left:
                time.sleep(_PAUSE_S)  # a rename may have come between the two looks
        raise FileNotFoundError(f"{file.path} was deleted or replaced after the query was planned")

    def open_now(self, path: str) -> tuple[FileChannel, int]:
        """The file that has the path now."""
        opened = FileChannel(_open_regular(path))
        return opened, opened.size

    @contextmanager
    def on_disk(self, path: str) -> Iterator[Path]:
        """The file itself."""
        require_regular(Path(path), follow_links=True)
        yield Path(path)


def _matching(pattern: str) -> list[str]:
    """The paths that the glob, in Python's form, stands for, by name. Raises OSError for what may not be looked at."""
    above, name = os.path.split(pattern)
    if not name:
        return [pattern] if above == pattern else list(filter(os.path.isdir, _matching(above)))
    directories = _matching(above) if glob.has_magic(above) else [above]
    return [os.path.join(each, found) for each in directories for found in sorted(_names_in(each, name))]


def _names_in(directory: str, pattern: str) -> Iterable[str]:
    """The names in the directory that the pattern stands for; as in a shell, `*` and `?` are no dot at the begin."""
    try:
        if not glob.has_magic(pattern):
            os.lstat(os.path.join(directory, pattern))
            return [pattern]
        names = os.listdir(directory or os.curdir)
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return []
        raise
    return fnmatch.filter((each for each in names if each[0] != "." or pattern[0] == "."), pattern)


def _open_regular(path: str) -> int:
    """A descriptor of the file. Raises IOException for anything but a regular one, OSError."""
    require_regular(Path(path), follow_links=True)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _opened(path: str, identity: int) -> FileChannel | None:
    """The file with the path, None where there is none or it is another one."""
    try:
        fd = _open_regular(path)
    except FileNotFoundError:
        return None
    opened = FileChannel(fd)
    try:
        is_it = file_identity(log_mark(os.path.dirname(path)), os.fstat(fd).st_ino) == identity
    except FileNotFoundError:  # its directory was renamed meanwhile
        is_it = False
    return opened if is_it else None


def _may_lie_at(path: str) -> Iterator[str]:
    """Where the file of that path may lie by now: in its partition's directory, and then in those that had its name."""
    directory, file_name = os.path.split(path)
    for place in _places(directory):
        for suffix in ("", DELETED_FILE_SUFFIX, SWAP_FILE_SUFFIX):
            yield os.path.join(place, file_name + suffix)


def _places(directory: str) -> Iterator[str]:
    """A partition's directory, and then those that had its name and are to be deleted."""
    yield directory
    log_dir, name = os.path.split(directory)
    try:
        beside = sorted(os.listdir(log_dir))
    except OSError:  # what lies in it can be opened by its name all the same
        return
    for each in beside:
        if each.startswith(f"{name}.") and each.endswith(DELETE_DIR_SUFFIX):
            yield os.path.join(log_dir, each)
