"""Kafka's messages as tables, which the files in `tables/` hold: which fields a message has, and in which versions.

A message is a block of lines. The first names it and says its api key, its versions, and in which of them it is
flexible: compact lengths, and tagged fields at the end. Then comes a line for each field, in the order of their bytes:

    PartitionRecord key 3 versions 0-2 flexible 0+
      partitionId int32 0+ default -1
      directories []uuid 1+
      lastKnownElr []int32 2+ nullable 2+ tag 2 default null

An `ignorable` field may be left out of a version that lacks it, whatever it holds; a request also says at which kinds
of listeners it is heard, and whether its latest version is not stable yet.

The fields of a structure follow with a deeper indent, those of one that is used in several places below the word
`struct`. `tests/tools/make_message_tables.py` makes the files from Kafka's jars.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from minikafka.common.made_once import made_once
from minikafka.common.uuid import ZERO_UUID
from minikafka.messages.message_schema import Field, MessageSchema, StructSchema
from minikafka.messages.versions import Versions

_FOLDER = files(__package__) / "tables"  # also where minikafka is a zip, as for Spark's workers
_ZEROS = {"string": "", "bytes": b"", "records": None, "uuid": ZERO_UUID, "bool": False, "float64": 0.0}


@cache
def message_schemas(table: str) -> dict[str, MessageSchema]:
    """The messages of a table ("consumer-offsets"), by their names ("OffsetCommitKey")."""
    return {name: message_schema(table, name) for name in _blocks(table)}


@made_once
def message_schema(table: str, name: str) -> MessageSchema:
    """One message of a table; the others are not looked at. Raises KeyError."""
    return _message(_blocks(table)[name])


@cache
def _blocks(table: str) -> dict[str, str]:
    """The lines of each message, by its name."""
    text = (_FOLDER / f"{table}.txt").read_text(encoding="utf-8")
    return {block[: block.index(" ")]: block for block in text.split("\n\n")}


def _message(block: str) -> MessageSchema:
    first, *lines = block.splitlines()
    name, *pairs = first.split()
    facts = dict(zip(pairs[::2], pairs[1::2]))
    versions, flexible = Versions.parse(facts["versions"]), Versions.parse(facts["flexible"])
    entries = list(_entries(lines))
    structs: dict[str, StructSchema] = {}
    for line, _ in entries:
        if line.startswith("struct "):
            _, struct_name, struct_versions = line.split()
            own = Versions.parse(struct_versions)
            structs[struct_name] = StructSchema(struct_name, own, own, flexible)
    for line, inner in entries:
        if line.startswith("struct "):
            struct = structs[line.split()[1]]
            struct.fields = _fields(_entries(inner), struct.versions, flexible, structs)
    message = StructSchema(name, versions, versions, flexible)
    own_fields = [entry for entry in entries if not entry[0].startswith("struct ")]
    message.fields = _fields(own_fields, versions, flexible, structs)
    listeners = frozenset(facts["listeners"].split(",")) if "listeners" in facts else frozenset()
    return MessageSchema(name, int(facts.get("key", -1)), versions, message, listeners, "unstable" in facts)


def _entries(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each line with the least indent, and the lines with a deeper one that follow it."""
    indent = _indent(lines[0]) if lines else 0
    starts = [n for n, line in enumerate(lines) if _indent(line) == indent]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        yield lines[start].strip(), lines[start + 1 : end]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _fields(
    entries: Iterable[tuple[str, list[str]]],
    possible: Versions,
    flexible: Versions,
    structs: dict[str, StructSchema],
) -> tuple[Field, ...]:
    return tuple(_field(line, inner, possible, flexible, structs) for line, inner in entries)


def _field(
    line: str, inner: list[str], possible: Versions, flexible: Versions, structs: dict[str, StructSchema]
) -> Field:
    name, type_name, versions_text, *pairs = line.split()
    facts = dict(zip(pairs[::2], pairs[1::2]))
    versions = Versions.parse(versions_text)
    element = type_name.removeprefix("[]")
    type_: str | StructSchema = structs.get(element, element)
    if inner:
        type_ = StructSchema(element, versions, possible, flexible)
        type_.fields = _fields(_entries(inner), possible.intersect(versions), flexible, structs)
    return Field(
        name,
        type_,
        type_name.startswith("[]"),
        versions,
        Versions.parse(facts.get("nullable", "none")),
        int(facts["tag"]) if "tag" in facts else None,
        _default(element, facts.get("default")),
        "ignorable" in facts,
    )


def _default(type_name: str, text: str | None) -> object:
    """The default of a field; of a structure or an array only whether it is null."""
    if text == "null":
        return None
    if text is None:
        return _ZEROS.get(type_name, 0)
    return text == "true" if type_name == "bool" else int(text, 0)
