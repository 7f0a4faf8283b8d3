"""Predictions: first the reader's answer is kept, then the run is shown, then a wrong belief is called by its name."""

import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from minikafka.common import errors
from minikafka.lab.exercises import progress
from minikafka.lab.exercises.predict_call import ids_by_question, is_id
from minikafka.lab.lesson_folders import parts
from minikafka.lab.widgets import drawing
from minikafka.witness.spoken import say


class _Unanswered:
    """The blank that a reader replaces: `___`."""

    _instance = None

    def __new__(cls):
        cls._instance = cls._instance or super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "___"

    def __bool__(self) -> bool:
        return False


___ = _Unanswered()

NOT_YET = "Not answered yet: replace ___ by your prediction and run this cell again."
NOT_ASKED = (
    "This question could not be asked ({error}), so your answer is not wrong. Run the cells above it again, from the top; "
    "the first that fails says why."
)
ANSWERS: dict[str, Any] = {}
"""What the reader predicted so far, by the prediction's id."""
_OUTCOMES: dict[str, tuple[tuple[Any, ...], Any]] = {}
"""By id: what the run was made of, and what it gave."""
_looked_up: Callable[[str, str, Any, Mapping[Any, str]], Any] | None = None
"""What shows a question where there is no reader; None where there is one."""


class Prediction:
    """A question, what the reader answered, and what the run gave.

    `state` is "unanswered", "right" or "wrong", or "not asked": then `actual` says in one line why the run failed.
    """

    def __init__(self, question: str, answer: Any, actual: Any, belief: str, state: str):
        self.question, self.answer, self.actual, self.belief, self.state = question, answer, actual, belief, state

    def __str__(self) -> str:
        if self.state == "unanswered":
            return f"{self.question}\n{say(NOT_YET)}"
        if self.state == "not asked":
            return f"{self.question}\n{say(NOT_ASKED, error=self.actual)}"
        if self.state == "right":
            return f"{self.question}\n{say('You said {said}, and so it is.', said=repr(self.answer))}"
        compared = say("You said {said}; the run gives {given}.", said=repr(self.answer), given=repr(self.actual))
        why = f" {say(self.belief)}" if self.belief else ""
        return f"{self.question}\n{compared}{why}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = str(self).split("\n")
        kind = {"right": "mk-good", "wrong": "mk-bad"}.get(self.state, "mk-faint")
        sign = {"right": "✓", "wrong": "✗"}.get(self.state, "…")
        body = f'<b>{say("Predict.")}</b> {escape(lines[0])}<br><span class="{kind}">{sign} {escape(" ".join(lines[1:]))}</span>'
        return drawing.page(f'<div class="mk-box">{body}</div>')


def predict(
    name: str,
    question: str,
    answer: Any,
    run: Callable[[], Any] | None = None,
    beliefs: Mapping[Any, str] | None = None,
) -> Prediction:
    """Keep `answer`, then call `run` and compare.

    `name` is the prediction's id (`predict_call.is_id`), as in "first-offset-sent"; no other prediction of the course has
    it. The outcome is kept under it, in whatever language and words the question is asked.

    While `answer` is `___`, nothing is run and a fixed text is shown. `beliefs` maps wrong answers to what one would
    have to believe to give them (default: those that a lesson's `predictions.py` has for `name`). Raises nothing for a
    wrong answer, TypeError without a run. Where `run` raises one of Kafka's exceptions, its name is what the run gives; after any other the
    question counts as not asked. A second try is compared with the outcome of the first run, and nothing is run again,
    because the first run may have changed the log that it asked.

    A notebook of an earlier version has no ids: predict(question, answer, run).
    """
    if not is_id(name):
        name, question, answer, run, beliefs = ids_by_question().get(name, name), name, question, answer, run
    if not callable(run):
        raise TypeError("predict takes an id, a question, your answer and what to run: one of them is missing")
    known = known_beliefs().get(name, {}) if beliefs is None else beliefs
    if _looked_up is not None:
        return _looked_up(name, question, outcome_of(name, run), known)
    if answer is ___:
        return Prediction(question, answer, None, "", "unanswered")
    try:
        prediction = _compared(name, question, answer, run, known)
    except Exception as failure:  # a cell above has failed, say, or was not run
        why = str(failure).split("\n")[0]
        return Prediction(question, answer, f"{type(failure).__name__}: {why}", "", "not asked")
    progress.note("predictions", name, prediction.state)
    return prediction


def look_up(show: Callable[[str, str, Any, Mapping[Any, str]], Any]) -> None:
    """From now on `predict` waits for no answer: it gives what `show(name, question, what the run gives, beliefs)` makes
    of it.

    For a run of a lesson without a reader, in a kernel of its own. There `predict` raises what a question's run raises,
    unless it is one of Kafka's exceptions.
    """
    global _looked_up
    _looked_up = show


@functools.cache
def known_beliefs() -> dict[str, Mapping[Any, str]]:
    """The wrong answers of all lessons, with what they believe, by the prediction's id.

    Raises ValueError where two lessons have the same id.
    """
    known: dict[str, Mapping[Any, str]] = {}
    for lesson in parts("predictions"):
        if twice := known.keys() & lesson.BELIEFS.keys():
            raise ValueError(f"{lesson.__name__}: an earlier lesson has the id {min(twice)!r} as well")
        known |= lesson.BELIEFS
    return known


def _compared(name: str, question: str, answer: Any, run: Callable[[], Any], beliefs: Mapping[Any, str]) -> Prediction:
    ANSWERS[name] = answer
    actual = outcome_of(name, run)
    said = answer.__name__ if isinstance(answer, type) else answer
    if _same(said, actual):
        return Prediction(question, said, actual, "", "right")
    belief = next((words for wrong, words in beliefs.items() if _same(said, wrong)), "")
    return Prediction(question, said, actual, belief, "wrong")


def outcome_of(name: str, run: Callable[[], Any]) -> Any:
    """What `run` gives, or the name of the exception of Kafka's that it raises; run once for a prediction, unless it asks
    another log.

    Raises whatever else `run` raises: that says nothing about Kafka.
    """
    made_of = _made_of(run)
    kept, actual = _OUTCOMES.get(name, ((), None))
    if (
        made_of
        and len(kept) == len(made_of)
        and kept[0] == made_of[0]
        and all(map(operator.is_, kept[1:], made_of[1:]))
    ):
        return actual
    try:
        actual = run()
    except Exception as error:
        if type(error).__module__ != errors.__name__:
            raise
        actual = type(error).__name__  # many questions ask which exception comes
    _OUTCOMES[name] = made_of, actual
    return actual


def _made_of(run: Callable[[], Any]) -> tuple[Any, ...]:
    """The code of `run` and the objects that it names; nothing unless it is a plain function."""
    if not inspect.isfunction(run):
        return ()
    enclosed = [cell.cell_contents for cell in run.__closure__ or ()]
    return run.__code__, *(run.__globals__.get(name) for name in run.__code__.co_names), *enclosed


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return list(one) == list(other)
    return type(one) is type(other) and one == other
