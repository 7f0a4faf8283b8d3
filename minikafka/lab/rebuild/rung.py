"""A rung: one method of Kafka's log to be written anew, judged on workloads that its page does not show."""

import inspect
import random
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import escape
from typing import Any

from minikafka.lab.exercises import progress
from minikafka.lab.exercises.exercise import CORRECT, NOT_ATTEMPTED, NOT_YET, STUB, Hints, PlainText, Verdict
from minikafka.lab.rebuild.grounds import ENGINE, KAFKA, ONE_LOG, Ground, Outcome
from minikafka.lab.rebuild.learners_code import Guard, LearnersError, NotAttempted, arguments_in_words
from minikafka.lab.rebuild.mine import Method, WrongParametersError, function_of, mine
from minikafka.lab.rebuild.trial import Trial, judge_name, smallest, tried
from minikafka.lab.stepper.kafka_source import kafka_link
from minikafka.lab.stepper.stepper import in_words, with_code
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.offset_ruler import Offsets, RulerFrame, render_ruler
from minikafka.witness.spoken import say

HELD_OUT_SEED = 20_260
"""From which the workloads are drawn that decide."""


@dataclass(frozen=True)
class WrongVersion:
    """A version of a method that a learner may well write, and the words for what it believes."""

    function: Callable[..., Any]
    words: str


@dataclass(frozen=True, repr=False)
class RungVerdict(Verdict):
    """The outcome of a check; `compared` counts operations, `moment` is the log where it went wrong (None: nowhere)."""

    moment: Offsets | None = None

    def _repr_html_(self) -> str:
        words = super()._repr_html_()
        if self.moment is None:
            return words
        return words + drawing.page(render_ruler(RulerFrame(say("the log at that moment"), self.moment)))


class Rung:
    """One method of the engine that a learner writes anew.

    `check(function)` lets the engine run with the learner's function in the method's place, on `chosen` workloads and
    on `drawn` ones, and compares with Kafka's own log after each operation, and byte by byte at the end. Where Kafka's
    jars are absent the engine's own method judges.

    - `method`: as in `LogSegment.should_roll`; its docstring names Kafka's, else `kafka` does.
    - `invariants`: what any version must keep.
    - `returns`: the types of its results; `raises`: those of the exceptions that it raises, besides Kafka's own;
      `changes_nothing`: whether it only looks.
    - `also_asked`: for a call of a method that only looks, the arguments of others that no workload leads to; what the
      function answers to them must be what the engine's method answers.
    - `profiles`: the knobs of the ground's drawer (`Drawer`, `ReplicaDrawer`), one set for each workload to draw.
    - `ground`: what its workloads are about: one log, or brokers that replicate.
    - `wrong`: versions that are recognised by what they lead to; `solution`: one that passes; `hints` go from gentle to
      plain.
    """

    def __init__(
        self,
        name: str,
        method: Method,
        *,
        why: str,
        invariants: Sequence[str],
        chosen: Sequence[str],
        profiles: Sequence[Mapping[str, Any]],
        solution: Callable[..., Any],
        wrong: Iterable[WrongVersion],
        hints: Sequence[str],
        returns: tuple[type, ...] = (),
        raises: tuple[type[Exception], ...] = (),
        changes_nothing: bool = False,
        operations: int = 40,
        also_asked: Callable[..., Iterable[tuple[Any, ...]]] = lambda *args: (),
        kafka: str | None = None,
        ground: Ground = ONE_LOG,
    ):
        self.name, self.method, self.why = name, method, why
        self.invariants, self.wrong = tuple(invariants), tuple(wrong)
        self._ground = ground
        self._chosen, self._profiles, self._operations = tuple(chosen), tuple(profiles), operations
        self._solution, self._hints = solution, Hints(hints)
        self._returns, self._raises, self._changes_nothing = returns, raises, changes_nothing
        self._also_asked = also_asked
        _, _, twin = (inspect.getdoc(method) or "").rpartition("Kafka: ")
        self.kafka = kafka or twin.strip().strip("`.").partition("`")[0]
        self._was_tried = False
        self.solutions_seen = 0

    def check(self, function: Callable[..., Any], seed: int = HELD_OUT_SEED) -> RungVerdict:
        """Let the engine run with `function`, and Kafka judge. `seed` decides which workloads are drawn."""
        verdict = self._verdict(function, seed)
        if verdict.state != NOT_ATTEMPTED:
            self._was_tried = True
            progress.note("rungs", self.name, verdict.state)
        return verdict

    def hint(self) -> str:
        """The next hint; after the last one, the last one again."""
        return self._hints.next()

    def solution(self) -> str:
        """The source of a version that passes, once a version of the learner's own has been checked; it is counted."""
        if not self._was_tried:
            return PlainText(say("Check a version of your own first, however wrong it may be; then this opens."))
        self.solutions_seen += 1
        progress.note("rungs", self.name, "", tries=0, solutions_seen=1)
        return PlainText(textwrap.dedent(inspect.getsource(self._solution)).rstrip())

    def solved_by(self) -> Callable[..., Any]:
        """The solution itself, for the tests and for whoever wants to run it."""
        return self._solution

    def _verdict(self, function: Callable[..., Any], seed: int) -> RungVerdict:
        guard, operations = self._guard(), 0
        by_the_learner = self._in_place(function, guard)
        try:
            for workload in self._workloads(seed):
                trial = tried(workload, by_the_learner, self._ground)
                operations += len(workload)
                if not trial.passed:
                    shown = smallest(trial, by_the_learner, self._ground)
                    words = "\n".join(filter(None, (str(shown), self._belief(trial, function, guard, seed))))
                    return RungVerdict(self.name, NOT_YET, words, operations, shown.moment)
            if self._changes_nothing and (words := self._other_results(function, seed)):
                return RungVerdict(self.name, NOT_YET, words, operations)
        except NotAttempted:
            return RungVerdict(self.name, NOT_ATTEMPTED, say(STUB))
        except (LearnersError, WrongParametersError) as error:
            return RungVerdict(self.name, NOT_YET, str(error), operations, getattr(error, "moment", None))
        if not guard.calls:
            raise AssertionError(f"{self.name}: the engine never called the function, so nothing was judged")
        words = say(
            "{count} operations, and every byte on disk, as {judge} has them.",
            count=operations,
            judge=say(judge_name()),
        )
        return RungVerdict(self.name, CORRECT, words, operations)

    def _guard(self) -> Guard:
        return Guard(self._returns, raises=self._raises, changes_nothing=self._changes_nothing)

    def _workloads(self, seed: int) -> Iterator[Any]:
        for text in self._chosen:
            yield self._ground.read(text)
        seeds = random.Random(f"{self.name} {seed}")
        for knobs in self._profiles:
            yield self._ground.draw(seeds.getrandbits(32), self._operations, knobs)

    def _in_place(self, function: Callable[..., Any], guard: Guard) -> Callable[[], AbstractContextManager[None]]:
        return lambda: mine(self.method, function, guard)

    def _belief(self, failed: Trial, function: Callable[..., Any], guard: Guard, seed: int) -> str:
        """The words for the wrong version that leads to the same wherever it is tried; "" for none.

        Several may lead to the same in the workload that failed; then the others are asked as well, and at last what
        the function returned, call by call.
        """
        versions = [version for version in self.wrong if self._leads_to(version, failed.workload, failed.outcome)]
        for workload in self._workloads(seed):
            if len(versions) <= 1:
                break
            try:
                with self._in_place(function, guard)():
                    outcome, _ = self._ground.done(workload, ENGINE)
            except LearnersError:
                continue
            versions = [version for version in versions if self._leads_to(version, workload, outcome)]
        if len(versions) > 1 and self._changes_nothing:
            versions = self._answering_so(versions, function, failed.workload)
        return say(versions[0].words) if versions else ""

    def _answering_so(
        self, versions: list[WrongVersion], function: Callable[..., Any], workload: Any
    ) -> list[WrongVersion]:
        """Those of `versions` that return what `function` returns in each call of the workload."""

        def compare(args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
            nonlocal versions
            versions = [version for version in versions if version.function(*args, **kwargs) == result]

        with self._in_place(function, Guard(self._returns, changes_nothing=True, seen=compare))():
            self._ground.done(workload, ENGINE)
        return versions

    def _other_results(self, function: Callable[..., Any], seed: int) -> str:
        """The first call whose result is not that of the engine's own method; "" where all are.

        A search that begins too early finds the same record, later: nothing of it shows in the log.
        """
        engine = function_of(self.method)
        versions, words = list(self.wrong), ""
        asked_once_more = self._guard().around(function)

        def compare(args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
            judge(args, kwargs, result)
            for others in self._also_asked(*args, **kwargs):
                judge(others, {}, asked_once_more(*others))

        def judge(args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
            nonlocal versions, words
            right = engine(*args, **kwargs)
            versions = [version for version in versions if version.function(*args, **kwargs) == result]
            if result != right and not words:
                yours, minikafkas = _told_apart(result, right)
                words = (
                    f"The log is as {judge_name()} has it, but your function is not: "
                    f"called with {arguments_in_words(function, args, kwargs)} it returns {yours}, and "
                    f"minikafka's own method {minikafkas}."
                )

        guard = Guard(self._returns, raises=self._raises, changes_nothing=True, seen=compare)
        for workload in self._workloads(seed):
            with mine(self.method, function, guard):
                self._ground.done(workload, ENGINE)
        return "\n".join([words, *(say(version.words) for version in versions[:1])]) if words else ""

    def _leads_to(self, version: WrongVersion, workload: Any, outcome: Outcome) -> bool:
        try:
            with mine(self.method, version.function, self._guard()):
                return self._ground.done(workload, ENGINE)[0].equals(outcome)
        except LearnersError:
            return False

    def __str__(self) -> str:
        function = function_of(self.method)
        stands = say(
            "{rung} stands for {kafka} ({ours} in minikafka).",
            rung=say(self.name),
            kafka=self.kafka,
            ours=function.__qualname__,
        )
        lines = [stands, say(self.why), *(f"- {say(invariant)}" for invariant in self.invariants)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        function = function_of(self.method)
        rows = "".join(f"<li>{with_code(say(invariant))}</li>" for invariant in self.invariants)
        judge = "Kafka" if judge_name() == KAFKA else say(ENGINE)
        kafka = f'<a href="{escape(kafka_link(self.kafka))}" target="_blank" rel="noopener">{escape(self.kafka)}</a>'
        head = say(
            "<b>{rung}</b>, for Kafka's <code>{kafka}</code>, in minikafka <code>{ours}</code>. {judge} is the judge.",
            rung=escape(say(self.name)),
            kafka=kafka,
            ours=escape(function.__qualname__),
            judge=judge,
        )
        return drawing.page(f'<div class="mk-box">{head}<br>{escape(say(self.why))}<ul>{rows}</ul></div>')


def _told_apart(result: Any, right: Any) -> tuple[str, str]:
    """Two results in a few words; where these are the same, the first field in which the results differ."""
    words = in_words(result), in_words(right)
    if words[0] == words[1] and type(result) is type(right) and hasattr(right, "_fields"):
        for name, *values in zip(right._fields, result, right, strict=True):
            if values[0] != values[1]:
                return tuple(f"{name} {in_words(value)}" for value in values)
    return words
