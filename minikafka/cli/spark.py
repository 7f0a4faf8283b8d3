"""`minikafka spark JOB DIR…`: each job as a command, on this machine, on a cluster, or through Spark Connect."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minikafka.spark.jobs.registry import JOBS, Job
from minikafka.spark.jobs.spark_failures import told_by_spark
from minikafka.tools.printable import tell
from minikafka.tools.tool_command import ToolCommand

if TYPE_CHECKING:
    import pyarrow as pa

_TASKS = "16"
"""At least so many, where there is as much to read: some for each core of a large machine."""

_OPTIONS = (
    click.Option(
        ["--master"],
        default="local[*]",
        show_default=True,
        metavar="URL",
        help="The cluster to work on, or local[N] for N cores of this machine.",
    ),
    click.Option(["--remote"], metavar="URL", help="Work through the Spark Connect server at sc://HOST:PORT."),
    click.Option(
        ["--conf", "settings"], multiple=True, metavar="K=V", help="A setting of Spark, by Spark's name; repeatable."
    ),
    click.Option(
        ["--option", "source_options"],
        multiple=True,
        metavar="K=V",
        help="An option of the data source, such as subscribe=orders or isolation.level=read_committed; repeatable.",
    ),
    click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object for each row."),
    click.Option(
        ["--out"],
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Write the rows to this file: .json (one object a line), .csv or .parquet.",
    ),
    click.Option(["--overwrite"], is_flag=True, help="Let --out replace a file that is there."),
)


class JobGroup(click.Group):
    """The jobs of the registry as commands; a job's module is imported when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(JOBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _command_of(JOBS[cmd_name]) if cmd_name in JOBS else None


@click.group(cls=JobGroup, context_settings={"help_option_names": ["-h", "--help"]})
def spark() -> None:
    """Ask whole log directories a question, in parallel, by Spark.

    The directories are read as they lie there, without a broker; nothing in them is changed.
    """


def _command_of(job: Job) -> click.Command:
    def run(
        paths: tuple[str, ...],
        master: str,
        remote: str | None,
        settings: tuple[str, ...],
        source_options: tuple[str, ...],
        as_json: bool,
        out: Path | None,
        overwrite: bool,
        **options: Any,
    ) -> None:
        source = {"minPartitions": _TASKS, **_pairs(source_options, "--option")}
        _require_options_of(job, source)
        spark_settings = _pairs(settings, "--conf")
        from minikafka.spark.jobs import result_output

        if out is not None:
            result_output.require_writable(out, overwrite=overwrite)
        paths = tuple(map(_whole, paths))
        if options.get("metadata") is not None:
            options["metadata"] = _whole(options["metadata"])
        if remote is None:
            _require_readable(job, paths, source, options.get("metadata"), options.get("to"))
        answer, told = _answer(job, paths, source, options, master, remote, spark_settings)
        exit_code = job.exit_code(answer) if job.exit_code else 0
        if job.has_unread:
            answer = _without_unread(answer)
        if out is not None:
            result_output.write(answer, out)
        elif as_json:
            result_output.print_json(answer)
        elif told is not None:
            click.echo(told)
        elif answer.num_rows or not job.has_unread:
            result_output.print_table(answer)
        sys.stdout.flush()
        sys.exit(exit_code)

    return ToolCommand(
        job.name,
        callback=run,
        params=[
            click.Argument(["paths"], nargs=-1, required=True, metavar="DIR..."),
            *job.options,
            *_OPTIONS,
        ],
        help=job.line,
        short_help=job.line,
        failure_exit_code=2 if job.exit_code else 1,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _answer(
    job: Job,
    paths: tuple[str, ...],
    source: dict[str, str],
    options: dict[str, Any],
    master: str,
    remote: str | None,
    settings: dict[str, str],
) -> "tuple[pa.Table, str | None]":
    """What the job answers, and what it says instead of an empty table. Raises JobFailedError where Spark cannot."""
    from minikafka.spark.jobs.job_session import job_session

    with told_by_spark():
        spark = job_session(master, remote, settings)
        try:
            answer = job.answer(spark, paths, source, options).toArrow()
            for line in job.lost_records(spark, paths, source):
                tell(f"Warning: {line}", err=True)
            if answer.num_rows:
                return answer, None
            if job.lacks_its_topic(spark, paths, source):
                tell(
                    f"There is no topic {job.of_topic} in {', '.join(paths)}, so {job.name} knows of nothing", err=True
                )
            return answer, job.told_of_nothing(spark, paths, source)
        finally:
            spark.stop()


def _pairs(given: tuple[str, ...], option: str) -> dict[str, str]:
    """The settings in arguments of the form K=V; a later one wins. Raises click.UsageError."""
    pairs = {}
    for each in given:
        name, equals, setting = each.partition("=")
        if not name or not equals:
            raise click.UsageError(f"{option} {each}: K=V is expected")
        pairs[name] = setting
    return pairs


def _require_options_of(job: Job, source: dict[str, str]) -> None:
    """Raises what the data source itself says of its options; UsageError for what a job chooses."""
    from minikafka.spark.source.source_options import SourceOptions

    for name in source:
        if name.lower() in ("table", "path", "paths"):
            raise click.UsageError(f"--option {name}: the command chooses it")
    SourceOptions.of_batch({**job.reads, **source, "path": "."})
    for name in source:
        if job.takes is not None and name.lower() not in job.takes and not name.startswith("fs."):
            raise click.UsageError(f"--option {name}: {job.name} looks at partitions as a whole, whatever it says")


def _whole(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)


def _require_readable(
    job: Job, paths: tuple[str, ...], source: dict[str, str], metadata: str | None, to: str | None = None
) -> None:
    """Raises what the query itself would raise later, after Spark's start; paths with a scheme are left to it.

    A query reads what is there of the partitions that are assigned; who types a command means each of them.
    """
    from minikafka.log.log_dir_name import parse_topic_partition_name
    from minikafka.spark.source.log_segments_on_disk import find_partitions
    from minikafka.spark.source.metadata_rows import find_metadata
    from minikafka.spark.source.several_copies import require_single_copies
    from minikafka.spark.source.source_options import SourceOptions
    from minikafka.spark.surrounding_log_dir import require_no_log_dirs_in, require_outside_log_dirs
    from minikafka.tools.log_dir_entries import passed_over_in
    from minikafka.tools.verify.log_dir_verifier import partitions_of

    if to is not None:
        require_outside_log_dirs(to)
        require_no_log_dirs_in(to)
    local = [path for path in paths if "://" not in path]
    for line in (line for path in local for line in passed_over_in(Path(path))):
        tell(f"Warning: {line}", err=True)
    asked = SourceOptions.of_batch({**job.reads, **source, "path": "."})
    subscription = asked.subscription if len(local) == len(paths) else None
    if metadata is not None and "://" not in metadata:
        find_metadata([metadata], {})
    if job.has_unread:  # it looks at more than the partitions that can be read
        looked_at = [each for path in local for each in partitions_of(Path(path), lambda _: None, lambda _: None)]
        there = {parse_topic_partition_name(each) for each in looked_at}
    else:
        found = find_partitions(local, subscription)
        there = {each.topic_partition for each in found}
        if asked.copies == "refuse":
            require_single_copies(each for each in found if asked.subscription.includes(each.topic_partition))
    if subscription is not None:
        subscription.require_assigned(there, ", ".join(local))


def _without_unread(answer: "pa.Table") -> "pa.Table":
    """The findings; what could not be read is told on stderr, as `minikafka verify` does."""
    unread = answer.column("fate").is_null()
    for line in answer.filter(unread).column("what").to_pylist():
        click.echo(line, err=True)
    return answer.filter(answer.column("fate").is_valid())
