"""The jobs that there are: what `minikafka spark` offers, and what it passes to each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from minikafka.common.java.java_numbers import LONG_MAX
from minikafka.tools.verify.findings import NOTE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class Job(NamedTuple):
    """A job: a function from tables to a table, and its place on the command line.

    `module`: where the function of the job's name is; it is imported when the job runs. `line`: what `--help` says.
    `tables`: the tables of the data source that the function takes, in that order. `options`: click's, passed on by
    name. `reads`: options of the data source that differ for this job from the source's defaults. `has_mode`: the
    function is also told the source's `mode`. `exit_code` makes one of the answer, None for 0; a command that has it
    ends with 2 when it fails, others with 1. `has_unread`: rows without a `fate` tell of what could not be read.
    `takes`: the options of the data source that mean something to the job, in lower case, beside those of its storage;
    None for all. `of_nothing`: the name of a function beside the job's, which is given its tables and says what no
    rows mean. `of_topic`: the topic out of which the job answers, None for those that are asked for.
    """

    name: str
    line: str
    module: str
    tables: tuple[str, ...] = ("ranges",)
    options: tuple[click.Option, ...] = ()
    reads: Mapping[str, str] = {}
    has_mode: bool = True
    exit_code: "Callable[[pa.Table], int] | None" = None
    has_unread: bool = False
    takes: frozenset[str] | None = None
    of_nothing: str | None = None
    of_topic: str | None = None

    @property
    def function(self) -> "Callable[..., DataFrame]":
        """The job itself."""
        return getattr(import_module(self.module), self.name)

    def answer(
        self, spark: "SparkSession", paths: "Sequence[str]", source: Mapping[str, str], options: Mapping[str, Any]
    ) -> "DataFrame":
        """What the job says of the logs below `paths`, with options of the data source and of its own."""
        source = {**self.reads, **source}
        mode = {"mode": source["mode"]} if self.has_mode and "mode" in source else {}
        return self.function(*self._tables(spark, paths, source), **options, **mode)

    def told_of_nothing(self, spark: "SparkSession", paths: "Sequence[str]", source: Mapping[str, str]) -> str | None:
        """What it means that the answer is empty; None for nothing more."""
        if self.of_nothing is None:
            return None
        return getattr(import_module(self.module), self.of_nothing)(*self._tables(spark, paths, source))

    def lacks_its_topic(self, spark: "SparkSession", paths: "Sequence[str]", source: Mapping[str, str]) -> bool:
        """Whether the topic out of which the job answers is not below `paths`."""
        from minikafka.spark.jobs.byte_ranges import table

        if self.of_topic is None:
            return False
        storage = {name: setting for name, setting in source.items() if name.startswith("fs.")}
        found = table(spark, "partitions", paths, storage)
        return found.where(found.topic == self.of_topic).isEmpty()

    def lost_records(self, spark: "SparkSession", paths: "Sequence[str]", source: Mapping[str, str]) -> list[str]:
        """A line for each partition that has lost records below its high watermark; no line where the job's own rows
        say so, where the job does not read up to the log's end because `paths` name other segments, or where
        `failOnDataLoss=false` says that it does not matter.
        """
        from minikafka.spark.jobs.byte_ranges import table
        from minikafka.spark.jobs.lost_records import lost_records

        source = {**self.reads, **source}
        fails_on_loss = {name.lower(): setting for name, setting in source.items()}.get("failondataloss", "true")
        if self.has_unread or fails_on_loss.lower() == "false":
            return []
        named = () if "partitions" in self.tables else paths  # a job with that table reads whole logs
        return [row.told for row in lost_records(table(spark, "partitions", paths, source), named).collect()]

    def _tables(
        self, spark: "SparkSession", paths: "Sequence[str]", source: Mapping[str, str]
    ) -> "Iterator[DataFrame]":
        from minikafka.spark.jobs.byte_ranges import table

        return (table(spark, name, paths, {**self.reads, **source}) for name in self.tables)


_OF_A_CLOCK = click.IntRange(0, LONG_MAX)


def _now(default: str) -> click.Option:
    return click.Option(["--now"], type=_OF_A_CLOCK, metavar="MS", help=f"The time since 1970.  [default: {default}]")


def _config(whose: str) -> click.Option:
    words = f"{whose}, by Kafka's name; repeatable."
    return click.Option(["--config", "configs"], multiple=True, metavar="K=V", help=words)


def _of_findings(answer: "pa.Table") -> int:
    """As `minikafka verify` does: 2 when something could not be read, 1 with findings, which notes are not."""
    fates = set(answer.column("fate").to_pylist())
    return 2 if None in fates else 1 if fates - {NOTE} else 0


_ONE_COPY = {"copies": "refuse"}
"""For jobs that add up records: with those of a second copy the sums would be wrong."""

_JOBS = (
    Job(
        "compaction",
        "Which records a round of the log cleaner would keep, and what it would save.",
        "minikafka.spark.jobs.compaction",
        tables=("partitions", "ranges"),
        options=(
            _now("this machine's"),
            _config("A setting of the topics"),
        ),
        reads={"isolation.level": "read_committed"},
    ),
    Job(
        "export",
        "Write the records to Parquet files; a later run adds what is new, each record once.",
        "minikafka.spark.jobs.export",
        options=(
            click.Option(["--to"], required=True, metavar="DIR", help="The directory of the Parquet files."),
            click.Option(["--by-date"], is_flag=True, help="A directory for each day (UTC) below that of a partition."),
            click.Option(
                ["--compression"],
                type=click.Choice(["none", "snappy", "lz4", "zstd", "gzip"]),
                default="snappy",
                show_default=True,
                help="How the Parquet files are compressed.",
            ),
        ),
        reads=_ONE_COPY,
    ),
    Job(
        "lag",
        "How far consumer groups are behind, in records and in time.",
        "minikafka.spark.jobs.lag",
        tables=("groups", "partitions"),
        reads={"copies": "furthest"},
        options=(
            _now("this machine's"),
            click.Option(
                ["--stale-after"],
                type=_OF_A_CLOCK,
                default=3_600_000,
                show_default=True,
                metavar="MS",
                help="A group with records to read and no commit for longer than this is stale.",
            ),
            click.Option(
                ["--isolation-level"],
                type=click.Choice(["read_uncommitted", "read_committed"]),
                default="read_uncommitted",
                show_default=True,
                help="What its consumers read.",
            ),
        ),
        of_topic="__consumer_offsets",
    ),
    Job(
        "profile",
        "What there is of each topic: bytes, codecs, sizes of records, keys, late records; how fast it grows.",
        "minikafka.spark.jobs.profile",
        options=(
            click.Option(["--by-partition"], is_flag=True, help="A row for each partition."),
            click.Option(["--every"], type=click.Choice(["hour", "day"]), help="A row for each hour or day, in UTC."),
        ),
        reads={"bounds": "log_end", **_ONE_COPY},
    ),
    Job(
        "retention",
        "Which segments a broker deletes, by which rule, and when.",
        "minikafka.spark.jobs.retention",
        tables=("partitions",),
        options=(
            _now("this machine's"),
            _config("A setting of all topics"),
            click.Option(
                ["--metadata"],
                metavar="DIR",
                help="The log directory with __cluster_metadata-0, where topics' own settings are.  "
                "[default: each partition's own]",
            ),
        ),
    ),
    Job(
        "transactions",
        "Transactions of each producer: how many, how long, what is open too long.",
        "minikafka.spark.jobs.transactions",
        options=(
            click.Option(
                ["--open-longer-than"],
                type=_OF_A_CLOCK,
                default=900_000,
                show_default=True,
                metavar="MS",
                help="An open transaction without a new record for longer than this is open too long.",
            ),
            _now("the newest record's"),
        ),
        reads={"bounds": "log_end", **_ONE_COPY},
    ),
    Job(
        "replicas",
        "Compare two brokers' copies of partitions below their high watermarks: name both log directories.",
        "minikafka.spark.jobs.replicas",
        tables=("ranges", "partitions"),
        reads={"failOnDataLoss": "false"},
        has_mode=False,
    ),
    Job(
        "verify",
        "Check partition or log directories, as `minikafka verify` does, many segments at a time.",
        "minikafka.spark.jobs.verify",
        tables=("verify",),
        options=(
            _config("A topic setting"),
            click.Option(["--follow-links"], is_flag=True, help="Read files that are symbolic links."),
        ),
        has_mode=False,
        exit_code=_of_findings,
        has_unread=True,
        takes=frozenset({"subscribe", "subscribepattern", "assign", "maxbytespertask", "minpartitions"}),
        of_nothing="how_many_are_sound",
    ),
)

JOBS: dict[str, Job] = {job.name: job for job in _JOBS}
"""By name."""
