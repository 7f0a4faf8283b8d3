"""Checks of a lesson's exercises and rungs where as little is at hand as in a browser:
`python -m tests.notebooks.checks_in_a_browser LESSON`.

It prints as JSON, by the task's name, what `check` says of the stub, of the solution, and of each wrong version; of an
exercise also of a function that gives the recorded answers, because a solution that asks Spark is not judged there.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from tests.notebooks import as_in_a_browser


def main() -> None:
    console, sys.stdout = sys.stdout, sys.stderr
    as_in_a_browser.take_away()
    from minikafka.lab.lesson_folders import lesson_named
    from minikafka.lab.rebuild.harnesses import Harness

    for harness in (Harness, *Harness.__subclasses__()):
        harness.tries = 4
    lesson = lesson_named(sys.argv[1])
    tasks = [*lesson.part("exercises").EXERCISES, *getattr(lesson.part("rungs"), "LADDER", ())]
    print(json.dumps({task.name: _said_of(task) for task in tasks}), file=console)


def _said_of(task: Any) -> dict[str, Any]:
    from minikafka.lab.exercises.prediction import ___
    from minikafka.lab.rebuild.rung import Rung
    from tests.lab.rebuild.stubs import stub_of

    if isinstance(task, Rung):
        return _all_said(task, stub_of(task))
    answers = iter([task.answer(number) for number in range(len(task.cases))])
    return _all_said(task, lambda *_: ___) | {"answers": _said(task, lambda *_: next(answers))}


def _all_said(task: Any, stub: Callable[..., Any]) -> dict[str, Any]:
    return {
        "kind": task.kind,
        "stub": _said(task, stub),
        "solution": _said(task, task.solved_by()),
        "wrong": [(_said(task, belief.function), belief.words) for belief in task.beliefs],
    }


def _said(task: Any, function: Callable[..., Any]) -> tuple[str, str]:
    verdict = task.check(function)
    return verdict.state, verdict.words


if __name__ == "__main__":
    main()
