"""The command `minikafka`: each subcommand has its own module, which is imported only when it runs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import click

from minikafka import __version__
from minikafka.tools.printable import PrintableFormatter
from minikafka.tools.standard_streams import set_up_standard_streams
from minikafka.tools.tool_command import complaints_printable, failures_in_one_line

# name: (where its click command is, the line that `minikafka --help` shows)
COMMANDS = {
    "clean": ("minikafka.cli.clean:clean", "Compact a partition directory: one round of the log cleaner."),
    "coverage": ("minikafka.cli.twins:coverage", "What of Kafka's storage module is mirrored."),
    "doctor": ("minikafka.cli.doctor:doctor", "Print what this machine has, and what to do about what is missing."),
    "dump-log": ("minikafka.cli.dump_log:dump_log", "Print segments and indexes as Kafka's own tool prints them."),
    "drift": ("minikafka.cli.twins:drift", "Say what another version of Kafka has changed in what is mirrored."),
    "source-map": ("minikafka.cli.twins:source_map", "Each class and method beside its twin in Kafka's source."),
    "verify": ("minikafka.cli.verify:verify", "Check partition or log directories without changing a byte."),
    "exam": ("minikafka.cli.exam:exam", "Compare a log that you have written with Apache Kafka's."),
    "fetch": ("minikafka.cli.fetch:fetch", "Download Kafka's jars into the cache, for work without a network."),
    "grade": ("minikafka.cli.grade:grade", "Grade submitted notebooks: predictions, exercises and rungs."),
    "lab": ("minikafka.cli.open_lab:lab", "Open the lessons in JupyterLab, on a working copy of your own."),
    "ls": ("minikafka.cli.ls:ls", "List the partitions of a log directory: offsets, sizes, times, what is odd."),
    "spark": ("minikafka.cli.spark:spark", "Ask whole log directories a question, in parallel, by Spark."),
    "recover": ("minikafka.cli.recover:recover", "Load a partition directory as Kafka would at its next start."),
    "serve": (
        "minikafka.cli.serve:serve",
        "Serve Kafka clients: a broker, without Java.",
    ),
}


class LazyGroup(click.Group):
    """A group whose commands are imported by name when they are asked for, so that `minikafka` starts at once.

    What fails in any of them, or before one is reached, is told in one line; so is a package that one needs and that
    the core does without.
    """

    def main(self, *args, **kwargs):
        set_up_standard_streams()
        if logging.lastResort is not None:
            logging.lastResort.setFormatter(PrintableFormatter())
        with failures_in_one_line(exit_code=1):
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context):
        with complaints_printable(), _missing_package_in_one_line():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        return getattr(import_module(module), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@contextmanager
def _missing_package_in_one_line() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package in ("", "minikafka"):
            raise
        not_installed = click.ClickException(f"{package} is not installed: pip install 'minikafka[lab]'")
        not_installed.exit_code = 2  # 1 says of many commands that they found something
        raise not_installed from missing


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="minikafka")
def main() -> None:
    """Apache Kafka's storage layer as readable Python, byte for byte."""
