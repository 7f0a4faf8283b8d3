"""The directory that `export` fills: which runs have written what, and how a run is seen whole or not at all.

    orders/                                    what was asked for
      _manifest.json                           what is committed: every file, each partition's next offset, and which
                                               records a run means (`isolation`)
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

Before a run changes anything it looks at what it would read, move, replace or delete. What no run leaves (a manifest
that names files elsewhere, a link or a fifo where a file belongs, another file than the one that was committed, or
none) is refused in one line, and kept.

All of this is done in Spark's workers, where the directory must be the same one for all; the driver need not see it.
"""

import os
import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.common import file_ops
from minikafka.common.errors import IllegalArgumentException, KafkaException, KafkaStorageException
from minikafka.common.file_kind import REGULAR_FILE, kind_of
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.java.java_numbers import INT_MAX, LONG_MAX
from minikafka.common.topic_partition import TopicPartition
from minikafka.spark.shared_directory import (
    delete_staged,
    is_directory,
    locked,
    opened_below,
    read_json,
    refuse_other_than_directory,
    refuse_other_than_file,
    require_types,
    write_json,
)
from minikafka.spark.source.log_identity import LastBatch, are_different
from minikafka.spark.surrounding_log_dir import require_no_log_dirs_in, require_outside_log_dirs

MANIFEST = "_manifest.json"
ISOLATION = "isolation"
_RUNNING = "_running.json"
_LOCK = "_lock"
_STAGING = "_staging-"
_LEVELS = [level.name.lower() for level in IsolationLevel]
_VERSION = 1
_RUN = r"[0-9A-Za-z-]+"
_STAGED_NAME = re.compile(r"[0-9a-f]{32}\.parquet")
_STAGED_FILE = re.compile(rf"{_STAGING}({_RUN})/{_STAGED_NAME.pattern}")
_FILE = re.compile(r"topic=[^/\0]+/partition=[0-9]+(/date=[^/\0]+)?/[^/\0]+\.parquet", re.ASCII)


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
    """How far a partition is exported: up to `next_offset` (exclusive), whose last record has this leader epoch.

    `topic_id`, `last_batch`: what tells the topic from another one, `last_batch` as `LastBatch`. `start_offset`: where
    the first run began (inclusive). None for not known, as where an earlier minikafka wrote the manifest. While
    no run has found a record, `next_offset` is `start_offset`, and the leader epoch -1.
    """

    next_offset: int
    leader_epoch: int
    topic_id: str | None = None
    last_batch: list[int] | None = None
    start_offset: int | None = None

    def if_of(self, topic_id: str | None) -> "Reached | None":
        """The same; None where nothing is exported, and this is the id of another topic, which was made since."""
        is_other = are_different(self.topic_id, topic_id) and self.next_offset == self.start_offset
        return None if is_other else self


class ExportDirectory:
    """The directory `root`, on a file system that all workers share."""

    def __init__(self, root: str):
        self.root = Path(root)

    def begin(
        self,
        run: str,
        owner: tuple[str, int, str],
        instead_of: str | None,
        *,
        by_date: bool = False,
        isolation: str | None = None,
    ) -> dict[str, Any]:
        """Let `run`, which `owner` drives, be the one at work; it may follow the run `instead_of`, which is dead.

        `isolation`: the `isolation.level` of the run, None where nobody knows it.

        Returns `reached`, by topic and partition, as `Reached`; or `running`, the mark of another run that is at work.
        Doing it twice changes nothing. Raises KafkaException, which is a KafkaStorageException for what no run has left
        in the directory, IllegalArgumentException where the files that are there are by date and the run's are not, or
        the other way round, or were exported with another isolation level, or where the directory is in a log
        directory or holds one, and OSError.
        """
        require_outside_log_dirs(self.root)
        require_no_log_dirs_in(self.root)
        file_ops.create_directories(self.root)
        with self._locked():
            mark = self._mark()
            if mark is not None and mark["run"] not in (run, instead_of):
                return {"running": mark}
            manifest = self.manifest()
            self._refuse_obstacles(manifest)
            self._refuse_lost_files(manifest)
            self._refuse_other_layout(manifest, by_date=by_date)
            self._refuse_other_records(manifest, isolation)
            self._put(_RUNNING, {"run": run, "owner": list(owner)})
            self._carry_through(manifest)
            self._drop_staged(but=run)
        return {"reached": manifest["partitions"]}

    def staging(self, run: str) -> Path:
        """Where tasks of the run write."""
        return self.root / f"{_STAGING}{run}"

    def commit(
        self,
        run: str,
        files: list[ExportedFile],
        reached: dict[TopicPartition, Reached],
        isolation: str | None = None,
    ) -> None:
        """Make these files part of the export, whose partitions then end where `reached` says; `isolation` as in
        `begin`.

        Doing it twice changes nothing. Raises KafkaException if somebody took the run for dead, and what `begin`
        raises.
        """
        with self._locked():
            manifest = self.manifest()
            counts = run in manifest["runs"]
            if not counts:
                mark = self._mark()
                if mark is None or mark["run"] != run:
                    raise KafkaException(f"{self.root / _RUNNING} is another run's: somebody took this one for dead")
                if isolation is not None and not (manifest["files"] and ISOLATION in manifest):
                    manifest[ISOLATION] = isolation
                manifest["runs"].append(run)
                manifest["pending"] = [[each.staged, each.path] for each in files]
                manifest["files"] += [_told(each, run) for each in files]
                for (topic, partition), end in reached.items():
                    manifest["partitions"].setdefault(topic, {})[str(partition)] = list(end)
            self._refuse_obstacles(manifest)
            if not counts:
                self._put(MANIFEST, manifest)
            self._carry_through(manifest)
            self._drop_staged(but=None)
            self._remove_mark(run)

    def abandon(self, run: str) -> None:
        """Drop what a run has staged, and its mark. One that is committed is left for the next run to complete."""
        with self._locked():
            mark = self._mark()
            if mark is not None and mark["run"] == run:
                if run not in self.manifest()["runs"]:
                    self._drop_staged(but=None)
                self._remove_mark(run)

    def manifest(self) -> dict[str, Any]:
        """What is committed. Raises KafkaStorageException for a file of another version, or one that no run leaves."""
        file = self.root / MANIFEST
        manifest = read_json(
            file,
            _understood_manifest,
            lambda why: KafkaStorageException(
                f"{file} is not the manifest that an export leaves ({why}); put it back, or export to another directory"
            ),
        )
        if manifest is None:
            if any(self.root.glob("topic=*")):
                raise KafkaStorageException(f"{self.root} has files of an export, but no {MANIFEST}")
            return {"version": _VERSION, "runs": [], "pending": [], "partitions": {}, "files": []}
        return manifest

    def _mark(self) -> dict[str, Any] | None:
        """The run that is at work, None for none. Raises KafkaStorageException for a file that no run leaves."""
        file = self.root / _RUNNING
        return read_json(
            file,
            _understood_mark,
            lambda why: KafkaStorageException(
                f"{file} is not the mark that an export leaves ({why}); remove it, unless an export is at work"
            ),
        )

    def _refuse_obstacles(self, manifest: dict[str, Any]) -> None:
        """Look at all that will be read, moved, replaced or deleted. Raises KafkaStorageException, OSError."""
        for name in (MANIFEST, _RUNNING):
            refuse_other_than_file(self.root / f"{name}.tmp")
        for directory in self._staged_directories():
            for file in sorted(directory.iterdir()):
                refuse_other_than_file(file)
                if _STAGED_NAME.fullmatch(file.name) is None:
                    raise KafkaStorageException(f"{file} is none of the files that an export stages: move it away")
        sizes = {each["path"]: each["size"] for each in manifest["files"]}
        for staged, path in manifest["pending"]:
            source, target = self.root / staged, self.root / path
            for directory in (source.parent, *(self.root / each for each in Path(path).parents)):
                if directory != self.root:
                    refuse_other_than_directory(directory)
            refuse_other_than_file(target)
            if not os.path.lexists(source):
                if not os.path.lexists(target):
                    raise KafkaStorageException(f"{source} is gone, which {self.root / MANIFEST} counts")
            elif os.path.lexists(target):
                raise KafkaStorageException(f"{target} is in the way: it is {kind_of(target)}, and {source} goes there")
            there = source if os.path.lexists(source) else target
            if (size := there.lstat().st_size) != sizes[path]:
                raise KafkaStorageException(
                    f"{there} has {size} bytes, and is not the file of {sizes[path]} that {self.root / MANIFEST} counts"
                )

    def _refuse_lost_files(self, manifest: dict[str, Any]) -> None:
        """No run writes again what counts, so a file that somebody deleted, cut or replaced is missing for good.

        Raises KafkaStorageException, OSError.
        """
        pending = {path for _, path in manifest["pending"]}
        counted = ((each["path"], each["size"]) for each in manifest["files"] if each["path"] not in pending)
        for path, expected_size in counted:
            file = self.root / path
            if not os.path.lexists(file):
                what = "is gone"
            elif (kind := kind_of(file)) != REGULAR_FILE:
                what = f"is {kind}"
            elif (size := file.lstat().st_size) != expected_size:
                what = f"has {size} bytes"
            else:
                continue
            raise KafkaStorageException(
                f"{file} {what}, and {self.root / MANIFEST} counts a file of {expected_size} bytes there, whose "
                "records no later run writes again: put it back, or export to another directory"
            )

    def _refuse_other_layout(self, manifest: dict[str, Any], *, by_date: bool) -> None:
        """A table whose files lie partly by date cannot be read as one. Raises IllegalArgumentException."""
        layouts = {_FILE.fullmatch(each["path"])[1] is not None for each in manifest["files"]}
        if layouts and by_date not in layouts:
            which, other = ("not by date", "without") if by_date else ("by date", "with")
            raise IllegalArgumentException(
                f"{self.root} is exported {which}: go on {other} by_date (--by-date), or export to another directory"
            )

    def _refuse_other_records(self, manifest: dict[str, Any], isolation: str | None) -> None:
        """With another isolation level a run means other records. Raises IllegalArgumentException.

        An earlier minikafka did not note the level; then the next run does.
        """
        before = manifest.get(ISOLATION) if manifest["files"] else None
        if None not in (before, isolation) and before != isolation:
            raise IllegalArgumentException(
                f"{self.root} is exported with isolation.level={before}, and this run has {isolation}: go on with "
                f"{before} (--option isolation.level={before}), or export to another directory"
            )

    def _carry_through(self, manifest: dict[str, Any]) -> None:
        """Rename what the manifest counts; what is renamed already is passed over."""
        if not manifest["pending"]:
            return
        directories = set()
        for staged, path in manifest["pending"]:
            source, target = self.root / staged, self.root / path
            file_ops.create_directories(target.parent)
            if os.path.lexists(source):
                with opened_below(self.root, source.parent) as here, opened_below(self.root, target.parent) as there:
                    file_ops.rename_between(here, source, there, target)
            directories.add(target.parent)
        for each in directories:
            file_ops.flush_dir(each)
        manifest["pending"] = []
        self._put(MANIFEST, manifest)

    def _drop_staged(self, *, but: str | None) -> None:
        for path in self._staged_directories():
            if but is None or path != self.staging(but):
                delete_staged(path)

    def _staged_directories(self) -> list[Path]:
        """What runs have staged; a link, or what else only has such a name, is not theirs."""
        return [path for path in sorted(self.root.glob(f"{_STAGING}*")) if is_directory(path)]

    def _remove_mark(self, run: str) -> None:
        mark = self._mark()
        if mark is not None and mark["run"] == run:
            file_ops.delete_if_exists(self.root / _RUNNING)

    def _put(self, name: str, content: dict[str, Any]) -> None:
        write_json(self.root / name, content)

    def _locked(self) -> AbstractContextManager[None]:
        return locked(self.root / _LOCK, "another export begins or commits")


def _understood_manifest(manifest: Any) -> dict[str, Any]:
    """The manifest. Raises what `read_json` expects for one that no run leaves: it says what is moved where."""
    if manifest["version"] != _VERSION:
        raise ValueError(f"it has version {manifest['version']}")
    require_types(*((manifest[name], list) for name in ("runs", "pending", "files")), (manifest["partitions"], dict))
    if ISOLATION in manifest and manifest[ISOLATION] not in _LEVELS:
        raise ValueError(f"{manifest[ISOLATION]!r} is no isolation level")
    runs, paths = set(manifest["runs"]), set()
    bounds = dict[tuple[str, int], tuple[int, int]]()  # the first and the last offset of a partition's files
    for file in manifest["files"]:
        fields = {name: value for name, value in file.items() if name != "run"}
        told = ExportedFile(**fields, staged="")
        require_types((file["run"], str), (told.topic, str), *((number, int) for number in (told.partition, *told[4:])))
        _require_within(_FILE, told.path)
        if told.path in paths:
            raise ValueError(f"{told.path!r} is named twice")
        paths.add(told.path)
        if file["run"] not in runs:
            raise ValueError(f"{told.path!r} is of run {file['run']!r}, which it does not name")
        first, last = bounds.get((told.topic, told.partition), (told.first_offset, told.last_offset))
        bounds[told.topic, told.partition] = min(first, told.first_offset), max(last, told.last_offset)
        _require_possible(told)
    moved = set()
    for staged, path in manifest["pending"]:
        matched = _require_within(_STAGED_FILE, staged)
        if matched[1] not in runs or path not in paths or {staged, path} & moved:
            raise ValueError(f"{staged!r} cannot become {path!r}")
        moved |= {staged, path}
    told_of = set()
    for topic, partitions in manifest["partitions"].items():
        for number, end in partitions.items():
            reached = Reached(*end)
            require_types((reached.next_offset, int), (reached.leader_epoch, int))
            if reached.topic_id is not None:
                require_types((reached.topic_id, str))
            if reached.last_batch is not None:
                require_types(*((each, int) for each in LastBatch(*reached.last_batch)))
            if reached.start_offset is not None:
                require_types((reached.start_offset, int))
            if str(int(number)) != number:
                raise ValueError(f"{number!r} is no partition of topic {topic!r}")
            told_of.add((topic, int(number)))
            _require_reached(f"topic {topic!r}, partition {number}", reached, bounds.get((topic, int(number))))
    for topic, partition in sorted(bounds.keys() - told_of):
        raise ValueError(
            f"topic {topic!r}, partition {partition} has no next offset, and its files go up to offset "
            f"{bounds[topic, partition][1]}"
        )
    return manifest


def _require_possible(file: ExportedFile) -> None:
    """Raises ValueError for a file that no run writes."""
    if not file.path.startswith(f"topic={file.topic}/partition={file.partition}/"):
        raise ValueError(f"{file.path!r} is no file of topic {file.topic!r}, partition {file.partition}")
    offsets = file.last_offset - file.first_offset + 1
    if not (0 <= file.partition <= INT_MAX and 0 <= file.first_offset <= file.last_offset < LONG_MAX):
        raise ValueError(f"{file.path!r} cannot have the offsets {file.first_offset} to {file.last_offset}")
    if not 1 <= file.records <= offsets:
        raise ValueError(f"{file.path!r} cannot have {file.records} records at {offsets} offsets")


def _require_reached(partition: str, reached: Reached, files: tuple[int, int] | None) -> None:
    """Every run notes the offset behind the last one in its files. Raises ValueError for another one.

    `files`: the first and the last offset in the files of the partition, None without files.
    """
    if files is None:
        is_possible = 0 <= reached.next_offset <= LONG_MAX and reached.next_offset == reached.start_offset
        if not is_possible or reached.leader_epoch != -1 or reached.last_batch is not None:
            raise ValueError(f"{partition} has the next offset {reached.next_offset}, and no file")
        return
    first, last = files
    if reached.next_offset != last + 1:
        raise ValueError(f"{partition} has the next offset {reached.next_offset}, and its files go up to offset {last}")
    if reached.start_offset is not None and not 0 <= reached.start_offset <= first:
        raise ValueError(f"{partition} begins at offset {reached.start_offset}, and its files at offset {first}")
    if not -1 <= reached.leader_epoch <= INT_MAX:
        raise ValueError(f"{partition} has the leader epoch {reached.leader_epoch}")
    if reached.last_batch is not None and not reached.last_batch[0] <= last <= reached.last_batch[1]:
        raise ValueError(
            f"{partition} ends in a batch with the offsets {reached.last_batch[0]} to {reached.last_batch[1]}, and its "
            f"files at offset {last}"
        )


def _understood_mark(mark: Any) -> dict[str, Any]:
    host, pid, started = mark["owner"]
    require_types((mark["run"], str), (host, str), (pid, int), (started, str))
    if not 0 < pid <= INT_MAX:
        raise ValueError(f"{pid} is no process")
    return mark


def _require_within(names: re.Pattern[str], path: str) -> re.Match[str]:
    """`path` matched; raises ValueError for one that an export does not give, or the system cannot have."""
    matched = names.fullmatch(path)
    os.fsencode(path)
    if matched is None:
        raise ValueError(f"{path!r} is none of its files")
    return matched


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
