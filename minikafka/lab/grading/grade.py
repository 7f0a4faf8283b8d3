"""The grade of a submission: a point for each task, and a reason for each point that is lost."""

import ast
import errno
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from minikafka.lab.exercises.exercise import CORRECT, NOT_ATTEMPTED
from minikafka.lab.grading.answer_key import answer_key, told
from minikafka.lab.grading.fair_code import is_fair_import, unfair
from minikafka.lab.grading.lesson_tasks import EXERCISE, PREDICTION, Task, code_of, tasks_of
from minikafka.lab.grading.marking import NO_ROOM, STUBBORN
from minikafka.lab.grading.submission import Answered, is_blank, read_in_every_language, value_of
from minikafka.lab.rebuild import own_process

_START_S = 120.0  # for Java, Spark and the judges' answers
_SQL = "from minikafka.lab.exercises.wrecked import sql"


@dataclass(frozen=True)
class Mark:
    """What a task brought: `points` 0 or 1, and for 0 the reason in words."""

    task: Task
    points: int
    why: str = ""


@dataclass(frozen=True)
class Grade:
    """The marks of one submission, in the order of the course; `name` is its directory's."""

    name: str
    marks: tuple[Mark, ...]

    def points(self, kind: str | None = None) -> tuple[int, int]:
        """The points, and how many there are: of one kind of task, or of all."""
        marks = [mark for mark in self.marks if kind in (None, mark.task.kind)]
        return sum(mark.points for mark in marks), len(marks)


@dataclass(frozen=True)
class Terms:
    """How functions are checked: `seed` draws what is held out; a check may take `seconds` (s), the process `memory_mb`
    (MiB) more than it had before.
    """

    seed: int
    seconds: float = 60.0
    memory_mb: int = 2048


def grade(submission: Path, lessons: Iterable[Path], terms: Terms) -> Grade:
    """The grade of the notebooks in the directory `submission` for these lessons, the notebooks of the course.

    A lesson may be handed in in several languages: each task counts where it was done first, English before others.

    Raises ValueError where the directory is none, RuntimeError where a lesson of the course cannot be run, and OSError
    where the disk has no room.
    """
    if not submission.is_dir():
        raise ValueError(f"{submission} is no directory of notebooks")
    marks: list[Mark] = []
    for lesson in lessons:
        tasks = tasks_of(lesson)
        try:
            answered = read_in_every_language(submission, lesson.name)
        except (ValueError, OSError) as unreadable:
            marks += [Mark(task, 0, str(unreadable)) for task in tasks]
            continue
        marks += _predictions(lesson, tasks, answered)
        marks += _functions(lesson, tasks, answered, terms)
    return Grade(submission.name, tuple(marks))


def _predictions(lesson: Path, tasks: list[Task], answered: Sequence[Answered]) -> list[Mark]:
    return [_prediction(lesson, task, answered) for task in tasks if task.kind == PREDICTION]


def _prediction(lesson: Path, task: Task, answered: Sequence[Answered]) -> Mark:
    asked = [each.answers[task.name] for each in answered if task.name in each.answers]
    if not asked:
        return Mark(task, 0, "the question is gone")
    answer = next((each for each in asked if not is_blank(each)), None)
    if answer is None:
        return Mark(task, 0, "not answered")
    try:
        said = told(value_of(answer))
    except ValueError as unclear:
        return Mark(task, 0, str(unclear))
    right = answer_key(lesson).get(task.name)
    if right is None:
        return Mark(task, 0, "the course's own run does not come to this question")
    return Mark(task, 1) if said == right else Mark(task, 0, f"the answer is {said}; the run gives {right}")


def _functions(lesson: Path, tasks: list[Task], answered: Sequence[Answered], terms: Terms) -> list[Mark]:
    given = _given(lesson)
    marks: dict[Task, Mark] = {}
    jobs: list[tuple[Task, dict[str, str]]] = []
    for task in (task for task in tasks if task.kind != PREDICTION):
        written = [code for each in answered if (code := each.code_for(task.name))]
        code = next((code for code in written if not _is_stub(code[-1])), [])
        if not written:
            marks[task] = Mark(task, 0, "there is no such function" + _unread(answered))
        elif not code:
            marks[task] = Mark(task, 0, NOT_ATTEMPTED)
        elif why := unfair(code):
            marks[task] = Mark(task, 0, f"not run: it {why}")
        else:
            imports = [each for each in code if isinstance(each, ast.Import | ast.ImportFrom)]
            assert all(map(is_fair_import, imports))
            text = ast.unparse(ast.Module(code, []))
            jobs.append(
                (task, {"name": task.name, "module": task.module, "check": task.check, "code": text, "given": given})
            )
    marks |= _checked(jobs, terms)
    return [marks[task] for task in tasks if task.kind != PREDICTION]


def _checked(jobs: list[tuple[Task, dict[str, str]]], terms: Terms) -> dict[Task, Mark]:
    """The marks of functions; after one that ends its process, the others go on in a new one."""
    marks: dict[Task, Mark] = {}
    left = jobs
    while left:
        outcomes, why = _run([job for _, job in left], terms)
        for (task, _), outcome in zip(left, outcomes):
            is_right = outcome["state"] == CORRECT
            marks[task] = Mark(task, int(is_right), "" if is_right else f"{outcome['state']}: {outcome['words']}")
        if len(outcomes) < len(left):
            marks[left[len(outcomes)][0]] = Mark(left[len(outcomes)][0], 0, why)
        left = left[len(outcomes) + 1 :]
    return marks


def _run(jobs: list[dict[str, str]], terms: Terms) -> tuple[list[dict[str, str]], str]:
    """The outcomes of the first jobs, and why the next one has none."""
    with tempfile.TemporaryDirectory(prefix="minikafka-grade-") as scratch:
        results = Path(scratch, "results")
        asked = {"jobs": jobs, "seed": terms.seed, "seconds": terms.seconds, "memory_mb": terms.memory_mb}
        process = own_process.started(
            *("minikafka.lab.grading.marking", str(results)),
            directory=scratch,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        has_ended = True
        try:
            process.communicate(json.dumps(asked).encode(), timeout=_START_S + terms.seconds * len(jobs))
        except subprocess.TimeoutExpired:
            has_ended = False
        finally:
            own_process.end(process)
        if process.returncode == NO_ROOM:
            raise OSError(errno.ENOSPC, "the results of checks cannot be written", scratch)
        is_stubborn = not has_ended or process.returncode == STUBBORN
        why = "it did not end, even when told to" if is_stubborn else "its process ended before the check did"
        lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return [json.loads(line) for line in lines], why


def _given(lesson: Path) -> str:
    """The imports of the lesson that its functions may use; what the course's own modules offer is not among them."""
    imports = [
        node
        for tree in code_of(lesson)[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and is_fair_import(node)
    ]
    return "\n".join([*map(ast.unparse, imports), _SQL])


def _is_stub(function: ast.stmt) -> bool:
    last = function.body[-1] if isinstance(function, ast.FunctionDef) else None
    return isinstance(last, ast.Return) and last.value is not None and is_blank(last.value)


def _unread(answered: Sequence[Answered]) -> str:
    unread = sum(each.unread for each in answered)
    return f" ({unread} cells are no Python)" if unread else ""


def explained(of: Grade) -> list[str]:
    """A line for each reason for which points were lost. Tasks of a lesson that share a reason share its line."""
    lost: dict[tuple[str, str], list[Task]] = {}
    for mark in of.marks:
        if not mark.points:
            lost.setdefault((mark.task.lesson, mark.why), []).append(mark.task)
    in_lesson = Counter(mark.task.lesson for mark in of.marks)
    return [
        f"{of.name}: {lesson}, {_named(tasks, all_of_them=len(tasks) == in_lesson[lesson] > 1)}: {why}"
        for (lesson, why), tasks in lost.items()
    ]


def _named(tasks: list[Task], *, all_of_them: bool) -> str:
    """The tasks in words: functions by their names, several predictions by their number."""
    if all_of_them:
        return f"all {len(tasks)} tasks"
    words = []
    for kind in dict.fromkeys(task.kind for task in tasks):
        names = [task.name for task in tasks if task.kind == kind]
        if kind == PREDICTION and len(names) > 1:
            words.append(f"{len(names)} predictions")
        else:
            words.append(f"{kind}{'s' * (len(names) > 1)} {', '.join(names)}")
    return ", ".join(words)


def table(grades: Iterable[Grade]) -> list[str]:
    """A line for each submission: its points, of all and of each kind of task."""
    grades = list(grades)
    width = max((len(each.name) for each in grades), default=0)
    return [
        f"{each.name:{width}}  " + ", ".join(f"{points} of {most} {what}" for what, (points, most) in _sums(each))
        for each in grades
    ]


def _sums(of: Grade) -> list[tuple[str, tuple[int, int]]]:
    kinds = (("points", None), ("predictions", PREDICTION), ("exercises", EXERCISE), ("rungs", "rung"))
    return [(what, of.points(kind)) for what, kind in kinds]
