"""The segments of a directory in which a broker may be renaming files while it is listed."""

import os
import stat
import time

from minikafka.common.errors import IOException
from minikafka.log.log_file_utils import LOG_FILE_SUFFIX, SWAP_FILE_SUFFIX
from minikafka.spark.source.file_identity import file_identity, log_mark
from minikafka.spark.source.partition_names import base_offset_of
from minikafka.spark.source.storage import StoredFile

_SWAP = LOG_FILE_SUFFIX + SWAP_FILE_SUFFIX
_LOOKS = 100
_PAUSE_S = 0.01


def settled_segments(directory: str) -> dict[int, StoredFile]:
    """The segments' files by base offset. Raises FileNotFoundError, and IOException if it never stands still.

    A broker's renaming can hide some files while the directory is listed. So it is listed until two lists agree, but
    for what rolls add and retention takes away; and until it is the same log's before and after.
    """
    log, listed = log_mark(directory), _listed(directory)
    for _ in range(_LOOKS):
        before, listed = listed, _listed(directory)
        if _is_settled(before, listed) and (found := _found(directory, log, before)) is not None:
            if (log_now := log_mark(directory)) == log:
                return found
            log = log_now
        time.sleep(_PAUSE_S)
    raise IOException(f"{directory} was changed by somebody between any two of {_LOOKS} looks")


def _listed(directory: str) -> dict[int, tuple[str, int]]:
    """Base offset -> name and inode of each segment, by offset.

    Between two renames of a compaction the old segments are gone, and the new one still ends with `.swap`. Other names
    than those that a broker gives are none of a segment's: it would not read these files either.
    """
    found: dict[int, tuple[str, int]] = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(LOG_FILE_SUFFIX):
                base_offset = base_offset_of(entry.name)
                if base_offset is not None and _is_larger(entry, directory, found.get(base_offset)):
                    found[base_offset] = entry.name, entry.inode()
            elif entry.name.endswith(_SWAP):
                if (base_offset := base_offset_of(entry.name.removesuffix(SWAP_FILE_SUFFIX))) is not None:
                    found.setdefault(base_offset, (entry.name, entry.inode()))
    return dict(sorted(found.items()))


def _is_larger(entry: os.DirEntry[str], directory: str, other: tuple[str, int] | None) -> bool:
    """Of two files for one offset, which only tiered storage has, or of a file and its successor, the one to read."""
    if other is None or other[0].endswith(_SWAP):
        return True
    return entry.stat().st_size > os.stat(os.path.join(directory, other[0])).st_size


def _is_settled(before: dict[int, tuple[str, int]], after: dict[int, tuple[str, int]]) -> bool:
    """Whether both lists have the same segments, but for new ones at the end and deleted ones at the beginning."""
    last, first = max(before, default=-1), min(after, default=0)
    left = {base_offset: facts for base_offset, facts in before.items() if base_offset >= first}
    return left == {base_offset: facts for base_offset, facts in after.items() if base_offset <= last}


def _found(directory: str, log: int, listed: dict[int, tuple[str, int]]) -> dict[int, StoredFile] | None:
    """The listed segments with their sizes; None when one of them has another name by now."""
    found = {}
    for base_offset, (name, _) in listed.items():
        path = os.path.join(directory, name)
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                status = _behind_link(path, status)
        except FileNotFoundError:
            return None
        identity = file_identity(log, status.st_ino)
        found[base_offset] = StoredFile(path.removesuffix(SWAP_FILE_SUFFIX), status.st_size, identity)
    return found


def _behind_link(path: str, link: os.stat_result) -> os.stat_result:
    """What a symbolic link leads to; the link itself where it leads nowhere."""
    try:
        return os.stat(path)
    except OSError:  # it dangles, or leads in a circle
        return link
