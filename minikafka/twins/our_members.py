"""Our classes with their methods and attributes, read from the source: nothing is imported."""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from minikafka.common.python_source import parse
from minikafka.twins.twin_name import TwinName, twin_names

ROOMS = (
    "common",
    "record",
    "checkpoint",
    "log",
    "messages",
    "raft",
    "metadata",
    "cluster",
    "server",
    "network",
    "broker",
)
_PACKAGE = Path(__file__).parents[1]
_SENTENCE = re.compile(r"\.(?=\s)|\.$")


@dataclass(frozen=True)
class OurMember:
    """A class of minikafka's, a method, a function, or an attribute of a class that has a twin.

    - `module`: `minikafka.log.log`; `name`: within it, `Log.append`; `line`: where it is declared, from 1.
    - `kind`: "class", "method", "function" or "attribute"; `summary`: the first sentence of the docstring.
    - `twins`: what its `Kafka:` line names; `by_name` where it has none, but the class that it belongs to has one, and
      the twin is the member of that class with the same name in camelCase, if Kafka has it.
    """

    module: str
    name: str
    kind: str
    line: int
    summary: str
    twins: tuple[TwinName, ...]
    by_name: bool = False

    @property
    def file(self) -> str:
        """Its file, from the repository's root."""
        return self.module.replace(".", "/") + ".py"

    @property
    def public(self) -> bool:
        """Whether no part of its name begins with an underscore."""
        return not any(part.startswith("_") for part in self.name.split("."))

    @property
    def full_name(self) -> str:
        """Module and name."""
        return f"{self.module}.{self.name}"


@functools.cache
def our_members() -> tuple[OurMember, ...]:
    """All of them, by room, file and line."""
    return tuple(
        member
        for room in ROOMS
        for path in sorted((_PACKAGE / room).rglob("*.py"))
        for member in members_of(
            path.read_text(encoding="utf-8"), ".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts)
        )
    )


def members_of(source: str, module: str) -> Iterator[OurMember]:
    """The members that the text of a module declares."""
    yield from _members(parse(source).body, module, "", "")


def camel_case(name: str) -> str:
    """`log_end_offset` as Kafka writes it: `logEndOffset`; a constant keeps its name."""
    return name if name.isupper() else re.sub(r"_([a-z0-9])", lambda match: match.group(1).upper(), name)


def _members(body: list[ast.stmt], module: str, outer: str, owner: str) -> Iterator[OurMember]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            member = _member(node, "class", module, outer, owner)
            yield member
            mirrored = next((twin.owner for twin in member.twins if twin.member in (None, twin.owner)), "")
            yield from _members(node.body, module, f"{outer}{node.name}.", mirrored)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            yield _member(node, "method" if outer else "function", module, outer, owner)
        elif outer and owner:
            for name, line in _attributes(node):
                twins = (TwinName(owner, camel_case(name)),)
                yield OurMember(module, outer + name, "attribute", line, "", twins, by_name=True)


def _member(node: ast.ClassDef | ast.FunctionDef, kind: str, module: str, outer: str, owner: str) -> OurMember:
    docstring = ast.get_docstring(node) or ""
    twins = tuple(twin_names(docstring, owner))
    by_name = not twins and bool(owner) and kind == "method"
    if by_name:
        twins = (TwinName(owner, camel_case(node.name.lstrip("_"))),)
    summary = " ".join(_SENTENCE.split(docstring, maxsplit=1)[0].split())
    return OurMember(module, outer + node.name, kind, node.lineno, summary, twins, by_name)


def _attributes(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """(name without its underscore, line) of what a statement in a class's body makes: its fields, those of its
    constructor, `other_name = method`.
    """
    statements = ast.walk(node) if isinstance(node, ast.FunctionDef) else [node]  # the constructor's
    for each in statements:
        if not isinstance(each, (ast.Assign, ast.AnnAssign)):
            continue
        targets = each.targets if isinstance(each, ast.Assign) else [each.target]
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                yield target.attr.lstrip("_"), target.lineno
            elif isinstance(target, ast.Name) and not isinstance(node, ast.FunctionDef):
                yield target.id.lstrip("_"), target.lineno
