"""Ends a test that waits for Java for ever: shows where Java's threads stand, and kills it."""

import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from minikafka.jvm.java_home import java_home

_JSTACK_TIMEOUT_S = 20


class JvmWatchdog:
    """As a context manager: kills the JVMs of this process when the block takes longer than `patience_s` seconds.

    py4j then raises in whoever waits for one of them, and the test fails instead of stopping the whole run. What
    Java's threads were doing is printed to stderr before.
    """

    def __init__(self, patience_s: float):
        self._patience_s = patience_s

    def __enter__(self) -> "JvmWatchdog":
        self._timer = threading.Timer(self._patience_s, self._end_jvms)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *_):
        self._timer.cancel()

    def _end_jvms(self) -> None:
        # py4j would log each object that it can no longer free, at any moment: where that interrupts pytest's own
        # reading of a traceback, Python 3.11 reports "AST constructor recursion depth mismatch" and pytest ends.
        logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
        for pid in _own_jvms():
            told = (
                f"\nAfter {self._patience_s:g} s the test still runs. Java (process {pid}) is killed; its threads were:"
            )
            print(told, _java_stacks(pid), sep="\n", file=sys.stderr, flush=True)
            os.kill(pid, signal.SIGKILL)


def _own_jvms() -> list[int]:
    """The processes named `java` that this process has started."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    processes = (line.split(None, 2) for line in listed.splitlines())
    return [
        int(pid) for pid, parent, name in processes if int(parent) == os.getpid() and Path(name.strip()).name == "java"
    ]


def _java_stacks(pid: int) -> str:
    """The stacks of all threads of a JVM, by `jstack`, which comes with a JDK only."""
    jstack = java_home() / "bin" / "jstack"
    try:
        return subprocess.run(
            [str(jstack), "-l", str(pid)], capture_output=True, text=True, timeout=_JSTACK_TIMEOUT_S
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown: {error}"
