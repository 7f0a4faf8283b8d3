"""`minikafka recover`: loads a partition directory as Kafka would at its next start, closes it, says what it did.

What Kafka's `LogManager` knows when it loads a partition comes from files beside the partition directory: whether the
last stop was clean (`.kafka_cleanshutdown`), the recovery point and the log start offset (two checkpoint files). Options
replace each of them. The clock stands still while the log is loaded and closed, and of the background tasks only those
that are due at once are run: files renamed to `.deleted` are left for Kafka's next start.

Kafka: `LogManager.loadLogs`, `UnifiedLog.create`.
"""

import fcntl
import json
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import click

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.tools.failure import describe
from minikafka.tools.progress_bar import LONG_WORK
from minikafka.tools.tool_command import ToolCommand

LOCK_FILE_NAME = ".lock"
RECOVERY_POINT_CHECKPOINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT_FILE = "log-start-offset-checkpoint"
_INT64 = click.IntRange(-(2**63), 2**63 - 1)

logger = logging.getLogger(__name__)


@click.command(cls=ToolCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--config", "configs", multiple=True, metavar="K=V", help="A topic setting, by Kafka's name; repeatable.")
@click.option("--log-start-offset", type=_INT64, help="Instead of the one in log-start-offset-checkpoint.")
@click.option("--recovery-point", type=_INT64, help="Instead of the one in recovery-point-offset-checkpoint.")
@click.option("--clean-shutdown/--unclean-shutdown", "clean", default=None, help="Instead of what the marker tells.")
@click.option("--now-ms", type=_INT64, help="The clock, in ms since 1970, in place of the machine's.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; asks nothing.")
@click.option("--dry-run", is_flag=True, help="Work on a copy and leave the directory as it is.")
@click.option("--yes", is_flag=True, help="Do not ask before the directory is changed.")
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
) -> None:
    """Load the partition directory DIRECTORY as Kafka would at its next start, and close it."""
    directory = Path(os.path.abspath(directory))
    try:
        config = LogConfig(dict(_setting(text) for text in configs))
        partition = parse_topic_partition_name(directory)
        known = _known_of(directory.parent, partition)
        arguments = {
            "log_start_offset": known["log_start_offset"] if log_start_offset is None else log_start_offset,
            "recovery_point": known["recovery_point"] if recovery_point is None else recovery_point,
            "last_shutdown_clean": known["last_shutdown_clean"] if clean is None else clean,
        }
        if not (dry_run or as_json or yes) and sys.stdin.isatty():
            click.confirm(f"Load {directory} and change what Kafka would change there?", abort=True, err=True)
        clock = ManualTime(time.time_ns() // 1_000_000 if now_ms is None else now_ms)
        with _locked(directory.parent), _copied(directory) if dry_run else _as_it_is(directory) as place:
            before = _files(place)
            with _progress(place) as remaining:
                state = load_and_close(place, config, clock, num_remaining_segments=remaining, **arguments)
            changes = _changes(before, _files(place))
    except (RuntimeError, ValueError, IndexError, OSError) as error:
        click.echo(describe(error), err=True)
        sys.exit(1)
    click.echo(json.dumps(state) if as_json else _report(directory, arguments, state, changes, dry_run))


def load_and_close(directory: Path, config: LogConfig, clock: ManualTime, **arguments) -> dict:
    """Load the log in `directory`, close it, and tell its state as loaded, before the close.

    Keys: log_start_offset, log_end_offset (exclusive), high_watermark, last_stable_offset, recovery_point; segments as
    [base offset, size in bytes]; producers and epochs as lists of objects. Raises what `Log.create` raises.
    """
    scheduler = ManualScheduler(clock)
    log = Log.create(directory, config, scheduler=scheduler, time=clock, **arguments)
    scheduler.run_due_tasks()
    state = {
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
    log.close()
    scheduler.run_due_tasks()
    return state


def _progress(directory: Path) -> AbstractContextManager[dict[str, int] | None]:
    """A bar on a terminal for a log that takes a while."""
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


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--config takes a setting as name=value, not {text!r}")
    return name, value


def _known_of(log_dir: Path, partition: TopicPartition) -> dict:
    """What the files of the log directory tell of the partition; a damaged checkpoint counts as empty, as in Kafka."""
    return {
        "log_start_offset": checkpointed_offset(log_dir / LOG_START_OFFSET_CHECKPOINT_FILE, partition),
        "recovery_point": checkpointed_offset(log_dir / RECOVERY_POINT_CHECKPOINT_FILE, partition),
        "last_shutdown_clean": CleanShutdownFileHandler(log_dir).exists(),
    }


def checkpointed_offset(file: Path, partition: TopicPartition) -> int:
    """The offset that a checkpoint file of the log directory has for the partition; 0 if there is none."""
    if not file.exists():
        return 0
    try:
        return OffsetCheckpointFile(file).read().get(partition, 0)
    except (RuntimeError, ValueError, OSError) as error:
        logger.warning("Error occurred while reading %s, taking 0 for %s: %s", file, partition, error)
        return 0


@contextmanager
def _locked(log_dir: Path) -> Iterator[None]:
    """Hold the log directory's `.lock` as a broker would; a directory that never had a broker has none."""
    lock_file = log_dir / LOCK_FILE_NAME
    if not lock_file.exists():
        yield
        return
    with open(lock_file, "r+b") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RuntimeError(f"{lock_file} is held: a broker is running on this log directory") from None
        yield


@contextmanager
def _copied(directory: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="minikafka-recover-") as scratch:
        copy = Path(scratch) / directory.name
        shutil.copytree(directory, copy)
        yield copy


@contextmanager
def _as_it_is(directory: Path) -> Iterator[Path]:
    yield directory


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


def _report(directory: Path, arguments: dict, state: dict, changes: list[str], dry_run: bool) -> str:
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
