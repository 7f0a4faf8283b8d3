"""Checks of a lesson's exercises and rungs, in a browser's kernel, or where as little is at hand as in one."""

from collections.abc import Callable
from typing import Any

from minikafka.lab.exercises.prediction import ___
from minikafka.lab.exercises.task import CORRECT, NOT_ATTEMPTED, NOT_HERE, NOT_YET
from minikafka.lab.lesson_folders import lesson_named
from minikafka.lab.rebuild.harnesses import Harness
from minikafka.lab.rebuild.rung import Rung
from tests.lab.rebuild.stubs import stub_of


def judged(name: str) -> dict[str, Any]:
    """By the tasks of a lesson, what `check` says of the stub, of the solution, and of each wrong version; of an
    exercise also of a function that gives the recorded answers, and to drawn cases those of the solution, because a
    solution that asks Spark is not judged there.
    """
    for harness in (Harness, *Harness.__subclasses__()):
        harness.tries = 4
    lesson = lesson_named(name)
    tasks = [*lesson.part("exercises").EXERCISES, *getattr(lesson.part("rungs"), "LADDER", ())]
    return {task.name: _said_of(task) for task in tasks}


def wrongly_judged(tasks: dict[str, Any]) -> list[tuple[str, Any]]:
    """Of what `judged` returned, that where something right did not pass, or something wrong did; by the task."""
    wrong = []
    for name, said in tasks.items():
        may_be_not_here = {NOT_HERE} if said["kind"] == "exercises" else set()
        expected = [
            (said["stub"], {NOT_ATTEMPTED}, ""),
            (said["solution"], {CORRECT} | may_be_not_here, ""),
            *([(said["answers"], {CORRECT}, "")] if may_be_not_here else []),
            *((answer, {NOT_YET} | may_be_not_here, belief) for answer, belief in said["wrong"]),
        ]
        for (state, words), states, end in expected:
            if state not in states or (state == NOT_YET and not words.endswith(end)):
                wrong.append((name, (state, words, end)))
    return wrong


def _said_of(task: Any) -> dict[str, Any]:
    if isinstance(task, Rung):
        return _all_said(task, stub_of(task))
    answers = iter([task.answer(number) for number in range(len(task.cases))])

    def answered(*arguments: Any) -> Any:
        for answer in answers:
            return answer
        return task.solved_by()(*arguments)

    return _all_said(task, lambda *_: ___) | {"answers": _said(task, answered)}


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
