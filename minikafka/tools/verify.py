"""`minikafka verify`: checks partition directories, or whole log directories, and changes nothing.

For each finding it reports the file, the byte position, the offset, and what Kafka would do about it at its next start,
which depends on whether the last stop was clean and on the checkpoints beside the partition's directory.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME, MetaProperties
from minikafka.common.errors import IllegalArgumentException
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE as CLEANER_OFFSET_CHECKPOINT_FILE
from minikafka.log.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_checkpoints import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.partition_files import FOLLOW_LINKS, require_regular
from minikafka.tools.checkpoints import checkpointed_offsets, read_checkpoint
from minikafka.tools.ended_by_signals import ended_by_signals
from minikafka.tools.failure import TOLD, describe, one_line
from minikafka.tools.findings import Fate, Finding, NextStart
from minikafka.tools.log_dir_entries import has_name_of_partition
from minikafka.tools.offline_log import config_of
from minikafka.tools.partition_verifier import PartitionVerifier
from minikafka.tools.progress_bar import progress_bar
from minikafka.tools.read_bounded import require_bounded
from minikafka.tools.tool_command import ToolCommand

_CHECKPOINTS = {
    RECOVERY_POINT_CHECKPOINT_FILE: (Fate.WARNED_OF, "a warning is logged and every recovery point is taken as 0"),
    LOG_START_OFFSET_CHECKPOINT_FILE: (
        Fate.WARNED_OF,
        "a warning is logged and every log starts at its first segment",
    ),
    HIGH_WATERMARK_CHECKPOINT_FILE: (Fate.OFFLINE, "the directory goes offline"),
    CLEANER_OFFSET_CHECKPOINT_FILE: (Fate.OFFLINE, "the directory goes offline"),
}


@click.command(cls=ToolCommand, failure_exit_code=2, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directories", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option("--config", "configs", multiple=True, metavar="K=V", help="A topic setting, by Kafka's name; repeatable.")
@click.option(FOLLOW_LINKS, is_flag=True, help="Read files that are symbolic links.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(directories: tuple[Path, ...], configs: tuple[str, ...], follow_links: bool, as_json: bool) -> None:
    """Check partition directories, or whole log directories, without changing a byte.

    Exit code: 0 when all is sound, 1 with findings, 2 when something could not be read.
    """
    config = config_of(configs)
    findings: list[Finding] = []
    unread: list[str] = []
    partitions: list[Path] = []
    log_dirs: dict[Path, LogDir] = {}
    _allow_many_open_files()
    for directory in directories:
        try:
            partitions += _partitions_of(directory, findings.append, unread.append)
        except TOLD as error:
            unread.append(describe(error))
    with ended_by_signals(), progress_bar("verify", sum(map(_log_bytes, partitions))) as advance:
        for partition in partitions:
            try:
                log_dir = Path(os.path.abspath(partition)).parent
                if log_dir not in log_dirs:
                    log_dirs[log_dir] = LogDir(log_dir)
                next_start = log_dirs[log_dir].next_start_of(partition, config)
                PartitionVerifier(
                    partition,
                    next_start,
                    report=findings.append,
                    unread=unread.append,
                    advance=advance,
                    follow_links=follow_links,
                ).verify()
            except TOLD as error:
                unread.append(f"{partition}: {describe(error)}")
    exit_code = 2 if unread else 1 if findings else 0
    try:
        _print(partitions, findings, unread, as_json)
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # whoever reads has enough; the exit code stays true
    sys.exit(exit_code)


class LogDir:
    """What the files of a log directory say about its partitions: how Kafka will load them.

    Raises OSError when one of them cannot be read; a damaged checkpoint counts as empty, as in Kafka.
    """

    def __init__(self, directory: Path):
        self._clean = CleanShutdownFileHandler(directory).exists()
        self._recovery_points = checkpointed_offsets(directory / RECOVERY_POINT_CHECKPOINT_FILE)
        self._log_start_offsets = checkpointed_offsets(directory / LOG_START_OFFSET_CHECKPOINT_FILE)

    def next_start_of(self, partition: Path, config: LogConfig) -> NextStart:
        """How Kafka will load the partition; `config` has the settings of its topic."""
        topic_partition = parse_topic_partition_name(Path(os.path.abspath(partition)))
        return NextStart(
            self._clean,
            self._recovery_points.get(topic_partition, 0),
            self._log_start_offsets.get(topic_partition, 0),
            config,
            time.time_ns() // 1_000_000,
        )


def _partitions_of(directory: Path, report: Callable[[Finding], None], unread: Callable[[str], None]) -> list[Path]:
    """The partition directories that `directory` stands for: itself, or all those of a log directory."""
    if not directory.is_dir():
        raise FileNotFoundError(2, "no such directory", str(directory))
    if has_name_of_partition(directory) and _is_partition(directory):
        return [directory]
    _verify_log_dir(directory, report, unread)
    partitions = []
    for name in sorted(os.listdir(directory)):
        path = directory / name
        try:
            if has_name_of_partition(path) and path.is_dir() and _is_partition(path):
                partitions.append(path)
        except OSError as error:
            unread(describe(error))
    if not partitions and not (directory / META_PROPERTIES_NAME).exists():
        raise IllegalArgumentException(f"{directory} is neither a partition's directory nor a log directory")
    return partitions


def _is_partition(directory: Path) -> bool:
    """True if it contains a file of a partition, or cannot be listed."""
    try:
        names = os.listdir(directory)
    except PermissionError:
        return True
    return any(name.endswith((".log", ".swap", ".deleted")) or name == "partition.metadata" for name in names)


def _verify_log_dir(log_dir: Path, report: Callable[[Finding], None], unread: Callable[[str], None]) -> None:
    for name, fate in _CHECKPOINTS.items():
        _verify_file(log_dir / name, read_checkpoint, fate, report, unread)
    fate = Fate.OFFLINE, "the broker does not start"
    _verify_file(log_dir / META_PROPERTIES_NAME, _read_meta_properties, fate, report, unread)


def _verify_file(
    file: Path,
    read: Callable[[Path], object],
    fate: tuple[Fate, str],
    report: Callable[[Finding], None],
    unread: Callable[[str], None],
) -> None:
    try:
        if os.path.lexists(file):
            read(file)
    except (OSError, MemoryError) as error:
        unread(describe(error))
    except (RuntimeError, ValueError) as error:
        report(Finding(file, None, None, describe(error), *fate))


def _read_meta_properties(file: Path) -> None:
    require_regular(file, follow_links=True)
    MetaProperties.read(require_bounded(file))


def _log_bytes(partition: Path) -> int:
    """The bytes of all segments, for the progress bar; what cannot be seen is reported later."""
    try:
        with os.scandir(partition) as entries:
            return sum(e.stat().st_size for e in entries if e.name.endswith(".log") and e.is_file())
    except OSError:
        return 0


def _allow_many_open_files() -> None:
    """Raise the limit of open files: a load holds every segment open, maybe more than the soft limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _print(partitions: list[Path], findings: list[Finding], unread: list[str], as_json: bool) -> None:
    if as_json:
        told = [{**f._asdict(), "file": str(f.file), "fate": f.fate.value} for f in findings]
        click.echo(json.dumps({"partitions": list(map(str, partitions)), "findings": told, "unread": unread}))
        return
    for finding in findings:
        position = "" if finding.position is None else f":{finding.position}"
        offset = "" if finding.offset is None else f" (offset {finding.offset})"
        told = f"{finding.file}{position}: {finding.what}{offset}; at the next start: {finding.next_start}"
        click.echo(one_line(told))
    for line in unread:
        click.echo(one_line(line), err=True)
    if not findings and not unread:
        click.echo(f"{len(partitions)} partition{'s' if len(partitions) != 1 else ''} sound")
