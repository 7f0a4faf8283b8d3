"""The program that runs in the sandbox: it holds a learner's function, and says what comes of it.

It knows no answers and gives no verdicts: the rooms with them are not there. A request is a list, the first of which
names one of the functions below; all that comes and goes are plain values. See `minikafka.lab.sandbox`.
"""

import contextlib
import importlib
import linecache
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from minikafka.lab.exercises.exercise import said
from minikafka.lab.exercises.prediction import ___
from minikafka.lab.exercises.witnessed import frame
from minikafka.lab.grading.arguments import received
from minikafka.lab.rebuild import also_asked, grounds
from minikafka.lab.rebuild.learners_code import LearnersError, NotAttempted
from minikafka.lab.rebuild.mine import WrongParametersError
from minikafka.lab.rebuild.performer import Here, Role, plainly

_function: Callable[..., Any]
_performer: Here
_ground: grounds.Ground
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
    return {"make": make, "case": case, "take": take, "run": run, "results": results, "call": call}[name](*arguments)


def make(name: str, given: str, code: str) -> None:
    """Make the function `name` by `code`, after the imports `given`. What is asked from now on is asked of it."""
    global _function
    namespace: dict[str, Any] = {"___": ___}
    exec(compile(given, "<course>", "exec"), namespace)
    file = f"<{name}>"
    # So that an explanation can quote the line that it names.
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    exec(compile(code, file, "exec"), namespace)
    _function = namespace[name]


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
        words = said(error)
        wants_python = _forbids_processes and f'Cannot run program "{sys.executable}"' in words
        return "raised", _NO_PYTHON_OF_SPARK if wants_python else words


def take(role: dict[str, Any]) -> None:
    """Give the function a method's place; `role`: the fields of Role, as names."""
    global _performer, _ground
    _ground = getattr(grounds, role["ground"])
    named = {name: tuple(map(_found, role[name])) for name in ("returns", "raises")}
    others = {"also_asked": getattr(also_asked, role["also_asked"])} if role["also_asked"] else {}
    taken = Role(_found(role["method"]), _ground, changes_nothing=role["changes_nothing"], **named, **others)
    _performer = Here(_function, taken)


def run(text: str) -> tuple[Any, ...]:
    """Do a workload: ("is", rows, files, moments, calls), or ("blank",), or ("stopped", …) as `_told` has it."""

    def done() -> tuple[Any, ...]:
        outcome, moments = _performer.run(_ground.read(text))
        told = [None if each is None else _offsets(each) for each in moments]
        rows = [plainly(row) for row in outcome.table.rows]
        return rows, outcome.files, told, _performer.calls

    return _told(done)


def results(text: str) -> tuple[Any, ...]:
    """What the function returned: ("is", results), or as `_told` has it."""
    return _told(lambda: (_performer.results(_ground.read(text)),))


def call(text: str, number: int) -> tuple[Any, ...]:
    """One call in words: ("is", arguments, result, fields), or as `_told` has it."""
    return _told(lambda: tuple(_performer.call(_ground.read(text), number)))


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
        return "stopped", error.words, error.line, error.arguments, error.doing, moment


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
    from minikafka.spark import spark_jvm as jvm

    start = subprocess.Popen

    def started(*arguments: Any, **options: Any) -> Any:
        return start(*arguments, preexec_fn=forbid_processes, **options)

    jvm.subprocess.Popen = started
    try:
        yield
    finally:
        jvm.subprocess.Popen = start
