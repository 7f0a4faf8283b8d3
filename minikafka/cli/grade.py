"""The command `minikafka grade`: submitted notebooks, graded without a word of theirs being believed."""

import json
import math
import os
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import click

from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.course.lesson_notebooks import lessons
from minikafka.lab.course.places import COURSE
from minikafka.lab.exercises.task import HELD_OUT_SEED
from minikafka.lab.grading.grade import Grade, explained, not_graded, table
from minikafka.lab.grading.grade import grade as grade_of
from minikafka.lab.grading.marking import Terms
from minikafka.lab.sandbox.sandbox import Limits, limits_that_hold, why_there_is_no_sandbox
from minikafka.tools.ended_by_signals import ended_by_signals
from minikafka.tools.printable import tell
from minikafka.tools.tool_command import ToolCommand


@click.command(cls=ToolCommand, failure_exit_code=2, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("submissions", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.option("--lesson", "chosen", multiple=True, metavar="NAME", help="Grade this lesson; may be given again.")
@click.option(
    "--seed", type=int, default=HELD_OUT_SEED, help="What is drawn to judge functions is drawn from it; keep it."
)
@click.option("--seconds", type=click.FloatRange(1, 3600), default=60.0, show_default=True, help="For each check.")
@click.option("--memory", type=click.IntRange(64), default=2048, show_default=True, help="MiB, beyond what is needed.")
@click.option("--trust-the-code", "is_trusted", is_flag=True, help="Run functions without a sandbox, as you.")
@click.option("--course", type=click.Path(path_type=Path), default=COURSE, hidden=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each submission.")
def grade(
    submissions: tuple[Path, ...],
    chosen: tuple[str, ...],
    seed: int,
    seconds: float,
    memory: int,
    is_trusted: bool,
    course: Path,
    as_json: bool,
) -> None:
    """Grade the notebooks in each DIR, such as my-lessons/ or class/*/: a point for each prediction, exercise and rung.

    In the place of a DIR, or in it, may be a minikafka-work.json: what my_progress() lets pupils download who work in a
    browser. Its verdicts do not count.

    Notebooks are read, not run: answers are compared with a run of the course's own notebook, functions are taken out
    and run in a sandbox (bubblewrap), where they can change nothing. Each point that is lost is explained; a DIR that
    is a link among others brings none. The exit code is 2 when something cannot be graded at all, else 0.
    """
    if not all(chosen):
        raise click.UsageError("--lesson '' names no lesson; without --lesson all are graded")
    if math.isnan(seconds):
        raise click.UsageError("--seconds nan is no time")
    known = lessons(course)
    wanted = [path for path in known if not chosen or any(name in path.stem for name in chosen)]
    if not wanted:
        raise click.UsageError(f"no lesson is called {', '.join(chosen)}")
    for directory in submissions:
        if not directory.is_file() and not directory.is_dir():
            raise click.UsageError(f"{directory} is no directory of notebooks")
    # A pupil may have handed in a link to somebody else's work, or to the solutions. From here on each goes by its real
    # path, so that a link that comes meanwhile leads out of what was handed in.
    real = {directory: directory.resolve() for directory in submissions}
    links = {
        directory: f"it is a link to {path}"
        for directory, path in real.items()
        if not os.path.samestat(directory.lstat(), path.stat())
    }
    if len(links) == len(submissions):
        raise click.UsageError(f"{submissions[0]}: {links[submissions[0]]}: name that directory")
    if not is_trusted and (why := why_there_is_no_sandbox()):
        held = limits_that_hold(Limits(memory_mb=memory))
        raise IllegalArgumentException(f"{why}. Without one ({held}) only --trust-the-code grades")
    grades = []
    names = {directory: (directory if directory in links else path).name for directory, path in real.items()}
    with_the_name = Counter(names.values())
    with ended_by_signals():
        for directory in submissions:
            if directory in links:
                graded = not_graded(names[directory], wanted, f"not graded: {links[directory]}")
            else:
                graded = grade_of(real[directory], wanted, Terms(seed, seconds, memory, is_trusted))
            is_unique = with_the_name[graded.name] == 1
            grades.append(graded if is_unique else replace(graded, name=str(directory)))
            if as_json:
                click.echo(json.dumps(_as_data(grades[-1])))
            else:
                for line in explained(grades[-1]):
                    tell(line)
    if not as_json:
        for line in table(grades):
            tell(line)


def _as_data(of: Grade) -> dict[str, object]:
    points, most = of.points()
    marks = [asdict(mark) for mark in of.marks]
    return {"submission": of.name, "points": points, "of": most, "marks": marks, "unread": of.unread}
