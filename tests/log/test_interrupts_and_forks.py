"""Ctrl-C in the midst of a change, and a process that was forked while a log was open: no offset is given twice."""

import multiprocessing

import pytest

from minikafka.common import file_ops
from minikafka.common.errors import KafkaStorageException
from minikafka.log.log import Log
from minikafka.record.codecs.compression import CompressionType
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

SETTINGS = {"index.interval.bytes": 50, "internal.segment.bytes": 400}


def record(value):
    return MemoryRecords.with_records(CompressionType.NONE, SimpleRecord(1, b"k", value))


def offsets(log):
    return [each.offset for segment in log.log_segments for batch in segment.log.batches() for each in batch]


def interrupted_at(number):
    """Ctrl-C right after the change of the disk with this number, from 0 on."""
    changes = iter(range(10**6))

    def observer(_operation, _path):
        if next(changes) == number:
            raise KeyboardInterrupt

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


def test_ctrl_c_after_any_change_of_the_disk(tmp_path):
    number, is_over = 0, False
    while not is_over:
        log = Log.open(tmp_path / f"t-{number}", SETTINGS)
        try:
            with interrupted_at(number):
                operations(log)
            is_over = True
        except KeyboardInterrupt:
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


def _refused_in_a_child(log, told):
    for attempt in (lambda: log.append_as_leader(record(b"child"), 0), log.roll, lambda: log.truncate_to(0), log.close):
        try:
            attempt()
            told.put("done")
        except KafkaStorageException as refused:
            told.put(str(refused))
    told.put([bytes(each.value) for each in log.read(0).records.records()])


def test_a_forked_process_may_read_the_log_and_not_change_it(tmp_path):
    fork = multiprocessing.get_context("fork")
    with Log.open(tmp_path / "t-0") as log:
        log.append_as_leader(record(b"parent"), 0)
        told = fork.SimpleQueue()
        child = fork.Process(target=_refused_in_a_child, args=(log, told))
        child.start()
        answers = [told.get() for _ in range(5)]
        child.join()
        assert all("was forked from it, must not change it" in answer for answer in answers[:4])
        assert answers[4] == [b"parent"]
        assert log.append_as_leader(record(b"parent"), 0).first_offset == 1
        with pytest.raises(KafkaStorageException, match="Failed to acquire the lock"):
            Log.open(tmp_path / "t-0")
    with Log.open(tmp_path / "t-0") as log:
        assert offsets(log) == [0, 1]
