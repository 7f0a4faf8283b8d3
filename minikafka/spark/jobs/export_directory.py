"""The directory that `export` fills: which runs have written what, and how a run is seen whole or not at all.

    orders/                                    what was asked for
      _manifest.json                           what is committed: every file, and each partition's next offset
      _running.json                            the run that is at work, and the process that drives it
      _lock                                    held while a run begins and while it commits
      _staging-<run>/                          files that tasks have written, and no reader looks at
      topic=orders/partition=0/<run>-….parquet

Spark, and Arrow's datasets, pass over names that begin with `_`, so `spark.read.parquet(directory)` sees what is
committed.

1. A run leaves its mark, unless a run is at work whose driver may be alive.
2. Each attempt of a task writes files of its own below `_staging-<run>`.
3. The commit puts a new manifest in the place of the old one, in one step, with the files of those attempts that Spark
   counts, and the offsets that follow: from then on the run counts. Then it renames the files to their places, drops
   everything else that was staged, and takes the mark away.

Where a driver died, the next run does what is left of step 3, or drops what was staged. Between two of the renames a
reader sees a part of a run. The manifest grows by a line for each file.

All of this is done in Spark's workers, where the directory must be the same one for all; the driver need not see it.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.common import file_ops
from minikafka.common.errors import KafkaException, KafkaStorageException
from minikafka.common.file_lock import FileLock
from minikafka.common.topic_partition import TopicPartition

MANIFEST = "_manifest.json"
_RUNNING = "_running.json"
_LOCK = "_lock"
_STAGING = "_staging-"
_VERSION = 1


class ExportedFile(NamedTuple):
    """A Parquet file with records of one partition: offsets from `first_offset` to `last_offset`, both inclusive.

    `staged`, `path`: where it is before and after the commit, below the directory. `size`: bytes.
    """

    topic: str
    partition: int
    staged: str
    path: str
    first_offset: int
    last_offset: int
    records: int
    size: int


class Reached(NamedTuple):
    """How far a partition is exported: up to `next_offset` (exclusive), whose last record has this leader epoch."""

    next_offset: int
    leader_epoch: int


class ExportDirectory:
    """The directory `root`, on a file system that all workers share."""

    def __init__(self, root: str):
        self.root = Path(root)

    def begin(self, run: str, owner: tuple[str, int, str], instead_of: str | None) -> dict[str, Any]:
        """Let `run`, which `owner` drives, be the one at work; it may follow the run `instead_of`, which is dead.

        Returns `reached`, by topic and partition, as `Reached`; or `running`, the mark of another run that is at work.
        Doing it twice changes nothing. Raises KafkaException and OSError.
        """
        file_ops.create_directories(self.root)
        with self._locked():
            mark = self._json(_RUNNING)
            if mark is not None and mark["run"] not in (run, instead_of):
                return {"running": mark}
            self._put(_RUNNING, {"run": run, "owner": list(owner)})
            manifest = self.manifest()
            self._carry_through(manifest)
            self._drop_staged(but=run)
        return {"reached": manifest["partitions"]}

    def staging(self, run: str) -> Path:
        """Where tasks of the run write."""
        return self.root / f"{_STAGING}{run}"

    def commit(self, run: str, files: list[ExportedFile], reached: dict[TopicPartition, Reached]) -> None:
        """Make these files part of the export, whose partitions then end where `reached` says.

        Doing it twice changes nothing. Raises KafkaException if somebody took the run for dead, and OSError.
        """
        with self._locked():
            manifest = self.manifest()
            if run not in manifest["runs"]:
                mark = self._json(_RUNNING)
                if mark is None or mark["run"] != run:
                    raise KafkaException(f"{self.root / _RUNNING} is another run's: somebody took this one for dead")
                manifest["runs"].append(run)
                manifest["pending"] = [[each.staged, each.path] for each in files]
                manifest["files"] += [_told(each, run) for each in files]
                for (topic, partition), (next_offset, leader_epoch) in reached.items():
                    manifest["partitions"].setdefault(topic, {})[str(partition)] = [next_offset, leader_epoch]
                self._put(MANIFEST, manifest)
            self._carry_through(manifest)
            self._drop_staged(but=None)
            self._remove_mark(run)

    def abandon(self, run: str) -> None:
        """Drop what a run has staged, and its mark. One that is committed is left for the next run to complete."""
        with self._locked():
            mark = self._json(_RUNNING)
            if mark is not None and mark["run"] == run:
                if run not in self.manifest()["runs"]:
                    self._drop_staged(but=None)
                self._remove_mark(run)

    def manifest(self) -> dict[str, Any]:
        """What is committed. Raises KafkaStorageException for a file of another version, or a damaged one."""
        try:
            manifest = self._json(MANIFEST)
        except ValueError as error:
            raise KafkaStorageException(f"{self.root / MANIFEST}: {error}") from None
        if manifest is None:
            if any(self.root.glob("topic=*")):
                raise KafkaStorageException(f"{self.root} has files of an export, but no {MANIFEST}")
            return {"version": _VERSION, "runs": [], "pending": [], "partitions": {}, "files": []}
        if manifest.get("version") != _VERSION:
            raise KafkaStorageException(f"{self.root / MANIFEST} has version {manifest.get('version')}")
        return manifest

    def _carry_through(self, manifest: dict[str, Any]) -> None:
        """Rename what the manifest counts; what is renamed already is passed over."""
        if not manifest["pending"]:
            return
        directories = set()
        for staged, path in manifest["pending"]:
            source, target = self.root / staged, self.root / path
            file_ops.create_directories(target.parent)
            if source.exists():
                file_ops.rename(source, target)
            elif not target.exists():
                raise KafkaStorageException(f"{source} is gone, which {self.root / MANIFEST} counts")
            directories.add(target.parent)
        for each in directories:
            file_ops.flush_dir(each)
        manifest["pending"] = []
        self._put(MANIFEST, manifest)

    def _drop_staged(self, *, but: str | None) -> None:
        for path in self.root.glob(f"{_STAGING}*"):
            if but is None or path != self.staging(but):
                file_ops.delete_directory(path)

    def _remove_mark(self, run: str) -> None:
        mark = self._json(_RUNNING)
        if mark is not None and mark["run"] == run:
            file_ops.delete_if_exists(self.root / _RUNNING)

    def _json(self, name: str) -> dict[str, Any] | None:
        try:
            return json.loads((self.root / name).read_bytes())
        except FileNotFoundError:
            return None

    def _put(self, name: str, content: dict[str, Any]) -> None:
        file_ops.replace_file(self.root / name, json.dumps(content).encode())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = FileLock(self.root / _LOCK)
        try:
            if not lock.try_lock():
                raise KafkaException(f"{lock.file} is held: another export begins or commits at this moment")
            yield
        finally:
            lock.unlock_and_close()


def _told(file: ExportedFile, run: str) -> dict[str, Any]:
    told = file._asdict()
    del told["staged"]
    return {**told, "run": run}


def synced(path: Path) -> int:
    """Force a file down to the device; returns its size in bytes."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
        return os.fstat(fd).st_size
    finally:
        os.close(fd)
