"""The command `minikafka exam`: a learner's log beside Apache Kafka's, question by question."""

import json
from contextlib import suppress
from pathlib import Path

import click

from minikafka.common.errors import IllegalArgumentException
from minikafka.lab.course.places import COURSE
from minikafka.lab.exercises.task import HELD_OUT_SEED
from minikafka.lab.rebuild.exam.exam_questions import LADDER, Answer
from minikafka.lab.rebuild.exam.learners_file import source_of
from minikafka.lab.rebuild.exam.learners_log import LIMITS, LearnersLog
from minikafka.lab.sandbox.sandbox import limits_that_hold, why_there_is_no_sandbox
from minikafka.tools.ended_by_signals import ended_by_signals
from minikafka.tools.printable import printable, tell
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
    such log. Your log runs in a sandbox (bubblewrap), where a call may take 5 seconds and all of it 1 GiB, and where
    there is nothing but Python, crc32c, and the directory of the log. Where there is no sandbox it runs all the same,
    after one line on stderr that says so. What it prints goes to stderr.
    """
    if not file.exists():
        raise IllegalArgumentException(f"there is no {file}; the template to begin with is {COURSE / 'my_log.py'}")
    source = source_of(file)
    if why := why_there_is_no_sandbox():
        tell(f"{file} runs unprotected: {why}. So {limits_that_hold(LIMITS)}.", err=True)
    if keep is not None:
        keep.mkdir(parents=True)
    try:
        with ended_by_signals():
            for question in LADDER[:up_to]:
                # All that the judge says is in memory before the learner's code runs, and what it wrote is gone.
                stories = question.judged(seed)
                with LearnersLog(source, str(file), _GUARD_S, is_trusted=bool(why)) as my_log:
                    answer = question.ask(my_log, stories)
                _tell(answer, as_json=as_json)
                if answer.difference is not None:
                    if keep is not None:
                        answer.difference.keep(keep, question.suffixes)
                        if why := answer.difference.why_no_files:
                            tell(f"{keep}/yours is empty: {why}", err=True)
                    raise click.exceptions.Exit(1)
    finally:
        if keep is not None:
            with suppress(OSError):  # where a story is kept
                keep.rmdir()


def _tell(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        told = {"question": answer.question.name, "passed": answer.passed, "difference": answer.words}
        click.echo(json.dumps({**told, "steps": answer.steps}))
    else:
        click.echo(printable(str(answer), keep="\n"))
