"""What a source file of Kafka's declares, in Java or Scala: its classes and their members. tree-sitter reads it."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_TYPES = {  # the node that declares a type, in both grammars → what it is
    "class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "record_declaration": "record",
    "annotation_type_declaration": "annotation",
    "class_definition": "class",
    "object_definition": "object",
    "trait_definition": "trait",
}
_METHODS = ("method_declaration", "function_definition", "function_declaration")
_FIELDS = ("field_declaration", "constant_declaration", "val_definition", "var_definition", "val_declaration")
_CONSTRUCTORS = ("constructor_declaration", "compact_constructor_declaration")
_PARAMETERS = ("class_parameters", "formal_parameters")  # of a Scala class, of a record
_BODIES = ("class_body", "interface_body", "enum_body", "enum_body_declarations", "template_body")
_DECLARED_APART = {*_TYPES, *_METHODS, *_FIELDS, *_CONSTRUCTORS, *_PARAMETERS, "enum_constant", ","}
_WRITTEN = re.compile(
    r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|(?P<space>(?:\s|//[^\n]*|/\*(?:.|\n)*?\*/)+)'
)
_TYPE_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class GrammarsMissingError(RuntimeError):
    """tree-sitter, or its grammar of Java or Scala, is not installed."""


@dataclass(frozen=True)
class KafkaMember:
    """A method, field or constructor as Kafka declares it.

    - `kind`: "method", "field", "constructor", or "function" for one that is declared inside a method.
    - `parameters`: the parameters' types without packages and type arguments; () for a field.
    - `line`: where the declaration begins, from 1.
    - `text`: the whole declaration without comments, and with no more spaces than it needs.
    """

    name: str
    kind: str
    parameters: tuple[str, ...]
    line: int
    public: bool
    text: str = field(default="", repr=False)

    @property
    def signature(self) -> str:
        """`name(Type, Type)`; a field's name alone."""
        return self.name if self.kind == "field" else f"{self.name}({', '.join(self.parameters)})"


@dataclass(frozen=True)
class KafkaClass:
    """A class, interface, record, enum, object or trait of Kafka's, with its members in their order.

    - `name`: without the package, inner classes after a dot: `LogValidator.ValidationResult`.
    - `parents`: what it extends and implements, by simple names.
    - `file`: where it stands, from the root of the sources that were read.
    - `around`: what is neither a member nor an inner class, as `KafkaMember.text` has it: head, annotations,
      initializers, and the statements of a Scala class.
    """

    name: str
    package: str
    kind: str
    file: str
    line: int
    public: bool
    parents: tuple[str, ...]
    members: tuple[KafkaMember, ...]
    around: str = field(default="", repr=False)

    @property
    def full_name(self) -> str:
        """The package and the name."""
        return f"{self.package}.{self.name}"


def parse(source: str, file: str) -> list[KafkaClass]:
    """The types that `source` declares, outer ones before inner ones.

    A Scala class and its companion object are two types of one name. `file` ends with .java or .scala. Raises
    GrammarsMissingError, and ValueError for text that is no such source.
    """
    data = source.encode()
    root = _parser(scala=file.endswith(".scala")).parse(data).root_node
    if root.has_error:
        raise ValueError(f"{file}: not a source file that can be parsed")
    package = next((_package(node) for node in root.children if node.type.startswith("package_")), "")
    return list(_types_in(root, "", package, file))


def normalised(text: str) -> str:
    """`text` without comments, and with one space where words would grow together, none elsewhere."""
    found, end = [], 0
    for match in _WRITTEN.finditer(text):
        found.append(text[end : match.start()])
        end = match.end()
        if match["space"] is None:
            found.append(match.group())
        elif _in_word(text[match.start() - 1 : match.start()]) and _in_word(text[end : end + 1]):
            found.append(" ")
    return "".join([*found, text[end:]]).strip()


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter in ("_", "$", "@") and letter != ""


@functools.cache
def _parser(scala: bool) -> Any:
    try:
        import tree_sitter_java
        import tree_sitter_scala
        from tree_sitter import Language, Parser
    except ImportError as missing:
        raise GrammarsMissingError(
            "Kafka's sources are parsed by tree-sitter: pip install tree-sitter tree-sitter-java tree-sitter-scala"
        ) from missing
    return Parser(Language((tree_sitter_scala if scala else tree_sitter_java).language()))


def _package(node: Any) -> str:
    return re.sub(r"^package\s+|[\s;]", "", _text(node))


def _types_in(node: Any, outer: str, package: str, file: str) -> Iterator[KafkaClass]:
    for child in node.children:
        if child.type in _TYPES:
            yield from _type(child, outer, package, file)
        elif child.type in _BODIES or child.type == "package_clause":
            yield from _types_in(child, outer, package, file)


def _type(node: Any, outer: str, package: str, file: str) -> Iterator[KafkaClass]:
    simple = _text(node.child_by_field_name("name"))
    name = f"{outer}.{simple}" if outer else simple
    kind = _TYPES[node.type]
    members = sorted(_members(node, simple, kind), key=lambda each: each.line)
    public, around = _is_public(node, kind, file), normalised("\n".join(_around_members(node)))
    yield KafkaClass(name, package, kind, file, _line(node), public, _parents(node), tuple(members), around)
    yield from _types_in(node, name, package, file)


def _around_members(node: Any) -> Iterator[str]:
    for child in node.children:
        if child.type in _BODIES:
            yield from _around_members(child)
        elif child.type not in _DECLARED_APART and not child.type.endswith("comment"):
            yield _text(child)


def _parents(node: Any) -> tuple[str, ...]:
    clauses = ("superclass", "super_interfaces", "extends_interfaces", "extends_clause")
    text = " ".join(_text(child) for child in node.children if child.type in clauses)
    text = re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", _without_type_arguments(text))
    names = _TYPE_NAME.findall(re.sub(r"\b(?:extends|implements|with)\b", " ", text))
    return tuple(each.rpartition(".")[2] for each in names)


def _members(node: Any, owner: str, kind: str) -> Iterator[KafkaMember]:
    scala = node.type.endswith("_definition")
    parameters = [child for child in node.children if child.type in _PARAMETERS]
    if parameters:
        of_a_case_class = any(child.type == "case" for child in node.children)
        types = tuple(kind_of for each in parameters for kind_of, _, _ in _parameters(each))
        header = " ".join(_text(each) for each in parameters)
        yield KafkaMember(owner, "constructor", types, _line(node), True, normalised(header))
        for _, name, each in (found for group in parameters for found in _parameters(group)):
            if kind == "record":
                yield KafkaMember(name, "method", (), _line(each), True, normalised(_text(each)))
            else:
                seen = of_a_case_class or any(part.type in ("val", "var") for part in each.children)
                public = seen and _is_public(each, kind, ".scala")
                yield KafkaMember(name, "field", (), _line(each), public, normalised(_text(each)))
    for body in (child for child in node.children if child.type in _BODIES):
        yield from _members_of_body(body, owner, kind, scala)


def _members_of_body(body: Any, owner: str, kind: str, scala: bool) -> Iterator[KafkaMember]:
    extension = ".scala" if scala else ".java"
    for child in body.children:
        public, line = _is_public(child, kind, extension), _line(child)
        if child.type == "enum_body_declarations":
            yield from _members_of_body(child, owner, "class", scala)
        elif child.type == "enum_constant":
            yield KafkaMember(_name(child), "field", (), line, True, normalised(_text(child)))
        elif child.type in _CONSTRUCTORS:
            yield KafkaMember(owner, "constructor", _types_of(child), line, public, normalised(_text(child)))
        elif child.type in _METHODS:
            is_constructor = scala and _name(child) == "this"
            what, name = ("constructor", owner) if is_constructor else ("method", _name(child))
            yield KafkaMember(name, what, _types_of(child), line, public, normalised(_text(child)))
            if scala:
                yield from _functions_inside(child)
        elif child.type in _FIELDS:
            for name in _field_names(child):
                yield KafkaMember(name, "field", (), line, public, normalised(_text(child)))


def _functions_inside(node: Any) -> Iterator[KafkaMember]:
    """Scala's functions within functions, however deep."""
    for child in node.children:
        if child.type == "function_definition":
            text = normalised(_text(child))
            yield KafkaMember(_name(child), "function", _types_of(child), _line(child), False, text)
        yield from _functions_inside(child)


def _field_names(node: Any) -> list[str]:
    pattern = node.child_by_field_name("pattern")
    if pattern is not None:
        return re.findall(r"\w+", _text(pattern))
    if node.type == "val_declaration":
        return [_name(node)]
    return [_name(child) for child in node.children if child.type == "variable_declarator"]


def _types_of(node: Any) -> tuple[str, ...]:
    groups = (child for child in node.children if child.type in ("formal_parameters", "parameters"))
    return tuple(kind_of for group in groups for kind_of, _, _ in _parameters(group))


def _parameters(group: Any) -> Iterator[tuple[str, str, Any]]:
    """(type, name, node) of each parameter in a pair of parentheses."""
    for child in group.children:
        if child.type not in ("formal_parameter", "spread_parameter", "parameter", "class_parameter"):
            continue
        declarator = next((part for part in child.children if part.type == "variable_declarator"), child)
        kind = child.child_by_field_name("type") or next(part for part in child.children if part.type.count("type"))
        dots = "..." if child.type == "spread_parameter" else ""
        yield _simple_type(_text(kind)) + dots, _name(declarator), child


def _simple_type(text: str) -> str:
    bare = _without_type_arguments(text) if "=>" not in text else text
    return re.sub(r"\s+", " ", re.sub(r"\b[a-z]\w*\.(?=\w)", "", bare)).strip()


def _without_type_arguments(text: str) -> str:
    """`Map<String, Long>` and `Map[String, Long]` are `Map`; an array keeps its brackets."""
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>|\[[^\[\]]+\]", "", text)
    return text


def _is_public(node: Any, kind_around: str, file: str) -> bool:
    modifiers = " ".join(_text(child) for child in node.children if child.type == "modifiers")
    if file.endswith(".scala"):
        return not re.search(r"\b(?:private|protected)\b", modifiers)
    if re.search(r"\bpublic\b", modifiers):
        return True
    return kind_around in ("interface", "annotation") and not re.search(r"\bprivate\b", modifiers)


def _name(node: Any) -> str:
    found = node.child_by_field_name("name")
    return _text(found if found is not None else node)


def _line(node: Any) -> int:
    """Where the declaration stands; not its annotations, if they have lines of their own."""
    name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    line: int = (name if name is not None else node).start_point[0] + 1
    return line


def _text(node: Any) -> str:
    return str(node.text.decode()) if node is not None else ""
