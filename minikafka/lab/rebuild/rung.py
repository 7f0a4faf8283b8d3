"""A rung: one method of Kafka's log to be written anew, judged on workloads that its page does not show."""

import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from minikafka.lab.exercises.task import (
    CORRECT,
    HELD_OUT_SEED,
    NOT_ATTEMPTED,
    NOT_YET,
    STUB,
    Belief,
    PlainText,
    Task,
    Verdict,
)
from minikafka.lab.rebuild.harnesses import ENGINE, KAFKA, ONE_LOG, Harness
from minikafka.lab.rebuild.learners_code import LearnersError, NotAttempted
from minikafka.lab.rebuild.mine import Method, WrongParametersError, function_of
from minikafka.lab.rebuild.performer import Call, Here, Performer, Role
from minikafka.lab.rebuild.trial import Trial, judge_name, smallest, tried
from minikafka.lab.stage.background import told_beside, told_meanwhile, told_while_starting
from minikafka.lab.stepper.kafka_lines import kafka_link
from minikafka.lab.stepper.stepper import with_code
from minikafka.lab.widgets import drawing
from minikafka.lab.widgets.offset_ruler import Offsets, RulerFrame, render_ruler
from minikafka.witness.spoken import say

OWN_JUDGE = (
    "Apache Kafka is not at hand here, so minikafka's own `{method}` is the judge. Tests hold it equal to Kafka's on "
    "these workloads."
)
OWN_JUDGE_ON_OTHERS = "Apache Kafka is not at hand here, so minikafka's own `{method}` is the judge."


@dataclass(frozen=True, repr=False)
class RungVerdict(Verdict):
    """The outcome of a check; `compared` counts operations, `moment` is the log where it went wrong (None: nowhere)."""

    moment: Offsets | None = None

    def _repr_html_(self) -> str:
        words = super()._repr_html_()
        if self.moment is None:
            return words
        return words + drawing.page(render_ruler(RulerFrame(say("the log at that moment"), self.moment)))


class Rung(Task):
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
    - `must_call`: methods of the engine of which the function calls the same ones as the engine's own method, the same
      one first; for duties of which neither the log nor the disk shows anything.
    - `compares_results`: False where a right function that changes something may return another value than the engine's
      method. Else what it `returns` is compared call by call, because nothing in the workloads may use it.
    - `profiles`: the knobs of the harness's drawer (`Drawer`, `ReplicaDrawer`), one set for each workload to draw.
    - `harness`: what its workloads are about: one log, or brokers that replicate.
    - `beliefs`: wrong versions, recognised by what they lead to.
    """

    kind = "rungs"

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
        beliefs: Iterable[Belief],
        hints: Sequence[str],
        returns: tuple[type, ...] = (),
        raises: tuple[type[Exception], ...] = (),
        changes_nothing: bool = False,
        operations: int = 40,
        also_asked: Callable[..., Iterable[tuple[Any, ...]]] = lambda *args: (),
        must_call: tuple[Method, ...] = (),
        compares_results: bool = True,
        kafka: str | None = None,
        harness: Harness = ONE_LOG,
    ):
        super().__init__(name, solution, hints, beliefs)
        self.method, self.why = method, why
        self.invariants = tuple(invariants)
        self._harness = harness
        self._chosen, self._profiles, self._operations = tuple(chosen), tuple(profiles), operations
        self.role = Role(method, harness, returns, raises, changes_nothing, also_asked, must_call, compares_results)
        _, _, twin = (inspect.getdoc(method) or "").rpartition("Kafka: ")
        self.kafka = kafka or twin.strip().strip("`.").partition("`")[0]
        self._was_tried = False

    @told_while_starting()
    def check(self, function: Callable[..., Any], seed: int = HELD_OUT_SEED) -> RungVerdict:
        """Let the engine run with `function`, and Kafka judge. `seed` decides which workloads are drawn.

        Where the engine's own method judges, a line beside the cell's output says so.
        """
        with told_meanwhile() as tell:
            verdict = self.judged(Here(function, self.role), seed, tell)
        self._was_tried |= verdict.state != NOT_ATTEMPTED
        if verdict.compared and judge_name() == ENGINE:  # without any the judge was not asked: it need not start
            words = OWN_JUDGE if seed == HELD_OUT_SEED else OWN_JUDGE_ON_OTHERS
            told_beside(say(words, method=function_of(self.method).__qualname__))
        return self.noted(verdict)

    def solution(self) -> str:
        """The source of a version that passes, once a version of the learner's own has been checked; it is counted."""
        if not self._was_tried:
            return PlainText(say("Check a version of your own first, however wrong it may be; then this opens."))
        return super().solution()

    def judged(self, performer: Performer, seed: int, tell: Callable[[str], None] = lambda words: None) -> RungVerdict:
        """What the judge says of a performer that has a learner's function in this rung's role. `tell` is told how far
        it has come.
        """
        operations = 0
        count = len(self._chosen) + len(self._profiles)
        try:
            for number, workload in enumerate(self.workloads(seed), start=1):
                tell(say("Workload {number} of {count} …", number=number, count=count))
                trial = tried(workload, performer, self._harness)
                operations += len(workload)
                if not trial.passed:
                    tell(say("There is a difference. Now a shorter workload that shows it is looked for …"))
                    shown = smallest(trial, performer, self._harness)
                    words = "\n".join(filter(None, (str(shown), self._belief(trial, performer, seed))))
                    return RungVerdict(self.name, NOT_YET, words, operations, shown.moment)
            if self.role.is_compared_call_by_call:
                tell(say("All is equal so far. Now what your function returned is compared, call by call …"))
            if self.role.is_compared_call_by_call and (words := self._other_results(performer, seed)):
                return RungVerdict(self.name, NOT_YET, words, operations)
        except NotAttempted:
            return RungVerdict(self.name, NOT_ATTEMPTED, say(STUB))
        except (LearnersError, WrongParametersError) as error:
            return RungVerdict(self.name, NOT_YET, str(error), operations, getattr(error, "moment", None))
        if not performer.calls:
            raise AssertionError(f"{self.name}: the engine never called the function, so nothing was judged")
        words = say(
            "{count} operations, and every byte on disk, as {judge} has them.",
            count=operations,
            judge=say(judge_name()),
        )
        return RungVerdict(self.name, CORRECT, words, operations)

    def workloads(self, seed: int) -> Iterator[Any]:
        """The chosen workloads, and those drawn from `seed`."""
        for text in self._chosen:
            yield self._harness.read(text)
        seeds = random.Random(f"{self.name} {seed}")
        for knobs in self._profiles:
            yield self._harness.draw(seeds.getrandbits(32), self._operations, knobs)

    def _belief(self, failed: Trial, performer: Performer, seed: int) -> str:
        """The words for the wrong version that leads to the same wherever it is tried; "" for none.

        Several may lead to the same in the workload that failed; then the others are asked as well, and at last what
        the function returned, call by call.
        """
        versions = [version for version in self.beliefs if self._leads_to(version, failed.workload, failed.outcome)]
        for workload in self.workloads(seed):
            if len(versions) <= 1:
                break
            try:
                outcome = performer.run(workload).outcome
            except LearnersError:
                continue
            versions = [version for version in versions if self._leads_to(version, workload, outcome)]
        if len(versions) > 1 and self.role.is_compared_call_by_call:
            versions = self._answering_so(versions, failed.workload, performer.results(failed.workload))
        return say(versions[0].words) if versions else ""

    def _other_results(self, performer: Performer, seed: int) -> str:
        """The first call whose result is not that of the engine's own method; "" where all are.

        A search that begins too early finds the same record, later: nothing of it shows in the log.
        """
        engine = Here(function_of(self.method), self.role)
        for workload in self.workloads(seed):
            results, right = performer.results(workload), engine.results(workload)
            if results != right:
                number = next((number for number, pair in enumerate(zip(results, right)) if pair[0] != pair[1]), None)
                if number is None:
                    return f"The engine calls your function {len(results)} times, and its own {len(right)} times."
                call, right_call = performer.call(workload, number), engine.call(workload, number)
                words = (
                    f"The log is as {judge_name()} has it, but your function is not: called with {call.arguments} it "
                    + _told_apart(call, right_call)
                )
                versions = self._answering_so(list(self.beliefs), workload, results)
                return "\n".join([words, *(say(version.words) for version in versions[:1])])
        return ""

    def _answering_so(self, versions: list[Belief], workload: Any, results: list[Any]) -> list[Belief]:
        """Those of `versions` that return these results while the workload is done."""

        def answers_so(version: Belief) -> bool:
            try:
                return Here(version.function, self.role).results(workload) == results
            except LearnersError:
                return False

        return list(filter(answers_so, versions))

    def _leads_to(self, version: Belief, workload: Any, outcome: Any) -> bool:
        try:
            return Here(version.function, self.role).run(workload).outcome.equals(outcome)
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


def _told_apart(call: Call, right: Call) -> str:
    """What two calls did otherwise: what they called, or their results, or where these read the same, the first field
    in which they differ.
    """
    if call.called != right.called:
        yours, minikafkas = (", ".join(each.called) or "none of them" for each in (call, right))
        return f"calls {yours}, and minikafka's own method {minikafkas}."
    yours, minikafkas = call.result, right.result
    if yours == minikafkas:
        for (name, field), (_, other) in zip(call.fields, right.fields):
            if field != other:
                yours, minikafkas = f"{name} {field}", f"{name} {other}"
                break
    return f"returns {yours}, and minikafka's own method {minikafkas}."
