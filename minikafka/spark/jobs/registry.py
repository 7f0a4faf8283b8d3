"""The jobs that there are: what `minikafka spark` offers, and what it passes to each."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Job(NamedTuple):
    """A job: a function from tables to a table, and its place on the command line.

    `module`: where the function of the job's name lives; it is imported when the job runs. `line`: what `--help` says.
    `tables`: the tables of the data source that the function takes, in that order. `options`: click's, passed on by
    name. `reads`: options of the data source that differ for this job from the source's defaults. `has_mode`: the
    function is also told the source's `mode`. `finds_faults`: each row of the answer is a fault, and the command ends
    with 1 if there is any, with 2 if it fails.
    """

    name: str
    line: str
    module: str
    tables: tuple[str, ...] = ("ranges",)
    options: tuple[click.Option, ...] = ()
    reads: Mapping[str, str] = {}
    has_mode: bool = True
    finds_faults: bool = False

    @property
    def function(self) -> "Callable[..., DataFrame]":
        """The job itself."""
        return getattr(import_module(self.module), self.name)


_JOBS = (
    Job(
        "transactions",
        "Transactions of each producer: how many, how long, what is open too long.",
        "minikafka.spark.jobs.transactions",
        options=(
            click.Option(
                ["--open-longer-than"],
                type=click.IntRange(min=0),
                default=900_000,
                show_default=True,
                metavar="MS",
                help="An open transaction without a new record for longer than this is open too long.",
            ),
            click.Option(
                ["--now"], type=int, metavar="MS", help="The time since 1970.  [default: the newest record's]"
            ),
        ),
        reads={"bounds": "log_end"},
    ),
)

JOBS: dict[str, Job] = {job.name: job for job in _JOBS}
"""By name."""
