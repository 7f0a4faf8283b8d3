"""Do the lessons' judges notice when a learner's function is wrong? `make wrong-solutions` asks them.

The solution of each exercise and of each rung is changed in small ways, and its own judge is asked about each version.
A version that is called correct survives: then a case or a workload is missing, or the change means nothing
(`equal_solutions.txt`). Spark's recorded answers and minikafka's own methods judge, so that no JVM is needed.
"""

import inspect
import os
import signal
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minikafka.lab.exercises import exercise
from minikafka.lab.exercises.task import CORRECT, HELD_OUT_SEED, Task
from minikafka.lab.lesson_folders import lesson_folders
from minikafka.lab.rebuild import trial
from minikafka.lab.rebuild.performer import Here
from minikafka.lab.rebuild.rung import Rung
from tests.slow.mutants.mutations import Mutant, mutants_of_a_solution

EQUAL = Path(__file__).parent / "equal_solutions.txt"
SECONDS = 60
"""What a version may take."""


def tasks(words: list[str]) -> Iterator[tuple[str, Task]]:
    """The exercises and rungs of the lessons whose names contain one of `words`, each with its lesson's name."""
    for folder in lesson_folders():
        if any(word in folder.name for word in words):
            for part, name in (("exercises", "EXERCISES"), ("rungs", "LADDER")):
                yield from ((folder.name, task) for task in getattr(folder.part(part), name, ()))


def source_of(task: Task) -> str:
    """The text of the task's solution."""
    return textwrap.dedent(inspect.getsource(task._solution))


def versions(lesson: str, task: Task) -> list[tuple[str, Mutant]]:
    """The changes of a task's solution, each with the key that names it in `equal_solutions.txt`.

    The second one on a line that reads the same has a key that ends in `#2`.
    """
    source, seen, found = source_of(task), Counter(), []
    for mutant in dict.fromkeys(mutants_of_a_solution(f"{lesson} | {task.name}", source)):
        key = mutant.key(source)
        seen[key] += 1
        found.append((key if seen[key] == 1 else f"{key} #{seen[key]}", mutant))
    return found


def equal() -> list[str]:
    """The keys of the versions that are as right as the solution."""
    lines = EQUAL.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def state_of(task: Task, text: str) -> str:
    """What the task's judge says of a version. It is asked in another process, for a version may never end."""
    answer, said = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(SECONDS)
        names = dict(task._solution.__globals__)
        try:
            exec(compile(text, "<version>", "exec"), names)
            os.write(said, _judged(task, names[task._solution.__name__]).encode())
        finally:
            os._exit(0)
    os.close(said)
    with open(answer, encoding="utf-8") as file:
        state = file.read()
    os.waitpid(process, 0)
    return state


def _judged(task: Task, function: Any) -> str:
    if isinstance(task, Rung):
        return task.judged(Here(function, task.role), HELD_OUT_SEED).state
    return task.judged(function).state


def main(words: list[str]) -> int:
    """Print each version that is called correct and is not known to be; exit code 1 when there is one."""
    exercise.HAS_SPARK = False
    trial.kafka_witness = lambda: None
    known, tried, survivors = set(equal()), 0, 0
    for lesson, task in tasks(words or [""]):
        if _judged(task, task._solution) != CORRECT:
            raise SystemExit(f"{lesson}, {task.name}: the solution itself is not called correct")
        for key, mutant in versions(lesson, task):
            if key in known:
                continue
            tried += 1
            if state_of(task, mutant.source(source_of(task))) == CORRECT:
                survivors += 1
                print("SURVIVED", key, flush=True)
    print(f"{tried - survivors} of {tried} wrong versions were recognised")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
