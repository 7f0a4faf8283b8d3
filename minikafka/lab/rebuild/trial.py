"""A workload done twice, by the engine with the learner's function and by a judge, and where the two differ first."""

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from minikafka.common.at_hand import IN_A_BROWSER
from minikafka.lab.rebuild.harnesses import ENGINE, KAFKA, ONE_LOG, Harness, Outcome
from minikafka.lab.rebuild.learners_code import LearnersError
from minikafka.lab.rebuild.performer import Performer
from minikafka.lab.stage.workbench import kafka_witness
from minikafka.lab.widgets.offset_ruler import Offsets
from minikafka.witness.agreement import Difference, agree
from minikafka.witness.directory_diff import NOT_DETERMINED, FileDifference, files_diff
from minikafka.witness.log.run import minikafka_log
from minikafka.witness.log.workload import shrunk
from minikafka.witness.observation import Observations
from minikafka.witness.spoken import say

YOURS = "your function"
_PATIENCE_S = 3.0 if IN_A_BROWSER else 60.0
"""How long a smaller workload is looked for."""


@dataclass(frozen=True)
class Trial:
    """How a workload went with the learner's function, beside the judge's outcome.

    `difference` is the first one in what could be observed, `file` the first one in the files that were left, None for
    none; `moment` is the log after the operation that differs, or at the end.
    """

    workload: Any
    judge: str
    difference: Difference | None
    file: FileDifference | None
    moment: Offsets | None
    outcome: Outcome

    @property
    def passed(self) -> bool:
        """True when neither observations nor files differ."""
        return self.difference is None and self.file is None

    def __str__(self) -> str:
        if self.passed:
            return say("{count} operations, as {judge} does them.", count=len(self.workload), judge=say(self.judge))
        lines = [say("Shortest workload found: {workload}.", workload="; ".join(map(str, self.workload)))]
        if self.difference is not None:
            lines.append(say("First difference {difference}.", difference=self.difference))
        if self.file is not None:
            lines.append(say("First differing byte: {file}.", file=self.file))
        return "\n".join(lines)


def judge_name() -> str:
    """Who judges here: Kafka, or minikafka's own method where Kafka's jars are absent."""
    return ENGINE if kafka_witness() is None else KAFKA


def judge_factory() -> Any:
    """What opens the judge's log: Kafka's, or minikafka's where Kafka's jars are absent."""
    return minikafka_log if judge_name() == ENGINE else kafka_witness()


def judged(workload: Any, harness: Harness = ONE_LOG) -> Outcome:
    """The judge's outcome of a workload, kept for the next time."""
    return _judged(harness, str(workload), judge_name())


@functools.lru_cache(maxsize=128)
def _judged(harness: Harness, text: str, judge: str) -> Outcome:
    return harness.done(harness.read(text), judge)[0]


def tried(workload: Any, performer: Performer, harness: Harness = ONE_LOG) -> Trial:
    """Let `performer` do the workload, and compare with the judge what is seen and what lies on the disk.

    Raises LearnersError and NotAttempted, as the performer does.
    """
    return _compared(workload, performer, lambda: judged(workload, harness))


def smallest(trial: Trial, performer: Performer, harness: Harness = ONE_LOG) -> Trial:
    """The trial of the smallest workload found that still shows a difference, by leaving operations out."""
    left, until = harness.tries, time.monotonic() + _PATIENCE_S

    def differs(smaller: Any) -> bool:
        nonlocal left
        left -= 1
        if left < 0 or time.monotonic() > until or not len(smaller):
            return False
        try:
            return not _compared(smaller, performer, lambda: harness.done(smaller, ENGINE)[0]).passed
        except LearnersError:
            return False

    end = len(trial.workload) if trial.difference is None else trial.difference.operation + 1
    shown = trial.workload.with_operations(trial.workload.operations[:end])
    return tried(shrunk(shown, differs) if differs(shown) else trial.workload, performer, harness)


def _compared(workload: Any, performer: Performer, ask_the_judge: Callable[[], Outcome]) -> Trial:
    ours, moments = performer.run(workload)
    right = ask_the_judge()
    table = replace(ours.table, witness=YOURS)
    difference = _first_difference(table, right.table)
    files = files_diff(ours.files, right.files, (YOURS, right.table.witness), NOT_DETERMINED)
    return Trial(
        workload,
        right.table.witness,
        difference,
        None if files.equal else files.differences[0],
        moments[difference.operation if difference else -1],
        ours,
    )


def _first_difference(table: Observations, right: Observations) -> Difference | None:
    """The first difference; where there is none, the first value of which only one side speaks: the learner's side may
    have run elsewhere, and what it leaves out does not count as equal.
    """
    found = agree(table, right).first_difference if table.rows else None
    return found or next(_one_sided(table, right), None)


def _one_sided(table: Observations, right: Observations) -> Iterator[Difference]:
    for number, (operation, row) in enumerate(zip(right.workload, right.rows, strict=True)):
        told = table.rows[number] if number < len(table) else {}
        for quantity in sorted(row.keys() ^ told.keys()):
            said = {each.witness: each.value(number, quantity) for each in (table, right)}
            yield Difference(number, str(operation), quantity, said)
