"""A command that ends in one line and an exit code, whatever fails."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from minikafka.log.partition_files import FOLLOW_LINKS
from minikafka.tools.ended_by_signals import SignalWhenDone, let_signals_in, let_signals_wait
from minikafka.tools.failure import TOLD, describe
from minikafka.tools.printable import printable, tell

NOT_REPORTED = 3
"""The exit code of a tool that has changed a directory as it was told, and could not print all of its report."""

# Options of the tools that change a directory.
AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object; for programs, so it asks nothing, as --yes."
)
YES = click.option(
    "--yes",
    is_flag=True,
    help="Change the directory without asking; where there is no terminal, this or --json is needed.",
)
CHANGE_LINKED_FILES = click.option(
    FOLLOW_LINKS, is_flag=True, help="Change files that have names elsewhere, too: what links lead to."
)


class ToolCommand(click.Command):
    """A click command that reports each failure in one line on stderr and ends with `failure_exit_code`.

    Interruptions and a lack of room for its output are reported like that too; when the reader of its output leaves (`|
    head`), it ends without a word. The constructor takes the options of `click.Command`, and `failure_exit_code`.
    """

    def __init__(self, *args: Any, failure_exit_code: int = 1, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.failure_exit_code = failure_exit_code

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; raises SystemExit where it fails."""
        with failures_in_one_line(self.failure_exit_code):
            return super().invoke(ctx)


@contextmanager
def report_of_what_is_done(directory: Path) -> Iterator[None]:
    """Print in the block what has been changed in `directory`; a signal that came since then is obeyed first.

    What is done stays. Whatever keeps the report from being printed is therefore told in one line on stderr, and the
    process ends with `NOT_REPORTED`, whose meaning is that; when the reader of its output leaves (`| head`), with 0.
    """
    try:
        let_signals_in()
        yield
        sys.stdout.flush()
        let_signals_wait()  # nothing is left to be ended
    except BrokenPipeError:
        let_signals_wait()
    except (SignalWhenDone, OSError) as error:
        let_signals_wait()
        why = signal.Signals(error.args[0]).name if isinstance(error, SignalWhenDone) else describe(error)
        tell(f"Warning: what was to be done in {directory} is done, and stays; its report was stopped: {why}", err=True)
        sys.exit(NOT_REPORTED)


@contextmanager
def complaints_printable() -> Iterator[None]:
    """Make the message of what click raises about an argument printable: a wildcard of the shell may have found it."""
    try:
        yield
    except click.ClickException as error:
        error.message = printable(error.message, keep="\n")  # type: ignore[misc]
        raise


@contextmanager
def failures_in_one_line(exit_code: int) -> Iterator[None]:
    """End the process with `exit_code` and one line on stderr when the block fails or cannot print all; with 130, as in
    a shell, when SIGINT (Ctrl-C) ends it.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except (click.ClickException, click.exceptions.Exit):
        raise  # click's own way to end a command
    except BrokenPipeError:
        sys.exit(exit_code)
    except (click.Abort, KeyboardInterrupt) as aborted:
        tell("Aborted!", err=True)
        sys.exit(128 + signal.SIGINT if isinstance(aborted, KeyboardInterrupt) else exit_code)
    except TOLD as error:
        tell(describe(error), err=True)
        sys.exit(exit_code)
