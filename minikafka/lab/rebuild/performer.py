"""Whoever does workloads with a learner's function in the place of a method, and what comes of it."""

import dataclasses
import enum
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from minikafka.lab.rebuild.harnesses import ENGINE, Harness, Outcome
from minikafka.lab.rebuild.learners_code import Guard, arguments_in_words
from minikafka.lab.rebuild.mine import Method, calls_told, mine
from minikafka.lab.stepper.stepper import in_words
from minikafka.lab.widgets.offset_ruler import Offsets
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.memory_records import MemoryRecords


@dataclass(frozen=True)
class Role:
    """The place that a function takes: the engine's `method`, on a `harness`, and what the function is held to there.

    `returns`, `raises`, `changes_nothing`: as Guard has them; the others as Rung has them.
    """

    method: Method
    harness: Harness
    returns: tuple[type, ...] = ()
    raises: tuple[type[Exception], ...] = ()
    changes_nothing: bool = False
    also_asked: Callable[..., Iterable[tuple[Any, ...]]] = lambda *args: ()
    must_call: tuple[Method, ...] = ()
    compares_results: bool = True

    @property
    def has_comparable_results(self) -> bool:
        """Whether the function's results are compared with those of the engine's method."""
        returns_something = self.returns not in ((), (type(None),))
        return self.changes_nothing or (self.compares_results and returns_something)

    @property
    def is_compared_call_by_call(self) -> bool:
        """Whether calls of the function are compared with those of the engine's method, besides what the log shows."""
        return self.has_comparable_results or bool(self.must_call)


class Run(NamedTuple):
    """What came of a workload: what was seen and what lies on the disk, the log's offsets after each operation."""

    outcome: Outcome
    moments: list[Offsets | None]


class Call(NamedTuple):
    """A call in words: the arguments by name, the result, and of a result with named fields each field.

    `called`: the names of those of the role's `must_call` that it called.
    """

    arguments: str
    result: str
    fields: tuple[tuple[str, str], ...]
    called: tuple[str, ...]


class Performer(Protocol):
    """Does workloads with a learner's function in its role; raises LearnersError and NotAttempted.

    `calls`: how often the engine has called the function so far.
    """

    calls: int

    def run(self, workload: Any) -> Run:
        """Do the workload."""

    def results(self, workload: Any) -> list[Any]:
        """What the function returned while the workload was done, call by call, as `plainly` has it, and which of
        `must_call` it called: the first one, and then the names of the others, sorted; and then the same where it was
        also asked, where the name of an exception is a result, too. The results are left out where the role does not
        have `has_comparable_results`.
        """

    def call(self, workload: Any, number: int) -> Call:
        """The call that gave result `number` of `results`."""


class Here:
    """A Performer in this process."""

    def __init__(self, function: Callable[..., Any], role: Role):
        self._function, self._role = function, role
        self._guard = self._new_guard()

    @property
    def calls(self) -> int:
        """As Performer has it."""
        return self._guard.calls

    def run(self, workload: Any) -> Run:
        """As Performer.run."""
        with mine(self._role.method, self._function, self._guard):
            return Run(*self._role.harness.done(workload, ENGINE))

    def results(self, workload: Any) -> list[Any]:
        """As Performer.results."""
        found: list[Any] = []

        def note(_args: tuple[Any, ...], _kwargs: Mapping[str, Any], result: Any, called: tuple[str, ...]) -> None:
            found.append((plainly(result) if self._role.has_comparable_results else None, called))

        self._each_call(workload, note)
        return found

    def call(self, workload: Any, number: int) -> Call:
        """As Performer.call."""
        seen, found = 0, []

        def tell(args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any, called: tuple[str, ...]) -> None:
            nonlocal seen
            if seen == number:
                fields = tuple((name, in_words(getattr(result, name))) for name in getattr(result, "_fields", ()))
                arguments = arguments_in_words(self._function, args, kwargs)
                found.append(Call(arguments, in_words(result), fields, called))
            seen += 1

        self._each_call(workload, tell)
        return found[0]

    def _each_call(
        self, workload: Any, seen: Callable[[tuple[Any, ...], Mapping[str, Any], Any, tuple[str, ...]], None]
    ) -> None:
        called: list[str] = []
        is_running = False

        @functools.wraps(self._function)
        def function(*args: Any, **kwargs: Any) -> Any:
            nonlocal is_running
            called.clear()
            is_running = True
            try:
                return self._function(*args, **kwargs)
            finally:
                is_running = False

        def tell(name: str) -> None:
            if is_running and name not in called:
                called.append(name)

        def what_was_called() -> tuple[str, ...]:
            return (*called[:1], *sorted(called[1:]))

        asked_once_more = self._new_guard().around(function)

        def see(args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
            seen(args, kwargs, result, what_was_called())
            for others in self._role.also_asked(*args, **kwargs):
                try:
                    answer = asked_once_more(*others)
                except Exception as raised:  # of Kafka's, or one of the role's; all others are LearnersErrors
                    answer = _Raised(type(raised).__name__)
                seen(others, {}, answer, what_was_called())

        with mine(self._role.method, function, self._new_guard(see)), calls_told(self._role.must_call, tell):
            self._role.harness.done(workload, ENGINE)

    def _new_guard(self, seen: Callable[[tuple[Any, ...], Mapping[str, Any], Any], None] | None = None) -> Guard:
        role = self._role
        return Guard(role.returns, raises=role.raises, changes_nothing=role.changes_nothing, seen=seen)


class _Raised(str):
    """The name of an exception, in the place of a result."""

    def __repr__(self) -> str:
        return f"nothing: it raises {self}"


def plainly(value: Any) -> Any:
    """A result as a plain value, equal for equal results of two runs: what has fields is a tuple of them, an enum and
    an exception are their names, records their bytes, a path is its last name, and an object that equals only itself
    is what `in_words` says of it.
    """
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, tuple | list):
        return type(value)(map(plainly, value)) if type(value) in (tuple, list) else tuple(map(plainly, value))
    if isinstance(value, set | frozenset):
        return frozenset(map(plainly, value))
    if isinstance(value, Mapping):
        return {plainly(key): plainly(each) for key, each in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(plainly(getattr(value, each.name)) for each in dataclasses.fields(value))
    if isinstance(value, _Raised):
        return str(value)
    if isinstance(value, FileRecords):
        value = value.to_memory_records()
    if isinstance(value, MemoryRecords):
        return bytes(value.buffer)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    equals_only_itself = type(value).__eq__ is object.__eq__
    return in_words(value) if equals_only_itself or isinstance(value, os.PathLike) else value
