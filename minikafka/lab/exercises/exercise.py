"""Exercises: a function to complete, its check, hints and a solution.

The judge is Spark: its expected results come from the workload alone. In the tests, minikafka and Kafka take the same
exam. Where Spark cannot be started, its recorded answers speak (`recorded_judge`).
"""

import random
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.common.at_hand import HAS_SPARK
from minikafka.lab.exercises.plain_table import NoSparkError
from minikafka.lab.exercises.prediction import ___
from minikafka.lab.exercises.recorded_judge import RECORDED, recorded_for
from minikafka.lab.exercises.task import (
    CORRECT,
    HELD_OUT_SEED,
    NOT_ATTEMPTED,
    NOT_HERE,
    NOT_YET,
    STUB,
    Belief,
    Task,
    Verdict,
)
from minikafka.lab.stage.background import told_beside, told_while_starting, while_the_reader_reads
from minikafka.witness.spoken import say

SPARK = "Spark"
SOLUTION = "minikafka's own solution"
ASKS_SPARK = (
    "Your function asks Spark, which cannot be started here, so nothing was judged. Here you can take the rows of a "
    "table with `.collect()` and return a list of tuples. Your query itself is judged in JupyterLab (`minikafka lab`)."
)


@dataclass(frozen=True)
class Case:
    """One question of an exercise: its name ("" for a drawn one), and the arguments for the reader's function."""

    name: str
    arguments: tuple[Any, ...]


class Exercise(Task):
    """A function to complete, with its cases, the judge's answers and the wrong beliefs that are recognised.

    `judge(case)` gives the right answer to a case, and `judge_name` says who the judge is; `hints` go from gentle to
    plain; `solution` is a function that passes. `drawn` draws one more case: a function that answers the
    cases of the page as the judge does is asked `draws` of these, too, and the solution is their judge (the tests ask
    the exercise's own judge about some). A stub returns `___`: that is *not attempted*, as is an answer of None
    to every case that has another answer. A function that asks Spark where there is none is *not judged here*.
    """

    kind = "exercises"

    def __init__(
        self,
        name: str,
        cases: Sequence[Case] | Callable[[], Sequence[Case]],
        judge: Callable[[Case], Any],
        solution: Callable[..., Any],
        *,
        hints: Sequence[str],
        beliefs: Iterable[Belief] = (),
        judge_name: str = SPARK,
        normal: Callable[[Any], Any] = lambda value: value,
        drawn: Callable[[random.Random], Case] | None = None,
        draws: int = 300,
    ):
        super().__init__(name, solution, hints, beliefs)
        self.judge, self.judge_name, self.normal, self._make_cases = judge, judge_name, normal, cases
        self._drawn, self.draws = drawn, draws if drawn else 0
        self._making, self._judging = threading.Lock(), threading.Lock()
        self._cases: list[Case] | None = None
        self._answers: dict[int, Any] = {}
        self._believed: dict[tuple[Belief, int], tuple[Any, Exception | None]] = {}

    @property
    def cases(self) -> list[Case]:
        """The cases. Raises AssertionError when there are none: a check that compares nothing is an error."""
        with self._making:
            if self._cases is None:
                self._cases = list(self._make_cases() if callable(self._make_cases) else self._make_cases)
        if not self._cases:
            raise AssertionError(f"{self.name}: there is nothing to check")
        return self._cases

    def answer(self, number: int) -> Any:
        """The judge's answer to case `number`, counted from 0; the judge is asked once, or its recorded answer given."""
        with self._judging:
            if number not in self._answers:
                recorded = self._recorded
                self._answers[number] = (
                    self.normal(self.judge(self.cases[number])) if recorded is None else recorded[1][number]
                )
            return self._answers[number]

    @property
    def _recorded(self) -> tuple[str, list[Any]] | None:
        """As `recorded_for`, where the judge is Spark and is not at hand; else None."""
        return None if HAS_SPARK or self.judge_name != SPARK else recorded_for(self.name)

    @told_while_starting()
    def check(self, function: Callable[..., Any], judge: Callable[[Case], Any] | None = None) -> Verdict:
        """Call `function` with every case and compare its answers with those of `judge` (None: the exercise's own).

        The verdict names the first difference. A line beside the cell's output says where the judge's answers are
        recorded ones.
        """
        verdict = self.judged(function, judge)
        if judge is None and verdict.state in (CORRECT, NOT_YET) and (recorded := self._recorded):
            told_beside(say(RECORDED, version=recorded[0]))
        return self.noted(verdict)

    def drawn_cases(self, seed: int) -> Iterator[Case]:
        """The cases that are drawn from `seed`; none where nothing can be drawn."""
        for number in range(self.draws):
            yield self._drawn_case(seed, number)

    def _drawn_case(self, seed: int, number: int) -> Case:
        assert self._drawn is not None
        return self._drawn(random.Random(f"{self.name} {seed} {number}"))

    def judged(
        self, function: Callable[..., Any], judge: Callable[[Case], Any] | None = None, seed: int = HELD_OUT_SEED
    ) -> Verdict:
        """As `check`, which keeps the outcome as the reader's progress; this does not. `seed`: of the drawn cases."""
        cases, answers, error = self.cases, [], None
        for case in cases:
            answer, error = _ask(function, case.arguments)
            if isinstance(error, NoSparkError):
                return Verdict(self.name, NOT_HERE, say(ASKS_SPARK))
            if error is not None:
                break
            if answer is ___:
                return Verdict(self.name, NOT_ATTEMPTED, say(STUB))
            answers.append(self.normal(answer))
        if error is None and all(answer is None for answer in answers):
            return Verdict(self.name, NOT_ATTEMPTED, say("Your function returns nothing so far."))
        for number, (case, answer) in enumerate(zip(cases, answers, strict=False)):
            right = self.normal(judge(case)) if judge else self.answer(number)
            if not _equal(answer, right):
                words = say(
                    "{case}: {difference}. ({judge} is the judge.)",
                    case=say(case.name),
                    difference=first_difference(answer, right),
                    judge=self.judge_name,
                )
                belief = self._belief(answers)
                return Verdict(self.name, NOT_YET, f"{words}\n{belief}" if belief else words, number + 1)
        if error is not None:
            words = say("{case}: your function raised {error}", case=say(cases[len(answers)].name), error=said(error))
            return Verdict(self.name, NOT_YET, words, len(answers))
        if judge is None and (words := self._difference_from_the_solution(function, seed)):
            return Verdict(self.name, NOT_YET, words, len(cases))
        words = say("Equal to {judge}'s answers in {cases}.", judge=self.judge_name, cases=_cases(len(cases)))
        return Verdict(self.name, CORRECT, words, len(cases))

    def _difference_from_the_solution(self, function: Callable[..., Any], seed: int) -> str:
        """The shortest drawn case that is answered otherwise than the solution answers it; "" where none is.

        Each gets arguments of its own: it may change them.
        """
        found = []
        for number in range(self.draws):
            try:
                right = self.normal(self.solved_by()(*self._drawn_case(seed, number).arguments))
            except NoSparkError:  # then the recorded answers to the page's cases decide
                return ""
            answer, error = _ask(function, self._drawn_case(seed, number).arguments)
            if error is None and _equal(self.normal(answer), right):
                continue
            arguments = ", ".join(map(_in_words, self._drawn_case(seed, number).arguments))  # a table's are collected
            told = (
                say("{case}: your function raised {error}", case=arguments, error=said(error))
                if error is not None
                else say(
                    "{case}: {difference}. ({judge} is the judge.)",
                    case=arguments,
                    difference=first_difference(self.normal(answer), right),
                    judge=say(SOLUTION),
                )
            )
            found.append((len(arguments), told))
        return min(found)[1] if found else ""

    def _belief(self, answers: list[Any]) -> str:
        """The words for the wrong belief whose answers are exactly these; there may be fewer `answers` than cases."""
        for belief in self.beliefs:
            if all(self._believes(belief, number, answer) for number, answer in enumerate(answers)):
                return say(belief.words)
        return ""

    def _believes(self, belief: Belief, number: int, answer: Any) -> bool:
        """Whether `belief` answers case `number` so; it is asked once, for its answer may be a query."""
        if (belief, number) not in self._believed:
            believed, error = _ask(belief.function, self.cases[number].arguments)
            self._believed[belief, number] = self.normal(believed) if error is None else None, error
        believed, error = self._believed[belief, number]
        return error is None and _equal(believed, answer)


def answered_early(*exercises: Exercise) -> tuple[Exercise, ...]:
    """The exercises; in a notebook their judges begin to answer all cases while the reader is still reading them."""

    def answer_all() -> None:
        for exercise in exercises:
            for number in range(len(exercise.cases)):
                exercise.answer(number)

    while_the_reader_reads(answer_all)
    return exercises


class ToldError(Exception):
    """What a reader's function raised where it ran, in another process; the text is what `said` has told of it there."""


def said(error: Exception) -> str:
    """The error in words; for a name in braces that `sql` was not given, PySpark raises a bare KeyError."""
    if isinstance(error, ToldError):
        return str(error)
    if isinstance(error, KeyError) and any(frame.name == "sql" for frame in traceback.extract_tb(error.__traceback__)):
        return say("KeyError: your query names {{{name}}}, and sql(…) was not given {name}=…", name=error.args[0])
    return f"{type(error).__name__}: {error}"


def first_difference(got: Any, expected: Any) -> str:
    """Where two answers differ first: for sequences the place, else the values."""
    if isinstance(got, list | tuple) and isinstance(expected, list | tuple):
        for place, (mine, theirs) in enumerate(zip(got, expected)):
            if not _equal(mine, theirs):
                words = say(
                    "entry {place} is {mine}, expected {theirs}", place=place, mine=repr(mine), theirs=repr(theirs)
                )
                return say("the right entries in another order: ") + words if _reordered(got, expected) else words
        if len(got) != len(expected):
            more = say("missing" if len(got) < len(expected) else "one too many")
            entries = say("1 entry") if len(got) == 1 else say("{count} entries", count=len(got))
            longer = expected if len(got) < len(expected) else got
            place = min(len(got), len(expected))
            return say(
                "{entries}, expected {expected}; entry {place}, {entry}, is {more}",
                entries=entries,
                expected=len(expected),
                place=place,
                entry=repr(longer[place]),
                more=more,
            )
    return say("you answer {got}, expected {expected}", got=repr(got), expected=repr(expected))


def _reordered(got: Sequence[Any], expected: Sequence[Any]) -> bool:
    return len(got) == len(expected) and sorted(map(repr, got)) == sorted(map(repr, expected))


def _in_words(argument: Any) -> str:
    if hasattr(argument, "collect"):
        argument = [tuple(row) for row in argument.collect()]
    return repr(getattr(argument, "__self__", argument) if callable(argument) else argument)


def _ask(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    try:
        return function(*arguments), None
    except Exception as error:  # the reader's code may raise anything; the verdict says what
        return None, error


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _cases(count: int) -> str:
    return say("1 case") if count == 1 else say("{count} cases", count=count)
