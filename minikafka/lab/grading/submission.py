"""What a learner hands in: notebooks, of which the answers and the functions are taken out, and nothing is run."""

import ast
import copy
import operator
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from minikafka.common import file_ops
from minikafka.lab.exercises.blanks import is_stub
from minikafka.lab.exercises.predict_call import ids_by_question, predict_call_of
from minikafka.lab.grading.lesson_tasks import Assignment, check_calls_in, checks_imported_by, code_of
from minikafka.lab.grading.needed_code import NotebookCode, TooMuchCodeError, size_of
from minikafka.lab.language.chosen import LANGUAGES

_LARGEST_BYTES = 10 << 20  # of a notebook; those of the course have at most 2 MB
_MOST_VALUES = (
    1_000_000,
    200_000,
)  # commas, and brackets that open: what Python makes of a notebook takes 200 MB at most
_GIVEN = "the_function_given_to_check"
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LARGEST = 1 << 64
_MOST_PARTS = 2_000
"""Names, values and operations of an answer whose variables are looked up, with their values."""


@dataclass(frozen=True)
class HandedIn:
    """A function that was handed in: the `name` that it has after the statements of `code`.

    `is_stub`: whether nothing was written; `refused`: in words why it cannot be run, "" if it can.
    """

    name: str
    code: list[ast.stmt]
    is_stub: bool = False
    refused: str = ""


@dataclass(frozen=True)
class Answered:
    """A learner's notebook of one lesson.

    - `answers`: by the prediction's id, the expression that stands in the place of the blank, with the values of its
      variables; the last one counts;
    - `statements`: those at the top of the cells, in order; `unread`: the number of cells that are no Python.
    """

    answers: dict[str, ast.expr] = field(default_factory=dict)
    statements: list[ast.stmt] = field(default_factory=list)
    unread: int = 0

    def functions_for(self, task: Assignment, given: Iterable[ast.stmt] = ()) -> Iterator[HandedIn]:
        """What was handed in for an exercise or a rung: what its `check` was given, the last one first, and then the
        function of the task's own name. `given` stands before the notebook: the imports of the lesson.
        """
        code = NotebookCode([*given, *self.statements])
        checked = [
            (place, argument)
            for place, statement in enumerate(code.statements)
            for check, argument in check_calls_in(ast.walk(statement))
            if _is_the_check(check, task, code, place)
        ]
        by_name: list[tuple[int, ast.expr]] = [(len(code.statements), ast.Name(task.name, ast.Load()))]
        for place, function in [*reversed(checked), *by_name]:
            if not isinstance(function, ast.Name) or function.id in code.names:
                yield _handed_in(function, code, place)


def _is_the_check(check: ast.expr, task: Assignment, code: NotebookCode, place: int) -> bool:
    """Whether an expression before `.check` is the exercise or the rung of `task`."""
    match check:
        case ast.Name(id=name):
            bound = code.last_binding(name, place)
            imported = checks_imported_by(bound) if bound is not None else {}
            return imported.get(name, ("", "", ""))[1:] == (task.module, task.check)
        case ast.Attribute(attr=name):
            return name == task.check
    return False


def _handed_in(function: ast.expr, code: NotebookCode, place: int) -> HandedIn:
    name = function.id if isinstance(function, ast.Name) else _GIVEN
    try:
        needed = code.needed(function, place)
    except TooMuchCodeError as too_much:
        return HandedIn(name, [], refused=str(too_much))
    except RecursionError:
        return HandedIn(name, [], refused="it is nested too deeply")
    if isinstance(function, ast.Name):
        return HandedIn(name, needed, is_stub=is_stub(code.last_binding(name, place)))
    return HandedIn(name, [*needed, ast.Assign([ast.Name(_GIVEN, ast.Store())], function, lineno=0)])


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
    """A learner's notebook in the `directory` that was handed in, by its real path.

    The file is opened once, and what is open is looked at: somebody may put another one there meanwhile. Raises
    ValueError for what is no notebook, or a link to one elsewhere, such as a solution; and OSError.
    """
    if not notebook.is_file():
        raise ValueError(f"{notebook.name} is no file")
    # A pipe that has come meanwhile lets nobody wait.
    with open(os.open(notebook, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not file_ops.path_of(file.fileno()).is_relative_to(directory):
            raise ValueError(f"{notebook.name} is a link that leads out of what was handed in")
        data = file.read(_LARGEST_BYTES + 1)
    if len(data) > _LARGEST_BYTES:
        raise ValueError(f"{notebook.name} has more than {_LARGEST_BYTES >> 20} MB")
    commas, brackets = _MOST_VALUES
    if data.count(b",") > commas or data.count(b"[") + data.count(b"{") > brackets:
        raise ValueError(f"{notebook.name} has more values than a notebook has")
    trees, unread = code_of(data, notebook.name)
    found = Answered(statements=[statement for tree in trees for statement in tree.body], unread=unread)
    code = NotebookCode(found.statements)
    for place, statement in enumerate(code.statements):
        for call in filter(None, map(predict_call_of, ast.walk(statement))):
            name = call.id or ids_by_question().get(call.question, call.question)
            try:
                found.answers[name] = _WithVariables(code, place).of(call.answer)
            except RecursionError:  # such an answer is no value either: see `value_of`
                found.answers[name] = call.answer
    return found


@dataclass(frozen=True)
class _NotRead:
    """Stands for a variable whose value is not known, because notebooks are read and not run. `set_by`: the first line
    of the statement that sets it.
    """

    variable: str
    set_by: str

    def __repr__(self) -> str:
        return self.variable


class _WithVariables(ast.NodeTransformer):
    """Puts what a variable was last set to before statement `place` where its name stands; names of what is imported or
    defined, and those that nothing sets, stay.
    """

    def __init__(self, code: NotebookCode, place: int):
        self._code, self._place, self._left = code, place, _MOST_PARTS

    def of(self, answer: ast.expr) -> ast.expr:
        """The answer with the values of its variables; one that is too large as it is."""
        self._left -= size_of(answer)
        return self.visit(copy.deepcopy(answer)) if self._left >= 0 else answer

    def visit_Name(self, node: ast.Name) -> ast.expr:
        binding = self._code.last_binding(node.id, self._place)
        if binding is None or _imports_or_defines(binding, node.id):
            return node
        value = _value_given_to(node.id, binding)
        if value is None:
            return ast.Constant(_NotRead(node.id, ast.unparse(binding).partition("\n")[0][:80]))
        before, self._place = self._place, self._code.statements.index(binding)
        found = self.of(value)
        self._place = before
        return found


def _imports_or_defines(statement: ast.stmt, name: str) -> bool:
    for node in ast.walk(statement):
        match node:
            case ast.alias(name=found, asname=None) | ast.alias(asname=str(found)) if found in (name, "*"):
                return True
            case ast.FunctionDef(name=found) | ast.ClassDef(name=found) if found == name:
                return True
    return False


def _value_given_to(name: str, statement: ast.stmt) -> ast.expr | None:
    """What an assignment gives to the variable; None where that cannot be seen."""
    match statement:
        case ast.Assign(targets, value):
            given = (_part_for(name, target, value) for target in targets)
            return next((each for each in given if each is not None), None)
        case ast.AnnAssign(ast.Name(), _, ast.expr() as value):
            return value
        case ast.AugAssign(ast.Name(), operation, value):
            return ast.BinOp(ast.Name(name, ast.Load()), operation, value)
    return None


def _part_for(name: str, target: ast.expr, value: ast.expr) -> ast.expr | None:
    """As in `low, high = 3, 5`; None where `target` has not the variable, or more than a name in it."""
    match target, value:
        case ast.Name(id=id), _ if id == name:
            return value
        case ast.Tuple(targets) | ast.List(targets), ast.Tuple(values) | ast.List(values):
            if len(targets) == len(values) and all(isinstance(each, ast.Name) for each in targets):
                given = {target.id: value for target, value in zip(targets, values)}  # type: ignore[attr-defined]
                return given.get(name)
    return None


def value_of(answer: ast.expr) -> object:
    """The value that an answer writes down: a literal, a sum of numbers, an exception's name, or a tuple or a list of
    such. Raises ValueError.
    """
    try:
        return _value_of(answer)
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None


def _value_of(answer: ast.expr) -> object:
    if isinstance(answer, ast.Constant) and isinstance(answer.value, _NotRead):
        unknown = answer.value
        raise ValueError(f"{unknown} is no plain value: it is set by `{unknown.set_by}`")
    if isinstance(answer, ast.Name):
        return answer.id
    if isinstance(answer, ast.NamedExpr):
        return _value_of(answer.value)
    if isinstance(answer, ast.Tuple | ast.List):
        values = map(_value_of, answer.elts)
        return tuple(values) if isinstance(answer, ast.Tuple) else list(values)
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
