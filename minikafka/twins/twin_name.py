"""The names of Kafka's members that a docstring gives on its `Kafka:` line."""

import re
from dataclasses import dataclass

_LINE = re.compile(r"(?:^|(?<=[.:)`])\s+)Kafka:\s", re.MULTILINE)
_SENTENCE_END = re.compile(r"\.(?=\s+[A-Z`]|\s*$)|\n\s*\n|\n\s*- ")
_NAME = re.compile(r"`(\.?[A-Za-z_][\w.$*]*)(?:\(([^()`]*)\))?(?:\([^`]*\))?`")


@dataclass(frozen=True)
class TwinName:
    """A member of Kafka's as a docstring names it.

    - `owner`: the class, with the classes or the package around it as far as they are given; "" for a package's `*`.
    - `member`: a method, field or constructor (named as its class); None where the class itself is meant.
    - `parameters`: the types that tell overloads apart, without their packages; None where no parentheses stand.
    """

    owner: str
    member: str | None
    parameters: tuple[str, ...] | None = None

    def __str__(self) -> str:
        name = self.owner if self.member is None else f"{self.owner}.{self.member}"
        return name if self.parameters is None else f"{name}({', '.join(self.parameters)})"


def twin_names(docstring: str, owner: str = "") -> list[TwinName]:
    """What the `Kafka:` line of `docstring` names, in its order; [] when there is no such line, or it names nothing.

    A name that begins with a small letter or a dot belongs to the class of the name before it, as in
    "`ByteUtils.writeVarint`, `writeVarlong`", and the first one to `owner`, the twin of the class around. A sentence
    such as "What is simpler than in Kafka: …" is no `Kafka:` line.
    """
    found: list[TwinName] = []
    for line in _LINE.finditer(docstring):
        rest = docstring[line.end() :]
        end = _SENTENCE_END.search(rest)
        for match in _NAME.finditer(rest[: end.start() + 1] if end else rest):
            if twin := _twin_name(match.group(1), match.group(2), found[-1].owner if found else owner):
                found.append(twin)
    return found


def _twin_name(name: str, parameters: str | None, owner_before: str) -> TwinName | None:
    types = None if parameters is None else tuple(each.strip() for each in parameters.split(",") if each.strip())
    name = name.strip(".")
    parts = name.split(".")
    first_class = next((at for at, part in enumerate(parts) if part[:1].isupper() or part == "*"), None)
    if first_class is None:  # a method of the class before it
        return TwinName(owner_before, name, types) if owner_before and "." not in name else None
    last = parts[-1]
    if last[:1].isupper() and not (last.isupper() and len(parts) - 1 > first_class):
        # A class; with parentheses, its constructor.
        return TwinName(name, None) if types is None else TwinName(name, last, types)
    if first_class == len(parts) - 1:
        return TwinName(name, None, types)
    classes = [part for at, part in enumerate(parts[:-1]) if at <= first_class or part[:1].isupper()]
    return TwinName(".".join(classes), last, types)  # also that of a function inside a method
