"""The member of Kafka's that a name means."""

from collections.abc import Iterable
from typing import Protocol

from minikafka.twins.kafka_source_file import KafkaClass, KafkaMember
from minikafka.twins.twin_name import TwinName

# Twins that do not stand in the sources of Kafka's main modules: those of the JDK, of Scala and of libraries, named
# with or without their packages, and Kafka's own that only its tests or its build have.
_OTHER_PACKAGES = ("java.", "scala.", "com.github.", "org.xerial.", "org.apache.kafka.message.")
_ELSEWHERE = {
    *("Collections", "ExecutorService", "Executors", "File", "FileChannel", "Files", "Future", "HashMap"),
    *("MappedByteBuffer", "Random", "RandomAccessFile", "StringDecoder", "TreeNode"),
    *("MessageDataGenerator", "MockConfigRepository", "MockScheduler", "MockTime", "VersionConditional"),
}
_OF_THE_JDK = {"AutoCloseable": "close", "Closeable": "close", "Iterable": "iterator", "Runnable": "run"}
_PRIMITIVES = {"int", "long", "short", "byte", "boolean", "double", "float", "char"}


class Types(Protocol):
    """What `KafkaSources` and `KafkaTable` have in common."""

    def types(self, simple_name: str) -> list[KafkaClass]: ...


def stands_elsewhere(twin: TwinName) -> bool:
    """Whether the name is of a class outside of Kafka's main modules, or of several by a `*`."""
    first = twin.owner.split(".")[0]
    return twin.owner.startswith(_OTHER_PACKAGES) or first in _ELSEWHERE or "*" in twin.owner


def resolve(twin: TwinName, among: Types) -> list[tuple[KafkaClass, KafkaMember | None]]:
    """The classes that are meant, or the members with the classes that declare them: several where overloads do not
    matter; [] where Kafka has no such thing.

    A member is looked for in the class, then in those that it inherits from, the nearest first.
    """
    classes = _classes(twin.owner, among)
    if twin.member is None:
        return [(each, None) for each in classes]
    found: list[tuple[KafkaClass, KafkaMember | None]] = []
    seen: set[str] = set()
    while classes and not found:
        found = [(of, member) for of in classes for member in of.members if _is_meant(twin, member)]
        found = found or [(of, None) for of in classes if twin.member in map(_OF_THE_JDK.get, of.parents)]
        seen |= {each.full_name for each in classes}
        parents = (type_ for of in classes for parent in of.parents for type_ in among.types(parent))
        classes = _distinct(each for each in parents if each.full_name not in seen)
    if not found and twin.member == twin.owner.rpartition(".")[2] and not twin.parameters:
        return [(each, None) for each in _classes(twin.owner, among)]  # the constructor that nobody writes
    return found


def _classes(owner: str, among: Types) -> list[KafkaClass]:
    named = among.types(owner.rpartition(".")[2])
    return [each for each in named if f".{each.full_name}".endswith(f".{owner}")]


def _distinct(classes: Iterable[KafkaClass]) -> list[KafkaClass]:
    return list({(each.full_name, each.kind): each for each in classes}.values())


def _is_meant(twin: TwinName, member: KafkaMember) -> bool:
    if member.name != twin.member:
        return False
    types = twin.parameters
    if types is None or any(each[:1].islower() and each.removesuffix("[]") not in _PRIMITIVES for each in types):
        return True  # no types, or values instead of types
    return [_boxed(each) for each in types] == [_boxed(each) for each in member.parameters]


def _boxed(kind: str) -> str:
    return {"int": "Int", "Integer": "Int"}.get(kind, kind[:1].upper() + kind[1:])
