"""Whether the process that began something is still alive."""

import os
import socket
import subprocess
from pathlib import Path
from typing import NamedTuple

_PYTHON_OF_SPARK = "pyspark."  # in the command line of the processes in which Spark's JVM runs Python


class ProcessId(NamedTuple):
    """A process of some machine; `started` tells it from a later one that was given the same number."""

    host: str
    pid: int
    started: str

    @staticmethod
    def of_driver() -> "ProcessId":
        """Spark's driver, seen from the Python that it plans and commits a write in; this process if it is no such
        Python."""
        pid = os.getpid()
        parent, started, command = _status(pid) or (0, "", "")
        while _PYTHON_OF_SPARK in command and parent > 1:
            pid = parent
            parent, started, command = _status(pid) or (0, "", "")
        return ProcessId(socket.gethostname(), pid, started)

    @property
    def is_of_this_machine(self) -> bool:
        """Whether this machine's processes are its like."""
        return self.host == socket.gethostname()

    @property
    def may_be_alive(self) -> bool:
        """False only for a process of this machine that has ended."""
        if not self.is_of_this_machine:
            return True
        status = _status(self.pid)
        return status is not None and status[1] == self.started


def _status(pid: int) -> tuple[int, str, str] | None:
    """The parent of a process, when it was started, and its command line; None when there is none that runs."""
    if Path("/proc/self/stat").exists():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] == "Z" else (int(fields[1]), fields[19], command)
    listed = subprocess.run(
        ["ps", "-o", "ppid=,lstart=,command=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split(maxsplit=6)
    return (int(listed[0]), " ".join(listed[1:6]), listed[6]) if len(listed) == 7 else None
