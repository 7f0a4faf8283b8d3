"""A task: something that a reader writes and lets be checked, an `Exercise` or a `Rung`, and the verdict on it."""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.lab.exercises import progress
from minikafka.lab.stepper.stepper import with_code
from minikafka.lab.widgets import drawing
from minikafka.witness.spoken import say

NOT_ATTEMPTED, NOT_HERE, NOT_YET, CORRECT = "not attempted", "not judged here", "not yet", "correct"
HELD_OUT_SEED = 20_260
"""What is drawn to judge a function is drawn from this seed, unless a teacher takes another one."""
STUB = "Replace ___ in the function above, then run this cell again."
"""Said of a function that still returns the blank."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check: `state` is "correct", "not yet", "not attempted" or "not judged here"; `compared` counts what was compared:
    the cases of an exercise, the operations of a rung.
    """

    task: str
    state: str
    words: str
    compared: int = 0

    def __bool__(self) -> bool:
        return self.state == CORRECT

    def __str__(self) -> str:
        return say("{exercise}: {state}. {words}", exercise=say(self.task), state=say(self.state), words=self.words)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        kind = {CORRECT: "mk-good", NOT_YET: "mk-bad"}.get(self.state, "mk-faint")
        sign = {CORRECT: "✓", NOT_YET: "✗"}.get(self.state, "…")
        words = with_code(self.words).replace("\n", "<br>")
        return drawing.page(
            f'<div class="mk-box"><b>{say(self.task)}</b> <span class="{kind}">{sign}'
            f" {say(self.state)}</span><br>{words}</div>"
        )


@dataclass(frozen=True)
class Belief:
    """A wrong idea that is recognised: a function that follows it, and the words that name it."""

    function: Callable[..., Any]
    words: str


class Task:
    """What an exercise and a rung have in common.

    `kind` is the one of `progress.KINDS` under which outcomes are kept; `hints` go from gentle to plain; `solution` is a
    function that passes; `beliefs` are the wrong ideas that are recognised.
    """

    kind: str

    def __init__(self, name: str, solution: Callable[..., Any], hints: Sequence[str], beliefs: Iterable[Belief]):
        self.name, self.beliefs = name, tuple(beliefs)
        self._solution, self._hints, self._hints_given = solution, tuple(hints), 0

    def hint(self) -> str:
        """The next hint, from gentle to plain; after the last one, the last one again."""
        self._hints_given = min(self._hints_given + 1, len(self._hints))
        hint = say(self._hints[self._hints_given - 1])
        told = say("Hint {number} of {count}: {hint}", number=self._hints_given, count=len(self._hints), hint=hint)
        return PlainText(told)

    def solution(self) -> str:
        """The source of a function that passes; that it was seen is kept."""
        progress.note(self.kind, self.name, "", tries=0, solutions_seen=1)
        return PlainText(textwrap.dedent(inspect.getsource(self._solution)).rstrip())

    def solved_by(self) -> Callable[..., Any]:
        """The solution itself, for the tests and for whoever wants to run it."""
        return self._solution

    def noted(self, verdict: Any) -> Any:
        """`verdict`, kept as the reader's progress unless nothing was judged."""
        if verdict.state in (CORRECT, NOT_YET):
            progress.note(self.kind, self.name, verdict.state)
        return verdict


class PlainText(str):
    """Text that a notebook shows as it is, not as a quoted string."""

    def __repr__(self) -> str:
        return str(self)
