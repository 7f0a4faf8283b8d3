"""A control group of Linux for one sandbox: bounds for all of its processes together, where groups can be made."""

import atexit
import functools
import os
import time
from contextlib import suppress
from pathlib import Path

from minikafka.common.locked_directory import new_locked_directory, remove_those_of_the_dead

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "minikafka-sandbox-"


class ControlGroup:
    """Groups (one, or for older Linux one a resource) whose processes get together `memory_mb` MiB and `processes`.

    `files` are those into which a process writes its id to join; empty where no group can be made. `close` removes the
    groups, with which all that is in them ends. This process holds their directories locked: what one that was killed
    has left is removed by the next.
    """

    def __init__(self, memory_mb: int, processes: int):
        memory = str(memory_mb << 20)
        wanted = (
            [{"memory.max": memory, "memory.swap.max": "0", "pids.max": str(processes)}]
            if _is_one_tree()
            else [
                {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
                {"pids.max": str(processes)},
            ]
        )
        _remove_those_of_the_dead_once()
        self._locks: dict[Path, int] = {}
        atexit.register(self.close)
        try:
            for parent, limits in zip(_parents(), wanted, strict=True):
                directory, lock = new_locked_directory(parent, _PREFIX)
                self._locks[directory] = lock
                for file, limit in limits.items():
                    if "swap" in file or "memsw" in file:
                        with suppress(OSError):  # where swap is not counted
                            (directory / file).write_text(limit)
                    else:
                        (directory / file).write_text(limit)
        except OSError:
            self.close()

    @property
    def files(self) -> list[str]:
        """Where a process joins."""
        return [str(directory / "cgroup.procs") for directory in self._locks]

    def close(self) -> None:
        """Remove the groups, after what is left in them has been ended. A second call does nothing."""
        for directory in list(self._locks):
            _remove(directory)
            os.close(self._locks.pop(directory))
        atexit.unregister(self.close)


@functools.cache
def can_be_made() -> bool:
    """Whether this user can make control groups here. It is tried, once."""
    tried = ControlGroup(64, 16)
    try:
        return bool(tried.files)
    finally:
        tried.close()


def _is_one_tree() -> bool:
    return (_ROOT / "cgroup.controllers").exists()


def _parents() -> list[Path]:
    """Where groups are made."""
    return [_ROOT] if _is_one_tree() else [_ROOT / "memory", _ROOT / "pids"]


@functools.cache
def _remove_those_of_the_dead_once() -> None:
    for parent in _parents():
        remove_those_of_the_dead(parent, _PREFIX, _remove)


def _remove(directory: Path) -> None:
    """Remove a group, after what is left in it has been ended."""
    for _ in range(100):
        with suppress(OSError):
            for pid in map(int, (directory / "cgroup.procs").read_text().split()):
                if pid:  # 0 stands for a process that cannot be seen from here; to `kill` it means this one's group
                    with suppress(ProcessLookupError):
                        os.kill(pid, 9)
            directory.rmdir()
            return
        time.sleep(0.02)
