"""The one seam for everything on disk that a crash can interrupt.

Whatever the log changes on disk goes through a function of this module: it writes bytes, creates, cuts, renames and
deletes files, and forces them down to the device. A test that hands in an observer is told each effect right after it
took place, as `(operation, path)`, and may copy the directory or stop the run there. Without an observer, a call costs
one check of a global. `KINDS` lists the names of the operations.

When a process is killed, nothing written here is lost. When the power fails, whatever no later `fsync`, `flush_dir` or
`flush_mapped` covers may be lost.

Kafka: `FileChannel`, `RandomAccessFile`, `MappedByteBuffer`, `java.nio.file.Files`; `Utils.atomicMoveWithFallback`,
`Utils.flushDir`, `Utils.flushFileIfExists`.
"""

import errno
import logging
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from minikafka.common.bytes_like import BytesLike
from minikafka.common.plain_ways import CopiedFile

if TYPE_CHECKING:  # not every Python has it
    import mmap

logger = logging.getLogger(__name__)

KINDS = ("create", "create_directory", "write", "truncate", "preallocate", "rename", "delete", "fsync", "flush_dir")

Observer = Callable[[str, Path], None]


class Overlay(Protocol):
    """Files that are read but not changed: an overlay decides how each is opened, and how it looks once it is cut."""

    def open_file(self, path: Path, flags: int) -> int:
        """A descriptor for `path`, opened with `flags` or as the overlay decides; raises FileNotFoundError."""

    def truncate(self, fd: int, size: int) -> None:
        """Make the file look as if it had `size` bytes."""

    def size(self, fd: int) -> int:
        """How many bytes the file has, or seems to have."""


Mapping: TypeAlias = "mmap.mmap | CopiedFile"
"""A file's bytes in memory: what is written into them is in the file."""
_PATH_MAX = 4096  # bytes of a path that the system takes, and the zero behind it
_MADV_POPULATE_WRITE = 23  # which Python does not name
_observers: dict[int, Observer] = {}  # by thread: a simulated crash stops only its own thread
_overlays: dict[int, Overlay] = {}  # by thread


@contextmanager
def observe(callback: Observer) -> Iterator[None]:
    """Call `callback(operation, path)` after each effect of this thread inside the `with` block.

    What the callback raises reaches the log. Inside nested blocks, only the innermost callback is called.
    """
    thread = threading.get_ident()
    outer = _observers.get(thread)
    _observers[thread] = callback
    try:
        yield
    finally:
        if outer is None:
            del _observers[thread]
        else:
            _observers[thread] = outer


@contextmanager
def lay_over(overlay: Overlay) -> Iterator[None]:
    """Let `overlay` open and cut the files of this thread inside the `with` block; nothing is forced to the device."""
    _overlays[threading.get_ident()] = overlay
    try:
        yield
    finally:
        del _overlays[threading.get_ident()]


def _overlay() -> Overlay | None:
    return _overlays.get(threading.get_ident()) if _overlays else None


def _tell(operation: str, path: Path) -> None:
    if observer := _observers.get(threading.get_ident()):
        observer(operation, path)


def open_file(path: Path, *, create: bool = True, truncate: bool = False) -> int:
    """Open `path` for reading and writing and return its descriptor; a missing file is made if `create`.

    Raises FileNotFoundError for a missing file (`create` False) or directory.
    """
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_TRUNC if truncate else 0)
    overlay = _overlay()
    try:
        fd = os.open(path, flags) if overlay is None else overlay.open_file(path, flags)
        if truncate and _observers:
            _tell("truncate", path)
    except FileNotFoundError:
        if not create:
            raise
        fd = os.open(path, flags | os.O_CREAT, 0o666)
        if _observers:
            _tell("create", path)
    return fd


def create_file_if_missing(path: Path) -> bool:
    """Make an empty file; False if there is a file of that name. Kafka: `Files.createFile`, `File.createNewFile`."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    except FileExistsError:
        return False
    if _observers:
        _tell("create", path)
    return True


def create_directories(path: Path) -> None:
    """Make the directory `path` and those above it that are missing. Raises FileExistsError where a file has the name.

    Kafka: `Files.createDirectories`.
    """
    missing = [p for p in (path, *path.parents) if not p.is_dir()]
    for directory in reversed(missing):
        directory.mkdir(exist_ok=True)
        if _observers:
            _tell("create_directory", directory)


def write(fd: int, data: BytesLike, position: int) -> int:
    """Write all of `data` at byte `position` of the file; returns how many bytes that were."""
    size = data.nbytes if type(data) is memoryview else len(data)
    try:
        written = os.pwrite(fd, data, position)
        while written < size:
            written += os.pwrite(fd, memoryview(data).cast("B")[written:], position + written)
    except OSError as error:
        raise named(error, fd) from None
    if _observers:
        _tell("write", path_of(fd))
    return size


def write_mapped(mapping: Mapping, position: int, data: bytes, path: Path) -> None:
    """Write `data` at byte `position` of the mapped file `path`. Kafka: `MappedByteBuffer.putInt`, `putLong`."""
    mapping[position : position + len(data)] = data
    if _observers:
        _tell("write", path)


def flush_mapped(mapping: Mapping, path: Path) -> None:
    """Force the changed pages of the mapped file `path` down to the device. Kafka: `MappedByteBuffer.force`."""
    if _overlay() is None:
        try:
            mapping.flush()
        except OSError as error:
            error.filename = str(path)
            raise
    if _observers:
        _tell("fsync", path)


def truncate(fd: int, size: int) -> None:
    """Cut the file to `size` bytes (or let it grow with zeros). Kafka: `FileChannel.truncate`, `setLength`."""
    if overlay := _overlay():
        overlay.truncate(fd, size)
    else:
        _set_length(fd, size)
    if _observers:
        _tell("truncate", path_of(fd))


def size(fd: int) -> int:
    """The bytes of an open file. Kafka: `FileChannel.size`."""
    overlay = _overlay()
    return os.fstat(fd).st_size if overlay is None else overlay.size(fd)


def first_hole(fd: int, length: int) -> int:
    """The byte from which on the file has no blocks of the disk; `length`, which is its size, if it has them all."""
    if os.fstat(fd).st_blocks * 512 >= length or not hasattr(os, "SEEK_HOLE"):
        return length
    return os.lseek(fd, 0, os.SEEK_HOLE)


def preallocate(fd: int, size: int) -> None:
    """Give a new file its full length in advance, all zeros. Kafka: `RandomAccessFile.setLength`."""
    _set_length(fd, size)
    if _observers:
        _tell("preallocate", path_of(fd))


def allocate(mapping: Mapping, position: int, size: int, path: Path) -> None:
    """Make the disk allocate blocks for bytes of the mapped file `path` that may be a hole.

    Without a block, the first write into the mapping would end the process. `position` is that of a page. Neither the
    contents nor the length change, so no observer is told. It takes no file descriptor where the system can do it so
    (Linux 5.14 and later). Raises OSError when the disk has no block.
    """
    try:
        mapping.madvise(_MADV_POPULATE_WRITE, position, size)
    except OSError as error:
        if error.errno == errno.EFAULT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None
        _allocate_by_writing(path, position, size)


def _allocate_by_writing(path: Path, position: int, size: int) -> None:
    """Does nothing when the file is gone, or no descriptor is left: a block is there all the same, unless the disk is
    full in that moment, too.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EMFILE, errno.ENFILE):
            return
        raise
    try:
        _write_again(fd, position, size)
    except OSError as error:
        raise named(error, fd) from None
    finally:
        os.close(fd)


def allocate_open(fd: int, position: int, size: int) -> None:
    """Let the disk allocate blocks as `allocate` does, for a file that is open, if it has any.

    For a new file that takes microseconds; where the first write goes through a mapping, ext4 needs one to two
    milliseconds. On a full disk nothing happens: `allocate` tells it when an entry is to be written.
    """
    if _overlay() is None:
        with suppress(OSError):
            _write_again(fd, position, size)


def _write_again(fd: int, position: int, size: int) -> None:
    """Write what is there already, which needs blocks for it. Raises OSError."""
    data = os.pread(fd, size, position)
    if os.pwrite(fd, data, position) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def rename(source: Path, target: Path) -> None:
    """Give `source` the name `target`, atomically, replacing a file of that name. Kafka: `Files.move`, ATOMIC_MOVE."""
    os.replace(source, target)
    if _observers:
        _tell("rename", target)


def rename_between(source_directory: int, source: Path, target_directory: int, target: Path) -> None:
    """`rename` between two open directories, whose descriptors stand for the ones in which `source` and `target` lie.

    So nothing else is renamed where a link, or another directory, has got the name of one of them meanwhile.
    """
    os.replace(source.name, target.name, src_dir_fd=source_directory, dst_dir_fd=target_directory)
    if _observers:
        _tell("rename", target)


def atomic_move_with_fallback(source: Path, target: Path, *, need_flush_parent_dir: bool = True) -> None:
    """Rename `source` to `target`, or copy it there where a rename cannot, then flush the directory if asked to.

    An empty directory is replaced as well. Raises OSError when neither works, FileNotFoundError for a missing `source`.
    Kafka: `Utils.atomicMoveWithFallback`.
    """
    try:
        try:
            rename(source, target)
        except FileNotFoundError:
            raise
        except OSError as outer:
            logger.warning("Failed atomic move of %s to %s, retrying with a non-atomic move: %s", source, target, outer)
            if target.is_dir():
                os.rmdir(target)  # where there is a directory, shutil.move would move into it
            shutil.move(source, target)
            if _observers:
                _tell("rename", target)
    finally:
        if need_flush_parent_dir:
            flush_dir(target.absolute().parent)


def delete_if_exists(path: Path) -> bool:
    """Delete the file or empty directory `path`; False when there was none. Of a link, only the link is deleted.

    Kafka: `Files.deleteIfExists`.
    """
    return _delete_if_exists(path, path)


def _delete_if_exists(name: Path | str, path: Path, *, dir_fd: int | None = None) -> bool:
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode):
            os.rmdir(name, dir_fd=dir_fd)
        else:
            os.unlink(name, dir_fd=dir_fd)
    except FileNotFoundError:
        return False
    except OSError as error:
        error.filename = str(path)
        raise
    if _observers:
        _tell("delete", path)
    return True


def delete_directory(path: Path) -> None:
    """Delete `path` and all that is in it, directories last; a missing one is no error. Kafka: `Utils.delete`.

    No link is followed, neither in the directory nor where `path` is one: the link goes, and what it leads to stays.
    Directories are held open, so neither is one that takes the place of a directory meanwhile, where Kafka follows it.
    What is in a directory is deleted in the order of the names, so that each run does the same. Kafka takes the order
    in which the system happens to list them. Raises OSError, for a directory that cannot be listed, for instance.
    """
    fd = _opened_directory(path, path)
    if fd is not None:
        _delete_content(fd, path)
    delete_if_exists(path)


def _delete_content(fd: int, directory: Path) -> None:
    """Delete what is in the directory behind the descriptor, which is closed then."""
    try:
        with os.scandir(fd) as entries:
            is_directory = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        for name in sorted(is_directory):
            path = directory / name
            below = _opened_directory(name, path, dir_fd=fd) if is_directory[name] else None
            if below is not None:
                _delete_content(below, path)
        for name in sorted(is_directory):
            _delete_if_exists(name, directory / name, dir_fd=fd)
    finally:
        os.close(fd)


def _opened_directory(name: Path | str, path: Path, *, dir_fd: int | None = None) -> int | None:
    """A descriptor of a directory, None where there is none, or a link. Raises OSError, also for one whose path the
    system could not take, as it fails in Java.
    """
    try:
        if len(os.fsencode(path)) >= _PATH_MAX:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        error.filename = str(path)
        raise


def fsync(fd: int) -> None:
    """Force the file's bytes and length down to the device. Kafka: `FileChannel.force(true)`."""
    if _overlay() is None:
        _force(fd)
    if _observers:
        _tell("fsync", path_of(fd))


def flush_dir(path: Path) -> None:
    """Force the names in directory `path` down to the device. Kafka: `Utils.flushDir`.

    Raises FileNotFoundError when there is no such directory.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _overlay() is None:
            _force(fd)
    finally:
        os.close(fd)
    if _observers:
        _tell("flush_dir", path)


def flush_dir_if_exists(path: Path) -> None:
    """`flush_dir`, with a warning instead of an error when the directory is gone. Kafka: `Utils.flushDirIfExists`."""
    try:
        flush_dir(path)
    except FileNotFoundError:
        logger.warning("Failed to flush directory %s", path)


def flush_file_if_exists(path: Path) -> None:
    """`fsync` the file `path`, with a warning when it is gone. Kafka: `Utils.flushFileIfExists`."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        logger.warning("Failed to flush file %s", path)
        return
    try:
        fsync(fd)
    finally:
        os.close(fd)


def replace_file(path: Path, content: bytes) -> None:
    """Put a file with `content` in place of `path`, so that a crash leaves the old file or the new, never a mixture.

    Four steps: write `<name>.tmp`, fsync it, rename it over `path`, fsync the directory. Kafka: `CheckpointFile.write`.
    """
    temporary = path.with_name(path.name + ".tmp")
    fd = open_file(temporary, truncate=True)
    try:
        write(fd, content, 0)
        fsync(fd)
    finally:
        os.close(fd)
    atomic_move_with_fallback(temporary, path)


def named(error: OSError, fd: int) -> OSError:
    """`error` with the name of the file added: the system only knows the descriptor, which tells a reader nothing."""
    if error.filename is None:
        error.filename = str(path_of(fd))
    return error


def _set_length(fd: int, size: int) -> None:
    try:
        os.ftruncate(fd, size)
    except OSError as error:
        raise named(error, fd) from None


def _force(fd: int) -> None:
    try:
        os.fsync(fd)
    except OSError as error:
        raise named(error, fd) from None


def path_of(fd: int) -> Path:
    """The present name of an open file; only the system knows it, because a descriptor outlives renames."""
    if sys.platform == "darwin":
        import fcntl

        return Path(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode())
    return Path(os.readlink(f"/proc/self/fd/{fd}"))
