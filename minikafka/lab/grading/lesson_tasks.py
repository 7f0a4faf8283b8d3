"""What a lesson asks for, read from the course's own notebooks."""

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from minikafka.lab.course.lesson_notebooks import notebooks_of
from minikafka.lab.exercises.predict_call import predict_call_of
from minikafka.lab.grading.cell_code import parsed

PREDICTION, EXERCISE, RUNG = "prediction", "exercise", "rung"
_MOST_CODE = 250_000  # characters of all code cells; a lesson of the course has 20,000
_MODULES = {"exercises": EXERCISE, "rungs": RUNG}  # by their names in a lesson's package


@dataclass(frozen=True)
class Assignment:
    """One thing to do, worth one point.

    - `lesson`: the name of the notebook to read without its suffix; `kind`: "prediction", "exercise" or "rung";
    - `name`: the question of a prediction, else the function to write;
    - `module`, `check`: where the exercise or rung is found, by the name that it has there; "" for a prediction;
    - `id`: that of a prediction; "" for the others.
    """

    lesson: str
    kind: str
    name: str
    module: str = ""
    check: str = ""
    id: str = ""


def tasks_of(lesson: Path) -> list[Assignment]:
    """The tasks of a lesson, in their order: those of the notebook to read, then those of the one to rebuild."""
    return [task for notebook in notebooks_of(lesson) for task in _tasks_in(notebook, lesson.stem)]


def _tasks_in(notebook: Path, lesson: str) -> list[Assignment]:
    found: list[Assignment] = []
    checks: dict[str, tuple[str, str, str]] = {}
    for tree in code_of(notebook)[0]:
        nodes = [*ast.walk(tree)]
        for node in nodes:
            checks |= checks_imported_by(node)
        found += _tasks(nodes, lesson, checks)
    return found


def code_of(notebook: Path, data: bytes | None = None) -> tuple[list[ast.Module], int]:
    """The code cells that are Python, and the number of those that are not. Raises ValueError for what is no notebook.

    `data`: the file's content, where it has been read already: another file may have the name by now.
    Of IPython's own commands, `%time` and the like leave the code that they run; the others (`!ls`) are passed over.
    """
    trees, unread, size = [], 0, 0
    for text in _code_cells(notebook, notebook.read_bytes() if data is None else data):
        size += len(text)
        if size > _MOST_CODE:
            raise ValueError(f"{notebook.name} has more than {_MOST_CODE:,} characters of code")
        try:
            trees.append(parsed(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            unread += 1
    return trees, unread


def check_calls_in(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The calls like `clamp.check(updated)` among `nodes`: whose `check` it is, and what it is given."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "check":
            given = [*node.args, *(each.value for each in node.keywords if each.arg == "function")]
            if given:
                yield node.func.value, given[0]


def checks_imported_by(node: ast.AST) -> dict[str, tuple[str, str, str]]:
    """By the name that an import gives to an exercise or a rung of a lesson: its kind, its module, its name there."""
    if isinstance(node, ast.ImportFrom) and node.module:
        if (part := _part_of_a_lesson(node.module)) in _MODULES:
            return {each.asname or each.name: (_MODULES[part], node.module, each.name) for each in node.names}
    return {}


def _part_of_a_lesson(module: str) -> str:
    """The part of `minikafka.lessons.<lesson>.<part>`; "" for another module."""
    names = module.split(".")
    return names[3] if names[:2] == ["minikafka", "lessons"] and len(names) > 3 else ""


def _code_cells(notebook: Path, data: bytes) -> Iterator[str]:
    try:
        cells = json.loads(data.decode("utf-8"))["cells"]
        for cell in cells:
            if cell["cell_type"] == "code":
                yield "".join(cell["source"])
    except (ValueError, KeyError, TypeError, RecursionError) as broken:
        raise ValueError(f"{notebook.name} is no notebook") from broken


def _tasks(nodes: list[ast.AST], lesson: str, checks: dict[str, tuple[str, str, str]]) -> Iterator[Assignment]:
    for node in nodes:
        if call := predict_call_of(node):
            yield Assignment(lesson, PREDICTION, call.question, id=call.id)
    for check, given in check_calls_in(nodes):
        if isinstance(check, ast.Name) and check.id in checks and isinstance(given, ast.Name):
            kind, module, name = checks[check.id]
            yield Assignment(lesson, kind, given.id, module, name)
