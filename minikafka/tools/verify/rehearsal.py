"""Kafka's next start, played to the end without changing a byte of the partition."""

import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from minikafka.common import file_ops
from minikafka.common.errors import KafkaException
from minikafka.common.file_kind import REGULAR_FILE, kind_of
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.log import Log
from minikafka.log.log_file_utils import (
    DELETED_FILE_SUFFIX,
    INDEX_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    is_log_file,
)
from minikafka.tools.failure import TOLD
from minikafka.tools.read_bounded import of_the_machine
from minikafka.tools.scratch_directory import scratch_directory
from minikafka.tools.verify.findings import Fate, Finding, NextStart, OpenFinding
from minikafka.tools.verify.metadata_snapshots import recover_snapshots, truncate_to_latest_snapshot

_ENTRY_SIZES = {INDEX_FILE_SUFFIX: 8, TIME_INDEX_FILE_SUFFIX: 12}
_JAVAS_NAMES = {"FileNotFoundError": "NoSuchFileException", "IsADirectoryError": "FileNotFoundException"}
_CHUNK = 1 << 20


class Outcome(NamedTuple):
    """What a start makes of a partition's directory. All files are given by their names.

    `error`: the name of the exception with which the load fails, None if it succeeds; `message`: that exception's
    message; `accuses`: the files that the message names. `segments`: the segment files before the start. `cut`: the new
    sizes of segments (bytes). `made`: the missing files that exist afterwards; True for one that is not empty.
    `log_start_offset`, `log_end_offset` (exclusive): those of the loaded log, None if the load fails.
    """

    error: str | None
    message: str
    accuses: set[str]
    segments: set[str]
    cut: dict[str, int]
    deleted: set[str]
    rebuilt: set[str]
    renamed: dict[str, str]
    split: set[str]
    made: dict[str, bool]
    log_start_offset: int | None
    log_end_offset: int | None

    def finding(self, open_finding: OpenFinding) -> Finding:
        """The open finding with what becomes of it."""
        return Finding(*open_finding[:4], *(open_finding.fate or self._fate_of(open_finding)))

    def blames(self, open_finding: OpenFinding) -> bool:
        """True if the load fails because of it."""
        if self.accuses:
            return open_finding.file.name in self.accuses
        return self.error in open_finding.may_raise

    def _fate_of(self, open_finding: OpenFinding) -> tuple[Fate, str]:
        name, is_segment = open_finding.file.name, is_log_file(open_finding.file)
        if name in self.deleted:
            return Fate.DELETED, "the segment is deleted" if is_segment else "it is deleted"
        if name in self.renamed:
            return Fate.RENAMED, "the replacement is completed"
        if name in self.split:
            return Fate.SPLIT, "the segment is split in two or more"
        if name in self.cut and open_finding.position is not None and open_finding.position >= self.cut[name]:
            at = "here" if open_finding.position == self.cut[name] else f"before, at byte {self.cut[name]}"
            return Fate.CUT, f"the segment is cut {at}{self._later_segments(name)}"
        if name in self.rebuilt:
            index = name.endswith((*_ENTRY_SIZES, TXN_INDEX_FILE_SUFFIX))
            return Fate.REBUILT, "the index is built anew" if index else "the file is written anew"
        if name in self.renamed.values():
            return Fate.RENAMED, "a .swap file takes its place"
        if name in self.made:
            return Fate.MADE, "it is made anew" if self.made[name] else "an empty one is made"
        if self.blames(open_finding):
            return Fate.LOAD_FAILS, f"the load fails with {self.error}"
        return Fate.STAYS, "it stays" + open_finding.if_it_stays

    def _later_segments(self, name: str) -> str:
        return ", and every later segment is deleted" if self.ends_the_log(name) else ""

    def ends_the_log(self, name: str) -> bool:
        """True if there were segments after the one with this name, and all of them are deleted."""
        later = {segment for segment in self.segments if segment > name}
        return bool(later) and later <= self.deleted


class Rehearsal:
    """A directory of links to a partition's files, in which the partition is loaded as Kafka will load it.

    Segments are read where they are, and if one is cut, only its new length is noted. Any other file is copied when the
    load opens it for writing. What the load makes, renames or deletes are names in a scratch directory.

    Nothing here knows what Kafka does; only the loader does.

    `with_snapshots`: it is the metadata log, of which a start also looks at the snapshots.
    """

    def __init__(self, directory: Path, files: Iterable[Path], next_start: NextStart, *, with_snapshots: bool = False):
        self._directory = Path(os.path.abspath(directory))  # "." has no name
        self._files = {file.name: file for file in files}
        self._next_start = next_start
        self._with_snapshots = with_snapshots
        # The original name of each file by its identity, since names change.
        self._names: dict[tuple[int, int], str] = {}
        self._read_only: set[tuple[int, int]] = set()
        self._lengths: dict[tuple[int, int], int] = {}
        self._ends: tuple[int | None, int | None] = (None, None)

    def run(self) -> Outcome:
        """Load the partition. Raises OSError or MemoryError when that is not possible on this machine."""
        with self._links():
            return self._outcome(self._load())

    @contextmanager
    def _links(self) -> Iterator[None]:
        with scratch_directory("minikafka-verify-") as scratch:
            self._scratch = scratch / self._directory.name
            self._scratch.mkdir()
            for name, file in self._files.items():
                os.symlink(os.path.realpath(file), self._scratch / name)
                self._names[_identity(os.lstat(self._scratch / name))] = name
            yield

    def _load(self) -> Exception | None:
        clock = ManualTime(self._next_start.now_ms)
        scheduler = ManualScheduler(clock)
        log = None
        with file_ops.lay_over(self), file_ops.observe(self._forget_identity), silence():
            try:
                log = Log.create(
                    self._scratch,
                    self._next_start.config,
                    self._next_start.log_start_offset,
                    self._next_start.recovery_point,
                    scheduler=scheduler,
                    time=clock,
                    producer_state_manager_config=self._next_start.producers,
                    last_shutdown_clean=self._next_start.clean,
                    stop_at_os_errors=True,
                )
                if self._with_snapshots:
                    truncate_to_latest_snapshot(log, recover_snapshots(log))
                self._ends = log.log_start_offset, log.log_end_offset
                return None
            except TOLD as error:
                if _is_of_the_machine(error):
                    self._name_originals(error)
                    raise
                return error
            finally:
                with suppress(KafkaException):  # a failure in the background: the load itself has ended
                    clock.sleep(self._next_start.config.file_delete_delay_ms)
                scheduler.shutdown()
                if log is not None:
                    log.close_handlers()

    # The overlay over `file_ops`

    def open_file(self, path: Path, flags: int) -> int:
        """Open a segment for reading only; of any other file make a copy first."""
        if not path.is_symlink():
            return os.open(path, flags)
        if flags & os.O_TRUNC:
            os.unlink(path)
            raise FileNotFoundError(2, "No such file or directory", str(path))
        original = Path(os.readlink(path))
        if LOG_FILE_SUFFIX in original.name:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._read_only.add(_identity(os.fstat(fd)))
            return fd
        name = self._names.pop(_identity(os.lstat(path)))
        copy = path.with_name(path.name + ".copy")
        shutil.copyfile(original, copy)
        os.replace(copy, path)
        self._names[_identity(os.lstat(path))] = name
        return os.open(path, flags)

    def truncate(self, fd: int, size: int) -> None:
        """Cut a copy; for a segment, only note the new length."""
        identity = _identity(os.fstat(fd))
        if identity in self._read_only:
            self._lengths[identity] = size
        else:
            os.ftruncate(fd, size)

    def size(self, fd: int) -> int:
        """The size of the file; for a segment that was cut, the length that was noted."""
        status = os.fstat(fd)
        return self._lengths.get(_identity(status), status.st_size)

    def _forget_identity(self, operation: str, path: Path) -> None:
        """Forget a deleted file whose identity the system has given to a new one."""
        if operation == "create":
            self._names.pop(_identity(os.lstat(path)), None)

    # The outcome

    def _message_of(self, error: Exception) -> str:
        """The message, with the names that the files have where they are."""
        return self._with_original_names(str(error))

    def _with_original_names(self, text: str) -> str:
        return text.replace(str(self._scratch.parent), str(self._directory.parent))

    def _name_originals(self, error: BaseException) -> None:
        """Let an error of the machine name the files where they are."""
        for each in filter(None, (error, error.__cause__)):
            each.args = tuple(self._with_original_names(arg) if isinstance(arg, str) else arg for arg in each.args)
            if isinstance(name := getattr(each, "filename", None), str | Path):
                each.filename = self._with_original_names(str(name))

    def _outcome(self, error: Exception | None) -> Outcome:
        now = {path.name: path for path in self._scratch.iterdir()}
        origins = {name: self._names.get(_identity(os.lstat(path))) for name, path in now.items()}
        names_now = {origin: name for name, origin in origins.items() if origin is not None}
        message = "" if error is None else self._message_of(error)
        words = {Path(word.strip("[](),.;'\"")).name for word in message.split()}
        accused = words & (self._files.keys() | now.keys())
        segments = {name for name, file in self._files.items() if is_log_file(file)}
        java_name = error and _java_name(error)
        outcome = Outcome(java_name, message, accused, segments, {}, set(), set(), {}, set(), {}, *self._ends)
        for name, file in self._files.items():
            name_now = names_now.get(name)
            if name_now is not None and name_now != name:
                if name_now.endswith(DELETED_FILE_SUFFIX):
                    outcome.deleted.add(name)
                else:
                    outcome.renamed[name] = name_now
            elif name_now is None and (name not in now or origins[name] is not None):
                outcome.deleted.add(name)
            elif name_now is None and is_log_file(file):
                (outcome.split if now[name].stat().st_size else outcome.deleted).add(name)
            elif not now[name].is_symlink() and not _keeps(file, now[name]):
                outcome.rebuilt.add(name)
            elif name_now is not None and is_log_file(file):
                status = os.stat(file)
                length = self._lengths.get(_identity(status), status.st_size)
                if length < status.st_size:
                    outcome.cut[name] = length
        for name in now.keys() - self._files.keys():
            if origins[name] is None:
                outcome.made[name] = _has_content(now[name])
        return outcome


@contextmanager
def silence() -> Iterator[None]:
    """Silence warnings: those of a rehearsal are reported as findings, those of a repetition have been told."""
    logger = logging.getLogger("minikafka")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _is_of_the_machine(error: BaseException) -> bool:
    """True for an error that is not the partition's: no memory, no descriptors, no room for the rehearsal."""
    return of_the_machine(error) and type(error.__cause__ or error).__name__ not in _JAVAS_NAMES


def _java_name(error: Exception) -> str:
    return _JAVAS_NAMES.get(type(error).__name__, type(error).__name__)


def _keeps(before: Path, after: Path) -> bool:
    """True if the bytes are the same; an index may have gained empty slots, or lost empty slots or a torn one."""
    entry_size = _ENTRY_SIZES.get(before.suffix, 1)
    with open(before, "rb") as old, open(after, "rb") as new:
        old_rest, new_rest = (os.fstat(file.fileno()).st_size // entry_size * entry_size for file in (old, new))
        if entry_size == 1 and old_rest != new_rest:
            return False
        while old_rest or new_rest:
            old_chunk, new_chunk = old.read(min(_CHUNK, old_rest)), new.read(min(_CHUNK, new_rest))
            old_rest -= len(old_chunk)
            new_rest -= len(new_chunk)
            size = max(len(old_chunk), len(new_chunk))
            if old_chunk.ljust(size, b"\0") != new_chunk.ljust(size, b"\0"):
                return False
        return True


def _has_content(file: Path) -> bool:
    if kind_of(file, follow_links=True) != REGULAR_FILE:
        return False
    with open(file, "rb") as opened:
        return any(chunk.strip(b"\0") for chunk in iter(lambda: opened.read(_CHUNK), b""))
