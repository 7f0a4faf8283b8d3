"""What `minikafka recover` makes sure of before it changes anything.

A load changes files from its first step on. Whatever the operating system may refuse on the way is therefore tried
first: a file that cannot be opened or read, a directory that takes no new file, too little room on the disk, too few
descriptors. What fails nevertheless (a disk that breaks in the meantime) stops the load where it is, and nothing is cut
because of it (`stop_at_os_errors` of `Log.create`).
"""

import mmap
import os
import resource
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from minikafka.common.at_hand import preadv
from minikafka.common.errors import IllegalArgumentException, IOException
from minikafka.log.index.offset_index import OffsetIndex
from minikafka.log.index.time_index import TimeIndex
from minikafka.log.log_config import LogConfig
from minikafka.log.log_file_utils import (
    INDEX_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    PRODUCER_SNAPSHOT_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    offset_from_file,
)
from minikafka.log.partition_files import FOLLOW_LINKS, is_loaded, look_into, require_regular
from minikafka.tools.failure import naming
from minikafka.tools.read_bounded import require_bounded
from minikafka.tools.scratch_directory import scratch_directory

_READ_SIZE = 1024 * 1024
SPARE_DESCRIPTORS = 16
_SPARE_ROOM = 256 * 1024
"""Bytes for snapshots, checkpoints and the last pages of the indexes that are opened."""
_ROOM_PER_SEGMENT = 4 * 4096
_BEYOND_ANY_OFFSET = 2**63


def require_files(directory: Path, *, follow_links: bool, in_place: bool) -> list[Path]:
    """The regular files of the directory, by name.

    Raises IOException, naming the entry, if one is not a regular file, or if a file with a second name (a hard link) is
    about to be changed `in_place`; `follow_links` allows both kinds of links.
    """
    files, objections = look_into(directory, follow_links=follow_links)
    for file, objection in objections:
        raise IOException(f"{file} {objection}")
    for file in files:
        if is_loaded(file.name):  # it is read or copied as a whole, and a damaged one may have any length
            require_bounded(file)
    if in_place and not follow_links:
        for file in files:
            _require_no_other_name(file)
    return files


def require_replaceable(file: Path, *, follow_links: bool) -> None:
    """Raises IOException if `file` cannot be replaced, or something elsewhere would be changed.

    Its new content is first written into the `.tmp` beside it. `follow_links` allows that to be a link.
    """
    temporary = file.with_name(file.name + ".tmp")
    if not os.path.lexists(temporary):
        return
    require_regular(temporary, follow_links=follow_links)
    if not follow_links:
        _require_no_other_name(temporary)


def _require_no_other_name(file: Path) -> None:
    if file.stat().st_nlink > 1:
        raise IOException(
            f"{file} has another name elsewhere (a hard link), where it would be changed too; {FOLLOW_LINKS} allows it"
        )


class Needs(NamedTuple):
    """What a load needs from the machine: bytes on the disk, bytes in the longest file, descriptors."""

    room: int
    longest: int
    descriptors: int

    @classmethod
    def of_all(cls, needs: Iterable["Needs"]) -> "Needs":
        """What several loads need if all logs stay open."""
        needs = list(needs)
        longest = max((each.longest for each in needs), default=0)
        return cls(sum(each.room for each in needs), longest, sum(each.descriptors for each in needs))


def require_recoverable(
    directory: Path, files: list[Path], config: LogConfig, *, recovery_point: int, last_shutdown_clean: bool
) -> None:
    """Try what loading the `files` of the directory will need. Raises OSError, naming the file, for what is refused."""
    needs = needs_of(files, config, recovery_point=recovery_point, last_shutdown_clean=last_shutdown_clean)
    require_room(directory, needs.room, needs.longest)
    require_descriptors(directory, needs.descriptors + SPARE_DESCRIPTORS)


def needs_of(
    files: list[Path],
    config: LogConfig,
    *,
    recovery_point: int,
    last_shutdown_clean: bool,
    in_place: bool = True,
    read: bool = True,
) -> Needs:
    """What loading the `files` of one partition needs. Each is opened, for writing too if they are loaded `in_place`,
    and, with `read`, read as far as the load will read it. Raises OSError, naming the file.
    """
    first_read, first_recovered = _where_reading_begins(files, recovery_point, last_shutdown_clean)
    logs = {file: _offset_of(file) for file in files if file.suffix == LOG_FILE_SUFFIX}
    for file in files:
        _open_and_read(
            file, in_place=in_place, whole=read and is_loaded(file.name) and logs.get(file, first_read) >= first_read
        )
    sizes = [file.stat().st_size for file, base_offset in logs.items() if base_offset >= first_read]
    # Each `.log` and `.txnindex` stays open; so does the index of a segment that is read but not recovered.
    indexes = sum(first_read <= base_offset < first_recovered for base_offset in logs.values())
    transaction_indexes = sum(file.suffix == TXN_INDEX_FILE_SUFFIX for file in files)
    room = _room_for_indexes(config, sizes) + len(sizes) * _ROOM_PER_SEGMENT
    return Needs(room, config.max_index_size, len(logs) + transaction_indexes + indexes)


@contextmanager
def copied(directory: Path, files: list[Path]) -> Iterator[Path]:
    """Copy the `files` to a temporary directory of the same name, which is removed afterwards.

    Raises IOException when there is no room for it.
    """
    with scratch_directory("minikafka-recover-") as scratch:
        size, free = sum(file.stat().st_size for file in files), shutil.disk_usage(scratch).free
        if size > free:
            raise IOException(
                f"No space left on device: a copy of {directory} takes {size} bytes, {tempfile.gettempdir()} has"
                f" {free}; TMPDIR may name another place"
            )
        copy = scratch / directory.name
        copy.mkdir()
        for file in files:
            with naming(file):
                shutil.copy2(file, copy / file.name)
        yield copy


def _where_reading_begins(files: list[Path], recovery_point: int, last_shutdown_clean: bool) -> tuple[int, int]:
    """The base offsets of the first segment whose batches a load reads, and of the first that it recovers, with all
    later ones.

    Reading begins at the recovery point after an unclean stop, at the first segment whose index is missing, or at the
    snapshot from which the producers are followed.
    """
    names = {file.name for file in files}
    segments = {_offset_of(file): file for file in files if file.suffix == LOG_FILE_SUFFIX}
    snapshots = [_offset_of(file) for file in files if file.suffix == PRODUCER_SNAPSHOT_FILE_SUFFIX]
    without_index = [base for base, file in segments.items() if file.with_suffix(INDEX_FILE_SUFFIX).name not in names]
    first_in_doubt = max(segments, default=0) if last_shutdown_clean else _floor(segments, recovery_point)
    first_read = _floor(segments, min([first_in_doubt, *without_index]))
    if snapshots or not last_shutdown_clean:
        first_read = _floor(segments, _floor(snapshots, first_read, default=min(segments, default=0)))
    return first_read, _BEYOND_ANY_OFFSET if last_shutdown_clean else first_in_doubt


def _floor(offsets, limit: int, default: int | None = None) -> int:
    """The largest of `offsets` up to `limit`; if all are above it, `default`, or the smallest one without a default."""
    below = [offset for offset in offsets if offset <= limit]
    if below:
        return max(below)
    return default if default is not None else min(offsets, default=0)


def _offset_of(file: Path) -> int:
    """The offset in the file's name; 0 for a name without one, which the loader will complain about itself."""
    try:
        return offset_from_file(file)
    except IllegalArgumentException:
        return 0


def _open_and_read(file: Path, *, in_place: bool, whole: bool) -> None:
    with naming(file):
        access = os.O_RDWR if in_place else os.O_RDONLY
        descriptor = os.open(file, access | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            position, buffer = 0, bytearray(_READ_SIZE)
            while whole and (count := preadv(descriptor, [buffer], position)):
                position += count
        finally:
            os.close(descriptor)


def _room_for_indexes(config: LogConfig, sizes: list[int]) -> int:
    """Bytes of the indexes of segments of these sizes."""
    entry_size = OffsetIndex.ENTRY_SIZE + TimeIndex.ENTRY_SIZE
    longest = 2 * config.max_index_size
    return sum(min(longest, (size // (config.index_interval + 1) + 2) * entry_size) for size in sizes)


def require_room(directory: Path, needed: int, longest: int = 0) -> None:
    """Make a nameless file there, `longest` bytes long, with disk blocks for `needed` bytes and some to spare.

    Raises OSError, naming the directory, when it takes no new file or has no room.
    """
    needed += _SPARE_ROOM
    with naming(directory), _file_without_a_name(directory) as probe:
        os.ftruncate(probe.fileno(), max(needed, longest))
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(probe.fileno(), 0, needed)


def _file_without_a_name(directory: Path) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(dir=directory)
    except OSError as error:
        error.filename = str(directory)  # where the system has no nameless files, Python tries one with a name
        raise


def require_descriptors(directory: Path, needed: int) -> None:
    """Raise the limit as far as possible, as the JVM does, and check that `needed` files can be open at once.

    Raises IOException.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    opened = []
    try:
        with naming(directory):
            while len(opened) < needed:
                opened.append(os.open(directory, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        raise IOException(f"{directory} needs {needed} open files at a time (`ulimit -n`): {error.strerror}") from None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def require_address_space(directory: Path, needed: int) -> None:
    """Check that `needed` bytes can be mapped into memory: the active segment of an open log has both indexes mapped.

    Raises IOException.
    """
    try:
        mmap.mmap(-1, max(needed, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ).close()
    except OSError as error:
        raise IOException(f"{directory} needs {needed} bytes of addresses (`ulimit -v`): {error.strerror}") from None
