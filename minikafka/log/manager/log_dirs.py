"""The log directories of a broker (`log.dirs`): which of them can be used, and the locks on them."""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME, MetaProperties
from minikafka.common import file_ops
from minikafka.common.canonical_path import canonical_path
from minikafka.common.errors import (
    FatalExitError,
    IOException,
    KafkaException,
    KafkaStorageException,
    LogDirNotFoundException,
)
from minikafka.common.file_lock import FileLock
from minikafka.common.java.scala_hash_map import in_order_of_an_immutable_map
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.own_process import OwnProcess
from minikafka.log.log_dir_lock import LOCK_FILE_NAME

logger = logging.getLogger(__name__)


class LogDirs:
    """The configured log directories, and which of them are live.

    Invariants:

    - A directory is live from the start or never. Only `handle_failure` ends that, so a directory whose disk has
      failed stays live until somebody takes the failure from the `LogDirFailureChannel`.
    - At least one is live. Where Kafka halts the process, because none is left, FatalExitError is raised here: whoever
      runs the process ends it.
    - The live ones are locked, so no other process, and no other `LogDirs` of this process, uses them.

    On disk, in each directory: `.lock`, for as long as the directory is in use, and `meta.properties`, which is only
    read here.

    Kafka: `LogManager`, its fields `_liveLogDirs`, `dirLocks`, `directoryIds` and what belongs to them.
    """

    def __init__(
        self,
        log_dirs: Sequence[Path],
        initial_offline_dirs: Iterable[Path],
        log_dir_failure_channel: LogDirFailureChannel,
        held_locks: Iterable[FileLock] = (),
    ):
        """Make missing directories, lock them all and read their ids; report those that cannot be used.

        `held_locks`: those that the caller has from `lock_log_dir`; they are released with the others from now on.

        Raises KafkaException when a directory is named twice or is in use, FatalExitError when none can be used.
        """
        self.log_dirs = [log_dir.absolute() for log_dir in log_dirs]
        """As configured, in that order; absolute."""
        self._log_dir_failure_channel = log_dir_failure_channel
        self._live_log_dirs = self._create_and_validate({log_dir.absolute() for log_dir in initial_offline_dirs})
        self._locks: list[FileLock] = []
        try:
            self._lock_log_dirs({lock.file.parent: lock for lock in held_locks})
            self.directory_ids = self._load_directory_ids()
            """The id (22 characters) of each live directory that has one, by directory."""
        except BaseException:
            self.let_go()
            raise
        self._own_process = OwnProcess()
        self.cordoned_log_dirs: frozenset[Path] = frozenset()
        """The directories that get no new logs as long as there is another directory."""

    # Which are live

    @property
    def live_log_dirs(self) -> list[Path]:
        """Those in use, in the order of the configuration. Kafka: `LogManager.liveLogDirs`."""
        return list(self._live_log_dirs)

    @property
    def offline_log_dirs(self) -> list[Path]:
        """Those not in use, in the order of the configuration. Kafka: `LogManager.offlineLogDirs`."""
        return [log_dir for log_dir in self.log_dirs if log_dir not in self._live_log_dirs]

    def is_log_dir_online(self, log_dir: Path) -> bool:
        """True when the directory (absolute) is live.

        Raises LogDirNotFoundException when it is not configured. Kafka: `LogManager.isLogDirOnline`.
        """
        if log_dir not in self.log_dirs:
            raise LogDirNotFoundException(f"Log dir {log_dir} is not found in the config.")
        return log_dir in self._live_log_dirs

    def directory_id(self, log_dir: Path) -> str | None:
        """The id of a live directory, None without one. Kafka: `LogManager.directoryId`."""
        return self.directory_ids.get(log_dir)

    def directory_path(self, directory_id: str) -> Path | None:
        """The live directory that has this id. Kafka: `LogManager.directoryPath`."""
        return next((log_dir for log_dir, known_id in self.directory_ids.items() if known_id == directory_id), None)

    def update_cordoned_log_dirs(self, log_dirs: Iterable[Path]) -> None:
        """Give no new logs to these directories (absolute) as long as there is another one.

        Kafka: `LogManager.updateCordonedLogDirs`.
        """
        self.cordoned_log_dirs = frozenset(log_dirs)

    def next_log_dirs(self, log_counts: Mapping[Path, int]) -> list[Path]:
        """Where to put the next partition: the live directories, those with the fewest logs first.

        `log_counts`: the number of logs in each directory. Directories with equal numbers come in the
        order of the configuration if there are up to four, else in the order of Scala's map. Cordoned ones are left
        out; if all are cordoned, the first live one is taken. Kafka: `LogManager.nextLogDirs`.
        """
        # The keys of Scala's map are texts, whose hashes make the order.
        by_text = {str(log_dir): log_dir for log_dir in self._live_log_dirs}
        cordoned = {text for text, log_dir in by_text.items() if log_dir in self.cordoned_log_dirs}
        candidates = in_order_of_an_immutable_map(list(by_text), without=cordoned)
        if len(by_text) == 1 or not candidates:
            return self._live_log_dirs[:1]
        return sorted((by_text[text] for text in candidates), key=lambda log_dir: log_counts.get(log_dir, 0))

    def create_log_directory(self, log_dirs: Iterable[Path], name: str) -> Path:
        """Make a log's directory in the first of `log_dirs` that allows it; one whose disk fails is reported.

        Raises KafkaStorageException when none does, LogDirNotFoundException for a directory that is not configured.
        Kafka: `LogManager.createLogDirectory`.
        """
        tried = list(log_dirs)
        for log_dir in tried:
            if not self.is_log_dir_online(log_dir):
                continue
            try:
                file_ops.create_directories(log_dir / name)
            except OSError as error:
                self._log_dir_failure_channel.maybe_add_offline_log_dir(
                    log_dir, f"Error while creating log for {name} in dir {log_dir}", error
                )
            else:
                return log_dir / name
        raise KafkaStorageException(f"No log directories available. Tried {_join(tried)}")

    def handle_failure(self, log_dir: Path) -> None:
        """Stop using the directory. Raises FatalExitError when none is left.

        Kafka: `LogManager.handleLogDirFailure`.
        """
        self._live_log_dirs = [live for live in self._live_log_dirs if live != log_dir]
        self.directory_ids.pop(log_dir, None)
        if not self._live_log_dirs:
            raise FatalExitError(f"Shutdown broker because all log dirs in {_join(self.log_dirs)} have failed")

    # Locks

    def destroy_lock(self, log_dir: Path) -> None:
        """Release the lock of one directory, even if its disk fails. Kafka: `LogManager.handleLogDirFailure`."""
        for lock in self._locks:
            if lock.file.parent == log_dir:
                try:
                    lock.destroy()
                except OSError as error:
                    logger.warning("Could not destroy %s: %s", lock.file, error)

    def require_own_process(self) -> None:
        """Raises KafkaStorageException in a process that was forked from the one that locked the directories."""
        self._own_process.require("Log directory", self.log_dirs[0])

    def destroy_locks(self) -> None:
        """Release all locks and delete their files, in the order of the directories.

        As in Kafka, this ends with ClosedChannelException at a directory that failed earlier, because its lock is
        already destroyed. The locks after that one are released, but their files stay. Kafka: `LogManager.shutdown`.
        """
        try:
            for lock in self._locks:
                lock.destroy()
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Release all locks and leave their files, as the end of a process does."""
        for lock in self._locks:
            lock.unlock_and_close()

    # Construction

    def _create_and_validate(self, initial_offline_dirs: set[Path]) -> list[Path]:
        """Make missing directories; returns the directories that can be used.

        Kafka: `LogManager.createAndValidateLogDirs`.
        """
        live_log_dirs, canonical_paths = [], set()
        for log_dir in self.log_dirs:
            try:
                if log_dir in initial_offline_dirs:
                    raise IOException(f"Failed to load {log_dir} during broker startup")
                if not log_dir.exists():
                    logger.info("Log directory %s not found, creating it.", log_dir)
                    file_ops.create_directories(log_dir)
                    file_ops.flush_dir(log_dir.parent)
                if not log_dir.is_dir() or not os.access(log_dir, os.R_OK):
                    raise IOException(f"{log_dir} is not a readable log directory.")
                canonical = canonical_path(log_dir)
            except OSError as error:
                self._log_dir_failure_channel.maybe_add_offline_log_dir(
                    log_dir, f"Failed to create or validate data directory {log_dir}", error
                )
                continue
            if canonical in canonical_paths:
                raise KafkaException(f"Duplicate log directory found: {_join(self.log_dirs)}")
            canonical_paths.add(canonical)
            live_log_dirs.append(log_dir)
        if not live_log_dirs:
            raise FatalExitError(
                f"Shutdown broker because none of the specified log dirs from {_join(self.log_dirs)} can be created or "
                "validated"
            )
        return live_log_dirs

    def _lock_log_dirs(self, held: Mapping[Path, FileLock]) -> None:
        """Lock all directories; one whose lock file cannot be written is reported, and stays live.

        Kafka: `LogManager.lockLogDirs`.
        """
        for log_dir in self._live_log_dirs:
            try:
                self._locks.append(held[log_dir] if log_dir in held else lock_log_dir(log_dir))
            except OSError as error:
                self._log_dir_failure_channel.maybe_add_offline_log_dir(
                    log_dir, f"Disk error while locking directory {log_dir}", error
                )

    def _load_directory_ids(self) -> dict[Path, str]:
        """Raises KafkaException for an invalid `meta.properties`. Kafka: `LogManager.loadDirectoryIds`."""
        directory_ids = {}
        for log_dir in self._live_log_dirs:
            try:
                directory_id = MetaProperties.read(log_dir / META_PROPERTIES_NAME).directory_id
            except FileNotFoundError:
                logger.info("No %s file found in %s.", META_PROPERTIES_NAME, log_dir)
            except OSError as error:
                self._log_dir_failure_channel.maybe_add_offline_log_dir(
                    log_dir, f"Disk error while loading ID {log_dir}", error
                )
            else:
                if directory_id is not None:
                    directory_ids[log_dir] = directory_id
        return directory_ids


def lock_log_dir(log_dir: Path) -> FileLock:
    """Lock a log directory that is there. Raises KafkaException when it is in use, OSError.

    Kafka: `LogManager.lockLogDirs`.
    """
    lock = FileLock.taken(log_dir / LOCK_FILE_NAME)
    if lock is None:
        raise KafkaException(
            f"Failed to acquire lock on file .lock in {log_dir}. "
            "A Kafka instance in another process or thread is using this directory."
        )
    return lock


def _join(log_dirs: Iterable[Path]) -> str:
    return ", ".join(map(str, log_dirs))
