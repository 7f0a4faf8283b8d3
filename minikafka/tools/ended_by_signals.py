"""Signals that end a tool in an orderly way."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP end the process as an exception does, so that the work is ended in order.

    The exit code is 128 and the signal's number, as in a shell. Only the main thread may enter.
    """

    def end(number: int, _frame) -> None:
        for signal_ in handlers:
            signal.signal(signal_, signal.SIG_IGN)
        sys.exit(128 + number)

    handlers = {
        signal_: signal.getsignal(signal_)
        for signal_ in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(signal_) is not signal.SIG_IGN  # `nohup`
    }
    for signal_ in handlers:
        signal.signal(signal_, end)
    try:
        yield
    finally:
        for signal_, handler in handlers.items():
            signal.signal(signal_, handler)
