"""The grade of a submission: a point for each task, and a reason for each point that is lost."""

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from minikafka.common.python_source import parse
from minikafka.lab.course.lesson_notebooks import notebooks_of, rebuild_name, whole_before
from minikafka.lab.course.places import COURSE
from minikafka.lab.course.work_file import unpacked
from minikafka.lab.exercises.blanks import is_blank
from minikafka.lab.exercises.task import NOT_ATTEMPTED
from minikafka.lab.grading.answer_key import answer_key, told
from minikafka.lab.grading.fair_code import unfair, without_judges
from minikafka.lab.grading.lesson_tasks import EXERCISE, PREDICTION, RUNG, Assignment, code_of, tasks_of
from minikafka.lab.grading.marking import Job, LearnersSide, Terms, needs_java, verdict_on
from minikafka.lab.grading.submission import Answered, read_in_every_language, value_of

_LONGEST_REASON = 2_000  # characters
_MOST_TRIED = 4  # of the functions that were handed in for one task
_SQL = parse("from minikafka.lab.exercises.wrecked import sql").body


@dataclass(frozen=True)
class Mark:
    """What a task brought: `points` 0 or 1, and for 0 the reason in words."""

    task: Assignment
    points: int
    why: str = ""


@dataclass(frozen=True)
class Grade:
    """The marks of one submission, in the order of the course; `name` is its directory's, or its path where several
    have one name. `unread`: why files of work that were handed in cannot be read.
    """

    name: str
    marks: tuple[Mark, ...]
    unread: tuple[str, ...] = ()

    def points(self, kind: str | None = None) -> tuple[int, int]:
        """The points, and how many there are: of one kind of task, or of all."""
        marks = [mark for mark in self.marks if kind in (None, mark.task.kind)]
        return sum(mark.points for mark in marks), len(marks)


def grade(submission: Path, lessons: Iterable[Path], terms: Terms) -> Grade:
    """The grade of the notebooks in `submission` for these lessons, the notebooks of the course. It is a directory, or
    the file that a browser makes of all that was done there (`work_file`); such a file may also lie in the directory.

    A lesson may be handed in in several languages: each task counts where it was done first, English before others.
    Functions are looked for in the notebook to rebuild, then in the one to read, where they stood in earlier editions.
    Of a lesson that was cut into halves, what was handed in of the whole one counts for both. A file of work that
    cannot be read brings nothing.

    Raises ValueError where the directory is none, RuntimeError where a lesson of the course cannot be run, and OSError
    where the disk has no room.
    """
    if not submission.exists():
        raise ValueError(f"{submission} is no directory of notebooks")
    lessons = list(lessons)
    with unpacked(submission, lessons[0].parent if lessons else COURSE) as (directories, unread):
        return Grade(submission.name, tuple(_marks(directories, lessons, terms)), tuple(unread))


def not_graded(name: str, lessons: Iterable[Path], why: str) -> Grade:
    """The grade of a submission of that name that is not looked at, with the reason `why` for each point."""
    return Grade(name, tuple(Mark(task, 0, why) for lesson in lessons for task in tasks_of(lesson)))


def _marks(directories: Sequence[Path], lessons: Iterable[Path], terms: Terms) -> list[Mark]:
    marks: list[Mark] = []
    for lesson in lessons:
        tasks = tasks_of(lesson)
        editions = [lesson, *filter(None, [whole_before(lesson)])]
        to_read = _handed_in(directories, [edition.name for edition in editions])
        has_rebuild = len(notebooks_of(lesson)) > 1
        to_rebuild = _handed_in(directories, map(rebuild_name, editions)) if has_rebuild else _HandedIn()
        if not to_read.answered and not to_rebuild.answered:
            why = " and ".join(filter(None, (to_read.why_not, to_rebuild.why_not)))
            marks += [Mark(task, 0, why) for task in tasks]
            continue
        marks += _predictions(lesson, tasks, to_read.answered, to_read.why_not)
        written = [*to_rebuild.answered, *to_read.answered]
        marks += _functions(lesson, tasks, written, to_rebuild.why_not, terms)
    return marks


@dataclass(frozen=True)
class _HandedIn:
    """A notebook as it was handed in, in languages and editions; `why_not`: in words, where it was not."""

    answered: Sequence[Answered] = ()
    why_not: str = ""


def _handed_in(directories: Sequence[Path], names: Iterable[str]) -> _HandedIn:
    """What was handed in under any of the names; where there is nothing, why there is none of the first name."""
    found: list[Answered] = []
    reasons: list[str] = []
    for name in names:
        for directory in directories:
            try:
                found += read_in_every_language(directory, name)
            except (ValueError, OSError) as unreadable:
                reasons.append(str(unreadable))
    return _HandedIn(found) if found else _HandedIn(why_not=reasons[0] if reasons else "no notebook was handed in")


def _predictions(lesson: Path, tasks: list[Assignment], answered: Sequence[Answered], why_not: str) -> list[Mark]:
    """The marks of the predictions; `why_not`: why no notebook to read was handed in, "" where one was."""
    return [_prediction(lesson, task, answered, why_not) for task in tasks if task.kind == PREDICTION]


def _prediction(lesson: Path, task: Assignment, answered: Sequence[Answered], why_not: str) -> Mark:
    asked = [each.answers[task.id] for each in answered if task.id in each.answers]
    if not asked:
        return Mark(task, 0, why_not or "the question is gone")
    answer = next((each for each in asked if not is_blank(each)), None)
    if answer is None:
        return Mark(task, 0, "not answered")
    try:
        said = told(value_of(answer))
    except ValueError as unclear:
        return Mark(task, 0, str(unclear))
    right = answer_key(lesson).get(task.id)
    if right is None:
        return Mark(task, 0, "the course's own run does not come to this question")
    return Mark(task, 1) if said == right else Mark(task, 0, f"the answer is {said}; the run gives {right}")


def _functions(
    lesson: Path, tasks: list[Assignment], answered: Sequence[Answered], why_not: str, terms: Terms
) -> list[Mark]:
    """The marks of the functions; `why_not`: why no notebook to rebuild was handed in, "" where one was."""
    given = _given(lesson)
    marks: dict[Assignment, Mark] = {}
    jobs: dict[Assignment, list[Job]] = {}
    for task in (task for task in tasks if task.kind != PREDICTION):
        found = _jobs(task, answered, given, why_not)
        if isinstance(found, Mark):
            marks[task] = found
        else:
            jobs[task] = found
    for kind in (EXERCISE, RUNG):
        marks |= _checked({task: job for task, job in jobs.items() if task.kind == kind}, terms)
    return [marks[task] for task in tasks if task.kind != PREDICTION]


def _jobs(
    task: Assignment, answered: Sequence[Answered], given: Sequence[ast.stmt], why_not: str = ""
) -> list[Job] | Mark:
    """The functions that were handed in for a task; the mark where there is none to run."""
    written = [function for each in answered for function in each.functions_for(task, given)]
    if not written:
        return Mark(task, 0, why_not or "there is no such function" + _unread(answered))
    jobs: dict[str, Job] = {}
    refused = ""
    for function in written:
        if function.is_stub:
            continue
        statements = without_judges(function.code)
        why = function.refused or unfair(statements)
        try:
            code = "" if why else ast.unparse(ast.Module(statements, []))
        except RecursionError:
            why = "it is nested too deeply"
        refused = refused or why
        if not why and len(jobs) < _MOST_TRIED:
            jobs.setdefault(code, Job(function.name, code, task.module, task.check))
    if jobs:
        return list(jobs.values())
    return Mark(task, 0, f"not run: {refused}" if refused else NOT_ATTEMPTED)


def _checked(jobs: dict[Assignment, list[Job]], terms: Terms) -> dict[Assignment, Mark]:
    """The marks of functions that were handed in by one learner; each is judged, whatever the others do.

    Of several for one task a right one counts, as in the notebook; else the first says what is wrong.
    """
    if not jobs:
        return {}
    marks: dict[Assignment, Mark] = {}
    with LearnersSide(terms, java=any(needs_java(job) for each in jobs.values() for job in each)) as side:
        for task, handed_in in jobs.items():
            for job in handed_in:
                verdict = verdict_on(job, side, terms.seed)
                why = "" if verdict else f"{verdict.state}: {verdict.words}"[:_LONGEST_REASON]
                if verdict or task not in marks:
                    marks[task] = Mark(task, int(bool(verdict)), why)
                if verdict:
                    break
    return marks


def _given(lesson: Path) -> list[ast.stmt]:
    """The imports of the lesson, for who has lost them."""
    nodes = [node for notebook in notebooks_of(lesson) for tree in code_of(notebook)[0] for node in ast.walk(tree)]
    return [*_SQL, *(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))]


def _unread(answered: Sequence[Answered]) -> str:
    unread = sum(each.unread for each in answered)
    return f" ({unread} cells are no Python)" if unread else ""


def explained(of: Grade) -> list[str]:
    """A line for each file that cannot be read, and for each reason for which points were lost. Tasks of a lesson that
    share a reason share its line.
    """
    lost: dict[tuple[str, str], list[Assignment]] = {}
    for mark in of.marks:
        if not mark.points:
            lost.setdefault((mark.task.lesson, mark.why), []).append(mark.task)
    in_lesson = Counter(mark.task.lesson for mark in of.marks)
    return [f"{of.name}: {why}" for why in of.unread] + [
        f"{of.name}: {lesson}, {_named(tasks, all_of_them=len(tasks) == in_lesson[lesson] > 1)}: {why}"
        for (lesson, why), tasks in lost.items()
    ]


def _named(tasks: list[Assignment], *, all_of_them: bool) -> str:
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
    kinds = (("points", None), ("predictions", PREDICTION), ("exercises", EXERCISE), ("rungs", RUNG))
    return [(what, of.points(kind)) for what, kind in kinds]
