"""Java's exceptions as minikafka's of the same name."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from minikafka.common import errors
from minikafka.jvm.java_exceptions import left_as_they_are

_PACKAGE_OF_CLASS = re.compile(r"\b(?:[a-z]\w*\.)+(?=[A-Z])")
_WHAT_TO_DO = (
    "Start again; in a notebook, restart the kernel and run the cells from the top. If that does not help, "
    "`minikafka doctor` says what is missing."
)


class JavaException(Exception):
    """A Java exception that has no class in `minikafka.common.errors`; subclasses bear its simple name."""


class WitnessFailedError(Exception):
    """Kafka could not be asked: its JVM cannot load a class, or does not answer. This says nothing about Kafka, so it
    is never an observation. The message says what to do.
    """


@contextmanager
def kafka_errors() -> Iterator[None]:
    """Turn Java exceptions that leave the block into minikafka's exceptions of the same name and message.

    Raises WitnessFailedError where the JVM has failed, and not Kafka.
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    with left_as_they_are():
        try:
            yield
        except Py4JJavaError as failure:
            raise to_python(failure.java_exception) from None
        except Py4JError as failure:
            why = " ".join(str(failure).split("\n")[:2])  # behind it comes Java's stack
            raise WitnessFailedError(f"Kafka's JVM does not answer: {why}. {_WHAT_TO_DO}") from failure


def to_python(throwable) -> Exception:
    """minikafka's exception for one of Java's: class of the same simple name, same message (packages left out of it).

    `java_class` on it is the full name of Java's class. A WitnessFailedError where a class could not be loaded.
    """
    full_name = throwable.getClass().getName()
    if _is_linkage_error(throwable.getClass()):
        why = f"{full_name}: {throwable.getMessage()}"
        return WitnessFailedError(f"Kafka's JVM could not load something: {why}. {_WHAT_TO_DO}")
    name = re.split(r"[.$]", full_name)[-1]
    cls = getattr(errors, name, None) or type(name, (JavaException,), {})
    error = cls.__new__(cls)
    message = throwable.getMessage()
    error.args = (_PACKAGE_OF_CLASS.sub("", message or ""),)
    error.java_class = full_name
    if name == "UnexpectedAppendOffsetException":
        error.first_offset, error.last_offset = (
            throwable.getClass().getField(f).get(throwable) for f in ("firstOffset", "lastOffset")
        )
    elif name == "RecordValidationException":
        error.invalid_exception = to_python(throwable.invalidException())
        error.record_errors = [str(record_error) for record_error in throwable.recordErrors()]
    return error


def _is_linkage_error(java_class) -> bool:
    while java_class is not None and java_class.getName() != "java.lang.LinkageError":
        java_class = java_class.getSuperclass()
    return java_class is not None
