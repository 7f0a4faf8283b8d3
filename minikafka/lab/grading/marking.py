"""The process in which a learner's functions are checked: python -m minikafka.lab.grading.marking RESULTS < jobs

`jobs` is JSON: the seed, the limits, and a job for each function. The judges answer before any of the functions is
made; then the limits come into force. Each outcome is a line of JSON in the file RESULTS, so that what is done stays
done when the process has to be ended. What a function prints is dropped.
"""

import json
import linecache
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from minikafka.lab.exercises.exercise import Exercise
from minikafka.lab.exercises.prediction import ___
from minikafka.lab.rebuild import own_process

STUBBORN = 70
"""The exit code of a process that ended itself, because a function went on whenever it was told to end."""
NO_ROOM = 71
"""The exit code of a process that could not write its results; no function is to blame for that."""
_PATIENCE_S = 5.0


class OutOfTime(BaseException):
    """A check took too long; no `Exception`, so that few handlers take it for theirs."""


def mark(jobs: list[dict[str, Any]], seed: int, seconds: float, memory_mb: int) -> Iterator[dict[str, str]]:
    """The outcome of each job: its `state`, as a verdict has it, and `words`."""
    checks = [getattr(import_module(job["module"]), job["check"]) for job in jobs]
    _ask_the_judges(checks)
    own_process.limit(memory_mb)
    for job, check in zip(jobs, checks, strict=True):
        yield _marked(job, check, seed, seconds)


def _marked(job: dict[str, Any], check: Any, seed: int, seconds: float) -> dict[str, str]:
    try:
        with _ended_after(seconds):
            function = _made(job)
            verdict = check.check(function) if isinstance(check, Exercise) else check.check(function, seed)
        return {"state": verdict.state, "words": verdict.words}
    except OutOfTime:
        return {"state": "not yet", "words": f"It has not ended after {seconds:g} seconds."}
    except MemoryError:
        return {"state": "not yet", "words": "It needs more memory than it may have."}
    except Exception as error:  # what its module-level code or a check of its result raises
        return {"state": "not yet", "words": f"{type(error).__name__}: {error}"}


def _made(job: dict[str, Any]) -> Any:
    namespace: dict[str, Any] = {"___": ___}
    exec(compile(job["given"], "<course>", "exec"), namespace)
    file = f"<{job['name']}>"
    # So that an explanation can quote the line that it names.
    linecache.cache[file] = len(job["code"]), None, job["code"].splitlines(keepends=True), file
    exec(compile(job["code"], file, "exec"), namespace)
    return namespace[job["name"]]


def _ask_the_judges(checks: list[Any]) -> None:
    """Start the JVM and let the judges of exercises answer, while the code that runs is the course's alone."""
    from minikafka.lab.stage.workbench import kafka_witness

    for check in checks:
        if isinstance(check, Exercise):
            for number in range(len(check.cases)):
                check.answer(number)
    if not all(isinstance(check, Exercise) for check in checks):
        kafka_witness()


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    patient_until = time.monotonic() + seconds + _PATIENCE_S

    def too_long(*_: Any) -> None:
        if time.monotonic() > patient_until:
            os._exit(STUBBORN)
        raise OutOfTime

    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    """Mark what comes on standard input."""
    asked = json.load(sys.stdin)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    with open(sys.argv[1], "w", encoding="utf-8") as results:
        for outcome in mark(asked["jobs"], asked["seed"], asked["seconds"], asked["memory_mb"]):
            try:
                results.write(json.dumps(outcome) + "\n")
                results.flush()
            except OSError:
                os._exit(NO_ROOM)


if __name__ == "__main__":
    main()
