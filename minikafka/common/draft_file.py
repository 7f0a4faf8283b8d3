"""A file's new content while it is written, in a draft beside the file, which then takes the file's name.

Whoever is killed meanwhile leaves the draft. The one who writes holds its lock, and by that each draft is told from
those of processes that are gone.
"""

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from minikafka.common import file_ops
from minikafka.common.at_hand import LOCK_EX, LOCK_NB, flock
from minikafka.common.file_kind import REGULAR_FILE, kind_of

_NAME = re.compile(r"\.minikafka-[0-9a-f]{16}\.tmp")
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def draft_of(file: Path, *, is_new: bool = False) -> Iterator[BinaryIO]:
    """An empty file to write into, which takes the place of `file` at the end of the `with` block, unless that raises.

    A stop in between leaves the old file. What had the name goes, and of a link only the link; where the file `is_new`,
    FileExistsError is raised instead. Raises OSError, for a directory of that name for instance.
    """
    draft, opened = _new_draft(file.parent)
    try:
        with opened:
            yield opened
            opened.flush()
            # Still locked: once it has the file's name, nobody takes it for a draft.
            (move_to_free_name if is_new else file_ops.rename)(draft, file)
    except BaseException:
        with suppress(OSError):
            file_ops.delete_if_exists(draft)
        raise


def move_to_free_name(source: Path, target: Path) -> None:
    """Give `source` the name `target`. Raises FileExistsError where something has this name, even since a moment ago;
    OSError.
    """
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        file_ops.rename(source, target)
    else:
        source.unlink()


def remove_left_drafts(directory: Path) -> None:
    """Remove the drafts in `directory` whose writers are gone, where this process may; all other files stay."""
    with suppress(OSError):  # a directory that cannot be listed
        for path in sorted(directory.iterdir()):
            if _NAME.fullmatch(path.name):
                with suppress(OSError):  # of somebody else, or of a process that runs
                    _remove_unlocked(path)


def _new_draft(directory: Path) -> tuple[Path, BinaryIO]:
    while True:
        draft = directory / f".minikafka-{secrets.token_hex(8)}.tmp"
        opened = open(os.open(draft, _FLAGS, 0o666), "wb")
        try:
            with suppress(OSError):  # where the system cannot lock, nobody can remove it as one of the dead either
                flock(opened, LOCK_EX)
            if os.fstat(opened.fileno()).st_nlink:
                return draft, opened
        except BaseException:
            opened.close()
            draft.unlink(missing_ok=True)
            raise
        opened.close()  # another process has taken it, still without a lock, for one of the dead


def _remove_unlocked(draft: Path) -> None:
    """Raises BlockingIOError while somebody writes it, OSError."""
    if kind_of(draft) != REGULAR_FILE:
        return
    lock = os.open(draft, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        flock(lock, LOCK_EX | LOCK_NB)
        file_ops.delete_if_exists(draft)
    finally:
        os.close(lock)
