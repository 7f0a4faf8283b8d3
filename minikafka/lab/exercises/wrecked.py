"""Cases whose right answers come from a directory that was damaged, and is loaded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.lab.exercises.exercise import Case
from minikafka.lab.exercises.witnessed import as_rows
from minikafka.lab.stage.damage import SMALL
from minikafka.lab.stage.workbench import NOON
from minikafka.spark import session


@dataclass(frozen=True)
class WreckedCase(Case):
    """A case that can be put to Spark and to whoever loads a log.

    `expected()`: Spark's answer. `wreck()`: makes the directory; then `answer(state)` reads the answer from what
    `Log.fetch_state_snapshot` says of the log loaded from it with `checkpoints` and `settings`. Where the names of the
    files that are left count as well, `answer_by_files(state, names)` stands in its place.
    """

    expected: Callable[[], Any]
    wreck: Callable[[], Path]
    answer: Callable[[tuple], Any] | None = None
    checkpoints: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=lambda: SMALL)
    answer_by_files: Callable[[tuple, set[str]], Any] | None = None


def judged_by_spark(case: WreckedCase) -> Any:
    """Spark's answer to `case`, from tables alone."""
    return case.expected()


def judged_by_loading(factory: Callable[..., Any]) -> Callable[[WreckedCase], Any]:
    """A judge that loads each case's directory with `factory`: minikafka's log, or Kafka's."""

    def judge(case: WreckedCase) -> Any:
        time = ManualTime(NOON)
        directory = case.wreck()
        log = factory(
            directory,
            {name: str(value) for name, value in case.settings.items()},
            log_start_offset=case.checkpoints.get("log_start", 0),
            recovery_point=case.checkpoints.get("recovery_point", 0),
            scheduler=ManualScheduler(time),
            time=time,
            last_shutdown_clean=case.checkpoints.get("clean", False),
        )
        state = log.fetch_state_snapshot()
        left = {file.name for file in directory.iterdir()}
        log.close()
        return case.answer(state) if case.answer is not None else case.answer_by_files(state, left)

    return judge


def sql(query: str, **tables: Any) -> Any:
    return as_rows(session().sql(query, **tables))
