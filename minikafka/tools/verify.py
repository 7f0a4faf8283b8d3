"""`minikafka verify`: looks at partition directories, or whole log directories, and changes nothing.

For each finding it tells the file, the byte position, the offset, and what Kafka would do about it at its next start:
that depends on whether the last stop was clean and on the checkpoints beside the partition's directory.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.meta_properties import MetaProperties
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.common.errors import KafkaException
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.tools.failure import describe
from minikafka.tools.partition_verifier import PartitionVerifier
from minikafka.tools.progress_bar import progress_bar
from minikafka.tools.recover import (
    LOG_START_OFFSET_CHECKPOINT_FILE,
    RECOVERY_POINT_CHECKPOINT_FILE,
    checkpointed_offset,
)
from minikafka.tools.segment_verifier import Finding, NextStart
from minikafka.tools.tool_command import ToolCommand

_CHECKPOINTS = {
    RECOVERY_POINT_CHECKPOINT_FILE: "a warning is logged and every recovery point is taken as 0",
    LOG_START_OFFSET_CHECKPOINT_FILE: "a warning is logged and every log starts at its first segment",
    "replication-offset-checkpoint": "the directory goes offline",
    "cleaner-offset-checkpoint": "the directory goes offline",
}
_META_PROPERTIES = "meta.properties"


@click.command(cls=ToolCommand, failure_exit_code=2, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directories", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(directories: tuple[Path, ...], as_json: bool) -> None:
    """Check partition directories, or whole log directories, without changing a byte.

    Exit code: 0 when all is sound, 1 with findings, 2 when something could not be read.
    """
    findings: list[Finding] = []
    unread: list[str] = []
    partitions = []
    for directory in directories:
        try:
            partitions += _partitions_of(directory, findings.append)
        except (RuntimeError, ValueError, OSError) as error:
            unread.append(describe(error))
    with progress_bar("verify", sum(map(_log_bytes, partitions))) as advance:
        for partition in partitions:
            try:
                PartitionVerifier(partition, next_start_of(partition), findings.append, advance).verify()
            except (RuntimeError, ValueError, OSError) as error:
                unread.append(f"{partition}: {describe(error)}")
    _print(partitions, findings, unread, as_json)
    sys.exit(2 if unread else 1 if findings else 0)


def next_start_of(partition: Path) -> NextStart:
    """How Kafka will load the partition, by the marker and the checkpoints of its log directory."""
    partition = Path(os.path.abspath(partition))
    log_dir = partition.parent
    topic_partition = parse_topic_partition_name(partition)
    return NextStart(
        CleanShutdownFileHandler(log_dir).exists(),
        checkpointed_offset(log_dir / RECOVERY_POINT_CHECKPOINT_FILE, topic_partition),
        checkpointed_offset(log_dir / LOG_START_OFFSET_CHECKPOINT_FILE, topic_partition),
    )


def _partitions_of(directory: Path, report: Callable[[Finding], None]) -> list[Path]:
    """The partition directories that `directory` stands for: itself, or all those of a log directory."""
    if not directory.is_dir():
        raise FileNotFoundError(2, "no such directory", str(directory))
    if _is_partition(directory):
        return [directory]
    _verify_log_dir(directory, report)
    partitions = sorted(path for path in directory.iterdir() if path.is_dir() and _is_partition(path))
    if not partitions and not (directory / _META_PROPERTIES).exists():
        raise ValueError(f"{directory} is neither a partition's directory nor a log directory")
    return partitions


def _is_partition(directory: Path) -> bool:
    try:
        parse_topic_partition_name(Path(os.path.abspath(directory)))
    except KafkaException:
        return False
    return any(
        name.endswith((".log", ".swap", ".deleted")) or name == "partition.metadata" for name in os.listdir(directory)
    )


def _verify_log_dir(log_dir: Path, report: Callable[[Finding], None]) -> None:
    for name, fate in _CHECKPOINTS.items():
        file = log_dir / name
        if not file.exists():
            continue
        try:
            OffsetCheckpointFile(file).read()
        except (RuntimeError, ValueError) as error:
            report(Finding(file, None, None, describe(error), fate))
    if (log_dir / _META_PROPERTIES).exists():
        try:
            MetaProperties.read(log_dir / _META_PROPERTIES)
        except (RuntimeError, ValueError, OSError) as error:
            report(Finding(log_dir / _META_PROPERTIES, None, None, describe(error), "the broker does not start"))


def _log_bytes(partition: Path) -> int:
    return sum(file.stat().st_size for file in partition.glob("*.log"))


def _print(partitions: list[Path], findings: list[Finding], unread: list[str], as_json: bool) -> None:
    if as_json:
        told = [{**finding._asdict(), "file": str(finding.file)} for finding in findings]
        click.echo(json.dumps({"partitions": list(map(str, partitions)), "findings": told, "unread": unread}))
        return
    for finding in findings:
        position = "" if finding.position is None else f":{finding.position}"
        offset = "" if finding.offset is None else f" (offset {finding.offset})"
        click.echo(f"{finding.file}{position}: {finding.what}{offset}; at the next start: {finding.next_start}")
    for line in unread:
        click.echo(line, err=True)
    if not findings and not unread:
        click.echo(f"{len(partitions)} partition{'s' if len(partitions) != 1 else ''} sound")
