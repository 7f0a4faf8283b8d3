"""Where minikafka keeps what it has fetched, for use without a network."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from minikafka.common.locked_directory import new_locked_directory, remove_those_of_the_dead

_SCRATCH = "scratch-"
_remove = partial(shutil.rmtree, ignore_errors=True)


def cache_dir() -> Path:
    """$MINIKAFKA_CACHE, else `minikafka` in the user's cache directory ($XDG_CACHE_HOME or ~/.cache)."""
    if chosen := os.environ.get("MINIKAFKA_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minikafka"


@contextmanager
def scratch_in_cache() -> Iterator[Path]:
    """A new directory in the cache, in which something is made that is then moved to its place; it goes with the block.

    A process that is killed cannot remove its own: the next one does. Raises OSError.
    """
    cache_dir().mkdir(parents=True, exist_ok=True)
    remove_those_of_the_dead(cache_dir(), _SCRATCH, _remove)
    directory, lock = new_locked_directory(cache_dir(), _SCRATCH)
    try:
        yield directory
    finally:
        _remove(directory)
        os.close(lock)
