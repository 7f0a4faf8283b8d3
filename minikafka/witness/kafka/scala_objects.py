"""Objects of the Scala classes that lie beside this module, in a JVM with Kafka's classes."""

from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import Any

from minikafka.jvm.kafka_jvm import KafkaJvm
from minikafka.jvm.scala_compiler import compiled_classes


def scala_constructor(kafka: KafkaJvm, class_name: str, class_path: Sequence[str]) -> Any:
    """The constructor of a class of `KafkaReplicas.scala`, say, whose last name is that of the file.

    The file is compiled on `class_path` first, if need be, and loaded once for a JVM.
    """
    return kafka.made_once(class_name, lambda: _constructor(kafka, class_name, class_path))


def _constructor(kafka: KafkaJvm, class_name: str, class_path: Sequence[str]) -> Any:
    with as_file(files(__package__) / f"{class_name.rpartition('.')[2]}.scala") as source:
        classes = compiled_classes(source, class_path)
    urls = kafka.gateway.new_array(kafka.find_class("java.net.URL"), 1)
    urls[0] = kafka.file(classes).toURI().toURL()
    parent = kafka.find_class("java.lang.Thread").currentThread().getContextClassLoader()
    loader = kafka.find_class("java.net.URLClassLoader")(urls, parent)
    return loader.loadClass(class_name).getConstructors()[0]


def new_instance(kafka: KafkaJvm, constructor: Any, *arguments: Any) -> Any:
    """An object that `constructor` makes of Java's objects."""
    given = kafka.gateway.new_array(kafka.find_class("java.lang.Object"), len(arguments))
    for number, argument in enumerate(arguments):
        given[number] = argument
    return constructor.newInstance(given)
