"""What minikafka raises inside Spark, found in Spark's message and put before it.

An exception of the data source comes back from Spark's JVM, or from a Spark Connect server, somewhere in 8 to 150 lines
about tasks, stages and sockets. The line that helps is to stand first.
"""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

_RAISED_BY_US = re.compile(r"minikafka\.common\.errors\.(\w+): (.+?)(?: SQLSTATE: \w+)?$", re.MULTILINE)


def raised_by_us(message: str) -> tuple[str, str] | None:
    """The name and the message of the exception of minikafka that Spark's `message` tells of last, None for none."""
    raised = _RAISED_BY_US.findall(message)
    return raised[-1] if raised else None


def put_our_line_first() -> None:
    """From now on, let what PySpark raises begin with what minikafka raised, if it did; called twice it does nothing.

    What PySpark would raise as py4j's exception, since it has no class of its own for it, is then a PythonException of
    PySpark.
    """
    from pyspark.errors.exceptions import captured

    if not hasattr(captured.convert_exception, "puts_our_line_first"):
        captured.convert_exception = _telling(captured.convert_exception, _with_line)


def put_our_line_first_in_connect() -> None:
    """The same for Spark Connect, in whose place for it nothing is imported before a session needs it."""
    from pyspark.sql.connect.client import core

    if not hasattr(core.convert_exception, "puts_our_line_first"):
        core.convert_exception = _telling(core.convert_exception, _with_line_in_connect)


def _telling(convert: Callable[..., Any], with_line: Callable[[Any, str], Any]) -> Callable[..., Any]:
    @wraps(convert)
    def convert_exception(*arguments: Any, **named: Any) -> Any:
        converted = convert(*arguments, **named)
        raised = raised_by_us(getattr(converted, "_desc", None) or getattr(converted, "_message", None) or "")
        return converted if raised is None else with_line(converted, ": ".join(raised))

    convert_exception.puts_our_line_first = True  # type: ignore[attr-defined]
    return convert_exception


def _with_line(converted: Any, line: str) -> Any:
    from pyspark.errors.exceptions.captured import PythonException, UnknownException

    desc = f"{line}\n\n{converted._desc}"
    if not isinstance(converted, UnknownException | PythonException):
        converted._desc = desc
        return converted
    # A PythonException with the Java exception it comes from would ask that for its message.
    told = PythonException(desc=desc, stackTrace=converted._stackTrace)
    return told.with_traceback(converted.__traceback__)


def _with_line_in_connect(converted: Any, line: str) -> Any:
    converted._message = f"{line}\n\n{converted._message}"
    return converted
