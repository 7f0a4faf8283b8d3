"""A write is seen whole or not at all: tasks that fail or run twice, drivers that die at any point, full disks."""

import dataclasses
import errno
import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from minikafka.cli import main
from minikafka.common import file_ops
from minikafka.common.errors import (
    IllegalArgumentException,
    InconsistentTopicIdException,
    InvalidOffsetException,
    InvalidRecordException,
    InvalidTimestampException,
    KafkaException,
    KafkaStorageException,
    RecordBatchTooLargeException,
    RecordTooLargeException,
    TopicExistsException,
)
from minikafka.common.file_lock import FileLock
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner.cleaner_config import CleanerConfig
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.log.manager.config_repository import MapConfigRepository
from minikafka.log.manager.log_manager import LogManager
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.spark import shared_directory
from minikafka.spark.sink.write_mark import marks_in, staged_directories
from minikafka.tools import process_id
from minikafka.tools.process_id import ProcessId
from minikafka.witness.kafka.kafka_log_manager import KafkaLogManager
from tests.spark.rows import rows
from tests.spark.sink.writing import DEAD, NOW, begin, files, killed_in_commit, row, task, write

COMMITTED = [
    ".kafka_cleanshutdown",
    ".lock",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "t-0",
    "t-1",
]


CHANGED = r"t-\d has changed since topic t was written, which was interrupted: remove [^\n]*$"


def names(log_dir: Path) -> list[str]:
    return sorted(path.name for path in log_dir.iterdir())


def values(log_dir: Path) -> list[bytes]:
    return sorted(each["value"] for each in rows(log_dir))


@pytest.mark.slow
def test_what_a_write_leaves(tmp_path):
    write(tmp_path / "data", [row(b"a")], [row(b"b", partition=1)], partitions=2)
    assert names(tmp_path / "data") == COMMITTED
    assert values(tmp_path / "data") == [b"a", b"b"]
    assert (tmp_path / "data" / "replication-offset-checkpoint").read_text() == "0\n2\nt 0 1\nt 1 1\n"
    assert (tmp_path / "data" / "recovery-point-offset-checkpoint").read_text() == "0\n2\nt 0 1\nt 1 1\n"
    ids = {(tmp_path / "data" / name / "partition.metadata").read_text() for name in ("t-0", "t-1")}
    assert len(ids) == 1


def test_logs_whose_broker_died_are_not_called_cleanly_shut(tmp_path):
    """Else it would recover none of them when it starts again, however much of their ends never reached the disk."""
    write(tmp_path, [row()], topic="other")
    (tmp_path / ".kafka_cleanshutdown").unlink()
    write(tmp_path, [row()])
    assert "t-0" in names(tmp_path) and ".kafka_cleanshutdown" not in names(tmp_path)


def test_what_a_broker_noted_of_its_clean_stop_stays(tmp_path):
    """The controller compares the epoch in it with that of the broker's last registration."""
    noted = '{"version":0,"brokerEpoch":7}'
    (tmp_path / ".kafka_cleanshutdown").write_text(noted)
    write(tmp_path, [row()])
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == noted


def test_what_root_writes_belongs_to_the_brokers_user(tmp_path):
    """Whose broker would not start on files of another user."""
    write(tmp_path, [row()], topic="other")
    if os.getuid() == 0:
        for path in (tmp_path, *tmp_path.rglob("*")):
            os.chown(path, 65534, 65534)
    write(tmp_path, [row(b"a", partition=1)], [], partitions=2)
    assert {path.stat().st_uid for path in tmp_path.rglob("*")} == {tmp_path.stat().st_uid}


def test_a_partition_without_rows_is_there_and_empty(tmp_path):
    write(tmp_path, [row(b"a", partition=1)], [], partitions=2)
    assert names(tmp_path) == COMMITTED
    assert (tmp_path / "t-0" / f"{0:020}.log").read_bytes() == b""
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n2\nt 0 0\nt 1 1\n"


def test_nothing_is_seen_before_the_commit_nor_after_an_abort(tmp_path):
    write(tmp_path, [row(b"there")], topic="other")
    before = files(tmp_path)
    writer = begin(tmp_path)
    task(writer, [row(b"a")])
    assert values(tmp_path) == [b"there"]
    assert all(name.endswith("-delete") for name in names(tmp_path) if name.startswith("t-"))
    writer.abort([None])
    assert files(tmp_path) == before


def test_an_abort_removes_the_directory_that_was_made(tmp_path):
    writer = begin(tmp_path / "a" / "b")
    task(writer, [row()])
    writer.abort([])
    assert names(tmp_path / "a") == []


def test_a_task_that_runs_twice_counts_once(tmp_path):
    writer = begin(tmp_path, partitions=2)
    task(writer, [row(b"lost")])
    messages = [task(writer, [row(b"a")]), task(writer, [row(b"b", partition=1)])]
    writer.commit(messages)
    assert names(tmp_path) == COMMITTED
    assert values(tmp_path) == [b"a", b"b"]
    with pytest.raises(KafkaStorageException, match="The write of t has ended without this task"):
        task(writer, [row(b"late")])
    assert names(tmp_path) == COMMITTED


def test_two_tasks_with_rows_of_one_partition_are_refused(tmp_path):
    writer = begin(tmp_path)
    messages = [task(writer, [row(b"a")]), task(writer, [row(b"b")])]
    with pytest.raises(IllegalArgumentException, match="Two tasks have rows of partition 0"):
        writer.commit(messages)
    writer.abort(messages)
    assert names(tmp_path) == [".lock"]


@pytest.mark.parametrize(
    ("bad", "options", "error", "message"),
    [
        ([row(partition=1)], {}, IllegalArgumentException, "A row is of partition 1; t has 1"),
        ([row(partition=-1)], {}, IllegalArgumentException, "A row is of partition -1; t has 1"),
        ([row(timestamp=-2)], {}, InvalidTimestampException, "-2 ms"),
        ([row(headers=[(None, b"x")])], {}, IllegalArgumentException, "A header has no key"),
        ([row(offset=3), row(offset=3)], {}, InvalidOffsetException, "Offset 3 of t-0"),
        ([row(offset=3), row(offset=2)], {}, InvalidOffsetException, "Offset 2 of t-0"),
        ([row(offset=-1)], {}, InvalidOffsetException, "Offset -1 of t-0"),
        ([row(offset=5), row(offset=-(2**63))], {}, InvalidOffsetException, "Offset -9223372036854775808 of t-0"),
        ([row(offset=2**63 - 1)], {}, InvalidOffsetException, "After offset 9223372036854775807 of t-0 no log can end"),
        ([row(offset=1), row(offset=2**63 - 1)], {}, InvalidOffsetException, "no log can end"),
        ([row(offset=None)], {}, InvalidOffsetException, "A row of t-0 has no offset"),
        ([row(offset=5), row(offset=None)], {}, InvalidOffsetException, "A row of t-0 has no offset"),
        ([row(key=None)], {"cleanup.policy": "compact"}, InvalidRecordException, "without key in topic partition t-0"),
        ([row(b"v" * 200)], {"max.message.bytes": 200}, RecordTooLargeException, "The batch at offset 0 of t-0 has 2"),
        ([row(b"v" * 200)], {"internal.segment.bytes": 200}, RecordBatchTooLargeException, "segment size of 200"),
    ],
)  # fmt: skip
def test_a_task_with_rows_that_cannot_be_written_leaves_nothing(tmp_path, bad, options, error, message):
    writer = begin(tmp_path, settings=options, offsets="offset" in bad[0])
    with pytest.raises(error, match=message):
        task(writer, bad)
    assert not list(staged_directories(tmp_path))


def test_a_topic_with_records_is_refused_or_replaced(tmp_path):
    write(tmp_path, [row(b"old"), row(b"old", partition=1)], partitions=2)
    write(tmp_path, [row(b"other")], topic="other")
    with pytest.raises(TopicExistsException, match="t-0 has records"):
        write(tmp_path, [row(b"new")])
    write(tmp_path, [row(b"new")], overwrite=True)
    assert names(tmp_path) == sorted([*COMMITTED[:-1], "other-0"])
    assert values(tmp_path) == [b"new", b"other"]
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n2\nother 0 1\nt 0 1\n"


def test_the_empty_directories_of_a_new_topic_give_their_id(tmp_path):
    topic_id = "A" * 21 + "g"
    with Log.open(tmp_path / "t-0", topic_id=topic_id):
        pass
    with pytest.raises(InconsistentTopicIdException):
        begin(tmp_path, topicId="B" * 21 + "g")
    write(tmp_path, [row(b"a")], partitions=2)
    for name in ("t-0", "t-1"):
        assert topic_id in (tmp_path / name / "partition.metadata").read_text()
    assert values(tmp_path) == [b"a"]


def test_a_running_broker_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_directory, "_LOCK_PATIENCE_S", 0)
    broker = FileLock(tmp_path / ".lock")
    assert broker.try_lock()
    with pytest.raises(KafkaException, match="is held: a broker is running"):
        begin(tmp_path)
    broker.unlock_and_close()
    assert names(tmp_path) == [".lock"]
    writer = begin(tmp_path)
    messages = [task(writer, [row()])]
    broker = FileLock(tmp_path / ".lock")
    assert broker.try_lock()
    with pytest.raises(KafkaException, match="is held: a broker is running"):
        writer.commit(messages)
    writer.abort(messages)
    broker.unlock_and_close()
    assert names(tmp_path) == [".lock"]


def test_what_a_dead_driver_left_is_removed_and_what_a_living_one_has_is_not(tmp_path):
    dead, alive = begin(tmp_path, topic="dead"), begin(tmp_path, topic="alive")
    task(dead, [row()])
    message = task(alive, [row(b"alive")])
    dataclasses.replace(dead._mark, owner=DEAD).put()
    with pytest.raises(KafkaException, match=f"Process {os.getpid()} on .* is writing topic alive; if it is gone"):
        begin(tmp_path, topic="alive")
    write(tmp_path, [row(b"a")])
    assert not [name for name in names(tmp_path) if name.startswith("dead")]
    alive.commit([message])
    assert values(tmp_path) == [b"a", b"alive"]
    assert not list(tmp_path.glob(".minikafka*")) + list(staged_directories(tmp_path))


def test_what_a_task_left_that_outlived_its_driver_is_removed(tmp_path):
    writer = begin(tmp_path)
    task(writer, [row()])
    writer._mark.remove()
    write(tmp_path, [row(b"a")], topic="u")
    assert not list(staged_directories(tmp_path))
    assert values(tmp_path) == [b"a"]


@pytest.mark.parametrize("has_proc", [True, False])
def test_a_process_that_has_ended_is_known_to_be_dead(monkeypatch, has_proc):
    """By /proc, or by `ps` where there is none, as on macOS: else its unfinished write would stay in the way."""
    code = "from pathlib import Path; from minikafka.tools import process_id\n"
    if not has_proc:
        if shutil.which("ps") is None:
            pytest.skip("there is no ps")
        monkeypatch.setattr(process_id, "Path", lambda _: Path("/none"))
        code += "process_id.Path = lambda _: Path('/none')\n"
    code += "print(*process_id.ProcessId.of_driver(), sep='|'); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        host, pid, started = child.stdout.readline().rstrip("\n").split("|")
        process = ProcessId(host, int(pid), started)
        assert process.may_be_alive
        assert process.pid == child.pid
        child.communicate("\n")
    assert not process.may_be_alive
    assert process._replace(host="elsewhere").may_be_alive
    assert ProcessId.of_driver().may_be_alive
    assert not DEAD.may_be_alive


def append(directory: Path, value: bytes) -> None:
    """Let a leader take a record, as a broker would that was started on the directory."""
    with Log.open(directory) as log:
        log.append_as_leader(MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(1, None, value)), 0)


@pytest.mark.slow
@pytest.mark.parametrize("replaces", [False, True])
def test_a_driver_that_dies_after_any_step_of_the_commit(tmp_path, replaces):
    """Each table ends with all of the old or all of the new once the next write has begun."""
    new, steps = [b"new 0", b"new 1"], 0
    while True:
        log_dir = tmp_path / str(steps)
        if replaces:
            write(log_dir, [row(b"old")], partitions=1)
        old = [b"old"] if replaces else []
        if killed_in_commit(log_dir, steps, overwrite=replaces):
            begin(log_dir, topic="next").abort([])
            assert not list(log_dir.glob(".minikafka*")) + list(staged_directories(log_dir))
            seen = values(log_dir) if (log_dir / "t-0").exists() else []
            assert seen in (old, new)
            expected = {"replication-offset-checkpoint", "recovery-point-offset-checkpoint", ".kafka_cleanshutdown"}
            assert seen == [] or expected <= set(names(log_dir))
            steps += 1
        else:
            break
    assert values(log_dir) == new
    assert steps > 10


@pytest.mark.slow
@pytest.mark.parametrize("used", ["t-0", "t-1", "t-2"])
@pytest.mark.parametrize("replaces", [False, True])
def test_what_a_topic_took_after_a_driver_died_is_never_replaced(tmp_path, replaces, used):
    """A broker may start on what the driver left and take records, also into a partition that it makes itself."""
    steps = refused = 0
    while True:
        log_dir = tmp_path / str(steps)
        if replaces:
            write(log_dir, [row(b"old")], [row(b"old 2", partition=2)], partitions=3)
        if not killed_in_commit(log_dir, steps, overwrite=replaces):
            break
        append(log_dir / used, b"theirs")
        before = files(log_dir)
        try:
            begin(log_dir, topic="next").abort([])
        except KafkaStorageException as error:
            assert re.search(CHANGED, str(error))
            refused += 1
            for mark in log_dir.glob(".minikafka-write-*"):
                assert str(mark) in str(error)
                assert files(log_dir) == before
                mark.unlink()
            begin(log_dir, topic="next").abort([])
        assert b"theirs" in (log_dir / used / f"{0:020}.log").read_bytes()
        assert not list(log_dir.glob(".minikafka*")) + list(staged_directories(log_dir))
        steps += 1
    assert refused > 5


def log_manager(make, log_dir: Path):
    """A log manager, made by minikafka's `LogManager` or Kafka's twin of it, for a broker of one log directory."""
    clock = ManualTime(NOW)
    return make(
        [log_dir], config_repository=MapConfigRepository({}), initial_default_config=LogConfig({}),
        scheduler=ManualScheduler(clock), time=clock, cleaner_config=CleanerConfig(num_threads=0),
    )  # fmt: skip


def broker_deletes_records(log_dir: Path, before: int) -> None:
    """A broker starts, deletes the records of t-0 below the offset if it has the partition, and stops cleanly."""
    manager = log_manager(LogManager, log_dir)
    manager.startup()
    log = manager.get_log(TopicPartition("t", 0))
    if log is not None:
        log.maybe_update_high_watermark(log.log_end_offset)
        log.maybe_increment_log_start_offset(before, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)
    manager.shutdown()


def log_starts(log_dir: Path) -> str:
    file = log_dir / "log-start-offset-checkpoint"
    return file.read_text() if file.exists() else ""


@pytest.mark.slow
def test_records_that_a_broker_deleted_meanwhile_stay_deleted_wherever_the_driver_died(tmp_path):
    """No file of the log changes where records are deleted within a segment: only a checkpoint says so."""
    refused = 0
    for steps in itertools.count():
        log_dir = tmp_path / str(steps)
        write(log_dir, [row(b"old 0"), row(b"kept")], [row(b"old 1", partition=1)], partitions=2)
        write(log_dir, [row(b"other")], topic="other")
        if not killed_in_commit(log_dir, steps, overwrite=True):
            break
        broker_deletes_records(log_dir, 1)
        noted = log_starts(log_dir)
        assert "t 0 1\n" in noted or not (log_dir / "t-0").exists()
        try:
            begin(log_dir, topic="next").abort([])
        except KafkaStorageException as error:
            assert re.search(CHANGED, str(error)) and "t-0 has" in str(error)
            refused += 1
        assert log_starts(log_dir) == noted
    assert refused > 5


def bounds_and_files_after_a_start(make, log_dir: Path) -> dict[str, tuple[int, int, tuple[str, ...]]]:
    """Of each partition of t: the log start and end offset, and the segments, once a broker has started."""
    manager = log_manager(make, log_dir)
    manager.startup()
    there = {}
    for partition in range(3):
        log = manager.get_log(TopicPartition("t", partition))
        if log is not None:
            segments = tuple(sorted(path.name for path in log.dir.glob("*.log")))
            there[f"t-{partition}"] = log.log_start_offset, log.log_end_offset, segments
    manager.shutdown()
    return there


@pytest.fixture(params=["minikafka", "kafka"])
def make_log_manager(request):
    if request.param == "minikafka":
        return LogManager
    return partial(KafkaLogManager, request.getfixturevalue("kafka"))


@pytest.mark.slow
def test_what_was_noted_of_a_replaced_log_never_holds_for_the_new_one(tmp_path, make_log_manager):
    """Wherever the driver died, and whoever reads then without regard to the mark, or after it was removed."""
    first = (f"{0:020}.log",)
    old, one_record = (2, 3, first), (0, 1, first)
    seen = set()
    for steps in itertools.count():
        log_dir = tmp_path / str(steps)
        write(log_dir, [row(b"old")] * 3, *([row(b"old", partition=each)] for each in (1, 2)), partitions=3)
        broker_deletes_records(log_dir, 2)
        if not killed_in_commit(log_dir, steps, overwrite=True):
            break
        for mark in log_dir.glob(".minikafka-write-*"):
            mark.unlink()
        there = {path.name for path in log_dir.glob("t-?")}
        if there:
            read = [(f"t-{each['partition']}", each["value"]) for each in rows(log_dir)]
            assert sorted(name for name, _ in read) == sorted(there)
            assert {value for _, value in read} <= {b"old", b"new 0", b"new 1"}
            verified = CliRunner().invoke(main, ["verify", *(str(log_dir / name) for name in there)])
            assert verified.exit_code == 0, verified.output
        bounds = bounds_and_files_after_a_start(make_log_manager, log_dir)
        assert bounds.keys() == there
        assert all(bounds[name] == one_record for name in there - {"t-0"})
        seen.add(bounds.get("t-0"))
    assert seen == {None, old, one_record}


@pytest.mark.slow
def test_records_of_the_new_log_that_were_deleted_up_to_where_the_old_ones_were_stay_deleted(tmp_path):
    for steps in itertools.count():
        log_dir = tmp_path / str(steps)
        write(log_dir, [row(b"old"), row(b"old")])
        broker_deletes_records(log_dir, 1)
        if not killed_in_commit(log_dir, steps, overwrite=True):
            break
        is_new = (log_dir / "t-0").is_dir() and "t 0" not in log_starts(log_dir)
        if is_new and list(log_dir.glob(".minikafka-write-*")):
            broker_deletes_records(log_dir, 1)
            with pytest.raises(KafkaStorageException, match=CHANGED):
                begin(log_dir, topic="next")
            assert "t 0 1" in log_starts(log_dir)


@pytest.mark.slow
def test_a_write_is_finished_where_records_were_deleted_before_it(tmp_path):
    """What the checkpoint said at the commit is the old topic's, and goes with it."""
    for steps in itertools.count():
        log_dir = tmp_path / str(steps)
        write(log_dir, [row(b"old 0"), row(b"kept")], [row(b"old 1", partition=1)], partitions=2)
        write(log_dir, [row(b"other")], topic="other")
        broker_deletes_records(log_dir, 1)
        if not killed_in_commit(log_dir, steps, overwrite=True):
            break
        is_committed = any(mark.committed is not None for mark in marks_in(log_dir))
        begin(log_dir, topic="next").abort([])
        if is_committed:
            assert values(log_dir) == [b"new 0", b"new 1", b"other"] and "t 0" not in log_starts(log_dir)
        assert not list(log_dir.glob(".minikafka*"))


def test_the_next_write_finishes_one_in_whose_way_a_new_log_stood(tmp_path):
    write(tmp_path, [row(b"old")])
    assert killed_in_commit(tmp_path, overwrite=True)
    with Log.open(tmp_path / "t-1"):
        pass
    with pytest.raises(KafkaStorageException, match=r"t-1 has changed [^\n]*; remove it, and the next write finishes"):
        begin(tmp_path, topic="next")
    file_ops.delete_directory(tmp_path / "t-1")
    begin(tmp_path, topic="next").abort([])
    assert values(tmp_path) == [b"new 0", b"new 1"]


def test_a_written_log_that_a_broker_began_to_delete_is_not_put_into_its_place(tmp_path):
    write(tmp_path, [row(b"old")])
    assert killed_in_commit(tmp_path, overwrite=True)
    (mark,) = marks_in(tmp_path)
    (mark.staged_log(mark.committed[0]) / f"{0:020}.log").unlink()
    before = files(tmp_path)
    with pytest.raises(
        KafkaStorageException, match=r"is not whole any more, [^\n]*: remove [^\n]* write the topic again$"
    ):
        begin(tmp_path, topic="next")
    assert files(tmp_path) == before


def test_a_full_disk_is_told_in_one_line(tmp_path, monkeypatch):
    writer = begin(tmp_path)

    def full(fd, data, position):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/dev/x")

    with monkeypatch.context() as patched, pytest.raises(KafkaStorageException) as raised:
        patched.setattr(file_ops, "write", full)
        task(writer, [row()])
    assert str(raised.value) == f"{tmp_path} cannot be written: [Errno 28] No space left on device: '/dev/x'"
    writer.abort([None])
    assert names(tmp_path) == [".lock"]


def test_a_disk_that_is_full_for_an_index_is_told_in_one_line(tmp_path, monkeypatch):
    """At whichever entry: the last one of the time index is written when the log is closed."""
    allocate, many = file_ops.allocate, [row(b"v" * 700) for _ in range(60)]
    for some, failures in (([row()], 1), (many, 2)):
        for before in range(failures + 1):
            writer, left = begin(tmp_path), [before]

            def full(mapping, position, size, path, left=left):
                left[0] -= 1
                if left[0] < 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
                allocate(mapping, position, size, path)

            with monkeypatch.context() as patched:
                patched.setattr(file_ops, "allocate", full)
                if before == failures:
                    task(writer, some)
                else:
                    with pytest.raises(
                        KafkaStorageException, match=r"cannot be written: \[Errno 28\] No space[^\n]*index'$"
                    ):
                        task(writer, some)
            writer.abort([None])
            assert names(tmp_path) == [".lock"]


@pytest.mark.slow
@pytest.mark.parametrize("replaces", [False, True])
def test_a_disk_that_fails_after_any_step_while_the_driver_lives(tmp_path, monkeypatch, replaces):
    """All of the old or, once the message says that it is complete, all of the new is there after the next write."""
    monkeypatch.setattr(shared_directory, "_PAUSE_S", 0)
    old, new, steps, complete = [b"old"] if replaces else [], [b"new 0", b"new 1"], 0, 0
    while True:
        log_dir = tmp_path / str(steps)
        log_dir.mkdir()
        if replaces:
            write(log_dir, [row(b"old")])
        left, failed = [steps], []

        def fail(operation, path, left=left, failed=failed):
            if operation == "write" and path.suffix in (".index", ".timeindex"):
                return  # they are mapped: the system tells of a failure when they are flushed
            left[0] -= 1
            if left[0] == -1:
                failed.append(operation)
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

        writer = None
        try:
            with file_ops.observe(fail):
                writer = begin(log_dir, partitions=2, overwrite=replaces)
                writer.commit([task(writer, [row(b"new 0")]), task(writer, [row(b"new 1", partition=1)])])
        except KafkaStorageException as error:
            assert f"{log_dir} cannot be written: [Errno " in str(error)
            assert "\n" not in str(error)
            if writer is not None:
                writer.abort([])
            said_so = f"topic t is complete, the next write into {log_dir} finishes it" in str(error)
            complete += said_so
            begin(log_dir, topic="next").abort([])
            assert not list(log_dir.glob(".minikafka*")) + list(staged_directories(log_dir))
            seen = values(log_dir) if (log_dir / "t-0").exists() else []
            assert seen == new if said_so else seen in (old, new)
        else:
            assert values(log_dir) == new
            if not failed:
                break
            assert failed == ["delete"]  # which is tried again
        steps += 1
    assert steps > complete > 5


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (resource.RLIMIT_NOFILE, r"\[Errno 24\] Too many open files"),
        (resource.RLIMIT_FSIZE, r"\[Errno 27\] File too large"),
    ],
)
def test_too_few_descriptors_and_too_small_files_are_told_in_one_line_and_leave_nothing(tmp_path, limit, message):
    write(tmp_path / "first", [row(b"v" * 3000)])  # now everything is imported
    before, most = resource.getrlimit(limit)
    first = 0
    if limit == resource.RLIMIT_NOFILE:
        first = os.open(os.devnull, os.O_RDONLY)
        os.close(first)
    failures = 0
    for more in (0, 1, 2, 3, 4, 5, 10, 100, 1000, 1 << 30):
        log_dir = tmp_path / str(more)
        writer, failure = None, None
        resource.setrlimit(limit, (min(first + more, before if before > 0 else first + more), most))
        try:
            writer = begin(log_dir)
            writer.commit([task(writer, [row(b"v" * 3000)])])
        except KafkaStorageException as error:
            failure = error
        finally:
            resource.setrlimit(limit, (before, most))
        if failure is None:
            assert values(log_dir) == [b"v" * 3000]
            continue
        failures += 1
        assert re.search(message, str(failure))
        assert "\n" not in str(failure)
        if writer is not None:
            writer.abort([])
        assert "finishes it" in str(failure) or not log_dir.exists() or set(names(log_dir)) <= {".lock"}
    assert 2 < failures < 10


def test_a_place_where_nothing_can_be_written_is_told_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(KafkaStorageException, match="file/data cannot be written: .*Not a directory"):
        begin(tmp_path / "file" / "data")


def link(path: Path) -> None:
    away = path.parent.parent / "away"
    away.mkdir()
    (away / "mine").write_text("mine")
    path.symlink_to(away)


def directory(path: Path) -> None:
    path.mkdir()
    (path / "mine").write_text("mine")


OBSTACLES = {
    "file": lambda path: path.write_text("mine"),
    "fifo": os.mkfifo,
    "link": link,
    "link to nothing": lambda path: path.symlink_to(path.parent.parent / "nothing"),
    "directory": directory,
}
NOT_FILES = [kind for kind in OBSTACLES if kind != "file"]


def everything(path: Path) -> list[tuple[str, int]]:
    """Names and kinds of all that is below a directory, but for the lock, which a write may leave."""
    return sorted((str(each), each.lstat().st_mode) for each in path.rglob("*") if each.name != ".lock")


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["t-0", "t-7"])
@pytest.mark.parametrize("kind", OBSTACLES)
def test_what_is_no_log_but_has_the_name_of_a_partition_is_refused_and_kept(tmp_path, kind, name, overwrite):
    log_dir = tmp_path / "data"
    log_dir.mkdir()
    OBSTACLES[kind](log_dir / name)
    before = everything(tmp_path)
    with pytest.raises(KafkaStorageException, match=rf"{name} is in the way: [^\n]*$"):
        write(log_dir, [row()], overwrite=overwrite)
    assert everything(tmp_path) == before
    write(log_dir, [row()], topic="other")


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("x.log", "file"),
        ("1.log", "file"),
        ("line\nend", "file"),
        (os.fsdecode(b"\xff"), "file"),
        ("sub", "directory"),
        ("partition.metadata", "fifo"),
        (f"{0:020}.log", "link to nothing"),
    ],
)
def test_what_no_log_has_in_its_directory_is_refused_and_kept(tmp_path, name, kind, overwrite):
    (tmp_path / "t-0").mkdir()
    OBSTACLES[kind](tmp_path / "t-0" / name)
    before = everything(tmp_path)
    with pytest.raises(KafkaStorageException, match=r"t-0 is in the way: '[^\n]*' in it, [^\n]*none of a log's files$"):
        write(tmp_path, [row()], overwrite=overwrite)
    assert everything(tmp_path) == before


def test_records_that_a_cleaner_was_about_to_swap_in_are_records(tmp_path):
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log.swap").write_text("records")
    with pytest.raises(TopicExistsException, match="t-0 has records"):
        begin(tmp_path)


@pytest.mark.parametrize("kind", NOT_FILES)
@pytest.mark.parametrize(
    "name",
    [
        ".lock",
        ".kafka_cleanshutdown",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint.tmp",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "meta.properties",
    ],
)
def test_what_is_no_file_where_a_write_reads_or_replaces_one_is_refused_and_kept(tmp_path, name, kind):
    log_dir = tmp_path / "data"
    log_dir.mkdir()
    OBSTACLES[kind](log_dir / name)
    before = everything(tmp_path)
    with pytest.raises(KafkaStorageException, match=rf"{name} is in the way: it is a [^\n]*$"):
        write(log_dir, [row()])
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "cleaner-offset-checkpoint", "meta.properties"])
def test_a_file_that_is_too_large_to_be_read_is_refused_before_anything_is_changed(tmp_path, name):
    (tmp_path / name).touch()
    os.truncate(tmp_path / name, 1 << 40)
    with pytest.raises(KafkaStorageException, match=rf"{name} is in the way: it is a file of {1 << 40} bytes[^\n]*$"):
        write(tmp_path, [row()], cluster__id="c", node__id=3)
    assert names(tmp_path) == sorted([".lock", name])


def test_what_gets_in_the_way_during_a_write_is_refused_and_kept(tmp_path):
    writer = begin(tmp_path)
    messages = [task(writer, [row()])]
    (tmp_path / "t-0").write_text("mine")
    with pytest.raises(KafkaStorageException, match="t-0 is in the way: it is a file"):
        writer.commit(messages)
    writer.abort(messages)
    assert names(tmp_path) == [".lock", "t-0"]
    assert (tmp_path / "t-0").read_text() == "mine"


@pytest.mark.parametrize("kind", OBSTACLES)
def test_a_mark_that_no_write_has_left_is_told_and_nothing_is_touched(tmp_path, kind):
    log_dir = tmp_path / "data"
    writer = begin(log_dir, topic="dead")
    task(writer, [row()])
    mark = writer._mark.file
    mark.unlink()
    OBSTACLES[kind](mark)
    before = everything(tmp_path)
    with pytest.raises(KafkaStorageException, match=rf"{mark.name} is not the mark that a write leaves \([^\n]*\); "):
        begin(log_dir)
    assert everything(tmp_path) == before


def broken_marks():
    staged = {"partition": 0, "staged": "../away", "base_offset": 0, "end_offset": 1}
    return {
        "empty": b"",
        "not text": b"\xff\xfe",
        "cut": lambda mark: json.dumps(mark)[:-9].encode(),
        "deep": b"[" * 100_000,
        "no object": b"[]",
        "a field too few": lambda mark: {name: mark[name] for name in mark if name != "topic"},
        "a field too many": lambda mark: mark | {"more": 1},
        "no owner": lambda mark: mark | {"owner": None},
        "a number in words": lambda mark: mark | {"owner": mark["owner"] | {"pid": "1"}},
        "of another write": lambda mark: mark | {"write_id": "0" * 12},
        "a topic elsewhere": lambda mark: mark | {"topic": "../away", "committed": []},
        "a directory elsewhere": lambda mark: mark | {"committed": [staged]},
        "no list": lambda mark: mark | {"committed": 1},
    }


@pytest.mark.parametrize("broken", broken_marks())
def test_a_mark_with_a_broken_content_is_told_and_nothing_is_touched(tmp_path, broken):
    log_dir = tmp_path / "data"
    directory(tmp_path / "away")
    writer = begin(log_dir, topic="dead")
    task(writer, [row()])
    dataclasses.replace(writer._mark, owner=DEAD).put()
    content = broken_marks()[broken]
    if callable(content):
        content = content(json.loads(writer._mark.file.read_bytes()))
    writer._mark.file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    before = everything(tmp_path)
    with pytest.raises(KafkaStorageException, match=r"is not the mark that a write leaves \([^\n]*\); remove it"):
        begin(log_dir)
    with pytest.raises(KafkaStorageException, match="is not the mark that a write leaves"):
        writer.abort([])
    assert everything(tmp_path) == before


def test_names_that_only_resemble_those_of_a_write_are_left_alone(tmp_path):
    log_dir = tmp_path / "data"
    log_dir.mkdir()
    os.mkfifo(log_dir / ".minikafka-write-mine")
    link(log_dir / f"t-0.6d6b7772{'0' * 24}-delete")
    before = everything(tmp_path)
    write(log_dir, [row(b"a")])
    assert set(before) <= set(everything(tmp_path))


def test_what_came_in_the_way_of_a_write_whose_driver_died_is_kept(tmp_path):
    """The write is carried through once the obstacle is gone."""
    log_dir, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    write(elsewhere, [row(b"theirs")])
    assert killed_in_commit(log_dir, overwrite=False)
    (log_dir / "t-0").write_text("mine")
    with pytest.raises(KafkaStorageException, match="t-0 is in the way: it is a file"):
        begin(log_dir, topic="next")
    assert (log_dir / "t-0").read_text() == "mine"
    (log_dir / "t-0").unlink()
    (elsewhere / "t-0").rename(log_dir / "t-0")
    with pytest.raises(KafkaStorageException, match=CHANGED):
        begin(log_dir, topic="next")
    assert b"theirs" in (log_dir / "t-0" / f"{0:020}.log").read_bytes()
    file_ops.delete_directory(log_dir / "t-0")
    begin(log_dir, topic="next").abort([])
    assert values(log_dir) == [b"new 0", b"new 1"]


def led_away(path: Path) -> None:
    """The directory, or file, moves out of the log directory, and a link leads there."""
    away = next(each for each in path.parents if each.name == "data").parent / "away"
    away.mkdir(exist_ok=True)
    path.rename(away / path.name)
    path.symlink_to(away / path.name)


WAYS_OUT = {
    "the staged directory": "t-1.*-delete",
    "the log in it": "t-1.*-delete/t-1",
    "a segment": "t-1.*-delete/t-1/*.log",
}


@pytest.mark.parametrize("pattern", WAYS_OUT.values(), ids=WAYS_OUT)
def test_a_dead_write_moves_nothing_from_behind_a_link(tmp_path, pattern):
    log_dir = tmp_path / "data"
    assert killed_in_commit(log_dir, overwrite=False)
    (path,) = log_dir.glob(pattern)
    led_away(path)
    before = everything(tmp_path)
    with pytest.raises(KafkaStorageException, match=r"^[^\n]*t-1[^\n]* is in the way: [^\n]*a link[^\n]*$"):
        begin(log_dir, topic="next")
    assert everything(tmp_path) == before


@pytest.mark.parametrize("pattern", WAYS_OUT.values(), ids=WAYS_OUT)
def test_nor_does_one_that_commits(tmp_path, pattern):
    log_dir = tmp_path / "data"
    writer = begin(log_dir, partitions=2)
    messages = [task(writer, [row(partition=1)])]
    (path,) = log_dir.glob(pattern)
    led_away(path)
    outside = everything(tmp_path / "away")
    with pytest.raises(KafkaStorageException, match=r"^[^\n]*t-1[^\n]* is in the way: [^\n]*a link[^\n]*$"):
        writer.commit(messages)
    with suppress(KafkaStorageException):
        writer.abort(messages)
    assert everything(tmp_path / "away") == outside
    assert not (log_dir / "t-0").exists() and not (log_dir / "t-1").exists()


def test_nor_from_behind_one_that_comes_between_the_look_and_the_rename(tmp_path):
    log_dir = tmp_path / "data"
    assert killed_in_commit(log_dir, overwrite=False)
    (staged,) = log_dir.glob("t-1.*-delete")

    def replace(operation, path):
        if path.name == "replication-offset-checkpoint" and operation == "rename":
            led_away(staged)

    with file_ops.observe(replace), pytest.raises(KafkaStorageException, match=f"{staged.name} is in the way: it is a"):
        begin(log_dir, topic="next")
    assert (tmp_path / "away" / staged.name / "t-1").is_dir()
    assert not (log_dir / "t-1").exists()


def test_a_commit_writes_nothing_through_a_link_in_the_place_of_its_marks_draft(tmp_path):
    writer = begin(tmp_path / "data")
    messages = [task(writer, [row()])]
    (tmp_path / "mine").write_text("mine")
    draft = Path(f"{writer._mark.file}.tmp")
    draft.symlink_to(tmp_path / "mine")
    with pytest.raises(KafkaStorageException, match=rf"{draft.name} is in the way: it is a link[^\n]*$"):
        writer.commit(messages)
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "data" / "t-0").exists()


@pytest.mark.parametrize("kind", OBSTACLES)
@pytest.mark.parametrize("has_mark", [False, True])
def test_what_no_write_has_put_into_a_directory_that_it_staged_is_kept(tmp_path, kind, has_mark):
    log_dir = tmp_path / "data"
    writer = begin(log_dir, topic="dead")
    task(writer, [row()])
    dataclasses.replace(writer._mark, owner=DEAD).put()
    if not has_mark:
        writer._mark.file.unlink()
    ((_, staged),) = staged_directories(log_dir)
    OBSTACLES[kind](staged / "mine")
    before = everything(tmp_path)
    with pytest.raises(KafkaStorageException, match=rf"{staged.name} is in the way: 'mine' in it, [^\n]*$"):
        begin(log_dir)
    assert everything(tmp_path) == before


def without(states: dict, part: str) -> dict:
    return {name: state for name, state in states.items() if not name.startswith(part)}


CONTRADICTIONS = {
    "no partition": lambda mark: mark | {"committed": []},
    "no partition, no states": lambda mark: mark | {"committed": [], "states": {}},
    "nothing any more": lambda mark: mark | {"committed": None},
    "a partition less": lambda mark: mark | {"committed": mark["committed"][:1]},
    "the first partition less": lambda mark: mark | {"committed": mark["committed"][1:]},
    "a partition and its state less": lambda mark: (
        mark | {"committed": mark["committed"][:1], "states": without(mark["states"], "t-1.")}
    ),
    "a partition twice": lambda mark: mark | {"committed": mark["committed"][:1] * 2},
    "a later end": lambda mark: of_first(mark, end_offset=2),
    "an earlier end": lambda mark: of_first(mark, end_offset=0),
    "an end of 65 bits": lambda mark: of_first(mark, end_offset=1 << 64),
    "an earlier start": lambda mark: of_first(mark, base_offset=1),
    "a state of another topic": lambda mark: mark | {"states": mark["states"] | {"other-0": ""}},
    "a state of no topic": lambda mark: mark | {"states": mark["states"] | {"../away": ""}},
    "a log start of another topic": lambda mark: mark | {"log_starts": {"other-0": 1}},
    "a log start below zero": lambda mark: mark | {"log_starts": {"t-0": -1}},
    "records are not replaced": lambda mark: mark | {"overwrite": False},
    "another topic": lambda mark: mark | {"topic": "other", "committed": None, "states": {}},
    "a process of many digits": lambda mark: mark | {"owner": mark["owner"] | {"pid": 10**400}},
    "a process below zero": lambda mark: mark | {"owner": mark["owner"] | {"pid": -1}},
}


def of_first(mark: dict, **changes: int) -> dict:
    return mark | {"committed": [mark["committed"][0] | changes, *mark["committed"][1:]]}


@pytest.mark.parametrize("contradiction", CONTRADICTIONS)
def test_a_mark_that_does_not_agree_with_itself_or_the_directory_is_told_and_nothing_is_touched(
    tmp_path, contradiction
):
    write(tmp_path, [row(b"there")], topic="other")
    write(tmp_path, [row(b"old 0")], [row(b"old 1", partition=1)], partitions=2)
    assert killed_in_commit(tmp_path, overwrite=True)
    (file,) = tmp_path.glob(".minikafka-write-*")
    file.write_text(json.dumps(CONTRADICTIONS[contradiction](json.loads(file.read_bytes()))))
    before = files(tmp_path)
    with pytest.raises(
        KafkaStorageException, match=rf"^{file} is not the mark that a write leaves \([^\n]*\); [^\n]*$"
    ):
        begin(tmp_path, topic="next")
    assert files(tmp_path) == before


def test_a_mark_that_forgot_that_logs_were_put_aside_deletes_none(tmp_path):
    write(tmp_path, [row(b"old 0")], [row(b"old 1", partition=1)], partitions=2)
    assert killed_in_commit(tmp_path, 5, overwrite=True)
    (file,) = tmp_path.glob(".minikafka-write-*")
    assert not (tmp_path / "t-0").exists()
    told = json.loads(file.read_bytes())
    file.write_text(json.dumps(told | {"committed": None, "states": {}, "log_starts": {}}))
    before = files(tmp_path)
    with pytest.raises(KafkaStorageException, match="it commits nothing, and t-0[^\n]* is a log that was put aside"):
        begin(tmp_path, topic="next")
    assert files(tmp_path) == before


def test_a_broker_of_another_cluster_is_refused(tmp_path):
    write(tmp_path, [row()], cluster__id="c", node__id=3)
    assert "cluster.id=c" in (tmp_path / "meta.properties").read_text()
    write(tmp_path, [row()], topic="u", cluster__id="c", node__id=3)
    with pytest.raises(KafkaException, match="names node 3 of cluster c"):
        write(tmp_path, [row()], topic="v", cluster__id="d", node__id=3)


@pytest.mark.parametrize("below", ["t-0", "other"])
def test_a_log_directory_in_another_one_is_refused(tmp_path, below):
    write(tmp_path, [row()])
    before = files(tmp_path)
    with pytest.raises(IllegalArgumentException, match="lies in, the log directory"):
        write(tmp_path / below, [row()], topic="u")
    assert files(tmp_path) == before and not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", ["broker-1", "data", "t-0"])
def test_a_log_directory_around_others_is_refused(tmp_path, name):
    """The broker on `name` would start as before; the next write into it would be refused, and each of this folder."""
    write(tmp_path / name, [row()])
    before = files(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(IllegalArgumentException, match=f"{tmp_path} holds the log directory {tmp_path / name},"):
            write(tmp_path, [row()], overwrite=overwrite)
    assert files(tmp_path) == before
    write(tmp_path / "beside", [row()])


def test_other_columns_are_refused(tmp_path):
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    from minikafka.spark.sink.log_dir_writer import KafkaLogWriter
    from minikafka.spark.sink.sink_options import SinkOptions

    options = SinkOptions.of({"path": str(tmp_path), "topic": "t"})
    with pytest.raises(IllegalArgumentException, match="write_log_dir prepares rows"):
        KafkaLogWriter(from_arrow_schema(pa.schema([("value", pa.int32())])), options, overwrite=False)
    assert names(tmp_path) == []
