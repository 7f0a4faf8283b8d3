"""The blank `___` in a learner's code, which is read and not run."""

import ast

_BLANK = "___"


def is_blank(answer: ast.expr) -> bool:
    """Whether an answer is still `___`."""
    return isinstance(answer, ast.Name) and answer.id == _BLANK


def is_stub(statement: ast.stmt | None) -> bool:
    """Whether `statement` is a function that still ends with `return ___`."""
    last = statement.body[-1] if isinstance(statement, ast.FunctionDef) else None
    return isinstance(last, ast.Return) and last.value is not None and is_blank(last.value)
