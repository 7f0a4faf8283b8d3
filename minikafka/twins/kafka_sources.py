"""Kafka's classes: those of any version from its sources, and those of the mirrored version from a table.

The table, `kafka_classes.json`, needs neither a network nor a parser. It holds the classes that `Kafka:` lines name,
what they inherit from, and the whole storage module; `python -m minikafka.twins.kafka_sources` makes it anew.
"""

import functools
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minikafka.jvm.kafka_jars import KAFKA_VERSION
from minikafka.jvm.source_jars import SourcesUnavailableError, source_jars
from minikafka.twins.kafka_source_file import KafkaClass, KafkaMember, parse
from minikafka.twins.twin_name import TwinName

STORAGE_MODULE = "storage/"
TABLE_FILE = Path(__file__).with_name("kafka_classes.json")
_GENERATED = "org/apache/kafka/common/message/"
_JAR = re.compile(r"(kafka[\w.-]*?)-\d+\.\d+\.\d+-sources\.jar")
_DECLARED = re.compile(r"^[^/*\n]*\b(?:class|interface|enum|record|object|trait)\s+([A-Z]\w*)", re.MULTILINE)
_DIRECTORIES = {"kafka_2.13": "core"}  # else an artifact's directory is its name without "kafka-"


class KafkaSources:
    """The sources of one version, parsed file by file as they are asked for."""

    def __init__(self, version: str, jars: Iterable[Path]) -> None:
        self.version = version
        self._texts: dict[str, str] = {}
        self._declaring: dict[str, list[str]] = {}
        for jar in jars:
            for file, text in _files_of(jar):
                self._texts[file] = text
                for name in {Path(file).stem, *_DECLARED.findall(text)}:
                    self._declaring.setdefault(name, []).append(file)

    @classmethod
    def of(cls, version: str) -> "KafkaSources":
        """Those of `version`, fetched when the cache lacks them. Raises SourcesUnavailableError."""
        return cls(version, source_jars(version))

    def types(self, simple_name: str) -> list[KafkaClass]:
        """The types, also inner ones, of that name without package and outer class."""
        return [
            each
            for file in self._declaring.get(simple_name, ())
            for each in self.types_of_file(file)
            if each.name.rpartition(".")[2] == simple_name
        ]

    def files(self, directory: str = "") -> list[str]:
        """The files below a directory of the repository, sorted."""
        return sorted(file for file in self._texts if file.startswith(directory))

    @functools.cache  # noqa: B019 - stays as long as the sources
    def types_of_file(self, file: str) -> list[KafkaClass]:
        """The types that a file declares. Raises ValueError where it cannot be parsed."""
        return parse(self._texts[file], file)


@dataclass(frozen=True)
class KafkaTable:
    """The classes of the mirrored version that are of interest here."""

    version: str
    classes: tuple[KafkaClass, ...]
    _by_name: dict[str, list[KafkaClass]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for each in self.classes:
            self._by_name.setdefault(each.name.rpartition(".")[2], []).append(each)

    def types(self, simple_name: str) -> list[KafkaClass]:
        """As `KafkaSources.types`."""
        return self._by_name.get(simple_name, [])


@functools.cache
def kafka_table() -> KafkaTable:
    """The table of the mirrored version, whose members have no texts."""
    rows = json.loads(TABLE_FILE.read_text(encoding="utf-8"))
    return KafkaTable(KAFKA_VERSION, tuple(_class(name, row) for name, row in rows.items()))


def table_of(sources: KafkaSources, named: Iterable[TwinName]) -> KafkaTable:
    """The classes of `sources` that are `named`, with their parents, and those of the storage module."""
    found: dict[str, KafkaClass] = {}

    def take(owner: str) -> None:
        for each in sources.types(owner.rpartition(".")[2]):
            if not f".{each.full_name}".endswith(f".{owner}"):
                continue
            around = sources.types_of_file(each.file)
            for one in around if _GENERATED not in each.file else [each]:
                if _key(one) not in found:
                    found[_key(one)] = one
                    for parent in one.parents:
                        take(parent)

    for twin in named:
        take(twin.owner)
    for file in sources.files(STORAGE_MODULE):
        if _GENERATED not in file:
            for each in sources.types_of_file(file):
                found.setdefault(_key(each), each)
    return KafkaTable(sources.version, tuple(found[key] for key in sorted(found)))


def _key(of: KafkaClass) -> str:
    """The full name; a Scala object's ends with `$`, as its class file's does."""
    return of.full_name + ("$" if of.kind == "object" else "")


def _files_of(jar: Path) -> Iterator[tuple[str, str]]:
    """(path in Kafka's repository, text) of each source file. Raises SourcesUnavailableError for a broken jar."""
    artifact = _JAR.fullmatch(jar.name)
    name = artifact.group(1) if artifact else jar.stem
    directory = _DIRECTORIES.get(name, name.removeprefix("kafka-"))
    try:
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                language = Path(entry).suffix.removeprefix(".")
                if language in ("java", "scala"):
                    yield f"{directory}/src/main/{language}/{entry}", archive.read(entry).decode()
    except (zipfile.BadZipFile, zlib.error, UnicodeDecodeError, EOFError) as broken:
        raise SourcesUnavailableError(f"{jar} is broken ({broken}); remove it to fetch it again") from broken


def _row(of: KafkaClass) -> dict[str, object]:
    """A class as JSON: a member is `+name(Type) line`, `-` for one that is not public, `~` inside a method."""
    return {
        "kind": of.kind,
        "file": of.file,
        "line": of.line,
        "public": of.public,
        "parents": of.parents,
        "members": [
            f"{'~' if each.kind == 'function' else '+' if each.public else '-'}{each.signature} {each.line}"
            for each in of.members
        ],
    }


def _class(key: str, row: dict[str, Any]) -> KafkaClass:
    package, name = re.findall(r"^([a-z_0-9.]*)\.([A-Z].*?)\$?$", key)[0]
    simple = name.rpartition(".")[2]
    return KafkaClass(
        name,
        package,
        row["kind"],
        row["file"],
        row["line"],
        row["public"],
        tuple(row["parents"]),
        tuple(_member(each, simple) for each in row["members"]),
    )


def _member(told: str, owner: str) -> KafkaMember:
    signature, line = told[1:].rsplit(" ", 1)
    name, parenthesis, types = signature.partition("(")
    kind = "field" if not parenthesis else "constructor" if name == owner else "method"
    parameters = tuple(types.removesuffix(")").split(", ")) if types not in ("", ")") else ()
    return KafkaMember(name, "function" if told[0] == "~" else kind, parameters, int(line), told[0] == "+")


def table_text(table: KafkaTable) -> str:
    """The table as it is kept: JSON with a class a line."""
    rows = [f"{json.dumps(_key(each))}: {json.dumps(_row(each))}" for each in table.classes]
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    from minikafka.twins.our_members import our_members

    made = table_of(KafkaSources.of(KAFKA_VERSION), [twin for each in our_members() for twin in each.twins])
    TABLE_FILE.write_text(table_text(made), encoding="utf-8")
    print(f"{sum(len(each.members) for each in made.classes)} members of {len(made.classes)} classes")
