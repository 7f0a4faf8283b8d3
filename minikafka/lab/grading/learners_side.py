"""The program that runs in the sandbox: it holds a learner's function, and says what comes of it.

It knows no answers and gives no verdicts: the rooms with them are not there. A request is a list, the first of which
names one of the functions below; all that comes and goes are plain values. See `minikafka.lab.sandbox`.
"""

import __future__

import ast
import contextlib
import importlib
import linecache
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from minikafka.common.python_source import parse
from minikafka.lab.exercises.exercise import said
from minikafka.lab.exercises.prediction import ___
from minikafka.lab.exercises.witnessed import frame
from minikafka.lab.grading.arguments import received
from minikafka.lab.rebuild import also_asked, harnesses
from minikafka.lab.rebuild.learners_code import LearnersError, NotAttempted
from minikafka.lab.rebuild.mine import WrongParametersError, absent
from minikafka.lab.rebuild.performer import Here, Role, plainly
from minikafka.spark import spark_jvm as jvm

_function: Callable[..., Any]
_performer: Here
_harness: harnesses.Harness
_failed: list[tuple[ast.stmt, BaseException]] = []  # statements that failed while the function was made, and how
_forbids_processes = False
_NO_PYTHON_OF_SPARK = (
    "PermissionError: for it Spark starts another Python (as for a function of Python in a query, or createDataFrame "
    "of a list); that is only allowed where a control group can be made, as root can"
)


def begin(setup: dict[str, Any]) -> None:
    """Load the engine's `modules`, so that each knows the others as in the judge's process; start Spark for `java`."""
    global _forbids_processes
    _forbids_processes = setup["forbids_processes"]
    for module in setup["modules"]:
        importlib.import_module(module)
    if setup["java"]:
        with _no_processes_of_java() if _forbids_processes else contextlib.nullcontext():
            frame([(1,)], "one INT").collect()


def answer(request: list[Any]) -> Any:
    """What a request gives."""
    name, *arguments = request
    return {"make": make, "case": case, "run": run, "results": results, "call": call}[name](*arguments)


def make(name: str, code: str, role: dict[str, Any] | None = None) -> None:
    """Make the function `name` by `code`. What is asked from now on is asked of it.

    With `role`, the fields of Role as names, it takes a method's place, and the method is not there while it is made.
    """
    global _function, _performer, _harness
    taken = None if role is None else _role(role)
    with contextlib.nullcontext() if taken is None else absent(taken.method):
        _function = _made(name, code)
    if taken is not None:
        _performer, _harness = Here(_function, taken), taken.harness


def _made(name: str, code: str) -> Callable[..., Any]:
    """The function `name` by `code`.

    A statement that fails is passed over, as in a notebook, whose cells need not all end well.
    """
    _failed.clear()
    namespace: dict[str, Any] = {"__name__": "__main__", "___": ___, "display": lambda *_args, **_kwargs: None}
    file = f"<{name}>"
    # So that an explanation can quote the line that it names.
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    tree = parse(code, file)
    future = 0
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            future |= getattr(__future__, statement.names[0].name).compiler_flag
        try:
            exec(compile(ast.Module([statement], []), file, "exec", future, True), namespace)
        except (Exception, LearnersError) as error:
            _failed.append((statement, error))
    if name not in namespace:
        raise _failed[-1][1] if _failed else NameError(f"name '{name}' is not defined")
    return namespace[name]


def _why_it_is_missing(error: BaseException | None) -> str:
    """Of a name that is not defined: the statement that was to make it, and why it does not; "" for other errors."""
    if isinstance(error, NameError) and error.name:
        for statement, failure in _failed:
            code = ast.unparse(statement)
            if re.search(rf"\b{re.escape(error.name)}\b", code):
                if isinstance(statement, ast.Raise):  # stands for an import that is refused
                    return f"\n{failure}"
                return f"\n`{code.splitlines()[0]}` raised {type(failure).__name__}: {failure}"
    return ""


def case(arguments: list[Any]) -> tuple[Any, ...]:
    """The function's answer to a case: ("is", answer), ("rows", rows, names of columns) of a DataFrame, ("blank",) for
    `___`, or ("raised", words).
    """
    given = [received(each) for each in arguments]
    try:
        found = _function(*given)
        if found is ___:
            return ("blank",)
        if hasattr(found, "collect"):
            return "rows", [tuple(map(_without_classes_of_libraries, row)) for row in found.collect()], found.columns
        return "is", _without_classes_of_libraries(found)
    except Exception as error:
        words = said(error) + _why_it_is_missing(error)
        wants_python = _forbids_processes and f'Cannot run program "{sys.executable}"' in words
        return "raised", _NO_PYTHON_OF_SPARK if wants_python else words


def _role(told: dict[str, Any]) -> Role:
    """The role whose fields are told as names."""
    named = {name: tuple(map(_found, told[name])) for name in ("returns", "raises", "must_call")}
    others = {name: told[name] for name in ("changes_nothing", "compares_results")}
    if told["also_asked"]:
        others["also_asked"] = getattr(also_asked, told["also_asked"])
    return Role(_found(told["method"]), getattr(harnesses, told["harness"]), **named, **others)


def run(text: str) -> tuple[Any, ...]:
    """Do a workload: ("is", rows, files, moments, calls), or ("blank",), or ("stopped", …) as `_told` has it."""

    def done() -> tuple[Any, ...]:
        outcome, moments = _performer.run(_harness.read(text))
        told = [None if each is None else _offsets(each) for each in moments]
        rows = [plainly(row) for row in outcome.table.rows]
        return rows, outcome.files, told, _performer.calls

    return _told(done)


def results(text: str) -> tuple[Any, ...]:
    """What the function returned: ("is", results), or as `_told` has it."""
    return _told(lambda: (_performer.results(_harness.read(text)),))


def call(text: str, number: int) -> tuple[Any, ...]:
    """One call in words: ("is", arguments, result, fields), or as `_told` has it."""
    return _told(lambda: tuple(_performer.call(_harness.read(text), number)))


def _told(work: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """("is", *what it gives), ("blank",), ("stopped", words, line, arguments, doing, moment) for a LearnersError."""
    try:
        return "is", *work()
    except NotAttempted:
        return ("blank",)
    except WrongParametersError as error:
        return "stopped", str(error), "", "", "", None
    except LearnersError as error:
        moment = None if error.moment is None else _offsets(error.moment)
        return (
            "stopped",
            error.words + _why_it_is_missing(error.__cause__),
            error.line,
            error.arguments,
            error.doing,
            moment,
        )


def _offsets(moment: Any) -> Any:
    """Where the log's offsets were, as a plain value."""
    return plainly(moment)


def _found(name: str) -> Any:
    """What stands in a module by this name, as in `minikafka.log.log:Log.append`."""
    module, _, rest = name.partition(":")
    found = importlib.import_module(module)
    for each in rest.split("."):
        found = getattr(found, each)
    return found


def _without_classes_of_libraries(value: Any) -> Any:
    """The value with numpy's scalars as Python's, and Spark's rows as tuples; everything else as it is."""
    kind = type(value)
    if kind in (list, tuple):
        return kind(map(_without_classes_of_libraries, value))
    if kind.__module__ == "numpy" and "numpy" in sys.modules and issubclass(kind, sys.modules["numpy"].generic):
        return value.item()
    if kind.__module__ == "pyspark.sql.types" and kind.__name__ == "Row":
        return tuple(map(_without_classes_of_libraries, value))
    return value


@contextlib.contextmanager
def _no_processes_of_java() -> Iterator[None]:
    """What is started in the block may start no processes itself."""
    from minikafka.lab.sandbox.inside import forbid_processes

    start = subprocess.Popen

    def started(*arguments: Any, **options: Any) -> Any:
        return start(*arguments, preexec_fn=forbid_processes, **options)

    jvm.subprocess.Popen = started
    try:
        yield
    finally:
        jvm.subprocess.Popen = start
