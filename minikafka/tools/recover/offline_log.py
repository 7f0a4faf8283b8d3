"""A partition that no broker is using: a tool finds out how it was left, locks it, tries what it will need, loads it
and closes it.
"""

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

import click

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import (
    LOG_START_OFFSET_CHECKPOINT_FILE,
    RECOVERY_POINT_CHECKPOINT_FILE,
)
from minikafka.common.errors import IllegalArgumentException, InvalidConfigurationException
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic import CLUSTER_METADATA_DIRECTORY, CLUSTER_METADATA_TOPIC_NAME
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.checkpointed_offset import checkpointed_offset
from minikafka.log.directory_lock import DirectoryLock
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_lock import LOCK_FILE_NAME, LogDirLock
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX
from minikafka.log.partition_files import require_regular
from minikafka.tools.broker_user import as_readable_as_segments, require_files_for_owner
from minikafka.tools.failure import naming
from minikafka.tools.printable import printable, tell
from minikafka.tools.progress_bar import LONG_WORK
from minikafka.tools.recover.before_recovery import copied, require_files, require_recoverable
from minikafka.tools.recover.undo import Expected, require_nothing_to_undo_there, take_back, undoable
from minikafka.tools.verify.findings import NextStart
from minikafka.tools.verify.metadata_snapshots import require_snapshots
from minikafka.tools.verify.rehearsal import Outcome, Rehearsal


def config_of(settings: tuple[str, ...], defaults: Mapping[str, object] | None = None) -> LogConfig:
    """The settings given as name=value, on top of the `defaults`.

    Warns of a name that Kafka does not have, because it changes nothing.
    """
    overrides = dict(map(_setting, settings))
    warn_of_unknown_names(overrides)
    return LogConfig({**(defaults or {}), **overrides})


def require_no_remote_tier(directory: Path, config: LogConfig) -> None:
    """Raises IllegalArgumentException where a remote tier has the beginning of the log: a start keeps the log start and
    the epochs that are there, and here nobody knows of them. Kafka: `UnifiedLog.isRemoteLogEnabled`.
    """
    if config.values["remote.storage.enable"]:
        raise IllegalArgumentException(
            f"{directory}: the topic has remote.storage.enable=true, so the log may begin in a remote tier, which is "
            "not looked at here; if it does not, say so with remote.storage.enable=false"
        )


def warn_of_unknown_names(settings: Iterable[str]) -> None:
    """Tell of each name that Kafka does not have, because it changes nothing."""
    for name in settings:
        try:
            LogConfig.validate_names({name: None})
        except InvalidConfigurationException as unknown:
            tell(f"Warning: {unknown}", err=True)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise IllegalArgumentException(f"--config takes a setting as name=value, not {text!r}")
    return name, value


def known_of(log_dir: Path, partition: TopicPartition) -> dict:
    """What the log directory's files say about the partition; a damaged checkpoint counts as empty, as in Kafka.

    They say nothing of the metadata log, which Kafka loads as after a kill whatever they are. Kafka: `KafkaRaftLog`.
    """
    if partition.topic == CLUSTER_METADATA_TOPIC_NAME:
        return {"log_start_offset": 0, "recovery_point": 0, "last_shutdown_clean": False}
    return {
        "log_start_offset": _noted(log_dir / LOG_START_OFFSET_CHECKPOINT_FILE, partition),
        "recovery_point": _noted(log_dir / RECOVERY_POINT_CHECKPOINT_FILE, partition),
        "last_shutdown_clean": CleanShutdownFileHandler(log_dir).exists(),
    }


def _noted(file: Path, partition: TopicPartition) -> int:
    with naming(file):
        return checkpointed_offset(file, partition)


@contextmanager
def taken(directory: Path, *, in_place: bool, follow_links: bool) -> Iterator[None]:
    """Keep brokers and other tools out of the log directory of a partition's directory; what an interrupted run left
    there is undone first if this one works `in_place` (`take_back`).

    A directory that is a link lies in another log directory, too, which another broker may use: that one is locked as
    well. Raises IOException for a link unless links are followed or nothing is changed, and for a user who could not
    leave what is made there to the broker's.
    """
    log_dir, lies_in = directory.parent, Path(os.path.realpath(directory)).parent
    if in_place and not follow_links:
        require_no_link(directory)
    with ExitStack() as until_the_end:
        if in_place:
            require_files_for_owner(directory)
            until_the_end.enter_context(as_readable_as_segments(directory))
        until_the_end.enter_context(locked(log_dir, in_place=in_place))
        if lies_in != Path(os.path.realpath(log_dir)):
            until_the_end.enter_context(locked(lies_in, in_place=in_place))
        if in_place:
            until_the_end.enter_context(DirectoryLock(log_dir))
            require_nothing_to_undo_there(directory)
            take_back(log_dir, [directory], follow_links=follow_links)
        yield


def require_no_link(directory: Path) -> None:
    """Raises IOException, which names `--follow-links`, for a partition whose directory is a link."""
    if directory.is_symlink():
        require_regular(directory, follow_links=False)


@contextmanager
def locked(log_dir: Path, *, in_place: bool) -> Iterator[None]:
    """Hold the log directory's `.lock` as a broker would (`LogDirLock`).

    Who does not work `in_place` holds it together with others of that kind, and also where nothing can be written.
    """
    with naming(log_dir / LOCK_FILE_NAME):
        lock = LogDirLock(log_dir, shared=not in_place, changes=in_place)
    with lock:
        yield


def ask(question: str, directory: Path) -> None:
    """Ask for leave. Raises Abort for a no, and ClickException where nobody can be asked."""
    if not sys.stdin.isatty():
        raise click.ClickException(f"{directory} would be changed: pass --yes to agree, or --dry-run to work on a copy")
    click.confirm(printable(question), abort=True, err=True)


@contextmanager
def made_ready(
    directory: Path,
    config: LogConfig,
    now_ms: int,
    arguments: dict,
    *,
    follow_links: bool,
    dry_run: bool,
    staying: Collection[str] | None = None,
    noted: Mapping[str, int] | None = None,
) -> Iterator[Path]:
    """Where to load: the directory or a copy of it, checked for everything known that would stop the load half-way.

    `staying`: the names of the segments that the block leaves, None where it only loads. `noted`: the offsets that it
    notes of the partition, by the names of the checkpoints.
    If the block fails, the directory is as it was before (`undoable`). It is `taken`.
    """
    require_no_remote_tier(directory, config)
    with ExitStack() as until_the_end:
        place = directory
        with DirectoryLock(directory):  # the log locks what it loads itself
            files = require_files(directory, follow_links=follow_links, in_place=not dry_run)
            if directory.name == CLUSTER_METADATA_DIRECTORY:
                with naming(directory):
                    require_snapshots(directory)
            if dry_run:
                place = until_the_end.enter_context(copied(directory, files))
            require_recoverable(
                place,
                [place / file.name for file in files],
                config,
                recovery_point=arguments["recovery_point"],
                last_shutdown_clean=arguments["last_shutdown_clean"],
            )
            if not dry_run:
                next_start = NextStart(
                    arguments["last_shutdown_clean"],
                    arguments["recovery_point"],
                    arguments["log_start_offset"],
                    config,
                    now_ms,
                )
                with naming(directory):
                    expected = expected_of(Rehearsal(directory, files, next_start).run(), noted or {})
                if staying is not None:
                    expected = expected._replace(staying=set(expected.staying) & set(staying))
                until_the_end.enter_context(
                    undoable(directory.parent, {directory: files}, {directory: expected}, takes_mark=True)
                )
        yield place


def expected_of(outcome: Outcome, noted: Mapping[str, int]) -> Expected:
    """What a run that only loads the partition makes of it."""
    made = {name for name in (*outcome.made, *outcome.renamed.values()) if name.endswith(LOG_FILE_SUFFIX)}
    return Expected(outcome.cut, outcome.segments - outcome.deleted - outcome.renamed.keys(), made, noted)


@contextmanager
def loaded(directory: Path, config: LogConfig, clock: ManualTime, **arguments) -> Iterator[tuple[Log, ManualScheduler]]:
    """The log in `directory`, loaded, and closed at the end; background tasks that are due at once are run.

    Raises what `Log.create` raises. After a failure only its files are closed.
    """
    scheduler = ManualScheduler(clock)
    log = Log.create(directory, config, scheduler=scheduler, time=clock, **arguments)
    try:
        scheduler.run_due_tasks()
        yield log, scheduler
        log.close()
        scheduler.run_due_tasks()
    except BaseException:
        log.close_handlers()
        raise


def recovery_progress(directory: Path) -> AbstractContextManager[dict[str, int] | None]:
    """A progress bar on a terminal, for a log that takes a while."""
    if not sys.stderr.isatty() or sum(file.stat().st_size for file in directory.glob("*.log")) < LONG_WORK:
        return nullcontext()
    from minikafka.tools.recover.recovery_progress import RecoveryProgress

    return RecoveryProgress(printable(directory.name))
