"""Marks in a log directory of work that is half done: by a run that was interrupted, or by one that is at it right now.

Two kinds of runs leave some. `write_log_dir` moves a topic's new partitions to their places, one after the other; the
next write carries the rest through. `recover` and `clean` change partitions in place; the next one undoes that, see
`undo`. Until then nobody has meant what stands there.
"""

import json
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from minikafka.common.errors import IOException
from minikafka.common.java.java_numbers import INT_MAX
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.partition_files import require_regular
from minikafka.tools.failure import TOLD, describe
from minikafka.tools.log_dir_entries import PUT_ASIDE, is_mark_of_write
from minikafka.tools.process_id import ProcessId
from minikafka.tools.read_bounded import read_bounded
from minikafka.tools.recover.undo import KEPT_IN, UNDO, interrupted_in


class InterruptedWork(NamedTuple):
    """A mark, `file`, and what it says, in words; `topic` is the one that is written, None for a run that changes the
    `partitions` of these names in place."""

    file: Path
    topic: str | None
    what: str
    partitions: Collection[str] = ()

    def concerns(self, partition_dir: Path) -> bool:
        """Whether the partition in the same log directory may be half done."""
        if self.topic is None:
            return partition_dir.name in self.partitions
        is_aside = partition_dir.name.endswith(PUT_ASIDE)
        return not is_aside and parse_topic_partition_name(partition_dir).topic == self.topic


def is_mark(name: str) -> bool:
    """Whether a file of that name in a log directory may be a mark of interrupted work."""
    return name in (UNDO, KEPT_IN) or is_mark_of_write(name)


def interrupted_work(log_dir: Path, unread: Callable[[str], None]) -> list[InterruptedWork]:
    """What is half done in a log directory; `unread` is called with what cannot be read. Raises OSError."""
    try:
        names = sorted(filter(is_mark, os.listdir(log_dir)))
    except PermissionError:  # what lies in it can be opened by its name all the same
        return []
    found = []
    for name in names:
        file = log_dir / name
        try:
            if name in (UNDO, KEPT_IN):
                if name == KEPT_IN and UNDO in names:
                    continue
                then = "undoes it" if name == UNDO else "clears up after it"
                what = f"a run of recover or clean was interrupted, or is under way: the next one {then}"
                found.append(InterruptedWork(file, None, what, interrupted_in(log_dir)))
            elif (topic := topic_in_part(file)) is not None:
                what = f"a write of topic {topic} was interrupted, or is under way: its partitions may be old and new"
                found.append(InterruptedWork(file, topic, what))
        except FileNotFoundError:  # the write has just ended
            continue
        except TOLD as error:
            unread(describe(error))
    return found


def writes_in(log_dir: Path) -> list[str]:
    """Which writes have left a mark in a log directory, and whether their processes still run, each on a line.

    A mark that cannot be read is left out: `interrupted_work` tells of it. Raises OSError.
    """
    lines = []
    for name in sorted(filter(is_mark_of_write, os.listdir(log_dir))):
        try:
            topic, is_committed, owner = _write_that_left(log_dir / name)
        except TOLD:
            continue
        process = f"process {owner.pid} on {owner.host}"
        if owner.may_be_alive:
            what = f"{process} is writing topic {topic}" + ("" if owner.is_of_this_machine else ", if it still runs")
        else:
            then = "finishes that" if is_committed else "removes what it left"
            what = f"{process} was ended while it wrote topic {topic}: the next write into the log directory {then}"
        lines.append(f"{log_dir / name}: {what}")
    return lines


def topic_in_part(mark: Path) -> str | None:
    """The topic of which a write moves the partitions to their places; None for a write that has not begun to.

    Raises FileNotFoundError for a mark that is gone, IOException for what no write has left; OSError.
    """
    topic, is_committed, _ = _write_that_left(mark)
    return topic if is_committed else None


def _write_that_left(mark: Path) -> tuple[str, bool, ProcessId]:
    """The topic of a write, whether all its partitions are complete, and its process. Raises as `topic_in_part`."""
    require_regular(mark)
    try:
        told = json.loads(read_bounded(mark))
        topic, committed, owner = told["topic"], told["committed"], ProcessId(**told["owner"])
        is_owner = [type(each) for each in owner] == [str, int, str] and 0 < owner.pid <= INT_MAX
        if isinstance(topic, str) and is_owner and (committed is None or committed and isinstance(committed, list)):
            return topic, committed is not None, owner
    except (ValueError, TypeError, LookupError, RecursionError):
        pass
    raise IOException(f"{mark} is not the mark that a write leaves; remove it, unless a write is under way")
