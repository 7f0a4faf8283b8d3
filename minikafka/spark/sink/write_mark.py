"""The file that says which write is under way in a log directory, who does it, and how far it is."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.errors import KafkaException, KafkaStorageException
from minikafka.common.java.java_numbers import INT_MAX, LONG_MAX
from minikafka.common.topic import validate
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_dir_name import log_delete_dir_name, log_dir_name, parse_topic_partition_name
from minikafka.log.log_file_utils import DELETE_DIR_SUFFIX
from minikafka.spark.shared_directory import is_directory, is_regular_file, read_json, require_types, write_json
from minikafka.tools.log_dir_entries import is_mark_of_write
from minikafka.tools.process_id import ProcessId

_NAME = ".minikafka-write-{}"
_DRAFT = ".tmp"
_OURS = "6d6b7772"  # so begin the unique ids of our directories, which tells them from those that a broker deletes
_STAGED = re.compile(rf"\S+-(\d+)\.{_OURS}([0-9a-f]{{12}})([0-9a-f]{{12}})-delete", re.ASCII)


@dataclass(frozen=True)
class StagedPartition:
    """A partition's complete log in the directory `staged`, with the offsets from `base_offset` to `end_offset`
    (exclusive)."""

    partition: int
    staged: str
    base_offset: int
    end_offset: int


@dataclass(frozen=True)
class WriteMark:
    """`.minikafka-write-<id>` in the log directory. A broker does not look at files there that it does not know.

    - `write_id`: 12 hex digits. `overwrite`: a topic with records may be replaced.
    - `made_log_dir`: the log directory was missing before.
    - `committed`: the partitions, once all are complete; from then on the write is carried through. None before that.
    - `states`: what the logs were at that moment (`log_as_it_stands.state_of`), by where they lay: those of `committed`
      by the names of their staged directories, those of the topic that stood there by their own.
    - `log_starts`: the log start offsets that were noted for the topic at that moment (`log_starts_of`).
    """

    log_dir: str
    write_id: str
    topic: str
    topic_id: str
    overwrite: bool
    made_log_dir: bool
    owner: ProcessId
    committed: tuple[StagedPartition, ...] | None = None
    states: dict[str, str] = field(default_factory=dict)
    log_starts: dict[str, int] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        """Where the mark is kept."""
        return Path(self.log_dir, _NAME.format(self.write_id))

    def put(self) -> None:
        """Write the file, or replace it in one step. Raises KafkaStorageException, OSError, as `write_json` does."""
        content = asdict(self) | {"owner": self.owner._asdict()}
        del content["log_dir"]
        write_json(self.file, content)

    def remove(self) -> None:
        """Delete the file. Raises OSError."""
        file_ops.delete_if_exists(self.file)
        file_ops.delete_if_exists(self.file.with_name(self.file.name + _DRAFT))

    def with_committed(
        self, partitions: tuple[StagedPartition, ...], states: dict[str, str], log_starts: dict[str, int]
    ) -> "WriteMark":
        """The mark of the same write, all of whose partitions are complete."""
        return replace(self, committed=partitions, states=states, log_starts=log_starts)

    def staged_name(self, partition: int, attempt: str) -> str:
        """The name of a directory in which an attempt (12 hex digits) writes a partition.

        A broker that finds it deletes it, and no reader looks at it.
        """
        unique_id = _OURS + self.write_id + attempt
        return log_delete_dir_name(TopicPartition(self.topic, partition), unique_id)

    def partition_staged_as(self, name: str) -> int | None:
        """The partition of the topic for which `staged_name` gives this name; None for none."""
        matched = _STAGED.fullmatch(name)
        if matched is None:
            return None
        partition = int(matched[1])
        return partition if name == self.staged_name(partition, matched[3]) else None

    def staged_log(self, staged: StagedPartition) -> Path:
        """Where the partition's log is until it is moved to its place."""
        return Path(self.log_dir, staged.staged, self.final_name(staged.partition))

    def final_name(self, partition: int) -> str:
        """The name of a partition's directory."""
        return log_dir_name(TopicPartition(self.topic, partition))


def marks_in(log_dir: Path) -> list[WriteMark]:
    """The marks of a log directory; what a crash left of a mark that was about to be put is removed.

    Raises what `read_mark` raises, and OSError.
    """
    found = [path for path in sorted(log_dir.iterdir()) if is_mark_of_write(path.name.removesuffix(_DRAFT))]
    marks = [read_mark(path) for path in found if not path.name.endswith(_DRAFT)]
    for path in found:
        if path.name.endswith(_DRAFT):
            if not is_regular_file(path):
                raise broken_mark(path, "it is no regular file")
            file_ops.delete_if_exists(path)
    return [mark for mark in marks if mark is not None]


def read_mark(file: Path) -> WriteMark | None:
    """The mark that a file in a log directory is; None if it is missing.

    Raises KafkaStorageException for what no write has put there, as its names decide what is moved and deleted.
    """
    return read_json(file, lambda content: _mark_of(file, content), lambda why: broken_mark(file, why))


def _mark_of(file: Path, content: dict) -> WriteMark:
    """The mark with this content. Raises what `read_json` expects for a content that `WriteMark.put` does not write."""
    partitions = content.pop("committed")
    owner = ProcessId(**content.pop("owner"))
    committed = None if partitions is None else tuple(StagedPartition(**each) for each in partitions)
    mark = WriteMark(str(file.parent), **content, owner=owner, committed=committed)
    require_types(
        *((text, str) for text in (mark.write_id, mark.topic, mark.topic_id, owner.host, owner.started)),
        *((flag, bool) for flag in (mark.overwrite, mark.made_log_dir)),
        *((number, int) for each in committed or () for number in (each.partition, each.base_offset, each.end_offset)),
        *((text, str) for pair in mark.states.items() for text in pair),
        *((offset, int) for offset in mark.log_starts.values()),
        (owner.pid, int),
    )
    if mark.file != file:
        raise ValueError(f"it is that of write {mark.write_id!r}")
    if not 0 < owner.pid <= INT_MAX:
        raise ValueError(f"{owner.pid} is no process")
    validate(mark.topic)
    _require_whole(mark)
    return mark


def _require_whole(mark: WriteMark) -> None:
    """A commit names all partitions from 0 on, and all that was there of the topic; before it, nothing is named.

    Raises ValueError.
    """
    committed = mark.committed or ()
    if [each.partition for each in committed] != list(range(len(committed))):
        raise ValueError(f"it commits the partitions {[each.partition for each in committed]}")
    for each in committed:
        if mark.partition_staged_as(each.staged) != each.partition:
            raise ValueError(f"{each.staged!r} is no directory of partition {each.partition} of this write")
        if not 0 <= each.base_offset <= each.end_offset <= LONG_MAX:
            raise ValueError(f"{each} cannot be")
        if each.staged not in mark.states:
            raise ValueError(f"it does not say what was in {each.staged}")
    if mark.committed is None and (mark.states or mark.log_starts):
        raise ValueError("it says what logs were there, and commits nothing")
    if mark.committed == ():
        raise ValueError("it commits no partition")
    for name in mark.states.keys() - {each.staged for each in committed} | mark.log_starts.keys():
        if _topic_of(name) != mark.topic:
            raise ValueError(f"it says what was in {name!r}, and does not commit it")
    for name, offset in mark.log_starts.items():
        if not 0 <= offset <= LONG_MAX:
            raise ValueError(f"{offset} is no log start offset of {name}")


def _topic_of(name: str) -> str | None:
    """The topic whose partition has a directory of this name, None for none."""
    if name.endswith(DELETE_DIR_SUFFIX):
        return None
    try:
        return parse_topic_partition_name(Path(name)).topic
    except KafkaException:
        return None


def broken_mark(file: Path, why: str) -> KafkaStorageException:
    """The complaint about a mark that no write has put there as it is, or beside what lies there."""
    return KafkaStorageException(
        f"{file} is not the mark that a write leaves ({why}); remove it, unless a write is under way"
    )


def staged_directories(log_dir: Path) -> Iterator[tuple[str, Path]]:
    """The directories that writes have staged, each with the id of its write."""
    for path in sorted(log_dir.iterdir()):
        match = _STAGED.fullmatch(path.name)
        if match and is_directory(path):  # what else has such a name is not ours
            yield match[2], path
