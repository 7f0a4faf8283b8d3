"""Small changes to a module, each of which a test should notice: one operator, number, condition or statement."""

import ast
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple

COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.LShift: ">>", ast.BitAnd: "|"}
SQL = {
    "<=": "<", ">=": ">", "<>": "=", "<": "<=", ">": ">=", r"\+": "-", "-": "+",
    r"\bmin\b": "max", r"\bmax\b": "min", r"\bAND\b": "OR", r"\bOR\b": "AND", r" DESC\b": "",
    r"\b\d+\b": r"(\g<0> + 1)",
}  # fmt: skip
"""What stands in a query, as patterns of which the first that fits counts, and what takes its place."""
UNSEEN = ("__repr__", "_repr_html_", "__str__")
"""Methods that only tell a reader something; so do log lines and the texts of messages."""


class Mutant(NamedTuple):
    """`path` with `old`, which begins at byte `start`, replaced by `new`."""

    path: str
    start: int
    old: str
    new: str

    def source(self, source: str) -> str:
        """The module's text with the change."""
        data = source.encode()
        return (data[: self.start] + self.new.encode() + data[self.start + len(self.old.encode()) :]).decode()

    def line(self, source: str) -> int:
        """The number of the line that changes, from 1."""
        return source.encode()[: self.start].count(b"\n") + 1

    def key(self, source: str) -> str:
        """What names this mutant while lines come and go above it: the line as it is and the change within."""
        line = source.splitlines()[self.line(source) - 1].strip()
        return f"{self.path} | {line} | {' '.join(self.old.split())} -> {self.new}"


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its text."""
    starts = _starts_of_lines(source)
    for node, new in sorted(_changes(ast.parse(source), _replacements), key=lambda change: _position(change[0])):
        yield _mutant(path, source, starts, node, new)


def mutants_of_a_solution(path: str, source: str) -> Iterator[Mutant]:
    """As `mutants`, and more of them: a condition or an argument less, a number less by one, changes within SQL."""
    yield from mutants(path, source)
    tree, starts = ast.parse(source), _starts_of_lines(source)
    for node, new in _changes(tree, _shorter):
        yield _mutant(path, source, starts, node, new)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "SELECT" in node.value:
            query = _mutant(path, source, starts, node, "")
            for found in re.finditer("|".join(SQL), query.old):
                start = query.start + len(query.old[: found.start()].encode())
                new = next(new for pattern, new in SQL.items() if re.fullmatch(pattern, found.group()))
                yield Mutant(path, start, found.group(), found.expand(new))


def _starts_of_lines(source: str) -> list[int]:
    return list(accumulate(map(len, source.encode().splitlines(keepends=True)), initial=0))


def _mutant(path: str, source: str, starts: list[int], node: ast.AST, new: str) -> Mutant:
    start = starts[node.lineno - 1] + node.col_offset
    end = starts[node.end_lineno - 1] + node.end_col_offset
    return Mutant(path, start, source.encode()[start:end].decode(), new)


def _position(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _changes(node: ast.AST, replacements: Callable[[ast.AST], Iterator[str]]) -> Iterator[tuple[ast.AST, str]]:
    """(node, the text in its place) for this node and those within; texts, annotations and log lines are left alone."""
    if isinstance(node, ast.FunctionDef) and node.name in UNSEEN or _is_log_line(node):
        return
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Expr) and _is_text(node.value)):
        return
    yield from ((node, new) for new in replacements(node))
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST):
                yield from _changes(child, replacements)


def _replacements(node: ast.AST) -> Iterator[str]:
    text = ast.unparse
    match node:
        case ast.Compare(left, [op], [right]):
            yield f"({text(left)} {COMPARISONS[type(op)]} {text(right)})"
        case ast.BoolOp(op, values):
            yield "(" + (" or " if isinstance(op, ast.And) else " and ").join(f"({text(v)})" for v in values) + ")"
        case ast.UnaryOp(ast.Not(), operand):
            yield f"bool({text(operand)})"
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC and not (_is_text(left) or _is_text(right)):
            yield f"(({text(left)}) {ARITHMETIC[type(op)]} ({text(right)}))"
        case ast.Constant(bool() as value):
            yield str(not value)
        case ast.Constant(int() as value):
            yield f"({value} + 1)"
        case ast.IfExp(test, body, orelse):
            yield f"({text(orelse)} if {text(test)} else {text(body)})"
        case ast.Call(func, [first, second, *rest], keywords) if text(func) not in ("isinstance", "max", "min", "zip"):
            if text(first) != text(second):
                yield text(ast.Call(func, [second, first, *rest], keywords))
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield "pass"
        case ast.Return(ast.AST() as value) if text(value) != "None":
            yield "return None"


def _shorter(node: ast.AST) -> Iterator[str]:
    text = ast.unparse
    match node:
        case ast.BoolOp(op, values):
            word = " and " if isinstance(op, ast.And) else " or "
            for left_out in values:
                yield "(" + word.join(f"({text(each)})" for each in values if each is not left_out) + ")"
        case ast.Call(ast.Name("min" | "max" as name), [_, _, *_] as arguments):
            for left_out in arguments:
                yield f"{name}([{', '.join(text(each) for each in arguments if each is not left_out)}])"
        case ast.Subscript(value, ast.Slice()):
            yield text(value)
        case ast.Constant(int() as value) if not isinstance(value, bool):
            yield f"({value} - 1)"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _is_log_line(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and ast.unparse(node.value).startswith("logger.")
