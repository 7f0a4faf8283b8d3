"""Signals that end a tool in an orderly way."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class SignalWhenDone(BaseException):
    """A signal told the process to end when the work was done, and its report was not; its argument is the signal."""


@dataclass
class _Ending:
    """How a signal ends the block of `ended_by_signals`: not at all while they `wait`. `came`: the first that waits."""

    wait: bool = False
    is_done: bool = False
    came: int | None = None


_ending = _Ending()
"""Of the whole process, as its signals are."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP end the process as an exception does, so that the work is ended in order.

    The exit code is 128 and the signal's number, as in a shell. Only the main thread may enter.
    """

    def end(number: int, _frame: object) -> None:
        if _ending.wait:
            _ending.came = _ending.came or number
            return
        for signal_ in handlers:
            signal.signal(signal_, signal.SIG_IGN)
        if _ending.is_done:
            raise SignalWhenDone(number)
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
        _ending.wait, _ending.is_done, _ending.came = False, False, None


def let_signals_wait() -> None:
    """Let no signal end the block of `ended_by_signals` from here on: it would leave what must not stop half-way."""
    _ending.wait = True


def let_signals_in() -> None:
    """Let a signal end the block of `ended_by_signals` again, whose work is done: by `SignalWhenDone`.

    Raises that at once for a signal that had to wait.
    """
    _ending.is_done, _ending.wait = True, False
    if _ending.came is not None:
        raise SignalWhenDone(_ending.came)
