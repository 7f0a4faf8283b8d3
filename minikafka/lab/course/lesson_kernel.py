"""A notebook run in a kernel of its own, as every command of the course does it."""

import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

_TIMEOUT_S = 300
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_in_a_kernel(notebook: Any, directory: Path, **options: Any) -> None:
    """Run all cells of `notebook`, which gets their outputs; `directory` is where it stands for itself.

    `options` are NotebookClient's. What the kernel writes to stderr is dropped. Signals do meanwhile, and afterwards,
    what the caller has arranged. Raises nbclient's CellExecutionError, CellTimeoutError and DeadKernelError.
    """
    from nbclient import NotebookClient

    handlers = {number: signal.getsignal(number) for number in _SIGNALS}

    def give_signals_back() -> None:
        if threading.current_thread() is threading.main_thread():  # in others nbclient cannot take them
            for number, handler in handlers.items():
                signal.signal(number, handler)

    class Client(NotebookClient):
        """nbclient takes the signals before it starts a kernel, and in the end leaves them to Python's defaults."""

        async def async_start_new_kernel(self, **how: Any) -> None:
            give_signals_back()
            await super().async_start_new_kernel(**how)

    where = {"metadata": {"path": str(directory)}}
    client = Client(notebook, timeout=_TIMEOUT_S, kernel_name="python3", resources=where, **options)
    try:
        client.execute(stderr=subprocess.DEVNULL)
    finally:
        give_signals_back()
