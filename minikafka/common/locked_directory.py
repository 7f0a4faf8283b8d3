"""Directories that a living process holds locked: by its lock each is told from those of processes that are gone."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from minikafka.common.at_hand import HAS_LOCKS, LOCK_EX, LOCK_NB, flock


def new_locked_directory(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new directory in `parent`, whose name begins with `prefix`, and the descriptor that holds its lock. Raises
    OSError.

    The lock holds until the descriptor is closed, at the latest when the process ends, however it ends. systemd's
    tidying leaves alone what is locked, too. Where there are no locks, nothing is ever taken for one of the dead.
    """
    while True:
        directory = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(directory, os.O_RDONLY)
        except FileNotFoundError:  # another process has taken it, still without a lock, for one of the dead
            continue
        if not HAS_LOCKS:
            return directory, lock
        with suppress(BlockingIOError):  # another process is just taking it for one of the dead
            flock(lock, LOCK_EX | LOCK_NB)
            if directory.exists():
                return directory, lock
        os.close(lock)


def remove_those_of_the_dead(parent: Path, prefix: str, remove: Callable[[Path], object]) -> None:
    """Let `remove` have each directory in `parent` that `new_locked_directory` made and that nobody holds any more."""
    for directory in parent.glob(f"{prefix}*"):
        with suppress(OSError):  # of somebody else, or of a process that runs
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                flock(lock, LOCK_EX | LOCK_NB)
                remove(directory)
            finally:
                os.close(lock)
