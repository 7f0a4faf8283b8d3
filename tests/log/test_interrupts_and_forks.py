"""Ctrl-C, a timeout or a lack of memory in the midst of a change, a process that was forked while a log was open, or
that changes its directory, or has no descriptor left: no offset is given twice, and nobody else's files are touched.
"""

import multiprocessing
import os
import resource

import pytest

from minikafka.common import file_ops
from minikafka.common.errors import KafkaException, KafkaStorageException
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.manager.log_dirs import LogDirs
from minikafka.log.manager.log_manager import LogManager
from minikafka.metadata.metadata_cache import MetadataCache
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

SETTINGS = {"index.interval.bytes": 50, "internal.segment.bytes": 400}


def record(value):
    return MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(1, b"k", value))


def offsets(log):
    return [each.offset for segment in log.log_segments for batch in segment.log.batches() for each in batch]


def interrupted_at(number, exception):
    """`exception` right after the change of the disk with this number, from 0 on."""
    changes = iter(range(10**6))

    def observer(_operation, _path):
        if next(changes) == number:
            raise exception

    return file_ops.observe(observer)


def operations(log):
    """Appends, of which some roll, a truncation, a deletion."""
    for number in range(6):
        log.append_as_leader(record(b"%d" % number), 0)
    log.truncate_to(4)
    log.append_as_leader(record(b"after"), 0)
    log.update_high_watermark(log.log_end_offset)
    log.truncate_fully_and_start_at(9)
    log.append_as_leader(record(b"last"), 0)


class TimesUp(Exception):
    """What a handler of SIGALRM raises, for instance."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "exception", [KeyboardInterrupt, *(pytest.param(each, marks=pytest.mark.slow) for each in (MemoryError, TimesUp))]
)
def test_an_exception_after_any_change_of_the_disk(tmp_path, exception):
    number, is_over = 0, False
    while not is_over:
        log = Log.open(tmp_path / f"t-{number}", SETTINGS)
        try:
            with interrupted_at(number, exception):
                operations(log)
            is_over = True
        except exception:
            with pytest.raises(KafkaStorageException, match="already offline"):
                log.append_as_leader(record(b"refused"), 0)
        if not is_over:
            with pytest.raises(KafkaStorageException):
                log.close()
        else:
            log.close()
        with Log.open(tmp_path / f"t-{number}", SETTINGS) as again:
            found = offsets(again)
            assert found == sorted(set(found))
            given = again.append_as_leader(record(b"again"), 0).first_offset
            assert offsets(again) == [*found, given]
        number += 1
    assert number > 20


def test_ctrl_c_in_a_read_changes_nothing(tmp_path, monkeypatch):
    with Log.open(tmp_path / "t-0", SETTINGS) as log:
        log.append_as_leader(record(b"0"), 0)
        with monkeypatch.context() as patched:
            patched.setattr(type(log.active_segment), "read", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                log.read(0)
        assert log.append_as_leader(record(b"1"), 0).first_offset == 1
        assert [bytes(each.value) for each in log.read(0).records.records()] == [b"0", b"1"]


@pytest.mark.slow
def test_a_process_without_descriptors_appends_as_before(tmp_path):
    """As Kafka, whose indexes are mapped: a page's first entry takes no descriptor."""
    with Log.open(tmp_path / "t-0", {"index.interval.bytes": 1}) as log:
        log.append_as_leader(record(b"before"), 0)
        taken = []
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                while True:
                    taken.append(os.open(os.devnull, os.O_RDONLY))
            for number in range(1000):
                log.append_as_leader(record(b"%d" % number), 0)
        finally:
            for descriptor in taken:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        log.roll()
        assert log.log_segments[0].offset_index.entries > 500
    with Log.open(tmp_path / "t-0", last_shutdown_clean=False) as again:
        assert again.log_end_offset == 1001 and offsets(again) == list(range(1001))


def test_a_log_stays_where_it_is_when_the_process_changes_its_directory(tmp_path, monkeypatch):
    for home in ("ours", "theirs"):
        (tmp_path / home).mkdir()
        monkeypatch.chdir(tmp_path / home)
        log = Log.open("t-0", SETTINGS)
        log.append_as_leader(record(home.encode()), 0)
        if home == "theirs":
            log.close()
            (tmp_path / "theirs" / "t-0" / "notes.txt").write_text("")
        else:
            ours = log
    theirs = {file.name: file.read_bytes() for file in (tmp_path / "theirs" / "t-0").iterdir()}
    operations(ours)
    ours.delete()
    assert not (tmp_path / "ours" / "t-0").exists()
    assert {file.name: file.read_bytes() for file in (tmp_path / "theirs" / "t-0").iterdir()} == theirs


def _refused_in_a_child(log, told):
    for attempt in (
        lambda: log.append_as_leader(record(b"child"), 0),
        log.roll,
        lambda: log.truncate_to(0),
        lambda: log.assign_epoch_start_offset(9, 1),
        log.take_producer_snapshot,
        log.close,
    ):
        try:
            attempt()
            told.put("done")
        except KafkaStorageException as refused:
            told.put(str(refused))
    told.put([bytes(each.value) for each in log.read(0).records.records()])


@pytest.mark.slow
def test_a_forked_process_may_read_the_log_and_not_change_it(tmp_path):
    fork = multiprocessing.get_context("fork")
    with Log.open(tmp_path / "t-0") as log:
        log.append_as_leader(record(b"parent"), 0)
        told = fork.SimpleQueue()
        child = fork.Process(target=_refused_in_a_child, args=(log, told))
        child.start()
        answers = [told.get() for _ in range(7)]
        child.join()
        assert all("was forked from it, must not change it" in answer for answer in answers[:6])
        assert answers[6] == [b"parent"]
        assert log.append_as_leader(record(b"parent"), 0).first_offset == 1
        with pytest.raises(KafkaStorageException, match="Failed to acquire the lock"):
            Log.open(tmp_path / "t-0")
    with Log.open(tmp_path / "t-0") as log:
        assert offsets(log) == [0, 1]


def _manager_refused_in_a_child(manager, told):
    for attempt in (
        manager.checkpoint_log_recovery_offsets,
        manager.checkpoint_log_start_offsets,
        lambda: manager.get_or_create_log(TopicPartition("new", 0)),
        lambda: manager.async_delete(TopicPartition("t", 0)),
        lambda: manager.async_delete_all([TopicPartition("t", 0)], lambda partition, error: None, is_stray=False),
        manager.startup,
        manager.shutdown,
        manager.log_dirs.destroy_locks,
    ):
        try:
            attempt()
            told.put("done")
        except KafkaStorageException as refused:
            told.put(str(refused))


def test_a_forked_process_does_not_change_a_log_manager_and_leaves_its_locks(tmp_path):
    time = ManualTime(0)
    manager = LogManager(
        [tmp_path / "logs"],
        config_repository=MetadataCache(0),
        initial_default_config=LogConfig(),
        scheduler=ManualScheduler(time),
        time=time,
    )
    manager.startup()
    manager.get_or_create_log(TopicPartition("t", 0)).append_as_leader(record(b"0"), 0)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    child = context.Process(target=_manager_refused_in_a_child, args=(manager, told))
    child.start()
    answers = [told.get(timeout=30) for _ in range(8)]
    child.join()
    assert all("was opened by process" in answer for answer in answers[:7]) and answers[7] == "done", answers
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    with pytest.raises(KafkaException, match="Failed to acquire lock"):
        LogDirs([tmp_path / "logs"], [], LogDirFailureChannel(1))
    manager.shutdown()
