"""A process of its own for code of a learner: started apart, limited, and ended with all that it has started."""

import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

_OPEN_FILES = 1024
_LARGEST_FILE = 256 << 20
_ROOT = str(Path(__file__).parents[3])


def started(module: str, *arguments: str, directory: Path | str, **options: Any) -> subprocess.Popen[bytes]:
    """`python -m module arguments` in `directory`, in a session of its own; `options` are Popen's."""
    paths = filter(None, [_ROOT, os.environ.get("PYTHONPATH")])
    return subprocess.Popen(
        [sys.executable, "-u", "-m", module, *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,
        **options,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End all processes of its session; Spark's JVM has a group of its own."""
    for pid in psutil.pids():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == process.pid:
                os.kill(pid, signal.SIGKILL)
    process.wait()


def limit(memory_mb: int) -> None:
    """From now on this process gets at most `memory_mb` (MiB) more than it has, and limits of files."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    for kind, most in (
        (resource.RLIMIT_AS, used + (memory_mb << 20)),
        (resource.RLIMIT_FSIZE, _LARGEST_FILE),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
