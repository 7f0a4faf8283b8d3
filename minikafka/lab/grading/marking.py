"""The marks of functions. A learner's function runs in a sandbox; what it gives is judged here."""

import functools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from minikafka.lab.course.places import COURSE
from minikafka.lab.exercises.exercise import Exercise, ToldError
from minikafka.lab.exercises.prediction import ___
from minikafka.lab.exercises.task import NOT_YET, Verdict
from minikafka.lab.grading import learners_side
from minikafka.lab.grading.arguments import sent
from minikafka.lab.lesson_folders import LESSONS
from minikafka.lab.rebuild import also_asked, harnesses
from minikafka.lab.rebuild.harnesses import ENGINE, Outcome
from minikafka.lab.rebuild.learners_code import LearnersError, NotAttempted
from minikafka.lab.rebuild.mine import function_of
from minikafka.lab.rebuild.performer import Call, Role, Run
from minikafka.lab.sandbox import control_group
from minikafka.lab.sandbox.sandbox import (
    ChildRaisedError,
    Limits,
    OutOfTimeError,
    Sandbox,
    SandboxError,
    Sees,
)
from minikafka.lab.widgets.offset_ruler import Offsets, SegmentSpan
from minikafka.witness.observation import Observations

_ANSWERS_LIE_IN = (LESSONS, COURSE)
"""Hidden whole: solutions lie there as texts, notebooks and the bytecode that Python makes of them at any time."""
_ENGINE = (
    *(
        "common",
        "record",
        "checkpoint",
        "log",
        "messages",
        "raft",
        "metadata",
        "cluster",
        "server",
        "network",
        "broker",
    ),
    "witness",
)
_LEAST_S = 0.01
_LARGEST_ANSWER_MB = 8  # the files of a rung's log have some kB; an exercise keeps the answers to all of its cases


@dataclass(frozen=True)
class Terms:
    """How functions are checked: `seed` draws what is held out; a check may take `seconds` (s), the process `memory_mb`
    (MiB) more than it had before. With `is_trusted` there is no sandbox.
    """

    seed: int
    seconds: float = 60.0
    memory_mb: int = 2048
    is_trusted: bool = False


@dataclass(frozen=True)
class Job:
    """A function to check: its name, the code that makes it, its check."""

    name: str
    code: str
    module: str
    check: str


class LearnersSide:
    """The sandbox with one learner's functions, and what is asked of it; a context manager.

    What goes wrong there is a LearnersError; after some of them it has ended, and `start` begins it anew.
    `java`: whether Spark is there.
    """

    def __init__(self, terms: Terms, *, java: bool):
        self._terms, self._java = terms, java
        self._sandbox: Sandbox | None = None
        self._until = 0.0

    def __enter__(self) -> "LearnersSide":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def start(self) -> None:
        """Start the sandbox, if it is not there. Raises RuntimeError, for which no function is to blame."""
        if self._sandbox is not None:
            return
        program = Path(learners_side.__file__)
        memory = self._terms.memory_mb
        limits = Limits(memory_mb=memory, all_memory_mb=memory + 3072, processes=512, answer_mb=_LARGEST_ANSWER_MB)
        sees = Sees(packages=None, minikafka=True, hides=_ANSWERS_LIE_IN, java=self._java)
        setup = {
            "modules": _modules_of_the_engine(),
            "java": self._java,
            "forbids_processes": not (self._terms.is_trusted or control_group.can_be_made()),
        }
        self._sandbox = Sandbox(program, setup, sees, limits, is_trusted=self._terms.is_trusted)
        try:
            self._sandbox.__enter__()
        except SandboxError as error:
            self._sandbox = None
            raise RuntimeError(f"the sandbox does not start: {error}") from error

    def make(self, job: Job, role: Role | None = None) -> None:
        """Make the function of a job, of which everything is asked from now on; its time begins.

        `role`: the place that it then takes.
        """
        self._until = time.monotonic() + self._terms.seconds
        self.ask("make", job.name, job.code, None if role is None else _told_role(role))

    def ask(self, *request: Any) -> Any:
        """What a function of `learners_side` gives. Raises LearnersError."""
        assert self._sandbox is not None
        try:
            return self._sandbox.ask(list(request), max(self._until - time.monotonic(), _LEAST_S))
        except ChildRaisedError as error:
            raise LearnersError(_in_words(error)) from None
        except OutOfTimeError:
            self._end()
            raise LearnersError(f"It has not ended after {self._terms.seconds:g} seconds.") from None
        except SandboxError as error:
            self._end()
            raise LearnersError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None

    def _end(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None


class InSandbox:
    """A Performer on a learner's side, where a function has been made and has its role."""

    def __init__(self, side: LearnersSide):
        self._side, self.calls = side, 0

    def run(self, workload: Any) -> Run:
        """As Performer.run."""
        rows, files, moments, self.calls = self._told("run", workload)
        if not all(type(name) is str and type(content) is bytes for name, content in files.items()):
            raise ValueError("files are bytes by name")
        table = Observations(ENGINE, workload, tuple(rows))
        return Run(Outcome(table, files), [None if each is None else _offsets(each) for each in moments])

    def results(self, workload: Any) -> list[Any]:
        """As Performer.results."""
        (found,) = self._told("results", workload)
        return found

    def call(self, workload: Any, number: int) -> Call:
        """As Performer.call."""
        return Call(*self._told("call", workload, number))

    def _told(self, name: str, workload: Any, *more: Any) -> tuple[Any, ...]:
        match self._side.ask(name, str(workload), *more):
            case "is", *told:
                return tuple(told)
            case ("blank",):
                raise NotAttempted
            case "stopped", str(words), str(line), str(arguments), str(doing), moment:
                error = LearnersError(words, line, arguments)
                error.doing, error.moment = doing, None if moment is None else _offsets(moment)
                raise error
        raise LearnersError("Its process does not say what came of it.")


def verdict_on(job: Job, side: LearnersSide, seed: int) -> Verdict:
    """What the judge says of the function of a job. Whatever the function does, and its process says, is a verdict."""
    check = getattr(import_module(job.module), job.check)
    if isinstance(check, Exercise):
        for number in range(len(check.cases)):
            check.answer(number)  # if the judge fails, no function is to blame
    side.start()
    try:
        if isinstance(check, Exercise):
            side.make(job)
            return check.judged(_asked_there(side, check), seed=seed)
        side.make(job, check.role)
        return check.judged(InSandbox(side), seed)
    except LearnersError as error:
        return Verdict(check.name, NOT_YET, str(error))
    except Exception as error:  # of what its process told, which may be anything
        return Verdict(check.name, NOT_YET, f"What it gives cannot be judged: {type(error).__name__}: {error}")


def needs_java(job: Job) -> bool:
    """Whether a function, or what it is asked, uses Spark."""
    check = getattr(import_module(job.module), job.check)
    if not isinstance(check, Exercise):
        return False
    given = (argument for case in check.cases for argument in case.arguments)
    return "sql" in job.code or "spark" in job.code or any(hasattr(each, "collect") for each in given)


def _asked_there(side: LearnersSide, check: Exercise) -> Callable[..., Any]:
    """A function that gives what the learner's function gives to the exercise's cases, one after another, and then to
    what is drawn.
    """
    cases = iter(_sent_cases(check))

    def function(*arguments: Any) -> Any:
        given = next(cases, None)
        match side.ask("case", [sent(each) for each in arguments] if given is None else given):
            case "is", value:
                return value
            case "rows", list(rows), list(columns):
                return _Rows(rows, columns)
            case ("blank",):
                return ___
            case "raised", str(words):
                raise ToldError(words)
        raise LearnersError("Its process does not say what it answers.")

    return function


@dataclass(frozen=True)
class _Rows:
    """What was collected of a DataFrame, to be taken for one by who collects it."""

    rows: list[tuple[Any, ...]]
    columns: list[str]

    def collect(self) -> list[tuple[Any, ...]]:
        """The rows."""
        return self.rows


@functools.cache
def _sent_cases(check: Exercise) -> list[list[Any]]:
    """The arguments of each case, as `sent` has them."""
    return [[sent(argument) for argument in case.arguments] for case in check.cases]


def _modules_of_the_engine() -> list[str]:
    """The modules of the engine that are loaded: a method is replaced wherever one of them knows it."""
    loaded = sorted(name for name in sys.modules if name.startswith("minikafka."))
    return [name for name in loaded if name.split(".")[1] in _ENGINE]


def _offsets(told: tuple[Any, ...]) -> Offsets:
    """The offsets that a plain value tells. Raises TypeError, ValueError."""
    *marks, segments = told
    spans = tuple(SegmentSpan(*segment) for segment in segments)
    if not all(type(each) is int for each in (*marks, *(number for span in segments for number in span))):
        raise ValueError("offsets are numbers")
    return Offsets(*marks, spans)


def _told_role(role: Role) -> dict[str, Any]:
    """A role as a plain value: its fields by name, what is found in a module by the name that it has there."""
    return {
        "method": _name_of(function_of(role.method)),
        "harness": next(name for name, value in vars(harnesses).items() if value is role.harness),
        "returns": [_name_of(each) for each in role.returns],
        "raises": [_name_of(each) for each in role.raises],
        "changes_nothing": role.changes_nothing,
        "compares_results": role.compares_results,
        "must_call": [_name_of(function_of(each)) for each in role.must_call],
        "also_asked": role.also_asked.__name__ if role.also_asked.__module__ == also_asked.__name__ else "",
    }


def _name_of(found: Any) -> str:
    """The name by which `learners_side` finds a function or a type."""
    if found is type(None):
        return "types:NoneType"
    return f"{found.__module__}:{found.__qualname__}"


def _in_words(error: ChildRaisedError) -> str:
    if error.kind == "MemoryError":
        return "It needs more memory than it may have."
    return error.words if error.kind == "NotPlainError" else f"{error.kind}: {error.words}".rstrip(": ")
