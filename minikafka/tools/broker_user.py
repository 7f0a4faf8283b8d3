"""Whose the files of a log directory are: the user's as whom the broker runs.

A broker opens its files for writing, and does not start where it cannot. So who changes a log directory as root leaves
what it makes there to the directory's owner, and as readable as the segments are. Any other user cannot do that, and is
refused before anything is changed.

Kafka: none. Its broker and its tools make files that belong to whoever runs them.
"""

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minikafka.common.errors import IOException
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.tools.failure import naming


def require_files_for_owner(directory: Path) -> None:
    """Raises IOException unless a file that is made in the directory can be left to its owner, by whom it is or by
    root; OSError where none can be made.
    """
    owner = directory.stat()
    if owner.st_uid == os.geteuid():
        return
    with naming(directory), tempfile.TemporaryFile(dir=directory) as probe:
        try:
            _leave(probe.fileno(), owner)
        except OSError:
            raise IOException(
                f"{directory} belongs to user {owner.st_uid}, whose broker could not open what user {os.geteuid()} "
                "makes there: run this as that user"
            ) from None


def leave_to_owner(directory: Path, paths: Iterable[Path]) -> None:
    """Give to the directory's owner those of the files and directories that belong to this process's user.

    A link is none of them, nor is a file with a second name: it may be somebody's who has put it there. Raises OSError.
    """
    owner = directory.stat()
    if owner.st_uid == os.geteuid():
        return
    for path in paths:
        with suppress(FileNotFoundError):
            if stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(descriptor)
                if stat.S_ISDIR(status.st_mode) or status.st_nlink == 1:
                    _leave(descriptor, owner)
            finally:
                os.close(descriptor)


@contextmanager
def as_readable_as_segments(directory: Path) -> Iterator[None]:
    """Let those read and write the files that this process makes in the block who may read and write the newest
    segment of the partition's `directory`. It is the process's umask that does this, so no other thread may make files.
    """
    segments = sorted(directory.glob(f"*{LOG_FILE_SUFFIX}"))
    if not segments:
        yield
        return
    hidden = ~segments[-1].stat().st_mode & 0o066
    before = os.umask(hidden | (hidden & 0o044) >> 2)  # who cannot list a directory does not enter it
    try:
        yield
    finally:
        os.umask(before)


def _leave(descriptor: int, owner: os.stat_result) -> None:
    if os.fstat(descriptor).st_uid == os.geteuid() != owner.st_uid:  # some file systems give it an owner themselves
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
