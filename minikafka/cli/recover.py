"""`minikafka recover`: loads a partition directory as Kafka would at its next start, closes it, and says what it did.

For a whole log directory, `recover_log_dir` does this.

What Kafka's `LogManager` knows when it loads a partition comes from files beside the partition directory: whether the
last stop was clean (`.kafka_cleanshutdown`), the recovery point and the log start offset (two checkpoint files).
Options replace each of them. The clock stands still while the log is loaded and closed, and of the background tasks
only those that are due at once are run: files renamed to `.deleted` are left for Kafka's next start.

Damaged bytes are treated as Kafka treats them. Errors of the operating system are not: Kafka takes some of them for
damage and cuts the log there, whereas this tool ends with them, and before it has changed anything if they can be
foreseen (`before_recovery`).

Kafka: `LogManager.loadLogs`, `UnifiedLog.create`.
"""

import json
import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import click

from minikafka.common.java.java_numbers import LONG_MAX, LONG_MIN
from minikafka.common.time import ManualTime
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_name import parse_topic_partition_name, partition_directories
from minikafka.tools.ended_by_signals import ended_by_signals
from minikafka.tools.failure import TOLD, naming
from minikafka.tools.log_dir_entries import is_log_dir, passed_over_in, what_it_stands_for
from minikafka.tools.printable import tell
from minikafka.tools.recover.cluster_settings import known_cluster_settings
from minikafka.tools.recover.log_state import state_of
from minikafka.tools.recover.offline_log import ask, config_of, known_of, loaded, made_ready, recovery_progress, taken
from minikafka.tools.recover.recover_log_dir import Recovered, recover_log_dir, settings_of, topic_configs_of
from minikafka.tools.tool_command import AS_JSON, CHANGE_LINKED_FILES, YES, ToolCommand, report_of_what_is_done
from minikafka.tools.verify.log_dir_state import LogDir, what_ends_a_start

INT64 = click.IntRange(LONG_MIN, LONG_MAX)


@click.command(cls=ToolCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--config", "configs", multiple=True, metavar="K=V", help="A topic setting, by Kafka's name; repeatable.")
@click.option(
    "--topic-config",
    "topic_configs",
    multiple=True,
    metavar="TOPIC:K=V",
    help="A setting of one topic of a log directory; repeatable.",
)
@click.option(
    "--broker-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The server.properties of the broker whose log directory it is.",
)
@click.option("--threads", type=click.IntRange(1, 64), help="So many logs of a log directory are loaded at a time.")
@click.option("--log-start-offset", type=INT64, help="Instead of the one in log-start-offset-checkpoint.")
@click.option("--recovery-point", type=INT64, help="Instead of the one in recovery-point-offset-checkpoint.")
@click.option("--clean-shutdown/--unclean-shutdown", "clean", default=None, help="Instead of what the marker tells.")
@click.option("--now-ms", type=INT64, help="The clock, in ms since 1970, in place of the machine's.")
@AS_JSON
@click.option("--dry-run", is_flag=True, help="Work on a copy and leave the directory as it is.")
@YES
@CHANGE_LINKED_FILES
def recover(
    directory: Path,
    configs: tuple[str, ...],
    topic_configs: tuple[str, ...],
    broker_config: Path | None,
    threads: int | None,
    log_start_offset: int | None,
    recovery_point: int | None,
    clean: bool | None,
    now_ms: int | None,
    as_json: bool,
    dry_run: bool,
    yes: bool,
    follow_links: bool,
) -> None:
    """Load DIRECTORY, that of a partition or a whole log directory, as Kafka would at its next start, and close it.

    A log directory is loaded with the given settings, or else with those in the metadata log that it holds, or else
    with Kafka's defaults. If the load of a partition would fail, nothing is changed, and the exit code is 1. It is 3
    when all is done, and a signal or its output has stopped the report.
    """
    directory = Path(os.path.abspath(directory))
    if dry_run or follow_links:  # else a link is refused, by its own name
        directory = what_it_stands_for(directory)
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    for line in passed_over_in(directory):
        tell(f"Warning: {line}", err=True)
    if is_log_dir(directory):
        _only_for(
            "a partition's directory", {"--log-start-offset": log_start_offset, "--recovery-point": recovery_point}
        )
        overrides = config_of(configs).props
        settings = settings_of(directory, broker_config, topic_configs_of(topic_configs, directory), overrides, threads)
        _warn_of_a_start(directory, None)
        if not (dry_run or as_json or yes):
            ask(f"Load all of {directory} and change what Kafka would change there?", directory)
        with ended_by_signals():
            recovered = recover_log_dir(directory, settings, now_ms, clean, follow_links=follow_links, dry_run=dry_run)
            is_changed = not (dry_run or recovered.offline or recovered.refused)
            with report_of_what_is_done(directory) if is_changed else nullcontext():
                _tell(directory, recovered, as_json=as_json, dry_run=dry_run)
        return
    _only_for(
        "a log directory", {"--topic-config": topic_configs, "--broker-config": broker_config, "--threads": threads}
    )
    partition = parse_topic_partition_name(directory)
    config = config_of(configs, _noted_tier(directory.parent, partition.topic))
    _warn_of_a_start(directory.parent, directory)
    if not (dry_run or as_json or yes):
        ask(f"Load {directory} and change what Kafka would change there?", directory)
    with ended_by_signals():
        with taken(directory, in_place=not dry_run, follow_links=follow_links):
            known = known_of(directory.parent, partition)
            arguments = {
                "log_start_offset": known["log_start_offset"] if log_start_offset is None else log_start_offset,
                "recovery_point": known["recovery_point"] if recovery_point is None else recovery_point,
                "last_shutdown_clean": known["last_shutdown_clean"] if clean is None else clean,
            }
            with made_ready(directory, config, now_ms, arguments, follow_links=follow_links, dry_run=dry_run) as place:
                before = _files(place)
                with recovery_progress(place) as remaining, naming(place):
                    state = load_and_close(
                        place,
                        config,
                        ManualTime(now_ms),
                        num_remaining_segments=remaining,
                        stop_at_os_errors=True,
                        **arguments,
                    )
                changes = _changes(before, _files(place))
        with nullcontext() if dry_run else report_of_what_is_done(directory):
            if as_json:
                click.echo(json.dumps(state))
                return
            for line in _report(directory, arguments, state, changes, dry_run=dry_run):
                tell(line)


def _noted_tier(log_dir: Path, topic: str) -> dict[str, object]:
    """Whether a topic has a remote tier, where the metadata log beside it says so."""
    cluster = known_cluster_settings(log_dir)
    settings = {} if cluster is None else cluster.topics.get(topic, {})
    return {name: value for name, value in settings.items() if name == "remote.storage.enable"}


def _warn_of_a_start(log_dir: Path, partition: Path | None) -> None:
    """Tell of what a broker that starts in the log directory puts aside, and of what ends that start. `partition`: the
    one that matters, None for the whole log directory.

    Nothing is told where the log directory cannot be read: that ends the load.
    """
    try:
        known = LogDir(log_dir)
        for finding in what_ends_a_start(log_dir, known) if partition is None else []:
            tell(f"Warning: {finding.file}: {finding.what}; with it no broker starts here", err=True)
        for each in [path for path, _ in partition_directories(log_dir)] if partition is None else [partition]:
            if (why := known.why_stray(each)) is not None:
                tell(f"Warning: {each}: {why}: a broker that starts here puts it aside as a stray", err=True)
    except TOLD:
        pass


def _only_for(what: str, options: dict[str, object]) -> None:
    """Raises UsageError for an option that was given."""
    for name, value in options.items():
        if value not in (None, ()):
            raise click.UsageError(f"{name} is for {what}")


def _tell(log_dir: Path, recovered: Recovered, *, as_json: bool, dry_run: bool) -> None:
    """Print what became of a log directory. Raises SystemExit when nothing was done."""
    failed = [*recovered.offline, *recovered.refused]
    if as_json:
        refusals = {name: [each._asdict() for each in getattr(recovered, name)] for name in ("offline", "refused")}
        told = {"log_dir": str(log_dir), "partitions": recovered.partitions, "put_aside": recovered.put_aside}
        click.echo(json.dumps({**told, **refusals}))
    elif not failed:
        tell(f"{log_dir}: loaded and closed" + (", on a copy" if dry_run else ""))
        for state in recovered.partitions:
            size = sum(size for _, size in state["segments"])
            tell(
                f"  {state['topic']}-{state['partition']}: offsets {state['log_start_offset']} to"
                f" {state['log_end_offset']}, segments {len(state['segments'])}, bytes {size}"
            )
    for refusal in failed:
        tell(f"{log_dir / refusal.name}: {refusal.error}", err=True)
    if failed:
        sys.exit(1)


def load_and_close(directory: Path, config: LogConfig, clock: ManualTime, **arguments) -> dict:
    """Load the log in `directory`, close it, and tell its state as loaded, before the close.

    Keys: log_start_offset, log_end_offset (exclusive), high_watermark, last_stable_offset, recovery_point; segments as
    [base offset, size in bytes]; producers and epochs as lists of objects. Raises what `Log.create` raises.
    """
    with loaded(directory, config, clock, **arguments) as (log, _):
        return state_of(log)


def _files(directory: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in directory.iterdir() if file.is_file()}


def _changes(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """A line for each file that came, went or has another size."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None:
            lines.append(f"new      {name} ({new} bytes)")
        elif new is None:
            lines.append(f"gone     {name}")
        elif old != new:
            lines.append(f"resized  {name} ({old} -> {new} bytes)")
    return lines


def _report(directory: Path, arguments: dict, state: dict, changes: list[str], *, dry_run: bool) -> list[str]:
    stop = "a clean" if arguments["last_shutdown_clean"] else "an unclean"
    lines = [
        f"{directory}: loaded as after {stop} stop" + (", on a copy" if dry_run else ""),
        f"  given: log start offset {arguments['log_start_offset']}, recovery point {arguments['recovery_point']}",
    ]
    for key in ("log_start_offset", "last_stable_offset", "high_watermark", "log_end_offset", "recovery_point"):
        lines.append(f"  {key.replace('_', ' '):18} {state[key]}")
    lines.append("  segments           " + ", ".join(f"{base} ({size} bytes)" for base, size in state["segments"]))
    lines.append(
        "  epochs             "
        + (", ".join(f"{e['epoch']} from {e['start_offset']}" for e in state["epochs"]) or "none")
    )
    lines.append(f"  producers          {len(state['producers'])}")
    lines += [f"  {change}" for change in changes] or ["  no file was added, removed or resized"]
    return lines
