"""What the entries of a directory are, looked at before a tool opens any of them.

Kafka goes by names, and so does the loader: it follows a symbolic link out of the directory, empties what the link
leads to, waits for ever at a FIFO and reads a device endlessly. The tools look first, and open only regular files.
"""

import os
from pathlib import Path
from typing import NamedTuple

from minikafka.checkpoint.leader_epoch_checkpoint_file import LEADER_EPOCH_CHECKPOINT_FILENAME
from minikafka.checkpoint.partition_metadata_file import PARTITION_METADATA_FILE_NAME
from minikafka.common.errors import IOException
from minikafka.common.file_kind import LINK, REGULAR_FILE, kind_of
from minikafka.common.java.java_file_names import escaped_name, is_found_by_java
from minikafka.log.log_file_utils import (
    CLEANED_FILE_SUFFIX,
    DELETED_FILE_SUFFIX,
    INDEX_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    PRODUCER_SNAPSHOT_FILE_SUFFIX,
    SWAP_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
)

FOLLOW_LINKS = "--follow-links"
INDEX_FILE_SUFFIXES = (INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX, TXN_INDEX_FILE_SUFFIX)
WHOLE_FILE_SUFFIXES = (LOG_FILE_SUFFIX, *INDEX_FILE_SUFFIXES, PRODUCER_SNAPSHOT_FILE_SUFFIX)
"""Of files that a log uses, and whose names begin with an offset."""
FILE_SUFFIXES = (*WHOLE_FILE_SUFFIXES, CLEANED_FILE_SUFFIX, SWAP_FILE_SUFFIX, DELETED_FILE_SUFFIX)
"""Also of those on their way in or out: a second suffix tells so."""
_FILE_NAMES = tuple(
    name + suffix
    for name in (LEADER_EPOCH_CHECKPOINT_FILENAME, PARTITION_METADATA_FILE_NAME)
    for suffix in ("", ".tmp")
)


class PartitionFiles(NamedTuple):
    """The regular files of a directory, sorted by name, and its other entries: (entry, what is wrong with it)."""

    files: list[Path]
    objections: list[tuple[Path, str]]


def objection_to(file: Path, *, follow_links: bool | None = None) -> str | None:
    """Why `file` must not be opened as a file, "is a FIFO" for instance; None for a regular file.

    A symbolic link is refused unless `follow_links`, and even then if it leads nowhere or to anything but a regular
    file. `follow_links` is None where nobody has a choice; else the words name the option that gives it. Raises
    OSError, FileNotFoundError for instance.
    """
    kind, leads_to = kind_of(file), ""
    if kind == LINK:
        leads_to = f"is a symbolic link to {os.readlink(file)}"
        if not follow_links:
            return leads_to if follow_links is None else f"{leads_to}; {FOLLOW_LINKS} would follow it"
        try:
            kind = kind_of(file, follow_links=True)
        except OSError as error:  # it dangles, or leads in a circle
            return f"{leads_to}: {error.strerror}"
    if kind == REGULAR_FILE:
        return None
    return f"{leads_to}, {kind}, not a regular file" if leads_to else f"is {kind}, not a regular file"


def require_regular(file: Path, *, follow_links: bool | None = None) -> None:
    """Raises IOException, with the file's name, where `objection_to` has an objection."""
    objection = objection_to(file, follow_links=follow_links)
    if objection is not None:
        raise IOException(f"{file} {objection}")


def look_into(directory: Path, *, follow_links: bool | None = None) -> PartitionFiles:
    """What a partition's directory holds; nothing is opened.

    Subdirectories are ignored, as in Kafka, unless one has the name of a file that Kafka would make; and so is what
    `passed_over` names. Raises OSError when the directory cannot be listed.
    """
    looked_at = PartitionFiles([], [])
    for name in sorted(filter(_is_seen, os.listdir(directory))):
        file = directory / name
        objection = objection_to(file, follow_links=follow_links)
        if objection is None:
            looked_at.files.append(file)
        elif has_name_of_a_file(name) or not file.is_dir() or (file.is_symlink() and not follow_links):
            looked_at.objections.append((file, objection))
    return looked_at


def passed_over(directory: Path) -> list[str]:
    """A line for each entry of a partition's directory, or of a log directory, that Kafka passes over whatever it is,
    since its name is not UTF-8. None if the directory cannot be listed.
    """
    try:
        names = sorted(name for name in os.listdir(directory) if not _is_seen(name))
    except OSError:
        return []
    return [f"the name of {escaped_name(name)} is not UTF-8: Kafka passes over it" for name in names]


def _is_seen(name: str) -> bool:
    """Kafka asks for snapshots by `Path`, which keeps the bytes of a name, and for all else by `File`."""
    return is_found_by_java(name) or name.endswith(PRODUCER_SNAPSHOT_FILE_SUFFIX)


def is_loaded(name: str) -> bool:
    """True for the name of a file that a load reads or changes; those that wait for their deletion are only deleted."""
    return has_name_of_a_file(name) and not name.endswith(DELETED_FILE_SUFFIX)


def has_name_of_a_file(name: str) -> bool:
    """True for the name of a file that Kafka makes in a partition's directory, or has made on its way in or out."""
    return name.endswith(FILE_SUFFIXES) or name in _FILE_NAMES
