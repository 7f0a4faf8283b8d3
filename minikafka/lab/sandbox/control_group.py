"""A control group of Linux for one sandbox: bounds for all of its processes together, where groups can be made."""

import functools
import os
import time
from contextlib import suppress
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_numbers = iter(range(1 << 62))


class ControlGroup:
    """Groups (one, or for older Linux one a resource) whose processes get together `memory_mb` MiB and `processes`.

    `files` are those into which a process writes its id to join; empty where no group can be made. `close` removes the
    groups, with which all that is in them ends.
    """

    def __init__(self, memory_mb: int, processes: int):
        name = f"minikafka-{os.getpid()}-{next(_numbers)}"
        memory = str(memory_mb << 20)
        is_one_tree = (_ROOT / "cgroup.controllers").exists()
        wanted = (
            [(_ROOT / name, {"memory.max": memory, "memory.swap.max": "0", "pids.max": str(processes)})]
            if is_one_tree
            else [
                (_ROOT / "memory" / name, {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}),
                (_ROOT / "pids" / name, {"pids.max": str(processes)}),
            ]
        )
        self._directories: list[Path] = []
        try:
            for directory, limits in wanted:
                directory.mkdir()
                self._directories.append(directory)
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
        return [str(directory / "cgroup.procs") for directory in self._directories]

    def close(self) -> None:
        """Remove the groups, after what is left in them has been ended."""
        for directory in self._directories:
            for _ in range(100):
                with suppress(OSError):
                    for pid in (directory / "cgroup.procs").read_text().split():
                        with suppress(ProcessLookupError):
                            os.kill(int(pid), 9)
                    directory.rmdir()
                    break
                time.sleep(0.02)
        self._directories = []


@functools.cache
def can_be_made() -> bool:
    """Whether this user can make control groups here. It is tried, once."""
    tried = ControlGroup(64, 16)
    try:
        return bool(tried.files)
    finally:
        tried.close()
