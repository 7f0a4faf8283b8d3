"""A notebook run in a kernel of its own, as every command of the course does it."""

import subprocess
from pathlib import Path
from typing import Any

_TIMEOUT_S = 300


def run_in_a_kernel(notebook: Any, directory: Path, **options: Any) -> None:
    """Run all cells of `notebook`, which gets their outputs; `directory` is where it stands for itself.

    `options` are NotebookClient's. What the kernel writes to stderr is dropped. Raises nbclient's CellExecutionError,
    CellTimeoutError and DeadKernelError.
    """
    from nbclient import NotebookClient

    where = {"metadata": {"path": str(directory)}}
    client = NotebookClient(notebook, timeout=_TIMEOUT_S, kernel_name="python3", resources=where, **options)
    client.execute(stderr=subprocess.DEVNULL)
