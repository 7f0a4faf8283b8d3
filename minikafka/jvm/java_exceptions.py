"""Keeps PySpark from taking Kafka's exceptions for Spark's.

Once a Spark session exists, PySpark examines every exception of every JVM of the process and converts those it knows,
with some twenty questions to Spark's JVM. Kafka's exceptions come in great numbers, from Spark's own JVM or from
another one; they must arrive as py4j raises them, and without delay.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_of_thread = threading.local()


@contextmanager
def left_as_they_are() -> Iterator[None]:
    """In this block, and in this thread, Java's exceptions arrive as py4j's `Py4JJavaError`."""
    before = getattr(_of_thread, "plain", False)
    _of_thread.plain = True
    try:
        yield
    finally:
        _of_thread.plain = before


def limit_pyspark_to_spark(spark_client: object) -> None:
    """Let PySpark convert only what comes from the JVM behind `spark_client`, and nothing within `left_as_they_are`.

    What is replaced is the question "which exception of PySpark's is this?". The hook that asks it would not do: every
    further session (`newSession`, a streaming query's function for batches) puts PySpark's own hook back.
    """
    from pyspark.errors.exceptions import captured

    converting = captured.convert_exception

    def convert_exception(throwable: Any) -> Any:
        spared = throwable._gateway_client is not spark_client or getattr(_of_thread, "plain", False)
        # PySpark raises py4j's own exception where it finds none of its own.
        return captured.UnknownException(desc="", stackTrace="") if spared else converting(throwable)

    captured.convert_exception = convert_exception  # type: ignore[assignment]
