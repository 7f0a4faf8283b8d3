"""`minikafka recover`: loads a partition directory as Kafka would at its next start, closes it, and says what it did.

What Kafka's `LogManager` knows when it loads a partition comes from files beside the partition directory: whether the
last stop was clean (`.kafka_cleanshutdown`), the recovery point and the log start offset (two checkpoint files).
Options replace each of them. The clock stands still while the log is loaded and closed, and of the background tasks
only those that are due at once are run: files renamed to `.deleted` are left for Kafka's next start.

Damaged bytes are treated as Kafka treats them. Errors of the operating system are not: Kafka takes some of them for
damage and cuts the log there, whereas this tool ends with them, and before it has changed anything if they can be
foreseen (`before_recovery`).

Kafka: `LogManager.loadLogs`, `UnifiedLog.create`.
"""

import fcntl
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

import click

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import IllegalArgumentException, InvalidConfigurationException, KafkaException
from minikafka.common.java_numbers import LONG_MAX, LONG_MIN
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.directory_lock import DirectoryLock
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_checkpoints import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.tools.before_recovery import copied, require_files, require_recoverable
from minikafka.tools.ended_by_signals import ended_by_signals
from minikafka.tools.failure import naming
from minikafka.tools.partition_files import FOLLOW_LINKS, require_regular
from minikafka.tools.progress_bar import LONG_WORK
from minikafka.tools.tool_command import ToolCommand

LOCK_FILE_NAME = ".lock"
_INT64 = click.IntRange(LONG_MIN, LONG_MAX)

logger = logging.getLogger(__name__)


@click.command(cls=ToolCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--config", "configs", multiple=True, metavar="K=V", help="A topic setting, by Kafka's name; repeatable.")
@click.option("--log-start-offset", type=_INT64, help="Instead of the one in log-start-offset-checkpoint.")
@click.option("--recovery-point", type=_INT64, help="Instead of the one in recovery-point-offset-checkpoint.")
@click.option("--clean-shutdown/--unclean-shutdown", "clean", default=None, help="Instead of what the marker tells.")
@click.option("--now-ms", type=_INT64, help="The clock, in ms since 1970, in place of the machine's.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object; for programs, so it asks nothing, as --yes."
)
@click.option("--dry-run", is_flag=True, help="Work on a copy and leave the directory as it is.")
@click.option(
    "--yes",
    is_flag=True,
    help="Change the directory without asking; where there is no terminal, this or --json is needed.",
)
@click.option(FOLLOW_LINKS, is_flag=True, help="Change files that have names elsewhere, too: what links lead to.")
def recover(
    directory: Path,
    configs: tuple[str, ...],
    log_start_offset: int | None,
    recovery_point: int | None,
    clean: bool | None,
    now_ms: int | None,
    as_json: bool,
    dry_run: bool,
    yes: bool,
    follow_links: bool,
) -> None:
    """Load the partition directory DIRECTORY as Kafka would at its next start, and close it."""
    directory = Path(os.path.abspath(directory))
    config = config_of(configs)
    partition = parse_topic_partition_name(directory)
    known = _known_of(directory.parent, partition)
    arguments = {
        "log_start_offset": known["log_start_offset"] if log_start_offset is None else log_start_offset,
        "recovery_point": known["recovery_point"] if recovery_point is None else recovery_point,
        "last_shutdown_clean": known["last_shutdown_clean"] if clean is None else clean,
    }
    if not (dry_run or as_json or yes):
        _ask(directory)
    clock = ManualTime(time.time_ns() // 1_000_000 if now_ms is None else now_ms)
    with (
        _locked(directory.parent),
        _made_ready(directory, config, arguments, follow_links=follow_links, dry_run=dry_run) as place,
    ):
        before = _files(place)
        with _progress(place) as remaining, naming(place):
            state = load_and_close(
                place, config, clock, num_remaining_segments=remaining, stop_at_os_errors=True, **arguments
            )
        changes = _changes(before, _files(place))
    click.echo(json.dumps(state) if as_json else _report(directory, arguments, state, changes, dry_run=dry_run))


def config_of(settings: tuple[str, ...]) -> LogConfig:
    """The settings given as name=value. Warns of a name that Kafka does not have, because it changes nothing."""
    overrides = dict(map(_setting, settings))
    for name in overrides:
        try:
            LogConfig.validate_names({name: None})
        except InvalidConfigurationException as unknown:
            click.echo(f"Warning: {unknown}", err=True)
    return LogConfig(overrides)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise IllegalArgumentException(f"--config takes a setting as name=value, not {text!r}")
    return name, value


def _ask(directory: Path) -> None:
    """Ask for leave. Raises Abort for a no, and ClickException where nobody can be asked."""
    if not sys.stdin.isatty():
        raise click.ClickException(f"{directory} would be changed: pass --yes to agree, or --dry-run to work on a copy")
    click.confirm(f"Load {directory} and change what Kafka would change there?", abort=True, err=True)


@contextmanager
def _made_ready(
    directory: Path, config: LogConfig, arguments: dict, *, follow_links: bool, dry_run: bool
) -> Iterator[Path]:
    """Where to load: the directory or a copy of it, checked for everything known that would stop the load half-way."""
    with ExitStack() as until_the_end:
        place = directory
        with DirectoryLock(directory):  # the log locks what it loads itself
            files = require_files(directory, follow_links=follow_links, in_place=not dry_run)
            if dry_run:
                until_the_end.enter_context(ended_by_signals())
                place = until_the_end.enter_context(copied(directory, files))
            require_recoverable(
                place,
                [place / file.name for file in files],
                config,
                recovery_point=arguments["recovery_point"],
                last_shutdown_clean=arguments["last_shutdown_clean"],
            )
        yield place


def load_and_close(directory: Path, config: LogConfig, clock: ManualTime, **arguments) -> dict:
    """Load the log in `directory`, close it, and return its state as loaded, before the close.

    Keys: log_start_offset, log_end_offset (exclusive), high_watermark, last_stable_offset, recovery_point; segments as
    [base offset, size in bytes]; producers and epochs as lists of objects. Raises what `Log.create` raises.
    """
    scheduler = ManualScheduler(clock)
    log = Log.create(directory, config, scheduler=scheduler, time=clock, **arguments)
    try:
        scheduler.run_due_tasks()
        state = _state_of(log)
        log.close()
        scheduler.run_due_tasks()
    except BaseException:
        log.close_handlers()
        raise
    return state


def _state_of(log: Log) -> dict:
    return {
        "topic": log.topic_partition.topic,
        "partition": log.topic_partition.partition,
        "log_start_offset": log.log_start_offset,
        "log_end_offset": log.log_end_offset,
        "high_watermark": log.high_watermark,
        "last_stable_offset": log.last_stable_offset,
        "recovery_point": log.recovery_point,
        "segments": [[segment.base_offset, segment.size] for segment in log.log_segments],
        "producers": [_producer(entry) for _, entry in sorted(log.producer_state_manager.active_producers.items())],
        "epochs": [
            {"epoch": entry.epoch, "start_offset": entry.start_offset} for entry in log.leader_epoch_cache.epoch_entries
        ],
    }


def _progress(directory: Path) -> AbstractContextManager[dict[str, int] | None]:
    """A progress bar on a terminal, for a log that takes a while."""
    if not sys.stderr.isatty() or sum(file.stat().st_size for file in directory.glob("*.log")) < LONG_WORK:
        return nullcontext()
    from minikafka.tools.recovery_progress import RecoveryProgress

    return RecoveryProgress(directory.name)


def _producer(entry) -> dict:
    return {
        "producer_id": entry.producer_id,
        "producer_epoch": entry.producer_epoch,
        "last_sequence": entry.last_seq,
        "last_offset": entry.last_data_offset,
        "last_timestamp": entry.last_timestamp,
        "coordinator_epoch": entry.coordinator_epoch,
        "current_txn_first_offset": entry.current_txn_first_offset,
    }


def _known_of(log_dir: Path, partition: TopicPartition) -> dict:
    """What the log directory's files say about the partition; a damaged checkpoint counts as empty, as in Kafka."""
    return {
        "log_start_offset": checkpointed_offset(log_dir / LOG_START_OFFSET_CHECKPOINT_FILE, partition),
        "recovery_point": checkpointed_offset(log_dir / RECOVERY_POINT_CHECKPOINT_FILE, partition),
        "last_shutdown_clean": CleanShutdownFileHandler(log_dir).exists(),
    }


def checkpointed_offset(file: Path, partition: TopicPartition) -> int:
    """The partition's offset in a checkpoint file of the log directory; 0 if there is none.

    Raises OSError, with the file's name, when the file cannot be read.
    """
    if not os.path.lexists(file):
        return 0
    require_regular(file, follow_links=True)
    with naming(file):
        return OffsetCheckpointFile(file).read_or_empty().get(partition, 0)


@contextmanager
def _locked(log_dir: Path) -> Iterator[None]:
    """Hold the log directory's `.lock` as a broker would; a directory that no broker has used has no such file."""
    lock_file = log_dir / LOCK_FILE_NAME
    if not os.path.lexists(lock_file):
        yield
        return
    require_regular(lock_file, follow_links=True)
    with open(lock_file, "r+b") as lock:
        try:
            with naming(lock_file):
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise KafkaException(
                f"{lock_file} is held: a broker is running on this log directory, or another recover"
            ) from None
        yield


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


def _report(directory: Path, arguments: dict, state: dict, changes: list[str], *, dry_run: bool) -> str:
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
    return "\n".join(lines)
