"""What the threads of a process of `make test` did when it died in the midst of a test: shown at the end of the run.

pytest writes that to the process's stderr, where thousands of lines may follow.
"""

import faulthandler
import os
import tempfile
from pathlib import Path

import pytest

# pytest has no public way to say where its faulthandler writes to.
from _pytest.faulthandler import fault_handler_stderr_fd_key

_INNERMOST = 20  # frames of the main thread


class ThreadStacks:
    """The files of the processes of one run, by the names that pytest-xdist gives them."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="minikafka-stacks-")
        self._died: list[str] = []

    def file_of(self, process: str) -> str:
        """Where the process is to write to."""
        return str(Path(self._directory.name) / process)

    def note_dead(self, process: str) -> None:
        """The process has ended before it had run its tests."""
        self._died.append(process)

    def of_the_dead(self) -> dict[str, str]:
        """By process, where its threads stood; empty where it could write nothing, as after SIGKILL."""
        return {each: _essence(Path(self.file_of(each)).read_text(errors="replace")) for each in self._died}


def write_stacks_to(file: str, config: pytest.Config) -> None:
    """Let pytest's faulthandler write to `file`, when a test takes too long or a signal ends the process."""
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.close(config.stash[fault_handler_stderr_fd_key])
    config.stash[fault_handler_stderr_fd_key] = fd
    faulthandler.enable(file=fd)


def _essence(written: str) -> str:
    """Of the main thread, which comes last, the innermost frames; of each other thread the innermost one."""
    *others, main = written.strip().split("\n\n")
    lines = [line for thread in others for line in _as_far_as_frame(1, thread)]
    return "\n".join(lines + _as_far_as_frame(_INNERMOST, main))


def _as_far_as_frame(number: int, thread: str) -> list[str]:
    """What stands above the frames, and so many frames."""
    lines = thread.splitlines()
    frames = [at for at, line in enumerate(lines) if line.startswith("  File ")]
    return lines[: frames[:number][-1] + 1] if frames else lines
