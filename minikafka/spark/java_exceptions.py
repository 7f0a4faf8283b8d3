"""Keeps PySpark from taking Kafka's exceptions for Spark's.

Once a Spark session exists, PySpark examines every exception of every JVM of the process and converts those it knows,
with some twenty questions to Spark's JVM. Kafka's exceptions come in great numbers, from Spark's own JVM or from
another one; they must arrive as py4j raises them, and without delay.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

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

    Call it when the session exists, because making one is what installs PySpark's conversion.
    """
    import py4j.java_gateway
    from py4j.protocol import get_return_value as plain

    converting = py4j.java_gateway.get_return_value

    def get_return_value(answer, gateway_client, target_id=None, name=None):
        spared = gateway_client is not spark_client or getattr(_of_thread, "plain", False)
        return (plain if spared else converting)(answer, gateway_client, target_id, name)

    py4j.java_gateway.get_return_value = get_return_value
