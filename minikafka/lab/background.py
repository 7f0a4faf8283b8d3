"""Work that a notebook does while its reader reads."""

import sys
import threading
from collections.abc import Callable
from contextlib import suppress


def while_the_reader_reads(work: Callable[[], object]) -> None:
    """In a notebook's kernel do `work` in a thread that nobody waits for; elsewhere do nothing.

    A later cell then need not wait for what it needs. What goes wrong is told by that cell, not here.
    """
    application = sys.modules.get("ipykernel.kernelapp")
    if application is None or not application.IPKernelApp.initialized():
        return

    def run() -> None:
        with suppress(Exception):
            work()

    threading.Thread(target=run, name="while-the-reader-reads", daemon=True).start()
