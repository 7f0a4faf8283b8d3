"""Temporary directories of this process, which go when the process ends, however it ends."""

import atexit
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

from minikafka.common.locked_directory import new_locked_directory, remove_those_of_the_dead

_PREFIX = "minikafka-own-"
_MEMORY_DISK = Path("/dev/shm")
_ROOM = 2 << 30
"""Bytes that are free, at least, on a disk in memory that is written to."""
_CHOICES = ("TMPDIR", "TEMP", "TMP")
_remove = partial(shutil.rmtree, ignore_errors=True)
_directory: Path | None = None
_in_memory: Path | None = None
_making = threading.Lock()


def own_directory() -> Path:
    """This process's directory under `tempfile.gettempdir()`, made when there is none. Raises OSError.

    It goes when Python ends. A process that is killed cannot remove its own: the next one that asks does.
    """
    global _directory
    with _making:
        if _directory is None or not _directory.is_dir():  # what tidies a machine up may have taken it
            _directory = _made_in(Path(tempfile.gettempdir()))
        return _directory


def own_memory() -> Path:
    """As `own_directory`, but in memory where the machine has a disk with room there, and nobody has chosen another
    place for temporary files: for small logs, for which a broker's many flushes to a disk would take most of the time.
    """
    global _in_memory
    with _making, suppress(OSError):
        if _in_memory is not None and _in_memory.is_dir():
            return _in_memory
        if not any(map(os.environ.get, _CHOICES)) and shutil.disk_usage(_MEMORY_DISK).free > _ROOM:
            _in_memory = _made_in(_MEMORY_DISK)
            return _in_memory
    return own_directory()


def _made_in(parent: Path) -> Path:
    remove_those_of_the_dead(parent, _PREFIX, _remove)
    directory, _ = new_locked_directory(parent, _PREFIX)  # locked until the process ends
    atexit.register(_remove, directory)
    return directory
