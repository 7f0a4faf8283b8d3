"""A temporary directory of this process, which goes when the process ends, however it ends."""

import atexit
import fcntl
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

_PREFIX = "minikafka-own-"
_directory: Path | None = None
_making = threading.Lock()


def own_directory() -> Path:
    """This process's directory under `tempfile.gettempdir()`, made when there is none. Raises OSError.

    It goes when Python ends. A process that is killed cannot remove its own: the next one that asks does. By a lock
    each holds on to its directory as long as it lives; systemd's tidying leaves alone what is locked, too.
    """
    global _directory
    with _making:
        if _directory is None or not _directory.is_dir():  # what tidies a machine up may have taken it
            _remove_those_of_the_dead()
            _directory = _new_directory()
        return _directory


def _new_directory() -> Path:
    while True:
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = os.open(directory, os.O_RDONLY)  # open until the process ends, and with it the lock
        with suppress(BlockingIOError):  # another process takes it, still without a lock, for one of the dead
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if directory.exists():
                atexit.register(shutil.rmtree, directory, ignore_errors=True)
                return directory
        os.close(lock)


def _remove_those_of_the_dead() -> None:
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # of somebody else, or of a process that lives
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(lock)
