"""What a learner hands in: notebooks, of which the answers and the functions are taken out, and nothing is run."""

import ast
import operator
import os
import symtable
from dataclasses import dataclass, field
from pathlib import Path

from minikafka.lab.exercises.predict_call import ids_by_question, predict_call_of
from minikafka.lab.grading.lesson_tasks import code_of
from minikafka.lab.language.chosen import LANGUAGES

_LARGEST_BYTES = 10 << 20  # of a notebook; those of the course have at most 2 MB
_MOST_VALUES = (
    1_000_000,
    200_000,
)  # commas, and brackets that open: what Python makes of a notebook takes 200 MB at most
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LARGEST = 1 << 64


@dataclass(frozen=True)
class Answered:
    """A learner's notebook of one lesson.

    - `answers`: by the prediction's id, the expression that stands in the place of the blank; the last one counts;
    - `definitions`: functions and constants at the top of a cell by name, the last ones; `imports`: by name.
    - `unread`: the number of cells that are no Python.
    """

    answers: dict[str, ast.expr] = field(default_factory=dict)
    definitions: dict[str, ast.stmt] = field(default_factory=dict)
    imports: dict[str, ast.stmt] = field(default_factory=dict)
    unread: int = 0

    def code_for(self, function: str) -> list[ast.stmt]:
        """The statements that make `function`: imports, constants, functions that it uses, itself; [] if there is none.

        Each is there once, however many names it makes.
        """
        found = self.definitions.get(function)
        if not isinstance(found, ast.FunctionDef):
            return []
        imported: dict[ast.stmt, None] = {}
        constants: list[ast.stmt] = []
        wanted: list[ast.stmt] = [found]
        known: set[ast.stmt] = {found}
        for statement in wanted:  # to which the loop adds
            for name in _names_from_outside(statement):
                used = self.definitions.get(name)
                if used is None and name in self.imports:
                    imported[self.imports[name]] = None
                elif used is not None and used not in known:
                    known.add(used)
                    if isinstance(used, ast.FunctionDef):
                        wanted.append(used)
                    else:
                        constants.append(used)
        return [*imported, *constants, *reversed(wanted)]


def _names_from_outside(statement: ast.stmt) -> list[str]:
    """The names that a statement takes from the notebook: a function's parameters and local names are none of them."""
    named = dict.fromkeys(node.id for node in ast.walk(statement) if isinstance(node, ast.Name))
    try:
        tables = [symtable.symtable(ast.unparse(statement), "cell", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what Python cannot compile is refused further on
        return [*named]
    outside = set()
    for table in tables:  # to which the loop adds
        for each in table.get_symbols():
            if each.is_referenced() and (each.is_global() or table is tables[0]):
                outside.add(each.get_name())
        tables += table.get_children()
    return [name for name in named if name in outside]


def read_in_every_language(directory: Path, name: str) -> list[Answered]:
    """The notebook `name` that was handed in, and those of the same name in the folders of translations; at least one.

    One that cannot be read is passed over if another one can. Raises ValueError when there is none, or none that is a
    notebook of this directory, and OSError.
    """
    places = [directory / name, *(directory / folder / name for folder in LANGUAGES)]
    found: list[Answered] = []
    failures: list[ValueError | OSError] = []
    for place in filter(os.path.lexists, places):
        try:
            found.append(read(place, directory))
        except (ValueError, OSError) as failure:
            failures.append(failure)
    if not found:
        raise failures[0] if failures else ValueError(f"{name} is missing")
    return found


def read(notebook: Path, directory: Path) -> Answered:
    """A learner's notebook in the `directory` that was handed in.

    Raises ValueError for what is no notebook, or a link to one elsewhere, such as a solution; and OSError.
    """
    if not notebook.is_file():
        raise ValueError(f"{notebook.name} is no file")
    if not notebook.resolve().is_relative_to(directory.resolve()):
        raise ValueError(f"{notebook.name} is a link that leads out of what was handed in")
    with open(notebook, "rb") as file:
        data = file.read(_LARGEST_BYTES + 1)
    if len(data) > _LARGEST_BYTES:
        raise ValueError(f"{notebook.name} has more than {_LARGEST_BYTES >> 20} MB")
    commas, brackets = _MOST_VALUES
    if data.count(b",") > commas or data.count(b"[") + data.count(b"{") > brackets:
        raise ValueError(f"{notebook.name} has more values than a notebook has")
    trees, unread = code_of(notebook)
    found = Answered(unread=unread)
    for statement in (statement for tree in trees for statement in tree.body):
        for node in ast.walk(statement):
            if call := predict_call_of(node):
                name = call.id or ids_by_question().get(call.question, call.question)
                found.answers[name] = call.answer
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                found.imports[alias.asname or alias.name.partition(".")[0]] = statement
        elif isinstance(statement, ast.FunctionDef):
            found.definitions[statement.name] = statement
        elif isinstance(statement, ast.Assign) and _is_plain(statement.value):
            found.definitions.update({each.id: statement for each in statement.targets if isinstance(each, ast.Name)})
    return found


def value_of(answer: ast.expr) -> object:
    """The value that an answer writes down: a literal, a sum of numbers, an exception's name. Raises ValueError."""
    try:
        return _value_of(answer)
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None


def _value_of(answer: ast.expr) -> object:
    if isinstance(answer, ast.Name):
        return answer.id
    if isinstance(answer, ast.BinOp) and type(answer.op) in _OPERATORS:
        left, right = _value_of(answer.left), _value_of(answer.right)
        if all(isinstance(each, int | float) and abs(each) < _LARGEST for each in (left, right)):
            try:
                return _OPERATORS[type(answer.op)](left, right)
            except ArithmeticError as error:
                raise ValueError(str(error)) from error
    try:
        return ast.literal_eval(answer)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"{ast.unparse(answer)[:80]} is no plain value") from error


def _is_plain(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
