"""Finds the numbered step comments (`# 5. text`) of a function: which lines each step names, and how steps nest.

A step comment stands directly above the statement that it names and reaches to the next step of the same block, or to
that block's end. Numbers belong to their function. A function without step comments gets one step for each statement.
"""

import ast
import functools
import inspect
import re
import textwrap
from dataclasses import dataclass
from types import CodeType

from minikafka.common.python_source import parse

_MARK = re.compile(r"^\s*#\s*(\d+\w?)\.\s+(.*\S)\s*$")
_MORE = re.compile(r"^\s*#\s*(.*\S)\s*$")
_KAFKA = re.compile(r"Kafka:\s*`?([A-Z]\w*(?:\.\w+)*\.\w+)")


@dataclass(frozen=True, slots=True)
class Step:
    """A numbered step: its lines in the file, first and last, and the last line of the statement that it names.

    All are inclusive. A statement that holds a block may end behind the step, because when a function is walked by
    statements, the step is only the statement's head. `first_run` is the line at which Python begins: where a list is
    made of others' elements, from 3.12 on that of the others.
    """

    number: str
    text: str
    first_line: int
    last_line: int
    end_of_statement: int
    first_run: int

    def is_around(self, other: "Step") -> bool:
        """True when `other` begins within the statement that this step names, or is this step."""
        return self.first_line <= other.first_line <= max(self.last_line, self.end_of_statement)

    def holds(self, line: int) -> bool:
        """True when `line` lies within the step."""
        return self.first_line <= line <= self.last_line


@dataclass(frozen=True, slots=True)
class Method:
    """The source of one function with its steps. `kafka` is what its docstring's `Kafka:` line names, "" if none."""

    name: str
    kafka: str
    first_line: int
    source: tuple[str, ...]
    steps: tuple[Step, ...]
    marked: bool

    def step_at(self, line: int) -> Step | None:
        """The innermost step that holds `line`."""
        around = [step for step in self.steps if step.holds(line)]
        return min(around, key=lambda step: step.last_line - step.first_line, default=None)

    def belongs_to(self, line: int) -> Step | None:
        """The innermost step of which `line` is a part; a comment is a part of what it stands above."""
        while self.source[line - self.first_line].lstrip().startswith("#"):
            line += 1
        return self.step_at(line)

    def lines(self, step: Step) -> tuple[str, ...]:
        """The source lines of `step`, without their common indentation."""
        return _dedent(self.source[step.first_line - self.first_line : step.last_line - self.first_line + 1])


@functools.cache
def method_of(code: CodeType, qualname: str = "") -> Method | None:
    """The function that `code` was compiled from, with its steps; None when its source cannot be had."""
    try:
        lines, first_line = inspect.getsourcelines(code)
        tree = parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, SyntaxError, IndexError, TypeError):
        return None
    if not isinstance(tree, ast.FunctionDef):
        return None
    source = tuple(line.rstrip("\n") for line in lines)
    marked = list(_marked(source, tree, first_line))
    steps = marked or list(_statements(source, tree, first_line))
    kafka = _KAFKA.search(ast.get_docstring(tree) or "")
    return Method(
        qualname or code.co_qualname, kafka.group(1) if kafka else "", first_line, source, tuple(steps), bool(marked)
    )


def _marked(source: tuple[str, ...], tree: ast.FunctionDef, first_line: int):
    for block in _blocks(tree):
        found = [(statement, _mark_above(source, statement.lineno)) for statement in block]
        numbered = [i for i, (_, mark) in enumerate(found) if mark]
        for i, following in zip(numbered, [*numbered, len(block)][1:], strict=True):
            statement, (number, text) = found[i]
            last = block[following - 1].end_lineno
            begin, end = first_line + statement.lineno - 1, first_line + statement.end_lineno - 1
            yield Step(number, text, begin, first_line + last - 1, end, first_line + _first_run(statement) - 1)


def _mark_above(source: tuple[str, ...], line: int) -> tuple[str, str] | None:
    """Number and text of the step comment that ends right above line `line` (1-based in `source`)."""
    words, above = [], line - 2
    while above >= 0 and source[above].lstrip().startswith("#"):
        mark = _MARK.match(source[above])
        if mark:
            return mark.group(1), " ".join([mark.group(2), *words])
        words.insert(0, _MORE.match(source[above]).group(1) if _MORE.match(source[above]) else "")
        above -= 1
    return None


def _blocks(node: ast.AST):
    """Every list of statements in a function, except those of functions inside it."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
            for statement in block:
                if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                    yield from _blocks(statement)
    for handler in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
        yield from _blocks(handler)


def _statements(source: tuple[str, ...], tree: ast.FunctionDef, first_line: int):
    """A step for each statement of a function without step comments; the step of a statement that holds a block is its
    head.
    """
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    for number, statement in enumerate(_flat(body), 1):
        inner = getattr(statement, "body", None)
        last = inner[0].lineno - 1 if isinstance(inner, list) else statement.end_lineno
        last = max(last, statement.lineno)
        text = " ".join(
            part.strip() for part in source[statement.lineno - 1 : last] if not part.strip().startswith("#")
        )
        begin, end = first_line + statement.lineno - 1, first_line + statement.end_lineno - 1
        yield Step(str(number), text, begin, first_line + last - 1, end, first_line + _first_run(statement) - 1)


def _first_run(statement: ast.stmt) -> int:
    value = getattr(statement, "value", None)
    made_of_others = isinstance(value, ast.ListComp | ast.SetComp | ast.DictComp)
    return value.generators[0].iter.lineno if made_of_others else statement.lineno


def _flat(body: list[ast.stmt]):
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for block in _blocks_directly(statement):
                yield from _flat(block)


def _blocks_directly(statement: ast.stmt):
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list) and block:
            yield block
    for handler in getattr(statement, "handlers", []):
        yield handler.body


def _dedent(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(textwrap.dedent("\n".join(lines)).split("\n"))
