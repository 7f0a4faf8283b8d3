"""A write that is seen whole or not at all, whoever is killed in the middle.

1. `begin` leaves a mark in the log directory, with the driver's process in it.
2. Each attempt of a task writes its partitions into directories of its own, `topic-partition.<id>-delete`: no reader
   looks at these, and a broker that finds one deletes it. In it lies the log, under the name that it will have. (A log
   is opened differently where its own directory is to be deleted.) It is closed and on the device when the task ends.
3. `commit` makes logs for the partitions without rows, writes the list of all directories into the mark, in one step,
   puts the topic's old logs aside, writes the checkpoints, moves each log to its place, and removes what is left of
   other attempts, then the mark. So no log ever lies where a checkpoint says what another one was: a broker would hide
   or cut the records below the old log start offset.

`abort`, or the next `begin` after the driver died, removes everything before the mark has the list, and does the rest
of step 3 after it. Each rename is one step, but all of them are not: after a driver died between two of them, some
partitions are the new topic's, and the others are missing or the old one's. Nothing of a write whose driver may be
alive is touched: its process is looked up, by number and start; on another machine it counts as alive.

After a driver died in step 3, a broker may start on what is there, and take or delete records. So the mark also says
what each log was at the commit, those of the topic that was there and the new ones, and the rest of the step is done
only while all of them still are that. Otherwise the next `begin` tells what to do, and changes nothing.

While it begins and commits, a write holds the log directory's `.lock`, as a broker does while it runs. It first looks
for what is in its way (`obstacles`): nothing is deleted but logs that are replaced and what a write has made. Nor does
it believe a mark that does not agree with itself, or with what is staged: it would delete a topic that nobody replaced.
"""

import os
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.meta_properties import META_PROPERTIES_NAME, MetaProperties
from minikafka.checkpoint.offset_checkpoint_file import (
    LOG_START_OFFSET_CHECKPOINT_FILE,
    RECOVERY_POINT_CHECKPOINT_FILE,
    OffsetCheckpointFile,
)
from minikafka.checkpoint.partition_metadata_file import PartitionMetadataFile
from minikafka.common import file_ops
from minikafka.common.errors import (
    IllegalArgumentException,
    InconsistentTopicIdException,
    KafkaException,
    KafkaStorageException,
)
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import random_uuid
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE
from minikafka.log.log_dir_lock import LOCK_FILE_NAME
from minikafka.log.log_dir_name import parse_topic_partition_name
from minikafka.log.manager.high_watermark_checkpoints import HIGH_WATERMARK_CHECKPOINT_FILE
from minikafka.spark.shared_directory import delete_staged, locked, opened_below, refuse_other_than_directory
from minikafka.spark.sink.log_as_it_stands import log_starts_of, offsets_in, offsets_noted, state_of
from minikafka.spark.sink.obstacles import (
    FILES,
    has_records,
    partition_directories,
    refuse_obstacles,
    refuse_other_than_log,
    refuse_other_than_staged,
    refuse_records,
)
from minikafka.spark.sink.partition_writer import PartitionWriter
from minikafka.spark.sink.sink_options import SinkOptions
from minikafka.spark.sink.write_mark import (
    StagedPartition,
    WriteMark,
    broken_mark,
    marks_in,
    read_mark,
    staged_directories,
)
from minikafka.spark.surrounding_log_dir import require_no_log_dirs_in, require_outside_log_dirs
from minikafka.tools.broker_user import leave_to_owner, require_files_for_owner
from minikafka.tools.process_id import ProcessId


def begin(options: SinkOptions, *, overwrite: bool) -> WriteMark:
    """Settle what dead writes left, see that the topic may be written, and leave a mark.

    Raises TopicExistsException, InconsistentTopicIdException, KafkaStorageException; KafkaException while a broker or
    another write of the topic uses the directory, or for one of another node; IOException for one of another user than
    this process's, unless that is root; IllegalArgumentException for one that lies in another log directory, or holds
    one. Then nothing has changed, but for what dead writes left, and `.lock`.
    """
    log_dir = options.log_dir
    require_outside_log_dirs(log_dir.parent)
    require_no_log_dirs_in(log_dir)
    with storage_errors(log_dir):
        made_log_dir = not log_dir.exists()
        log_dir.mkdir(parents=True, exist_ok=True)
        try:
            with _locked(log_dir):
                require_files_for_owner(log_dir)
                for mark in _settled(log_dir):
                    if mark.topic == options.topic:
                        raise KafkaException(
                            f"Process {mark.owner.pid} on {mark.owner.host} is writing topic {mark.topic}; "
                            f"if it is gone, remove {mark.file}"
                        )
                _refuse_what_is_there(options, overwrite=overwrite)
                return _put_mark(options, overwrite=overwrite, made_log_dir=made_log_dir)
        except BaseException:
            if made_log_dir:
                with suppress(OSError):
                    _remove_if_empty(log_dir)
            raise


def commit(mark: WriteMark, options: SinkOptions, written: Iterable[StagedPartition]) -> None:
    """Make the written partitions, and empty ones beside them, the topic.

    Raises what `begin` raises. Where the disk fails after the topic's partitions have begun to move, the message says
    so: the next write into the log directory finishes it.
    """
    log_dir = options.log_dir
    with storage_errors(log_dir), _locked(log_dir):
        by_partition: dict[int, StagedPartition] = {}
        for each in written:
            if each.partition in by_partition:
                raise IllegalArgumentException(
                    f"Two tasks have rows of partition {each.partition}: minikafka.spark.write_log_dir distributes them"
                )
            by_partition[each.partition] = each
        if not mark.file.exists():
            raise KafkaStorageException(f"{mark.file} is gone: somebody else took this write for dead")
        _refuse_what_is_there(options, overwrite=mark.overwrite)
        for partition in range(options.partitions):
            if partition not in by_partition:
                by_partition[partition] = PartitionWriter(mark, options, partition, 0).close()
        for each in by_partition.values():
            _refuse_other_than_staged(mark, each)
            if not mark.staged_log(each).exists():
                raise KafkaStorageException(f"{mark.staged_log(each)} is gone: a broker was started beside this write")
            leave_to_owner(log_dir, [mark.staged_log(each), *mark.staged_log(each).iterdir()])
        states = {path.name: state_of(path) for path in _topic_directories(log_dir, mark.topic)}
        states |= {each.staged: state_of(mark.staged_log(each)) for each in by_partition.values()}
        committed = tuple(by_partition[partition] for partition in sorted(by_partition))
        mark = mark.with_committed(committed, states, log_starts_of(log_dir, mark.topic))
        if options.broker is not None:
            _write_meta_properties(log_dir, *options.broker)
        mark.put()
        with storage_errors(log_dir, f"; topic {mark.topic} is complete, the next write into {log_dir} finishes it"):
            _carry_through(mark)


def abort(mark: WriteMark) -> None:
    """Remove all traces of a write; once it is committed, nothing is to be removed. Raises KafkaStorageException."""
    log_dir = Path(mark.log_dir)
    with storage_errors(log_dir):
        found = read_mark(mark.file)
        if found is not None and found.committed is not None:
            return
        _undo(mark)
        if mark.made_log_dir:
            _remove_if_empty(log_dir)


@contextmanager
def storage_errors(place: Path, consequence: str = "") -> Iterator[None]:
    """Errors of the operating system become one line that names place and reason, also where one is the cause of
    another exception: an index is refused after a full disk had no room for an entry of it.
    """
    try:
        yield
    except Exception as error:
        reason: BaseException | None = error
        while reason is not None and not (isinstance(reason, OSError) and reason.errno is not None):
            reason = reason.__cause__
        if reason is None:
            raise
        raise KafkaStorageException(f"{place} cannot be written: {reason}{consequence}") from None


# Before the commit


def _settled(log_dir: Path) -> list[WriteMark]:
    """Finish or undo the writes of dead drivers; returns the others.

    A committed write of this machine is finished whether its driver still runs or not: while that was at it, it held
    the lock that this write holds.

    Raises KafkaStorageException, before anything is changed, for a mark, or a directory, that no write has left so.
    """
    marks = marks_in(log_dir)
    to_carry_through = [mark for mark in marks if mark.committed is not None and mark.owner.is_of_this_machine]
    others = [mark for mark in marks if mark not in to_carry_through]
    alive = [mark for mark in others if mark.owner.may_be_alive]
    ids = {mark.write_id for mark in alive}
    for mark in marks:
        if mark.write_id not in ids:
            _refuse_contradictions(mark)
    for write_id, path in staged_directories(log_dir):
        if write_id not in ids:
            _refuse_other_than_ours(path)
    for mark in to_carry_through:
        _carry_through(mark)
    for mark in others:
        if mark not in alive:
            _undo(mark)
    for write_id, path in staged_directories(log_dir):
        if write_id not in ids:  # of a task that outlived its driver
            delete_staged(path)
    return alive


def _refuse_other_than_ours(staged: Path) -> None:
    """Look at a directory that will be deleted. Raises KafkaStorageException, OSError."""
    with suppress(FileNotFoundError):  # a task that outlived its driver may be deleting it
        refuse_other_than_staged(staged)


def _refuse_contradictions(mark: WriteMark) -> None:
    """See that what the write has staged and put aside is what its mark says. Raises KafkaStorageException, OSError."""
    committed = {each.partition for each in mark.committed or ()}
    for write_id, path in staged_directories(Path(mark.log_dir)):
        if write_id != mark.write_id:
            continue
        partition = mark.partition_staged_as(path.name)
        if partition is None:
            raise broken_mark(mark.file, f"{path.name} is of its write, and of another topic than {mark.topic}")
        with suppress(FileNotFoundError):  # as above
            if mark.committed is None and has_records(path):
                raise broken_mark(mark.file, f"it commits nothing, and {path.name} is a log that was put aside")
        if mark.committed is not None and partition not in committed:
            if os.path.lexists(path / mark.final_name(partition)):
                raise broken_mark(mark.file, f"it does not commit partition {partition}, which {path.name} has")


def _undo(mark: WriteMark) -> None:
    """Remove the directories of a write, then its mark.

    Raises KafkaStorageException, before anything is removed, where something in them is not the write's; OSError.
    """
    for write_id, path in staged_directories(Path(mark.log_dir)):
        if write_id == mark.write_id:
            _refuse_other_than_ours(path)
    _remove_staged(mark)
    mark.remove()
    _remove_staged(mark)  # of a task that had not noticed yet


def _remove_staged(mark: WriteMark) -> None:
    for write_id, path in staged_directories(Path(mark.log_dir)):
        if write_id == mark.write_id:
            delete_staged(path)


def _remove_if_empty(log_dir: Path) -> None:
    """Remove a log directory that a write has made, if there is nothing in it."""
    if {path.name for path in log_dir.iterdir()} <= {LOCK_FILE_NAME}:
        file_ops.delete_if_exists(log_dir / LOCK_FILE_NAME)
        file_ops.delete_if_exists(log_dir)


def _refuse_what_is_there(options: SinkOptions, *, overwrite: bool) -> None:
    """Raises what `refuse_obstacles`, `refuse_records` and `_refuse_other_node` raise."""
    refuse_obstacles(options.log_dir, options.topic)
    if not overwrite:
        for path in _topic_directories(options.log_dir, options.topic):
            refuse_records(path)
    if options.broker is not None:
        _refuse_other_node(options.log_dir, *options.broker)


def _refuse_other_node(log_dir: Path, cluster_id: str, node_id: int) -> None:
    """Raises KafkaException when the directory is not this node's, or does not say whose it is."""
    file = log_dir / META_PROPERTIES_NAME
    if not file.exists():
        return
    try:
        known = MetaProperties.read(file)
    except (KafkaException, IllegalArgumentException) as error:
        raise KafkaException(f"{file} does not say whose it is: {error}") from None
    if (known.cluster_id, known.node_id) != (cluster_id, node_id):
        raise KafkaException(f"{file} names node {known.node_id} of cluster {known.cluster_id}")


def _put_mark(options: SinkOptions, *, overwrite: bool, made_log_dir: bool) -> WriteMark:
    mark = WriteMark(
        log_dir=str(options.log_dir),
        write_id=uuid.uuid4().hex[:12],
        topic=options.topic,
        topic_id=_topic_id(options, overwrite=overwrite),
        overwrite=overwrite,
        made_log_dir=made_log_dir,
        owner=ProcessId.of_driver(),
    )
    try:
        mark.put()
    except BaseException:
        with suppress(OSError):
            mark.remove()
        raise
    return mark


def _topic_id(options: SinkOptions, *, overwrite: bool) -> str:
    """The id that the topic gets. Raises InconsistentTopicIdException, what `PartitionMetadataFile.read` raises."""
    ids = set()
    for path in _topic_directories(options.log_dir, options.topic):
        metadata = PartitionMetadataFile(PartitionMetadataFile.new_file(path))
        if metadata.exists():
            ids.add(metadata.read().topic_id)
    if options.topic_id is None:
        if len(ids) > 1:
            raise InconsistentTopicIdException(f"{options.log_dir} has directories of several topics {options.topic}")
        return ids.pop() if ids else random_uuid()
    if not overwrite and ids - {options.topic_id}:
        raise InconsistentTopicIdException(
            f"Topic {options.topic} in {options.log_dir} has the id {ids.pop()}, not {options.topic_id}"
        )
    return options.topic_id


# The commit


def _carry_through(mark: WriteMark) -> None:
    """What is left to do once the mark lists the partitions; doing it twice changes nothing.

    Raises KafkaStorageException, as `refuse_obstacles` and for what has changed since, before anything moves; OSError.
    """
    log_dir = Path(mark.log_dir)
    assert mark.committed is not None
    refuse_obstacles(log_dir, mark.topic)
    for each in mark.committed:
        _refuse_other_than_staged(mark, each)
    _refuse_changes(mark)
    _refuse_other_offsets(mark)
    others = [path for path, partition in partition_directories(log_dir) if partition.topic != mark.topic]
    to_move = {mark.final_name(each.partition): mark.staged_log(each) for each in mark.committed}
    kept = set(to_move) if mark.overwrite else {path.name for path in _topic_directories(log_dir, mark.topic)}
    to_move = {name: staged for name, staged in to_move.items() if staged.exists()}
    for path in _topic_directories(log_dir, mark.topic):
        if path.name in to_move or path.name not in kept:
            _put_aside(mark, path)
    file_ops.flush_dir(log_dir)
    _write_checkpoints(mark)
    for name, staged in to_move.items():
        with opened_below(log_dir, log_dir) as there, opened_below(log_dir, staged.parent) as here:
            file_ops.rename_between(here, staged, there, log_dir / name)
    file_ops.flush_dir(log_dir)
    clean_shutdown = CleanShutdownFileHandler(log_dir)
    if not others and not clean_shutdown.exists():
        clean_shutdown.write()
    leave_to_owner(log_dir, (log_dir / name for name in FILES))
    _remove_staged(mark)
    mark.remove()


def _refuse_other_than_staged(mark: WriteMark, staged: StagedPartition) -> None:
    """Look at where a partition's log is, or was, before it is moved. Raises KafkaStorageException, OSError."""
    log = mark.staged_log(staged)
    refuse_other_than_directory(log.parent)
    if os.path.lexists(log):
        refuse_other_than_log(log)


def _refuse_other_offsets(mark: WriteMark) -> None:
    """See that the logs have the offsets that the checkpoints will say. Raises KafkaStorageException, OSError."""
    assert mark.committed is not None
    for each in mark.committed:
        staged = mark.staged_log(each)
        log = staged if staged.exists() else Path(mark.log_dir, mark.final_name(each.partition))
        if (offsets := offsets_in(log)) != (each.base_offset, each.end_offset):
            raise broken_mark(
                mark.file,
                f"{log} has the offsets from {offsets[0]} to {offsets[1]} (exclusive), and it says "
                f"{each.base_offset} to {each.end_offset}",
            )


def _refuse_changes(mark: WriteMark) -> None:
    """See that each log of the topic is as it was at the commit, there, or moved since to where it belongs, and that
    nobody has deleted records of it since. (A log start offset that is not noted any more deletes nothing.)

    Raises KafkaStorageException for another one, and for one that is gone; OSError.
    """
    log_dir = Path(mark.log_dir)
    assert mark.committed is not None
    moved = {
        mark.final_name(each.partition): mark.states[each.staged]
        for each in mark.committed
        if not mark.staged_log(each).exists()
    }
    there = {path.name: path for path in _topic_directories(log_dir, mark.topic)}
    log_starts = log_starts_of(log_dir, mark.topic)
    for name, path in there.items():
        is_other = state_of(path) != moved.get(name, mark.states.get(name))
        noted_then = None if name in moved else mark.log_starts.get(name)  # nothing is, when a log is moved
        if is_other or log_starts.get(name) not in (None, noted_then):
            or_else = "" if name in moved else "; remove it, and the next write finishes this one"
            raise KafkaStorageException(
                f"{path} has changed since topic {mark.topic} was written, which was interrupted: remove {mark.file}, "
                f"and the topic stays as it stands, without what is not in its place yet{or_else}"
            )
        if name not in moved and not mark.overwrite and has_records(path):
            raise broken_mark(mark.file, f"its write replaces no records, and {path} has some")
    for each in mark.committed:
        staged, name = mark.staged_log(each), mark.final_name(each.partition)
        if name not in there if name in moved else state_of(staged) != mark.states[each.staged]:
            raise KafkaStorageException(
                f"{staged} is not whole any more, and with it a partition of {mark.topic}, which was written in part: "
                f"remove {mark.file}, and write the topic again"
            )


def _put_aside(mark: WriteMark, path: Path) -> None:
    """Let a directory that is replaced go the way of those that were never committed."""
    partition = parse_topic_partition_name(path).partition
    file_ops.rename(path, path.with_name(mark.staged_name(partition, uuid.uuid4().hex[:12])))


def _topic_directories(log_dir: Path, topic: str) -> list[Path]:
    return [path for path, partition in partition_directories(log_dir) if partition.topic == topic]


def _write_checkpoints(mark: WriteMark) -> None:
    """Let the log directory's checkpoints say what the new logs are, and nothing that the old ones were."""
    assert mark.committed is not None
    log_dir = Path(mark.log_dir)
    ends = {TopicPartition(mark.topic, each.partition): each.end_offset for each in mark.committed}
    for name in (RECOVERY_POINT_CHECKPOINT_FILE, HIGH_WATERMARK_CHECKPOINT_FILE):
        checkpoint = OffsetCheckpointFile(log_dir / name)
        checkpoint.write(_others(log_dir / name, mark.topic) | ends)
    for name in (LOG_START_OFFSET_CHECKPOINT_FILE, OFFSET_CHECKPOINT_FILE):
        if (log_dir / name).exists():
            OffsetCheckpointFile(log_dir / name).write(_others(log_dir / name, mark.topic))


def _others(file: Path, topic: str) -> dict[TopicPartition, int]:
    """What a checkpoint file says of other topics."""
    return {partition: offset for partition, offset in offsets_noted(file).items() if partition.topic != topic}


def _write_meta_properties(log_dir: Path, cluster_id: str, node_id: int) -> None:
    file = log_dir / META_PROPERTIES_NAME
    if not file.exists():
        MetaProperties(cluster_id, node_id, random_uuid()).write(file, int(time.time() * 1000))


def _locked(log_dir: Path) -> AbstractContextManager[None]:
    """Hold the directory's lock, which another write has for a moment and a broker for as long as it runs."""
    return locked(log_dir / LOCK_FILE_NAME, "a broker is running on this log directory")
