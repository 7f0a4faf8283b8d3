"""`minikafka ls`: a log directory at a glance, or one partition of it.

Nothing is changed, created or locked, so the directory may be that of a running broker. For each partition, names and
sizes are read, the last entries of the last segment's indexes, and a few batch headers; `verify` reads everything.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE, RECOVERY_POINT_CHECKPOINT_FILE
from minikafka.common.file_kind import is_there
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE as CLEANER_OFFSET_CHECKPOINT_FILE
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.tools.checkpoints import read_checkpoint
from minikafka.tools.failure import TOLD, describe
from minikafka.tools.interrupted_work import interrupted_work, writes_in
from minikafka.tools.log_dir_entries import (
    STRAY,
    duplicates_beside,
    entries_of,
    is_stray,
    passed_over_in,
    second_directory,
    what_it_stands_for,
)
from minikafka.tools.ls.listing_table import print_listings
from minikafka.tools.ls.partition_listing import Checkpoints, list_partition
from minikafka.tools.printable import tell
from minikafka.tools.recover.undo import NOT_OF_A_RUN_HERE, UNDO, is_of_a_run_here
from minikafka.tools.tool_command import ToolCommand

_CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT_FILE,
    LOG_START_OFFSET_CHECKPOINT_FILE,
    HIGH_WATERMARK_CHECKPOINT_FILE,
    CLEANER_OFFSET_CHECKPOINT_FILE,
)


@click.command(cls=ToolCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def ls(directory: Path, as_json: bool) -> None:
    """List the partitions of the log directory DIR, or show the one in DIR.

    The columns: the offsets from the log's start to its end (exclusive), and the high watermark of the last checkpoint;
    segments and their bytes; the times of the first record on the disk and of the latest one; how far the cleaner has
    come, and the dirty ratio (as without min.compaction.lag.ms and open transactions); and what is odd (`verify` finds
    more). Columns that do not fit the terminal are left out; --json and a pipe get all of them. The exit code is 1 when
    something could not be read, or stdout is closed.
    """
    directory = what_it_stands_for(Path(os.path.abspath(directory)))
    partitions, others = entries_of(directory)
    log_dir = directory.parent if partitions == [directory] else directory
    unread: list[str] = []
    checkpoints = Checkpoints(*(_offsets(log_dir / name, unread.append) for name in _CHECKPOINTS))
    listings = [list_partition(path, checkpoints, unread.append) for path in partitions]
    second = {path.name: second_directory(first) for path, first in duplicates_beside(partitions).items()}
    half_done = interrupted_work(log_dir, unread.append)
    for listing in filter(None, listings):
        if listing.directory in second:
            listing.findings.append(second[listing.directory])
        listing.findings += [work.what for work in half_done if work.concerns(log_dir / listing.directory)]
        kept = log_dir / listing.directory / UNDO
        if os.path.lexists(kept) and not is_of_a_run_here(kept.parent):
            listing.findings.append(f"{UNDO} {NOT_OF_A_RUN_HERE}")
    listings = sorted(filter(None, listings), key=lambda each: (each.topic, each.partition, each.directory))
    clean = CleanShutdownFileHandler(log_dir).exists()
    if as_json:
        told = {"log_dir": str(log_dir), "clean_shutdown": clean, "partitions": list(map(asdict, listings))}
        click.echo(json.dumps({**told, "other_directories": others, "unread": unread}))
    else:
        print_listings(listings, clean)
    for stray in (log_dir / name for name in others if is_stray(log_dir / name)):
        tell(f"{stray}: {STRAY}; the broker does not start", err=True)
    for line in passed_over_in(directory):
        tell(line, err=True)
    for line in writes_in(log_dir) if partitions != [directory] else ():
        tell(line, err=True)
    for line in unread:
        tell(line, err=True)
    if unread:
        sys.exit(1)


def _offsets(file: Path, unread: Callable[[str], None]) -> dict[TopicPartition, int]:
    try:
        return read_checkpoint(file) if is_there(file) else {}
    except TOLD as error:
        unread(describe(error))
        return {}
