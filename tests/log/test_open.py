"""How `Log.open` takes up a log that was not closed, and what it does to the mark of a broker's clean stop."""

import errno
import os

import pytest

from minikafka import Compression, Log, MemoryRecords, SimpleRecord
from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.offset_checkpoint_file import LOG_START_OFFSET_CHECKPOINT_FILE, OffsetCheckpointFile
from minikafka.common.errors import KafkaStorageException, OffsetOutOfRangeException
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.log_segment import LogSegment
from minikafka.testing import Broker

SETTINGS = {"index.interval.bytes": 1, "segment.index.bytes": 1000}
FIRST = f"{0:020}.log"


def append(log, *values):
    for value in values:
        record = SimpleRecord(timestamp=1_700_000_000_000, value=value)
        log.append_as_leader(MemoryRecords.with_records(Compression.NONE, record), leader_epoch=0)


def values(log):
    found, offset = [], log.log_start_offset
    while offset < log.log_end_offset:
        records = list(log.read(offset).records.records())
        found += [bytes(record.value) for record in records]
        offset = records[-1].offset + 1
    return found


def tear(file):
    """A batch more, of which only the first half is there."""
    data = file.read_bytes()
    file.write_bytes(data + data[:40])


@pytest.fixture
def recovered(monkeypatch):
    """The base offsets of the segments that are recovered."""
    found, recover = [], LogSegment.recover

    def noting(segment, *arguments, **more):
        found.append(segment.base_offset)
        return recover(segment, *arguments, **more)

    monkeypatch.setattr(LogSegment, "recover", noting)
    return found


def test_a_log_that_was_closed_is_trusted(tmp_path, recovered):
    with Log.open(tmp_path / "t-0", SETTINGS) as log:
        append(log, b"a", b"b")
    for _ in range(2):
        with Log.open(tmp_path / "t-0", SETTINGS) as log:
            assert values(log) == [b"a", b"b"]
    assert recovered == []


def test_what_a_write_that_was_cut_off_left_is_not_built_upon(tmp_path):
    with Log.open(tmp_path / "t-0", SETTINGS) as log:
        append(log, b"a", b"b")
    tear(tmp_path / "t-0" / FIRST)
    with Log.open(tmp_path / "t-0", SETTINGS) as log:
        append(log, b"c")
        log.roll()
        append(log, b"d")
    with Log.open(tmp_path / "t-0", SETTINGS, last_shutdown_clean=False) as log:
        assert values(log) == [b"a", b"b", b"c", b"d"]


def test_a_log_whose_process_was_killed_is_recovered(tmp_path, recovered):
    log = Log.open(tmp_path / "t-0", SETTINGS)
    append(log, b"a", b"b")
    log.roll()
    append(log, b"c")
    log.close_handlers()
    log._own_scheduler.shutdown()
    with Log.open(tmp_path / "t-0", SETTINGS) as again:
        assert values(again) == [b"a", b"b", b"c"] and recovered == [2]
        assert again.log_segments[-1].offset_index.entries < again.log_segments[-1].offset_index.max_entries


def test_segments_before_the_newest_are_not_thrown_away(tmp_path, recovered):
    """A recovery of all would end at damage in an old segment and delete the sound ones behind it."""
    with Log.open(tmp_path / "t-0", SETTINGS) as log:
        append(log, b"a", b"b")
        log.roll()
        append(log, b"c")
    tear(tmp_path / "t-0" / FIRST)
    tear(tmp_path / "t-0" / f"{2:020}.log")
    with Log.open(tmp_path / "t-0", SETTINGS) as log:
        assert recovered == [2] and log.log_end_offset == 3
    tear(tmp_path / "t-0" / f"{2:020}.log")
    with Log.open(tmp_path / "t-0", SETTINGS, recovery_point=1) as log:
        assert recovered == [2, 0] and log.log_end_offset == 2


def test_files_that_cannot_be_read_are_no_damage(tmp_path, monkeypatch):
    with Log.open(tmp_path / "t-0", SETTINGS) as log:
        append(log, b"a", b"b")
    tear(tmp_path / "t-0" / FIRST)
    before = (tmp_path / "t-0" / FIRST).read_bytes()

    def fail(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(LogSegment, "recover", fail)
    with pytest.raises((OSError, KafkaStorageException)):
        Log.open(tmp_path / "t-0", SETTINGS)
    assert (tmp_path / "t-0" / FIRST).read_bytes() == before


@pytest.mark.parametrize("is_torn", [False, True])
def test_a_broker_looks_at_what_was_written_into_its_log_meanwhile(tmp_path, is_torn):
    with Broker(tmp_path, topics={"t": 1}) as broker:
        broker.append("t", 0, b"a")
    assert CleanShutdownFileHandler(tmp_path).exists()
    with Log.open(tmp_path / "t-0") as log:
        assert not CleanShutdownFileHandler(tmp_path).exists()
        append(log, b"b")
    if is_torn:
        tear(tmp_path / "t-0" / FIRST)
    with Broker(tmp_path) as broker:
        broker.append("t", 0, b"c")
        broker.kill()
        broker.start()
        assert [record.value for record in broker.records("t", 0)] == [b"a", b"b", b"c"]


def test_records_that_a_broker_was_told_to_delete_stay_deleted(tmp_path):
    with Log.open(tmp_path / "logs" / "t-0", SETTINGS) as log:
        append(log, b"a", b"b")
    noted = tmp_path / "logs" / LOG_START_OFFSET_CHECKPOINT_FILE
    OffsetCheckpointFile(noted).write({TopicPartition("t", 0): 1, TopicPartition("t", 1): 2})
    (tmp_path / "t-0").symlink_to(tmp_path / "logs" / "t-0")
    for directory in (tmp_path / "logs" / "t-0", tmp_path / "t-0"):
        with Log.open(directory, SETTINGS) as log:
            assert values(log) == [b"b"]
            with pytest.raises(OffsetOutOfRangeException):
                log.read(0)
    with Log.open(tmp_path / "t-0", SETTINGS, log_start_offset=0) as log:
        assert values(log) == [b"a", b"b"]
    noted.write_text("damaged")
    with Log.open(tmp_path / "t-0", SETTINGS) as log:
        assert values(log) == [b"a", b"b"]
