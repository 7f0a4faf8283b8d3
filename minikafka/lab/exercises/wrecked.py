"""Cases whose right answers come from a directory that was damaged, and is loaded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minikafka.lab.exercises.exercise import Case
from minikafka.lab.exercises.witnessed import as_rows
from minikafka.lab.stage.damage import SMALL
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


def sql(query: str, **tables: Any) -> Any:
    return as_rows(session().sql(query, **tables))
