"""Work that a notebook does while its reader reads."""

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress


def while_the_reader_reads(*work: Callable[[], object], wait_s: float = 0) -> None:
    """In a notebook's kernel, do each of `work` in a thread of its own; elsewhere, do nothing.

    A later cell then need not wait for what it needs; that cell, not this call, reports what went wrong. This call
    returns when everything is done, or after `wait_s` seconds.
    """
    application = sys.modules.get("ipykernel.kernelapp")
    if application is None or not application.IPKernelApp.initialized():
        return

    def run(task: Callable[[], object]) -> None:
        with suppress(Exception):
            task()

    threads = [threading.Thread(target=run, args=[task], name="while-the-reader-reads", daemon=True) for task in work]
    for thread in threads:
        thread.start()
    end = time.monotonic() + wait_s
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
