"""Objects of the Scala classes that lie beside this module, in a JVM with Kafka's classes."""

import threading
from importlib.resources import as_file, files
from typing import Any
from weakref import WeakKeyDictionary

from minikafka.jvm.kafka_jvm import KafkaJvm, kafka_jars
from minikafka.jvm.scala_compiler import compiled_classes, was_compiled

_loading = threading.Lock()
_loaded: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()  # by gateway

SCALA_CLASSES = {"minikafka.KafkaLogState": "storage", "kafka.server.KafkaReplicas": "broker"}
"""Each class, whose last name is that of its file, and the part of Kafka's jars that it is compiled with."""


def to_compile() -> list[str]:
    """The classes of `SCALA_CLASSES` that the cache does not have. Raises KafkaUnavailableError."""
    return [name for name in SCALA_CLASSES if not _with_source(name, was_compiled)]


def compile_once(class_name: str) -> Any:
    """The directory with the compiled class; compiled (4 to 10 s) unless the cache has it.

    Raises KafkaUnavailableError and CompilationError.
    """
    return _with_source(class_name, compiled_classes)


def _with_source(class_name: str, do: Any) -> Any:
    with as_file(files(__package__) / f"{class_name.rpartition('.')[2]}.scala") as source:
        return do(source, kafka_jars(SCALA_CLASSES[class_name]))


def scala_constructor(kafka: KafkaJvm, class_name: str) -> Any:
    """The constructor of a class of `SCALA_CLASSES`, compiled first, if need be, and loaded once for a JVM.

    Other threads, and other `KafkaJvm`s on the same JVM, wait for it: a class that is loaded twice is two.
    """
    with _loading:
        loaded = _loaded.setdefault(kafka.gateway, {})
        if class_name not in loaded:
            loaded[class_name] = _constructor(kafka, class_name)
        return loaded[class_name]


def _constructor(kafka: KafkaJvm, class_name: str) -> Any:
    urls = kafka.gateway.new_array(kafka.find_class("java.net.URL"), 1)
    urls[0] = kafka.file(compile_once(class_name)).toURI().toURL()
    parent = kafka.find_class("java.lang.Thread").currentThread().getContextClassLoader()
    loader = kafka.find_class("java.net.URLClassLoader")(urls, parent)
    return loader.loadClass(class_name).getConstructors()[0]


def new_instance(kafka: KafkaJvm, constructor: Any, *arguments: Any) -> Any:
    """An object that `constructor` makes of Java's objects."""
    given = kafka.gateway.new_array(kafka.find_class("java.lang.Object"), len(arguments))
    for number, argument in enumerate(arguments):
        given[number] = argument
    return constructor.newInstance(given)
