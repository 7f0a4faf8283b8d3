"""What stands between the engine and a learner's function: its errors are told as its own, and it always ends."""

import functools
import inspect
import linecache
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from minikafka.common import errors
from minikafka.common.at_hand import HAS_ALARMS
from minikafka.lab.exercises.prediction import ___
from minikafka.lab.stepper.stepper import in_words, without_directories
from minikafka.lab.widgets.offset_ruler import Offsets
from minikafka.witness.spoken import say

LIMIT_S = 3.0 if HAS_ALARMS else 12.0
"""How long all calls of a function may take together while it is on trial; in a browser they take several times as
long.
"""
_PACKAGE = str(Path(__file__).parents[2])


class NotAttempted(BaseException):
    """The function still returns the blank `___`."""


class LearnersError(BaseException):
    """What went wrong in the learner's function, in words: his line, and the arguments of the call.

    Not an `Exception`, so that no handler of the engine takes it for its own.
    """

    def __init__(self, words: str, line: str = "", arguments: str = ""):
        super().__init__(words)
        self.words, self.line, self.arguments = words, line, arguments
        # The operation of the workload that was being done, and the log before it; the trial notes them.
        self.doing = ""
        self.moment: Offsets | None = None

    def __str__(self) -> str:
        doing = say("While the engine did: {operation}", operation=self.doing) if self.doing else ""
        log = say("The log before it: {log}", log=self.moment) if self.moment else ""
        return "\n".join(filter(None, (self.words, self.line, self.arguments, doing, log)))


class Guard:
    """What a function on trial is held to.

    - Exceptions of Kafka's names reach the engine, as those of the method do, and so do the types `raises`; any other
      is a LearnersError.
    - A result must be of the types `returns` (empty: anything), in which an `int` is no `bool`.
    - With `changes_nothing`, the arguments must be after the call what they were before it.
    - `seen`, if given, is shown each call that returned: its arguments, the named ones, and the result.
    - All calls together end after `limit_s` seconds; this needs the main thread, where notebooks run their cells.
      Where no system can interrupt them, as in a browser, the learner's lines look at the clock.

    `calls` counts the calls. While `is_aside`, what is done is no work of the log, and the function is not meant: an
    error is being put into words, which may ask the engine again, or a client makes the bytes that it sends.
    """

    def __init__(
        self,
        returns: tuple[type, ...] = (),
        *,
        raises: tuple[type[Exception], ...] = (),
        changes_nothing: bool = False,
        limit_s: float = LIMIT_S,
        seen: Callable[[tuple[Any, ...], Mapping[str, Any], Any], None] | None = None,
    ):
        self._returns, self._raises, self._changes_nothing, self._seen = returns, raises, changes_nothing, seen
        self._all_s = self._left_s = limit_s
        self.calls = 0
        self.is_aside = False
        self._is_running = False

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as the engine is to call it. It raises LearnersError, NotAttempted, and Kafka's exceptions."""

        def held(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            before = _contents(args) if self._changes_nothing else None
            try:
                with self._ended_in_time(function):
                    result = function(*args, **kwargs)
            except (KeyboardInterrupt, NotAttempted, LearnersError):
                raise
            except BaseException as error:
                if _is_kafkas(error) or isinstance(error, self._raises):
                    error.add_note(_line_of(error.__traceback__, _code_of(function)))  # for whoever does not expect it
                    raise
                raise LearnersError(
                    say(
                        "Your function raised {error}: {message}",
                        error=type(error).__name__,
                        message=without_directories(str(error)),
                    ).rstrip(": "),
                    _line_of(error.__traceback__, _code_of(function)),
                    self._called_with(function, args, kwargs),
                ) from error
            if result is ___:
                raise NotAttempted
            if wrong := self._wrong_type(result):
                raise LearnersError(wrong, arguments=self._called_with(function, args, kwargs))
            if self._changes_nothing and _contents(args) != before:
                raise LearnersError(
                    say("Your function changed what it was given; the method that it stands for only looks."),
                    arguments=self._called_with(function, args, kwargs),
                )
            if self._seen is not None:
                self._seen(args, kwargs, result)
            return result

        return held

    def aside(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """`work`, during which `is_aside` is true."""

        @functools.wraps(work)
        def done(*args: Any, **kwargs: Any) -> Any:
            before, self.is_aside = self.is_aside, True
            try:
                return work(*args, **kwargs)
            finally:
                self.is_aside = before

        return done

    def _wrong_type(self, result: Any) -> str:
        """What is wrong with the type of a result; "" for nothing."""
        if not self._returns or (
            isinstance(result, self._returns) and (not isinstance(result, bool) or bool in self._returns)
        ):
            return ""
        wanted = say(" or ").join("None" if each is type(None) else each.__name__ for each in self._returns)
        return say(
            "Your function returned {result}, of the type {type}; the method returns {wanted}.",
            result=in_words(result),
            type=type(result).__name__,
            wanted=wanted,
        )

    def _called_with(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        return say("Called with {arguments}", arguments=self.aside(arguments_in_words)(function, args, kwargs))

    @contextmanager
    def _ended_in_time(self, function: Callable[..., Any]) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread() or self._is_running:
            yield
            return
        if self._left_s <= 0:  # by many short calls: the engine may be in a loop because of what they return
            raise self._too_slow()
        self._is_running, begin = True, time.monotonic()
        try:
            with self._interrupted(function) if HAS_ALARMS else self._traced(function):
                yield
        finally:
            self._left_s -= time.monotonic() - begin
            self._is_running = False

    @contextmanager
    def _interrupted(self, function: Callable[..., Any]) -> Iterator[None]:
        """The system ends the block when no time is left."""

        def too_long(_signal: int, frame: FrameType | None) -> None:
            error = self._too_slow(_line_at(frame, _code_of(function)))
            _raise_at_every_line(frame, _code_of(function), error)
            raise error

        handler, tracing = signal.signal(signal.SIGALRM, too_long), sys.gettrace()
        signal.setitimer(signal.ITIMER_REAL, max(self._left_s, 1e-3))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            sys.settrace(tracing)

    @contextmanager
    def _traced(self, function: Callable[..., Any]) -> Iterator[None]:
        """Each line that is none of minikafka's ends the block when no time is left."""
        end, tracing, own = time.monotonic() + self._left_s, sys.gettrace(), _code_of(function)
        own_file = own.co_filename if own is not None else ""

        def at_a_line(frame: FrameType, event: str, _arg: Any) -> Any:
            if event == "line" and time.monotonic() > end:
                raise self._too_slow(_line_at(frame, own))
            return at_a_line

        def at_a_call(frame: FrameType, _event: str, _arg: Any) -> Any:
            file = frame.f_code.co_filename
            return at_a_line if file == own_file or not file.startswith(_PACKAGE) else None

        sys.settrace(at_a_call)
        try:
            yield
        finally:
            sys.settrace(tracing)

    def _too_slow(self, line: str = "") -> LearnersError:
        words = say(
            "Your function has not ended after {seconds:g} seconds. Is there a loop whose end never comes?",
            seconds=self._all_s,
        )
        return LearnersError(words, line)


def _raise_at_every_line(frame: FrameType | None, code: CodeType | None, error: LearnersError) -> None:
    """Let the learner's function raise `error` again at each of its lines, in case it catches what it should not."""

    def trace(_frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            raise error
        return trace

    while frame is not None:
        frame.f_trace = trace
        if frame.f_code is code:
            break
        frame = frame.f_back
    sys.settrace(trace)


def _is_kafkas(error: BaseException) -> bool:
    """Whether the exception is one of Kafka's, by minikafka's name for it."""
    return isinstance(error, Exception) and type(error).__module__ == errors.__name__


def _code_of(function: Callable[..., Any]) -> CodeType | None:
    """The code behind a function that may be wrapped (`cache`, `partial`); None for what has none to be found."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    return getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)


def _line_of(trace: Any, code: CodeType | None) -> str:
    """The last line of the learner's own code in a traceback, or in what it calls from the same file."""
    file = None if code is None else code.co_filename
    lines = [each for each in traceback.extract_tb(trace) if each.filename == file]
    return say("Line {number}: {line}", number=lines[-1].lineno, line=lines[-1].line) if lines else ""


def _line_at(frame: FrameType | None, code: CodeType | None) -> str:
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    if frame is None or code is None:
        return ""
    line = linecache.getline(code.co_filename, frame.f_lineno).strip()
    return say("Line {number}: {line}", number=frame.f_lineno, line=line)


def arguments_in_words(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The arguments of a call by the names that the function has for them."""
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    return ", ".join(f"{name} = {in_words(value)}" for name, value in given.items())


def _contents(args: tuple[Any, ...]) -> list[Any]:
    """What can be compared later: lists and the like as they are, of other objects the public attributes.

    What begins with an underscore may change: the engine notes there what it has looked up once.
    """
    return [_attributes(each) for each in args]


def _attributes(value: Any) -> Any:
    if isinstance(value, list | dict | set | bytearray):
        return type(value)(value)
    slots = [name for kind in type(value).__mro__ for name in _slots_of(kind)]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)} | dict(
        getattr(value, "__dict__", {})
    )
    public = {name: each for name, each in found.items() if not name.startswith("_")}
    return {name: list(each) if isinstance(each, list) else each for name, each in public.items()} or value


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
