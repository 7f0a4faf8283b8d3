"""The stepper: runs a real method on a real log, records a frame for each numbered step it enters, then replays them.

There is no tracing code in the system. `sys.settrace` watches the run; the step comments in the source say where steps
begin (`minikafka.lab.stepper.steps`). The recording is complete when the run ends: going back and forth runs nothing
again.
"""

import dis
import enum
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from html import escape
from types import FrameType
from typing import Any, NamedTuple

from minikafka.lab.stepper.coloured_source import coloured_lines
from minikafka.lab.stepper.kafka_lines import kafka_link
from minikafka.lab.stepper.steps import Method, Step, method_of
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.offset_ruler import Offsets, RulerFrame, render_ruler, scale_of
from minikafka.lab.widgets.player import Player
from minikafka.witness.spoken import say

_DIRECTORY = re.compile(r"(?<![\w/.])/(?:[^\s/,)]+/)+(?=[^\s/,)])")
_UNIQUE_ID = re.compile(r"\b[0-9a-f]{32}\b")
_NORMAL_ENDS = {"RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE", "RETURN_GENERATOR"}
_SIGNS = {"returned": "↩", "raised": "✗"}


@dataclass
class StepFrame:
    """One entry into one step.

    `depth` counts the recorded methods around it; `changed` has the locals that the step set, in words; `outcome` is
    "returned …" or "raised …", in the language that is spoken, when the method ended in this step, which `ended` then
    tells by "returned" or "raised", else "". `before` and `after` are the log's offsets.
    """

    method: Method
    step: Step
    depth: int
    before: Offsets | None = None
    after: Offsets | None = None
    changed: dict[str, str] = field(default_factory=dict)
    outcome: str = ""
    ended: str = ""

    @property
    def raised(self) -> bool:
        """True when the method ended in this step by an exception."""
        return self.ended == "raised"

    @property
    def returned(self) -> bool:
        """True when the method returned from this step."""
        return self.ended == "returned"

    @property
    def source(self) -> tuple[str, ...]:
        """The Python source of the step."""
        return self.method.lines(self.step)

    def __str__(self) -> str:
        words = f"{'  ' * self.depth}{self.method.name} {self.step.number}. {say(self.step.text)}"
        details = [f"{name} = {value}" for name, value in self.changed.items()]
        if self.before and self.after and self.before != self.after:
            details += self.after.moved_since(self.before)
        if self.outcome:
            details.append(self.outcome)
        return words + (f" [{say('; ').join(details)}]" if details else "")


class Walk:
    """The outcome of a stepped run: its `frames`, and either its `result` or the exception in `raised`."""

    def __init__(self, title: str):
        self.title = title
        self.frames: list[StepFrame] = []
        self.result: Any = None
        self.raised: Exception | None = None

    def play(self) -> Player:
        """The replay: a slider over the frames."""
        moments = [offsets for frame in self.frames for offsets in (frame.before, frame.after) if offsets]
        scale = scale_of(moments) if moments else None
        numbers = {id(frame): number for number, frame in enumerate(self.frames)}
        return Player(
            self.frames, lambda frame: render_step(frame, self.frames, numbers[id(frame)], scale), title=self.title
        )

    def __str__(self) -> str:
        return "\n".join([self.title, *map(str, self.frames)])

    __repr__ = __str__


def step_through(
    run: Callable[..., Any],
    *args: Any,
    watch: Any = None,
    into: Collection[str] | None = None,
    locals_of_interest: Collection[str] | None = None,
    **kwargs: Any,
) -> Walk:
    """Call `run(*args, **kwargs)` and record the steps that it goes through, its own and those of the methods that it
    calls.

    `watch`: a log whose offsets are noted around each step. `into`: names ("LocalLog.append") of the methods to record;
    default: `run` itself and every method of minikafka that has step comments. A method without them is walked by
    statements. `locals_of_interest`: default all. An exception of `run` ends the walk and is kept in `Walk.raised`; it
    is part of the lesson, not an error of the stepper.
    """
    root = inspect.unwrap(getattr(run, "__func__", run)).__code__
    walk = Walk(say("{method} step by step", method=root.co_qualname))
    recorder = _Recorder(walk, root, watch, into, locals_of_interest)
    previous = sys.gettrace()
    sys.settrace(recorder.global_trace)
    try:
        walk.result = run(*args, **kwargs)
    except Exception as error:
        walk.raised = error
    finally:
        sys.settrace(previous)
    if recorder.failure is not None:
        raise recorder.failure
    return walk


class _Value(NamedTuple):
    """What a local variable holds at one moment; `fields` of a dataclass that can change, else empty."""

    identity: int
    words: str
    fields: dict[str, str]

    @classmethod
    def of(cls, value: Any) -> "_Value":
        changeable = is_dataclass(value) and not isinstance(value, type) and not value.__dataclass_params__.frozen
        contents = {each.name: in_words(getattr(value, each.name)) for each in fields(value)} if changeable else {}
        return cls(id(value), in_words(value), contents)

    def changes_since(self, before: "_Value | None", name: str) -> dict[str, str]:
        """What is new, in words: of an object that was there before only the fields that differ."""
        if before is not None and self.fields and self.identity == before.identity:
            return {f"{name}.{key}": now for key, now in self.fields.items() if before.fields.get(key) != now}
        return {} if before is not None and before.words == self.words else {name: self.words}


class _Activation:
    """One running call of a recorded method."""

    def __init__(self, method: Method, depth: int):
        self.method = method
        self.depth = depth
        self.step: Step | None = None
        self.frame: StepFrame | None = None
        self.locals: dict[str, _Value] = {}
        self.pending: BaseException | None = None


class _Recorder:
    def __init__(
        self, walk: Walk, root: Any, watch: Any, into: Collection[str] | None, interest: Collection[str] | None
    ):
        self._walk, self._root, self._watch, self._into, self._interest = walk, root, watch, into, interest
        self._running: list[_Activation] = []
        self._busy = False
        self.failure: Exception | None = None

    def global_trace(self, frame: FrameType, event: str, arg: Any):
        """Called when any Python function begins; returns whether its lines matter."""
        if self._busy or event != "call":
            return None
        activation = self._unseen(lambda: self._begin(frame))
        if activation is None:
            return None

        def local_trace(frame: FrameType, event: str, arg: Any):
            if not self._busy:
                self._unseen(lambda: self._on(activation, frame, event, arg))
            return local_trace

        return local_trace

    def _unseen(self, action: Callable[[], Any]) -> Any:
        """Do `action` without tracing it. Its errors are the stepper's own and must not reach the method that runs."""
        self._busy = True
        try:
            return action()
        except Exception as error:
            self.failure = self.failure or error
            return None
        finally:
            self._busy = False

    def _begin(self, frame: FrameType) -> _Activation | None:
        method = self._recorded(frame)
        if method is None:
            return None
        activation = _Activation(method, len(self._running))
        activation.locals = self._locals(frame)
        self._running.append(activation)
        return activation

    def _recorded(self, frame: FrameType) -> Method | None:
        code = frame.f_code
        if self._into is not None:
            return method_of(code) if code.co_qualname in self._into else None
        if code is self._root:
            return method_of(code)
        if not str(frame.f_globals.get("__name__", "")).startswith("minikafka.") or code.co_name.startswith("<"):
            return None
        method = method_of(code)
        return method if method is not None and method.marked else None

    def _on(self, activation: _Activation, frame: FrameType, event: str, arg: Any) -> None:
        if event == "line":
            self._on_line(activation, frame)
        elif event == "exception":
            activation.pending = arg[1]
        elif event == "return":
            self._settle(activation, frame)
            if activation.frame is not None:
                activation.frame.ended, activation.frame.outcome = _outcome(frame, arg, activation.pending)
            self._running.remove(activation)

    def _on_line(self, activation: _Activation, frame: FrameType) -> None:
        line, left = frame.f_lineno, activation.step
        step = activation.method.step_at(line)
        heads = [step for step in activation.method.steps if line in (step.first_line, step.first_run)]
        # Coming back to the head of a loop, or leaving a `with`, is no new entry.
        entered = next((step for step in heads if left is None or not step.is_around(left)), None)
        if entered is not None:
            self._settle(activation, frame)
            state = self._state()
            activation.frame = StepFrame(activation.method, entered, activation.depth, state, state)
            self._walk.frames.append(activation.frame)
        activation.step = step

    def _settle(self, activation: _Activation, frame: FrameType) -> None:
        """Note what the step that is ending has changed."""
        values = self._locals(frame)
        if activation.frame is not None:
            for name, value in values.items():
                activation.frame.changed.update(value.changes_since(activation.locals.get(name), name))
            activation.frame.after = self._state()
        activation.locals = values

    def _locals(self, frame: FrameType) -> dict[str, "_Value"]:
        names = [name for name in frame.f_locals if name != "self" and not name.startswith("_")]
        return {
            name: _Value.of(frame.f_locals[name]) for name in names if self._interest is None or name in self._interest
        }

    def _state(self) -> Offsets | None:
        return None if self._watch is None else Offsets.of(self._watch)


def _outcome(frame: FrameType, value: Any, pending: BaseException | None) -> tuple[str, str]:
    """How a method ended, in one word and in words.

    A `return` event alone does not tell, because it carries None after an exception as well.
    """
    instruction = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    if instruction in _NORMAL_ENDS:
        return "returned", say("returned") if value is None else say("returned {value}", value=in_words(value))
    if pending is None:
        return "raised", say("raised")
    message = drawing.shorten(without_directories(str(pending)), 160)
    return "raised", say("raised {error}: {message}", error=type(pending).__name__, message=message)


def in_words(value: Any) -> str:
    """A value in a few words that are the same in every run: no addresses, no directories."""
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return drawing.shorten(repr(without_directories(value)), 60)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{len(value):,} bytes"
    if isinstance(value, os.PathLike):
        return os.path.basename(os.fspath(value))
    if isinstance(value, BaseException):
        return f"{type(value).__name__}"
    if isinstance(value, Mapping):
        return drawing.shorten("{" + ", ".join(f"{in_words(k)}: {in_words(v)}" for k, v in value.items()) + "}", 90)
    if type(value) in (list, tuple, set, frozenset):
        return drawing.shorten("[" + ", ".join(map(in_words, value)) + "]", 90)
    if callable(value) and hasattr(value, "__name__"):
        return f"{value.__name__}()"
    return _object_in_words(value)


def _object_in_words(value: Any) -> str:
    kind = type(value)
    if hasattr(value, "base_offset") and hasattr(value, "last_offset"):
        return f"{kind.__name__} {value.base_offset}–{value.last_offset}"
    if hasattr(value, "base_offset") and hasattr(value, "size"):
        return f"{kind.__name__}({value.base_offset}, {value.size:,} B)"
    if kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__:
        words = str(value) if kind.__str__ is not object.__str__ else repr(value)
        words = without_directories(words)
        return (
            kind.__name__
            if " at 0x" in words
            else drawing.shorten(words if "(" in words else f"{kind.__name__} {words}", 110)
        )
    return kind.__name__


def without_directories(words: str) -> str:
    """A message without its directories and without unique ids, which differ from run to run."""
    return _UNIQUE_ID.sub("ID", _DIRECTORY.sub("", words))


def render_step(frame: StepFrame, frames: Sequence[StepFrame], index: int, scale: tuple[int, int] | None = None) -> str:
    """One frame as HTML: where we are, the source with its link to Kafka's, what changed, the ruler after the step."""
    method, step = frame.method, frame.step
    link = kafka_link(method.kafka)
    twin = (
        f'<a href="{escape(link)}" target="_blank" rel="noopener">{escape(method.kafka)}</a>'
        if link
        else escape(method.kafka)
    )
    head = f"<b><code>{escape(method.name)}</code></b> · {say('step {number}', number=step.number)}" + (
        f" &nbsp; Kafka: {twin}" if method.kafka else ""
    )
    title = (
        f'<div style="font-size:15px;font-weight:700;margin:4px 0">{step.number}. {with_code(say(step.text))}</div>'
        if method.marked
        else ""
    )
    ruler = ""
    if frame.after is not None:
        caption = say("{method}, after step {number}", method=method.name, number=step.number)
        ruler = render_ruler(RulerFrame(caption, frame.after, frame.before), *(scale or (None, None)))
    return f"{_trail(frames, index)}<div>{head}</div>{title}{_source(frame)}{_effects(frame)}{ruler}"


def _trail(frames: Sequence[StepFrame], index: int) -> str:
    """The steps around the present one, one line each, indented by depth."""
    low = max(0, min(index - 3, len(frames) - 7))
    rows = []
    for i in range(low, min(low + 7, len(frames))):
        other = frames[i]
        pointer = "▶" if i == index else "&nbsp;&nbsp;"
        end = f"&nbsp;{_SIGNS[other.ended]} {say(other.ended)}" if other.ended else ""
        words = f"{'· ' * other.depth}{other.method.name} {other.step.number}. {say(other.step.text)}"
        kind = "mk-strong" if i == index else "mk-faint"
        rows.append(f'<div class="mk-line {kind}"><span>{pointer} {with_code(words)}</span>{end}</div>')
    return f'<div style="font-size:12px;margin:4px 0 8px">{"".join(rows)}</div>'


def with_code(words: str) -> str:
    """The words of a comment, in which code stands in backticks, as HTML."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(words))


def _source(frame: StepFrame) -> str:
    """The lines of the method around the step, with a bar at each line that belongs to this step and to none within."""
    method, step = frame.method, frame.step
    first = max(step.first_line - 3, method.first_line)
    last = min(step.last_line, step.first_line + 13)
    begin, end = first - method.first_line, last - method.first_line + 3
    margin = min((len(line) - len(line.lstrip()) for line in method.source[begin:end] if line.strip()), default=0)
    rows = []
    for number, line in enumerate(coloured_lines(method.source)[begin:end], first):
        is_now = step.first_line <= number <= last and method.belongs_to(number) == step
        rows.append(f'<span class="mk-{"now" if is_now else "faint"}">{"▌" if is_now else " "}  {line[margin:]}</span>')
    cut = (
        f'<div class="mk-faint">{say("… {count} more lines in this step", count=step.last_line - last)}</div>'
        if last < step.last_line
        else ""
    )
    return f'<pre style="font-family:monospace">{"<br>".join(rows)}</pre>{cut}'


def _effects(frame: StepFrame) -> str:
    rows = [
        f"<tr><td><code>{escape(name)}</code></td><td>= {escape(value)}</td></tr>"
        for name, value in frame.changed.items()
    ]
    nothing = f'<div class="mk-faint">{say("no local variable changed")}</div>'
    table = f"<table>{''.join(rows)}</table>" if rows else nothing
    if not frame.outcome:
        return table
    kind, sign = "mk-bad" if frame.raised else "mk-good", _SIGNS[frame.ended]
    return f'{table}<div class="{kind}">{sign} {escape(frame.method.name)} {escape(frame.outcome)}</div>'
