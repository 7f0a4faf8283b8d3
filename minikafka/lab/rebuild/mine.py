"""Puts a learner's function in the place of a method of the engine, for the length of a `with` block."""

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType
from typing import Any, NamedTuple
from unittest import mock

from minikafka.lab.rebuild.detours import detours_of
from minikafka.lab.rebuild.learners_code import Guard, LearnersError
from minikafka.record.kernels.record_columns import plain_kernel
from minikafka.witness.log.batch import Batch
from minikafka.witness.spoken import say

Method = Callable[..., Any] | property
"""What is named as `LogSegment.should_roll` or `Log.last_stable_offset`: a function or a property of a class, or a
function of a module.
"""


class WrongParametersError(TypeError):
    """A function takes other parameters than the method whose place it is to take."""


class _Place(NamedTuple):
    """Where the engine finds a function: the attribute `name` of a class or a module, and what stands there."""

    owner: Any
    name: str
    original: Any


@contextmanager
def mine(method: Method, function: Callable[..., Any], guard: Guard | None = None) -> Iterator[None]:
    """Inside the block the engine calls `function` wherever it calls `method`; behind it the engine is whole again.

    Compiled kernels and other short cuts that would pass `function` by are off for so long. Only this thread is meant:
    work of the engine in other threads goes on as before; and only the log's own work: the bytes that a workload's
    clients send are made by the engine's method. `guard`: what the function is
    held to (default: that its errors are told as its own, and that it ends). Raises WrongParametersError when the
    parameters of `function` are not those of `method`, TypeError when `method` is nothing of minikafka's.

        with mine(LogSegment.should_roll, my_should_roll):
            log.append_as_leader(records(3), leader_epoch=0)
    """
    engine = function_of(method)
    _require_same_parameters(engine, function)
    guard = guard or Guard()
    held = guard.around(function)
    thread = threading.get_ident()

    def call(*args: Any, **kwargs: Any) -> Any:
        is_meant = threading.get_ident() == thread and not guard.is_aside
        return (held if is_meant else engine)(*args, **kwargs)

    with ExitStack() as replaced:
        replaced.enter_context(mock.patch.object(Batch, "encode", guard.aside(Batch.encode)))
        replaced.enter_context(plain_kernel())
        for short_cut, detour in detours_of(engine):
            for place in _places(short_cut, short_cut):
                replaced.enter_context(mock.patch.object(place.owner, place.name, detour))
        for place in _places(method, engine):
            replaced.enter_context(mock.patch.object(place.owner, place.name, _in_the_kind_of(place.original, call)))
        yield


@contextmanager
def calls_told(methods: Iterable[Method], tell: Callable[[str], None]) -> Iterator[None]:
    """Inside the block `tell` is given the name of each of `methods` when this thread calls it, and not what that one
    calls of them in turn.
    """
    thread, is_within = threading.get_ident(), False

    def told(engine: FunctionType) -> Callable[..., Any]:
        @functools.wraps(engine)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal is_within
            if is_within or threading.get_ident() != thread:
                return engine(*args, **kwargs)
            tell(engine.__qualname__)
            is_within = True
            try:
                return engine(*args, **kwargs)
            finally:
                is_within = False

        return call

    with ExitStack() as replaced:
        for method in methods:
            engine = function_of(method)
            for place in _places(method, engine):
                call = _in_the_kind_of(place.original, told(engine))
                replaced.enter_context(mock.patch.object(place.owner, place.name, call))
        yield


@contextmanager
def absent(method: Method) -> Iterator[None]:
    """Inside the block `method` is not there: in its place is one that raises LearnersError, also for who keeps it."""
    engine = function_of(method)

    def stand_in(*_args: Any, **_kwargs: Any) -> Any:
        raise LearnersError(f"{engine.__qualname__} is the method that your function stands for: it is not there.")

    stand_in.__signature__ = inspect.signature(engine)  # type: ignore[attr-defined]
    with ExitStack() as replaced:
        for place in _places(method, engine):
            replaced.enter_context(
                mock.patch.object(place.owner, place.name, _in_the_kind_of(place.original, stand_in))
            )
        yield


def function_of(method: Method) -> FunctionType:
    """The plain function behind a method or a property. Raises TypeError for what is not written in minikafka."""
    function = method.fget if isinstance(method, property) else inspect.unwrap(method)
    function = getattr(function, "__func__", function)  # a class method's
    if not inspect.isfunction(function) or not function.__module__.startswith("minikafka."):
        raise TypeError(f"{method!r} is no method of minikafka; name one as in LogSegment.should_roll")
    return function


def _places(method: Method, engine: FunctionType) -> list[_Place]:
    """Each attribute under which the engine reaches the function."""
    module = sys.modules[engine.__module__]
    *classes, name = engine.__qualname__.split(".")
    if classes:
        owner = module
        for each in classes:
            owner = getattr(owner, each)
        return [_Place(owner, name, vars(owner)[name])]
    # A function of a module is also known to the modules that import it by its name.
    return [
        _Place(user, known_as, value)
        for key, user in sorted(sys.modules.items())
        if key.startswith("minikafka.") and user is not None
        for known_as, value in list(vars(user).items())
        if value is method
    ]


def _in_the_kind_of(original: Any, call: Callable[..., Any]) -> Any:
    """`call` as what stood there before: a property, a static method, a class method or a function."""
    for kind in (property, staticmethod, classmethod):
        if isinstance(original, kind):
            return kind(call)
    return call


def _require_same_parameters(engine: FunctionType, function: Callable[..., Any]) -> None:
    wanted, given = (list(inspect.signature(each).parameters.values()) for each in (engine, function))
    if [each.kind for each in given] != [each.kind for each in wanted] or [
        each.name for each in given if each.kind is each.KEYWORD_ONLY
    ] != [each.name for each in wanted if each.kind is each.KEYWORD_ONLY]:
        raise WrongParametersError(
            say(
                "{method} takes ({wanted}); yours takes ({given})",
                method=engine.__qualname__,
                wanted=_in_words(wanted),
                given=_in_words(given),
            )
        )


def _in_words(parameters: list[inspect.Parameter]) -> str:
    """Names alone, with the `*` behind which an argument must be named."""
    bare = [inspect.Parameter(each.name, each.kind) for each in parameters]
    return str(inspect.Signature(bare))[1:-1]
