"""The command `minikafka exam`: a learner's log beside Apache Kafka's, question by question."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.course.places import COURSE
from minikafka.lab.rebuild.exam.learners_process import LearnersProcess
from minikafka.lab.rebuild.exam.questions import LADDER, Question
from minikafka.lab.rebuild.rung import HELD_OUT_SEED
from minikafka.tools.printable import printable
from minikafka.tools.tool_command import ToolCommand

_GUARD_S = 5.0  # a call of a method may take so long
_QUESTIONS = "; ".join(question.name for question in LADDER)


@click.command(cls=ToolCommand, failure_exit_code=2, epilog=f"The questions: {_QUESTIONS}.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--up-to", type=click.IntRange(1, len(LADDER)), default=len(LADDER), help="The last question to ask.")
@click.option("--seed", type=int, default=HELD_OUT_SEED, help="What the stories are drawn from.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Lay the story that failed, your directory and the right one into DIR, which must not exist.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each question.")
def exam(file: Path, up_to: int, seed: int, keep: Path | None, as_json: bool) -> None:
    """Compare the log in FILE (a class MyLog; the template is my_log.py beside the lessons) with Apache Kafka's.

    Question by question, up to the first that fails. Ends with 0 when all passed, 1 when one failed, 2 when FILE is no
    such log. Your log runs in a process of its own, where a call may take 5 seconds and all of it 1 GiB. What it prints
    goes to stderr.
    """
    if not file.exists():
        raise IllegalArgumentException(f"there is no {file}; the template to begin with is {COURSE / 'my_log.py'}")
    with LearnersProcess(file, _GUARD_S) as my_log:
        if keep is not None:
            keep.mkdir(parents=True)
        try:
            _ask(LADDER[:up_to], my_log, seed, keep, as_json=as_json)
        finally:
            if keep is not None:
                with suppress(OSError):  # where a story is kept
                    keep.rmdir()


def _ask(
    questions: Sequence[Question], my_log: LearnersProcess, seed: int, keep: Path | None, *, as_json: bool
) -> None:
    for question in questions:
        answer = question.ask(my_log, seed, keep)
        if as_json:
            told = {"question": question.name, "passed": answer.passed, "difference": answer.difference}
            click.echo(json.dumps({**told, "steps": answer.steps}))
        else:
            click.echo(printable(str(answer), keep="\n"))
        if not answer.passed:
            raise click.exceptions.Exit(1)
