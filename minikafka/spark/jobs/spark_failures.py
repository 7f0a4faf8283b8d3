"""Spark's failures in one line: what our own code said in a worker, without Spark's and Python's stacks around it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Exception|Error)): (.+)$", re.MULTILINE)
_RAISED_IN_JAVA = re.compile(r"^(?:Caused by)?: (?:[\w.$]+\.)?(\w+): (.*\S)$", re.MULTILINE)


class JobFailedError(RuntimeError):
    """A job that Spark could not finish; the message is one line."""


@contextmanager
def told_by_spark() -> Iterator[None]:
    """Raise JobFailedError in the place of what Spark raises in this block."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise JobFailedError(reason(str(error))) from error


def reason(message: str) -> str:
    """The exception that a worker's Python ended with, or else the first line of Spark's message."""
    worker = message.partition("Traceback (most recent call last):")[2]
    raised = _RAISED.findall(worker) or _RAISED_IN_JAVA.findall(message)
    if raised:
        name, told = raised[-1]
        return f"{name}: {told}"
    return next(iter(message.strip().splitlines()), "Spark gave no reason")
