"""What the code of a graded function may not use: the rooms that hold the judges and what they answer.

All else is left to the sandbox, in which the code runs. The answers themselves are not there; this tells an honest
learner so, and refuses who plainly changes the judge that sits beside the code. It is a rule of the game and no wall.
"""

import ast
from collections.abc import Iterable, Iterator

from minikafka.common.python_source import parse

_JUDGES = ("lab.grading", "lab.rebuild", "lab.sandbox", "lessons", "witness")  # rooms of minikafka


def without_judges(code: Iterable[ast.stmt]) -> list[ast.stmt]:
    """`code`, in which an import from a judge's room raises: who never uses what it brings does not notice."""
    return [
        parse(f"raise ImportError({_words(each)!r})").body[0]
        if isinstance(each, ast.Import | ast.ImportFrom) and _uses_judges(each)
        else each
        for each in code
    ]


def unfair(code: Iterable[ast.stmt]) -> str:
    """The first use of a judge in `code`, in words; "" where there is none."""
    return next((f"it uses {_words(node)}" for each in code for node in ast.walk(each) if _uses_judges(node)), "")


def _words(node: ast.AST) -> str:
    return f"`{ast.unparse(node)}`, where the answers are"


def _uses_judges(node: ast.AST) -> bool:
    return any(_is_judge(name) for name in _named(node))


def _is_judge(name: str) -> bool:
    package, _, rest = name.partition(".")
    return package == "minikafka" and any(f"{rest}.".startswith(f"{room}.") for room in _JUDGES)


def _named(node: ast.AST) -> Iterator[str]:
    """What a node names, with its dots."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names):
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.Attribute(value=whole, attr=part):
            parts = [part]
            while isinstance(whole, ast.Attribute):
                parts.append(whole.attr)
                whole = whole.value
            if isinstance(whole, ast.Name):
                yield ".".join(reversed([*parts, whole.id]))
