"""The cells of each notebook of solutions show what is stored below them.

They run in this process, whose Spark has been started. The lessons themselves run in a browser: see
`tests/browser/test_lab_in_a_browser.py`.
"""

import ast
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

from minikafka.lab.course.places import COURSE
from tests.notebooks.outputs import Shown, code_cells, shown

SOLUTIONS = sorted((COURSE / "solutions").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", SOLUTIONS, ids=[path.stem for path in SOLUTIONS])
def test_each_cell_shows_what_is_stored(notebook, spark, monkeypatch):
    monkeypatch.chdir(notebook.parent)
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = code_cells(notebook)
    assert any(stored for _, stored in cells)
    for source, stored in cells:
        assert run(source, names) == stored, source


def run(source: str, names: dict[str, Any]) -> Shown:
    """What a cell prints, and its last value where that is an expression."""
    cell = ast.parse(source)
    last = cell.body.pop() if isinstance(cell.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(cell, "<cell>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if value is not None:
        outputs.append({"output_type": "execute_result", "data": DisplayFormatter().format(value)[0]})
    return shown(outputs)
