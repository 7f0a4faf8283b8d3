"""The Python of a notebook's cell, in which IPython's own commands (`%time`, `!ls`) may stand."""

import ast
from contextlib import suppress

from minikafka.common.python_source import parse

_RUN_PYTHON = ("time", "timeit", "capture", "prun")
_MOST_WORK = 2_000_000  # characters, times signs that may be of commands: IPython reads a cell anew for each command


def parsed(cell: str) -> ast.Module:
    """The code of a cell. Of `%time` and its like the code that they run is left; other commands are passed over,
    and so are those in a line with options.

    Raises SyntaxError, ValueError, RecursionError and MemoryError for what is no Python, such as `%%html`.
    """
    try:
        return parse(cell)
    except SyntaxError:
        return _WithoutCommands().visit(parse(_as_python(cell)))


def _as_python(cell: str) -> str:
    """The cell with each command of IPython's as a call of `get_ipython()`. Raises ValueError."""
    from IPython.core.inputtransformer2 import TransformerManager

    commands = sum(map(cell.count, "%!?"))
    if not commands or len(cell) * commands > _MOST_WORK:
        raise ValueError("no Python")
    try:
        return TransformerManager().transform_cell(cell)
    except RuntimeError as endless:
        raise ValueError("no Python") from endless


class _WithoutCommands(ast.NodeTransformer):
    """Puts in the place of each command what it runs."""

    def visit_Expr(self, statement: ast.Expr) -> ast.stmt | list[ast.stmt]:  # noqa: N802  named by ast
        match statement.value:
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython")), attr=command), args=arguments
            ):
                match command, [each.value for each in arguments if isinstance(each, ast.Constant)]:
                    case "run_line_magic", [str(name), str(code)] if name in _RUN_PYTHON:
                        with suppress(SyntaxError):  # an option stands before the code: `%timeit -n 100 f(5)`
                            return parse(code).body or ast.Pass()
                    case "run_cell_magic", [str(name), _, str(code)] if name in _RUN_PYTHON:
                        return parsed(code).body or ast.Pass()
                    case "run_cell_magic", [str(name), *_]:
                        raise ValueError(f"a cell of {name} is no Python")
                return ast.Pass()
        return statement
