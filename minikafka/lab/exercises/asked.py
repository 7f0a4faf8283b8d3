"""Cases whose right answers come from one method or one turn of a cleaner: Spark's, minikafka's, or Kafka's own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minikafka.lab.exercises.exercise import Case
from minikafka.lab.exercises.witnessed import frame
from minikafka.spark import session


@dataclass(frozen=True)
class AskedCase(Case):
    """A case that can be asked of Spark and of whoever cleans logs.

    `expected()`: Spark's answer. `asked(factory)`: the answer of minikafka or of Kafka; `factory` opens their logs, and
    Kafka's has the JVM in its attribute `kafka`.
    """

    expected: Callable[[], Any]
    asked: Callable[[Any], Any]


def judged_by_spark(case: AskedCase) -> Any:
    """Spark's answer to `case`, from tables alone."""
    return case.expected()


def jvm_of(factory: Any) -> Any:
    """The `KafkaJvm` of a factory of Kafka's logs, None for minikafka's."""
    return getattr(factory, "kafka", None)


def call_private(kafka: Any, owner: Any, target: Any, name: str, *arguments: Any) -> Any:
    """Call the one method `name` that the Java class `owner` declares, whatever its access. `target`: None if static."""
    method = next(method for method in owner.getDeclaredMethods() if method.getName() == name)
    method.setAccessible(True)
    objects = kafka.gateway.new_array(kafka.find_class("java.lang.Object"), len(arguments))
    for number, argument in enumerate(arguments):
        objects[number] = argument
    return method.invoke(target, objects)


def answers_of(query: str, **given: Any) -> dict[int, Any]:
    """The answers of one Spark query to all cases of an exercise, by the number in its first column.

    `given`: what the query names; a pair of rows and schema is a table. An answer of one column is a value, else a
    tuple.
    """
    tables = {name: frame(*value) if isinstance(value, tuple) else value for name, value in given.items()}
    found = [tuple(row) for row in session().sql(query, **tables).collect()]
    return {number: rest[0] if len(rest) == 1 else tuple(rest) for number, *rest in found}
