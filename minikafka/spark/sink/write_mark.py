"""The file that says which write is under way in a log directory, who does it, and how far it is."""

import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from minikafka.common import file_ops
from minikafka.common.errors import KafkaException, KafkaStorageException
from minikafka.common.java_numbers import INT_MAX
from minikafka.common.topic import validate
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_dir_name import log_delete_dir_name, log_dir_name
from minikafka.spark.sink.obstacles import is_regular_file
from minikafka.spark.sink.process_id import ProcessId

_NAME = ".minikafka-write-{}"
_MARK = re.compile(_NAME.replace(".", r"\.").format(r"([0-9a-f]{12})(\.tmp)?"))
_TRIES = 20
_PAUSE_S = 0.1
_OURS = "6d6b7772"  # so begin the unique ids of our directories, which tells them from those that a broker deletes
_STAGED = re.compile(rf"\S+-\d+\.{_OURS}([0-9a-f]{{12}})([0-9a-f]{{12}})-delete", re.ASCII)


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
    """

    log_dir: str
    write_id: str
    topic: str
    topic_id: str
    overwrite: bool
    made_log_dir: bool
    owner: ProcessId
    committed: tuple[StagedPartition, ...] | None = None

    @property
    def file(self) -> Path:
        """Where the mark is kept."""
        return Path(self.log_dir, _NAME.format(self.write_id))

    def put(self) -> None:
        """Write the file, or replace it in one step. Raises OSError."""
        content = asdict(self) | {"owner": self.owner._asdict()}
        del content["log_dir"]
        file_ops.replace_file(self.file, json.dumps(content).encode())

    def remove(self) -> None:
        """Delete the file. Raises OSError."""
        file_ops.delete_if_exists(self.file)
        file_ops.delete_if_exists(self.file.with_name(self.file.name + ".tmp"))

    def with_committed(self, partitions: tuple[StagedPartition, ...]) -> "WriteMark":
        """The mark of the same write, all of whose partitions are complete."""
        return replace(self, committed=partitions)

    def staged_name(self, partition: int, attempt: str) -> str:
        """The name of a directory in which an attempt (12 hex digits) writes a partition.

        A broker that finds it deletes it, and no reader looks at it.
        """
        unique_id = _OURS + self.write_id + attempt
        return log_delete_dir_name(TopicPartition(self.topic, partition), unique_id)

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
    found = [(path, matched) for path in sorted(log_dir.iterdir()) if (matched := _MARK.fullmatch(path.name))]
    marks = [read_mark(path) for path, matched in found if not matched[2]]
    for path, matched in found:
        if matched[2]:
            if not is_regular_file(path):
                raise _broken(path, "it is no regular file")
            file_ops.delete_if_exists(path)
    return [mark for mark in marks if mark is not None]


def read_mark(file: Path) -> WriteMark | None:
    """The mark that a file in a log directory is; None if it is missing.

    Raises KafkaStorageException for what no write has put there, as its names decide what is moved and deleted.
    """
    matched = _MARK.fullmatch(file.name)
    assert matched is not None
    if not os.path.lexists(file):
        return None
    if not is_regular_file(file):
        raise _broken(file, "it is no regular file")
    try:
        mark = _mark_of(file.parent, json.loads(file.read_bytes()))
    except FileNotFoundError:  # that write has just ended
        return None
    except (ValueError, KafkaException) as error:
        raise _broken(file, str(error).partition("\n")[0]) from None
    except (TypeError, LookupError, AttributeError, RecursionError):
        raise _broken(file, "it has other fields") from None
    if mark.write_id != matched[1]:
        raise _broken(file, f"it is that of write {mark.write_id!r}")
    return mark


def _mark_of(log_dir: Path, content: dict) -> WriteMark:
    """The mark with this content. Raises one of many exceptions for a content that `WriteMark.put` does not write."""
    partitions = content.pop("committed")
    owner = ProcessId(**content.pop("owner"))
    committed = None if partitions is None else tuple(StagedPartition(**each) for each in partitions)
    mark = WriteMark(str(log_dir), **content, owner=owner, committed=committed)
    for value, kind in [
        *((text, str) for text in (mark.write_id, mark.topic, mark.topic_id, owner.host, owner.started)),
        *((flag, bool) for flag in (mark.overwrite, mark.made_log_dir)),
        *((number, int) for each in committed or () for number in (each.partition, each.base_offset, each.end_offset)),
        (owner.pid, int),
    ]:
        if type(value) is not kind:
            raise ValueError(f"{value!r} is no {kind.__name__}")
    validate(mark.topic)
    for each in committed or ():
        matched = _STAGED.fullmatch(each.staged)
        if matched is None or each.staged != mark.staged_name(each.partition, matched[2]):
            raise ValueError(f"{each.staged!r} is no directory of this write")
        if not (0 <= each.partition <= INT_MAX and 0 <= each.base_offset <= each.end_offset):
            raise ValueError(f"{each} cannot be")
    return mark


def _broken(file: Path, why: str) -> KafkaStorageException:
    return KafkaStorageException(
        f"{file} is not the mark that a write leaves ({why}); remove it, unless a write is under way"
    )


def delete_staged(path: Path) -> None:
    """Delete a staged directory, in which a task that was told to end may still be making files. Raises OSError."""
    for tries_left in reversed(range(_TRIES)):
        try:
            file_ops.delete_directory(path)
            return
        except OSError:
            if not tries_left:
                raise
            time.sleep(_PAUSE_S)


def staged_directories(log_dir: Path) -> Iterator[tuple[str, Path]]:
    """The directories that writes have staged, each with the id of its write."""
    for path in sorted(log_dir.iterdir()):
        match = _STAGED.fullmatch(path.name)
        if match and path.is_dir() and not path.is_symlink():  # what else has such a name is not ours
            yield match[1], path
