"""What a log does that no workload tells: failing disks, verification, renaming, deleting, replacing segments."""

import doctest
import errno
import os
import random
import threading

import numpy as np
import pytest

from minikafka.common import file_ops
from minikafka.common.errors import (
    IllegalArgumentException,
    InconsistentTopicIdException,
    InvalidProducerEpochException,
    InvalidTxnStateException,
    KafkaException,
    KafkaStorageException,
    OffsetOutOfRangeException,
    UnexpectedAppendOffsetException,
)
from minikafka.common.file_lock import FileLock
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import KafkaScheduler, ManualScheduler
from minikafka.common.time import ManualTime, SystemTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log import LastRecord, Log, ProducerState
from minikafka.log.log_append_info import LeaderHwChange, LogAppendInfo
from minikafka.log.log_config import LogConfig
from minikafka.log.log_dir_name import (
    log_delete_dir_name,
    log_dir_name,
    log_future_dir_name,
    log_stray_dir_name,
    parse_topic_partition_name,
)
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.log_offsets_listener import LogOffsetsListener
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.log.producer.producer_state_manager_config import ProducerStateManagerConfig
from minikafka.log.producer.verification_guard import VerificationGuard
from minikafka.log.segment_files import create_new_cleaned_segment
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.testing import Broker
from minikafka.witness.log.batch import Batch

NOW = 1_700_000_000_000
REASON = LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
TOPIC_ID = "bWluaWthZmthLXRvcGljLQ"


@pytest.fixture
def time():
    return ManualTime(NOW)


@pytest.fixture
def open_log(tmp_path, time):
    """`open_log(**settings)` opens the log in `tmp_path`; arguments of `Log.create` go through `create`."""

    def open_log(create=None, **settings):
        config = {"segment.index.bytes": 1200, **{key.replace("__", "."): value for key, value in settings.items()}}
        return Log.create(
            tmp_path / "topic-0", LogConfig(config), scheduler=ManualScheduler(time), time=time, **(create or {})
        )

    return open_log


def records(text="[1x10]", offset=0):
    return MemoryRecords.readable_records(bytearray(Batch.parse(text).encode(NOW, offset)))


def names(log):
    return sorted(path.name for path in log.dir.iterdir())


def test_defaults_of_a_new_log(open_log):
    log = open_log()
    assert (log.log_start_offset, log.high_watermark, log.last_stable_offset, log.log_end_offset) == (0, 0, 0, 0)
    assert (log.recovery_point, log.size, log.number_of_segments, log.is_empty) == (0, 0, 1, True)
    assert log.topic_partition == TopicPartition("topic", 0) and log.topic_id is None
    assert log.scheduler.pending == ["flush-metadata-file", "PeriodicProducerExpirationCheck"]


def test_append_says_what_it_did(open_log):
    log = open_log()
    log.append_as_leader(records("[2x10]"), 3)
    info = log.append_as_leader(records("[3x10 ts=now,now-9]"), 3)
    assert (info.first_offset, info.last_offset, info.num_messages) == (2, 4, 3)
    assert (info.last_leader_epoch, info.max_timestamp, info.log_append_time) == (None, NOW, -1)
    assert info.leader_hw_change is LeaderHwChange.NONE
    assert LogAppendInfo.unknown(7).log_start_offset == 7 and LogAppendInfo.unknown().num_messages == 0


def test_an_append_of_nothing_is_nothing(open_log):
    log = open_log()
    info = log.append_as_leader(MemoryRecords.EMPTY, 0)
    assert info.first_offset == -1 and info.valid_bytes == 0
    assert log.log_end_offset == 0


def test_a_follower_is_told_the_first_ten_offsets_that_it_has_already(open_log):
    log = open_log()
    log.append_as_leader(records("[12x10]"), 0)
    with pytest.raises(UnexpectedAppendOffsetException) as refused:
        log.append_as_follower(records("[12x10]"), 0)
    told = "First 10 offsets in append: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, last offset in append: 11."
    assert told in str(refused.value)


class TestFailingDisk:
    """An OSError takes the directory offline: it is reported once, and nothing is done there any more."""

    @pytest.fixture
    def channel(self):
        return LogDirFailureChannel(1)

    @pytest.fixture
    def log(self, open_log, channel):
        log = open_log({"log_dir_failure_channel": channel})
        log.append_as_leader(records(), 0)
        return log

    def fail(self, kind):
        def observer(operation, path):
            if operation == kind:
                raise OSError(errno.EIO, "the disk is gone", str(path))

        return file_ops.observe(observer)

    def test_while_appending(self, log, channel):
        with self.fail("write"), pytest.raises(KafkaStorageException, match="Error while appending records to topic-0"):
            log.append_as_leader(records(), 0)
        assert channel.take_next_offline_log_dir() == log.parent_dir
        assert log.log_end_offset == 1

    def test_an_offline_directory_stays_offline(self, log):
        with self.fail("write"), pytest.raises(KafkaStorageException):
            log.append_as_leader(records(), 0)
        for attempt in (
            lambda: log.append_as_leader(records(), 0),
            lambda: log.read(0, 100, FetchIsolation.LOG_END),
            lambda: log.truncate_to(0),
            lambda: log.flush(force_flush_active_segment=False),
            log.roll,
        ):
            with pytest.raises(KafkaStorageException, match="already offline due to a previous IO exception"):
                attempt()

    @pytest.mark.parametrize(
        "kind, operation, message",
        [
            ("fsync", lambda log: log.flush(force_flush_active_segment=False), "Error while flushing log for topic-0"),
            ("create", lambda log: log.roll(), "Error while rolling log segment for topic-0"),
            ("truncate", lambda log: log.truncate_to(0), "Error while truncating log to offset 0 for topic-0"),
            ("rename", lambda log: log.truncate_fully_and_start_at(9), "Error while truncating the entire log"),
            (
                "rename",
                lambda log: log.rename_dir("topic-1", should_reinitialize=True),
                "Error while renaming dir for topic-0 in log dir",
            ),
            ("delete", lambda log: log.delete(), "Error while deleting segments for topic-0"),
        ],
    )
    def test_in_other_operations(self, log, channel, kind, operation, message):
        with self.fail(kind), pytest.raises(KafkaStorageException, match=message):
            operation(log)
        assert channel.has_offline_log_dir(log.parent_dir)

    def test_kafkas_own_exceptions_pass(self, log, channel):
        with pytest.raises(OffsetOutOfRangeException):
            log.read(5, 100, FetchIsolation.LOG_END)
        assert not channel.has_offline_log_dir(log.parent_dir)


def test_a_listener_hears_of_the_high_watermark(open_log):
    heard = []

    class Listener(LogOffsetsListener):
        def on_high_watermark_updated(self, offset):
            heard.append(offset)

    log = open_log({"log_offsets_listener": Listener()})
    log.append_as_leader(records("[3x10]"), 0)
    log.update_high_watermark(2)
    log.maybe_increment_high_watermark(log.log_end_offset_metadata)
    log.close()
    assert heard[0] == 0 and heard[-1] == 3 and 2 in heard


def test_offset_snapshot_has_places(open_log):
    log = open_log()
    log.append_as_leader(records("[3x10 pid=7 epoch=0 seq=0 txn]"), 0)
    end = log.append_as_leader(records("[2x10]"), 0)
    log.update_high_watermark(5)
    snapshot = log.fetch_offset_snapshot()
    assert snapshot.log_end_offset == snapshot.high_watermark == LogOffsetMetadata(5, 0, log.size)
    assert snapshot.last_stable_offset == LogOffsetMetadata(0, 0, 0)
    assert end.last_offset == 4


class TestVerification:
    """The first batch of a transaction must show the guard that its verification made."""

    @pytest.fixture
    def log(self, open_log):
        return open_log(
            {"producer_state_manager_config": ProducerStateManagerConfig(transaction_verification_enabled=True)}
        )

    def append(self, log, seq, guard=VerificationGuard.SENTINEL, epoch=0):
        log.append_as_leader(records(f"[1x10 pid=7 epoch={epoch} seq={seq} txn]"), 0, verification_guard=guard)

    def end(self, log, epoch=0):
        log.append_as_leader(
            records(f"[abort pid=7 epoch={epoch}]"), 0, AppendOrigin.COORDINATOR, transaction_version=0
        )

    def test_without_guard_the_transaction_is_refused(self, log):
        with pytest.raises(InvalidTxnStateException, match="not part of an ongoing transaction"):
            self.append(log, 0)

    def test_with_guard_it_begins_and_goes_on_without(self, log):
        guard = log.maybe_start_transaction_verification(7, sequence=0, epoch=0, supports_epoch_bump=False)
        assert log.verification_guard(7) is guard
        self.append(log, 0, guard)
        assert log.has_ongoing_transaction(7, 0)
        assert log.verification_guard(7) is VerificationGuard.SENTINEL
        assert (
            log.maybe_start_transaction_verification(7, sequence=1, epoch=0, supports_epoch_bump=False)
            is VerificationGuard.SENTINEL
        )
        self.append(log, 1)

    def test_a_guard_from_before_an_abort_opens_nothing(self, log):
        guard = log.maybe_start_transaction_verification(7, sequence=0, epoch=0, supports_epoch_bump=False)
        self.end(log)
        with pytest.raises(InvalidTxnStateException):
            self.append(log, 0, guard)

    def test_an_older_epoch_is_told_so(self, log):
        self.append(
            log, 0, log.maybe_start_transaction_verification(7, sequence=0, epoch=5, supports_epoch_bump=False), epoch=5
        )
        self.end(log, epoch=5)
        with pytest.raises(InvalidProducerEpochException):
            log.maybe_start_transaction_verification(7, sequence=1, epoch=4, supports_epoch_bump=False)
        with pytest.raises(InvalidProducerEpochException):
            self.append(log, 1, epoch=4)


def test_producers_expire_in_the_background(open_log, time):
    log = open_log({"producer_state_manager_config": ProducerStateManagerConfig(producer_id_expiration_ms=1000)})
    log.append_as_leader(records("[1x10 pid=7 epoch=0 seq=0]"), 0)
    log.append_as_leader(records("[1x10 pid=8 epoch=0 seq=0 txn]"), 0)
    assert log.last_records_of_active_producers == {7: LastRecord(0, 0), 8: LastRecord(1, 0)}
    time.sleep(600_000)
    assert list(log.last_records_of_active_producers) == [8]
    assert not log.has_late_transaction(NOW + 1_200_000)
    assert log.has_late_transaction(NOW + 1_200_001)


def test_the_topic_id_is_kept_and_compared(open_log):
    log = open_log({"topic_id": TOPIC_ID})
    assert "partition.metadata" not in names(log)
    log.append_as_leader(records(), 0)
    assert "partition.metadata" in names(log)
    log.close()
    log = open_log()
    assert log.topic_id == TOPIC_ID
    log.close()
    with pytest.raises(InconsistentTopicIdException):
        open_log({"topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"})


def test_a_log_that_has_no_topic_id_can_be_given_one(open_log):
    log = open_log()
    log.append_as_leader(records(), 0)
    assert "partition.metadata" not in names(log)
    log.assign_topic_id(TOPIC_ID)
    log.append_as_leader(records(), 0)
    assert "partition.metadata" in names(log)
    log.assign_topic_id(TOPIC_ID)
    with pytest.raises(InconsistentTopicIdException):
        log.assign_topic_id("AAAAAAAAAAAAAAAAAAAAAQ")
    log.close()
    assert open_log().topic_id == TOPIC_ID


def test_active_producers_are_shown(open_log):
    log = open_log()
    log.append_as_leader(records("[2x10 pid=7 epoch=3 seq=0]"), 0)
    log.append_as_leader(records("[1x10 pid=8 epoch=0 seq=0 txn]"), 0)
    assert log.active_producers == [ProducerState(7, 3, 1, NOW, -1, -1), ProducerState(8, 0, 0, NOW, -1, 2)]


def test_the_state_is_seen_whole_and_stays_as_it_was(open_log):
    log = open_log()
    log.append_as_leader(records("[2x10 pid=7 epoch=3 seq=0]"), 0)
    log.append_as_leader(records("[1x10 pid=8 epoch=0 seq=0 txn]"), 1)
    log.update_high_watermark(3)
    state, size = log.fetch_state_snapshot(), log.size
    log.append_as_leader(records("[1x10 pid=7 epoch=3 seq=2]"), 1)
    producers = ((7, 3, 1, 1, NOW, -1, -1), (8, 0, 0, 2, NOW, -1, 2))
    assert state == (0, 0, 3, 2, 3, ((0, size),), ((0, 0), (1, 2)), producers)
    assert log.fetch_state_snapshot().producers[0].last_offset == 3


def test_a_renamed_log_lives_on(open_log):
    log = open_log()
    log.append_as_leader(records(), 1)
    log.rename_dir("topic-0.0123-future", should_reinitialize=True)
    assert log.is_future and log.name == "topic-0.0123-future"
    log.append_as_leader(records(), 2)
    log.roll()
    assert {"leader-epoch-checkpoint", "00000000000000000002.log", "00000000000000000002.snapshot"} <= set(names(log))
    assert log.latest_epoch == 2
    log.rename_dir(log_delete_dir_name(log.topic_partition), should_reinitialize=False)
    assert log.latest_epoch is None
    directory = log.dir
    log.delete()
    assert not directory.exists()
    with pytest.raises(KafkaStorageException, match="memory mapped buffer for log of topic-0 is already closed"):
        log.append_as_leader(records(), 2)


def test_no_late_write_reaches_the_log_that_gets_the_name_of_a_deleted_one(open_log, tmp_path):
    old = open_log()
    for epoch in (1, 2):
        old.append_as_leader(records(), epoch)
    old.update_high_watermark(2)
    old.maybe_increment_log_start_offset(2, REASON)  # cuts epochs off, in the background
    old.rename_dir(log_delete_dir_name(old.topic_partition), should_reinitialize=False)
    new = open_log()
    new.append_as_leader(records(), 5)
    checkpoint = tmp_path / "topic-0" / "leader-epoch-checkpoint"
    assert checkpoint.read_text() == "0\n1\n5 0\n"
    old.scheduler.run_due_tasks()
    assert checkpoint.read_text() == "0\n1\n5 0\n"


def test_compacted_segments_take_the_place_of_others(open_log, time):
    log = open_log(file__delete__delay__ms=100)
    for _ in range(3):
        log.append_as_leader(records("[2x10]"), 0)
        log.roll()
    first, second, *_ = log.log_segments
    cleaned = create_new_cleaned_segment(log.dir, log.config, 0)
    cleaned.append_from_file(second.log, 0)
    assert "00000000000000000000.log.cleaned" in names(log)
    log.replace_segments([cleaned], [first, second])
    assert [segment.base_offset for segment in log.log_segments] == [0, 4, 6]
    assert {name for name in names(log) if name.startswith("00000000000000000002")} == {
        "00000000000000000002.log.deleted",
        "00000000000000000002.index.deleted",
        "00000000000000000002.timeindex.deleted",
        "00000000000000000002.snapshot.deleted",
    }
    data = log.read(0, 1000, FetchIsolation.LOG_END)
    assert [record.offset for record in data.records.records()] == [2, 3]
    time.sleep(100)
    assert not [name for name in names(log) if name.endswith((".deleted", ".swap", ".cleaned"))]


def test_a_read_tells_of_the_transactions_aborted_up_to_the_end_of_its_segment(open_log):
    log = open_log()
    for pid in (7, 8):
        log.append_as_leader(records(f"[2x10 pid={pid} epoch=0 seq=0 txn]"), 0)
        end_transaction = records(f"[abort pid={pid} epoch=0]")
        log.append_as_leader(end_transaction, 0, AppendOrigin.COORDINATOR, transaction_version=0)
        log.maybe_increment_high_watermark(log.log_end_offset_metadata)
        if pid == 7:
            log.roll()

    def told(offset):
        fetched = log.read(offset, 1000, FetchIsolation.TXN_COMMITTED)
        return [(txn.producer_id, txn.first_offset) for txn in fetched.aborted_transactions]

    assert (told(0), told(3)) == ([(7, 0)], [(8, 3)])


def test_after_a_roll_the_files_and_their_names_reach_the_device(open_log):
    """The directory's names come last: before, the recovery point does not say that the segments are there."""
    log = open_log(index__interval__bytes=0)
    for _ in range(2):
        log.append_as_leader(records(), 0)
    log.roll()
    seen = []
    with file_ops.observe(lambda operation, path: seen.append((operation, path.name))):
        log.scheduler.run_due_tasks()
    first = "0" * 20
    assert [name for operation, name in seen if operation == "fsync"] == [
        "00000000000000000002.snapshot",
        *(first + suffix for suffix in (".log", ".index", ".timeindex")),
    ]
    assert seen[-1] == ("flush_dir", "topic-0")
    assert log.recovery_point == 2


def test_only_a_segment_that_overflows_can_be_split(open_log):
    log = open_log()
    log.append_as_leader(records(), 0)
    with pytest.raises(IllegalArgumentException, match="only permitted for segments with overflow"):
        log.split_overflowed_segment(log.active_segment)


def test_segments_between_offsets(open_log):
    log = open_log()
    for _ in range(3):
        log.append_as_leader(records("[2x10]"), 0)
        log.roll()
    assert [s.base_offset for s in log.log_segments_between(3, 6)] == [2, 4]
    assert [s.base_offset for s in log.non_active_log_segments_from(1)] == [0, 2, 4]


def test_a_log_start_offset_needs_the_high_watermark(open_log):
    log = open_log()
    log.append_as_leader(records("[5x10]"), 0)
    reason = LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION
    with pytest.raises(OffsetOutOfRangeException, match="larger than the high watermark 0"):
        log.maybe_increment_log_start_offset(3, reason)
    log.update_high_watermark(5)
    assert log.maybe_increment_log_start_offset(3, reason)
    assert not log.maybe_increment_log_start_offset(3, reason)
    assert (log.log_start_offset, log.recovery_point, str(reason)) == (3, 3, "client delete records request")


def test_recovery_tells_how_much_is_left(open_log):
    log = open_log()
    for _ in range(3):
        log.append_as_leader(records(), 0)
        log.roll()
    log.close_handlers()
    remaining = {}
    open_log({"last_shutdown_clean": False, "num_remaining_segments": remaining})
    assert list(remaining.values()) == [0]


def test_recovery_costs_the_same_for_each_segment(open_log, tmp_path, monkeypatch):
    """However many segments there are, the directory is listed as often, and a segment keeps one descriptor."""
    listed = []
    for name in ("scandir", "listdir"):
        original = getattr(os, name)
        monkeypatch.setattr(os, name, lambda path, original=original: listed.append(path) or original(path))
    cost = {}
    for count in (5, 20):
        directory = tmp_path / f"many-{count}"
        directory.mkdir()
        for offset in range(count):
            (directory / f"{offset:020}.log").write_bytes(Batch().encode(NOW, offset))
        for _ in ("without indexes", "with indexes"):
            before = len(os.listdir("/dev/fd"))
            listed.clear()
            log = Log.create(
                directory,
                LogConfig({}),
                scheduler=ManualScheduler(ManualTime(NOW)),
                time=ManualTime(NOW),
                last_shutdown_clean=False,
            )
            cost.setdefault(count, []).append(len(listed))
            log.flush(force_flush_active_segment=True)
            active_indexes, directory_lock = 2, 1
            assert len(os.listdir("/dev/fd")) - before <= count + active_indexes + directory_lock
            assert log.log_end_offset == log.number_of_segments == count
            log.close()
    assert cost[5] == cost[20]


def test_settings_can_be_changed(open_log):
    log = open_log()
    old = log.update_config(LogConfig({"retention.ms": 5}))
    assert old.retention_ms == 604_800_000 and log.config.retention_ms == 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint32, np.uint64])
def test_offsets_may_be_numbers_of_numpys(tmp_path, time, kind):
    """What is counted on from them does not overflow in their width."""

    def story(home, number) -> list:
        log = Log.create(
            home / "topic-0",
            LogConfig({"internal.segment.bytes": 3000}),
            3,
            scheduler=ManualScheduler(time),
            time=time,
        )
        seen = []
        for change in (
            lambda: log.maybe_update_high_watermark(number(90)),
            lambda: log.maybe_increment_log_start_offset(number(50), REASON),
            lambda: log.flush_upto_offset_exclusive(number(80)),
            lambda: log.roll(number(110)),
            lambda: log.truncate_to(number(60)),
            lambda: log.truncate_fully_and_start_at(number(120)),
        ):
            for _ in range(100):
                log.append_as_leader(records(), leader_epoch=number(0))
            change()
            bounds = log.log_start_offset, log.high_watermark, log.recovery_point, log.log_end_offset
            read = log.read(number(log.log_end_offset - 1), number(100)).records if log.log_end_offset == 103 else None
            seen += [*bounds, *(segment.base_offset for segment in log.log_segments), read and read.size_in_bytes]
        for _ in range(300):
            log.append_as_leader(records(), leader_epoch=0)
        seen.append([record.offset for record in log.read(120, 1 << 20).records.records()])
        log.close()
        return seen

    assert story(tmp_path / "numpy", kind) == story(tmp_path / "python", int)


@pytest.mark.parametrize("epoch, start", [(1.0, 0), (1, 0.0)])
def test_an_epoch_that_is_no_whole_number_is_not_noted(tmp_path, time, epoch, start):
    log = Log.create(tmp_path / "topic-0", LogConfig({}), 3, scheduler=ManualScheduler(time), time=time)
    with pytest.raises(TypeError):
        log.assign_epoch_start_offset(epoch, start)
    assert log.latest_epoch is None


def test_names_of_directories(tmp_path):
    partition = TopicPartition("a-b.c", 12)
    assert log_dir_name(partition) == "a-b.c-12"
    for name in (log_dir_name, log_delete_dir_name, log_future_dir_name, log_stray_dir_name):
        assert parse_topic_partition_name(tmp_path / name(partition)) == partition
    assert len(log_delete_dir_name(TopicPartition("x" * 249, 0))) == 255
    for name in ("topic", "-0", "topic-", "topic-x", "topic-0-delete", "topic0.12-delete"):
        with pytest.raises(KafkaException, match="is not in the form of topic-partition"):
            parse_topic_partition_name(tmp_path / name)


def test_an_unreadable_file_stops_the_load(open_log, tmp_path, monkeypatch):
    open_log().close()
    (tmp_path / "topic-0" / "secret").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "secret")  # root may read every file
    with pytest.raises(OSError, match="Could not read file"):
        open_log()


@pytest.mark.slow
def test_readers_run_beside_a_writer(tmp_path):
    scheduler = KafkaScheduler()
    scheduler.startup()
    config = LogConfig({"internal.segment.bytes": 2000, "segment.index.bytes": 1200, "index.interval.bytes": 200})
    log = Log.create(tmp_path / "topic-0", config, scheduler=scheduler, time=SystemTime())
    done, failures = threading.Event(), []

    def read():
        try:
            while not done.is_set():
                start = random.randrange(log.log_end_offset + 1)
                for isolation in FetchIsolation:
                    batches = list(log.read(start, 3000, isolation).records.batches())
                    for batch in batches:
                        batch.ensure_valid()
                    if batches:
                        assert batches[0].base_offset <= start <= batches[0].last_offset
                    assert [b.base_offset for b in batches[1:]] == [b.next_offset for b in batches[:-1]]
        except Exception as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(100):
        log.append_as_leader(records("[3x40]"), 0)
        log.update_high_watermark(log.log_end_offset)
    done.set()
    for reader in readers:
        reader.join()
    scheduler.shutdown()
    log.close()
    assert not failures
    assert log.log_end_offset == 300 and log.number_of_segments > 5


def test_an_error_of_the_system_ends_a_load_on_demand_and_is_damage_to_kafka(open_log, monkeypatch):
    log = open_log()
    log.append_as_leader(records("[2x10]"), 3)
    log.close_handlers()
    size, opened = log.size, os.open

    def no_descriptor_for_an_index(path, *arguments):
        if str(path).endswith(".index"):
            monkeypatch.setattr(os, "open", opened)  # descriptors are back at once
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))
        return opened(path, *arguments)

    for stop_at_os_errors in (True, False):
        monkeypatch.setattr(os, "open", no_descriptor_for_an_index)
        arguments = {"last_shutdown_clean": False, "stop_at_os_errors": stop_at_os_errors}
        if stop_at_os_errors:
            with pytest.raises(OSError, match="Too many open files"):
                open_log(arguments)
            assert (log.dir / f"{0:020d}.log").stat().st_size == size
        else:
            assert open_log(arguments).log_end_offset == 0


@pytest.mark.slow
def test_a_second_log_on_the_directory_is_refused(open_log, tmp_path):
    log = open_log()
    log.append_as_leader(records("[2x10]"), 3)
    for way in (tmp_path / "topic-0", tmp_path / "link-0"):
        if way.name == "link-0":
            way.symlink_to("topic-0")
        with pytest.raises(KafkaStorageException, match=f"lock on directory {way}"):
            Log.create(way, LogConfig({}), scheduler=log.scheduler, time=log.time)
    log.rename_dir("topic-1", should_reinitialize=True)
    with pytest.raises(KafkaStorageException, match="topic-1"):
        Log.create(log.dir, LogConfig({}), scheduler=log.scheduler, time=log.time)
    assert log.append_as_leader(records("[2x10]"), 3).first_offset == 2


@pytest.mark.parametrize("way", ["close", "close_handlers", "delete"])
def test_a_log_that_has_ended_lets_go_of_its_directory(open_log, way):
    for _ in range(2):
        log = open_log()
        getattr(log, way)()
    assert open_log().log_end_offset == 0


def test_a_log_that_failed_to_load_or_was_forgotten_lets_go_of_its_directory(open_log, tmp_path):
    open_log().close()
    (tmp_path / "topic-0/leader-epoch-checkpoint").write_text("7\n0\n")
    with pytest.raises(KafkaStorageException) as failure:
        open_log()
    (tmp_path / "topic-0/leader-epoch-checkpoint").unlink()
    assert "checkpoint file" in str(failure.value)
    for _ in range(2):  # nobody holds the log itself, nor the clock and the scheduler that would call it
        time = ManualTime(NOW)
        Log.create(tmp_path / "topic-0", LogConfig({}), scheduler=ManualScheduler(time), time=time)


def test_the_example_of_the_docstring_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(Log.__doc__, {}, "Log", None, None)
    assert doctest.DocTestRunner().run(example) == doctest.TestResults(failed=0, attempted=10)


def test_a_name_that_is_no_partitions_leaves_no_directory(tmp_path):
    for name in ("orders", "orders-", "orders-one"):
        with pytest.raises(KafkaException, match="is not in the form of topic-partition"):
            Log.open(tmp_path / name)
    assert not [*tmp_path.iterdir()], "no broker would start beside one"


@pytest.mark.slow
def test_a_log_of_a_running_broker_is_not_opened_beside_it(tmp_path):
    with Broker(tmp_path, topics={"t": 1}) as broker:
        broker.append("t", 0, b"a")
        before = {path: path.read_bytes() for path in (tmp_path / "t-0").iterdir()}
        with pytest.raises(KafkaException, match=r"\.lock is held: a broker is running on this log directory"):
            Log.open(tmp_path / "t-0")
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "t-0").symlink_to(tmp_path / "t-0")
        with pytest.raises(KafkaException, match=r"\.lock is held: a broker is running on this log directory"):
            Log.open(tmp_path / "new" / "t-0")
        with pytest.raises(KafkaException, match="is held"):  # a partition that the broker has not, and may make
            Log.open(tmp_path / "t-1")
        assert not (tmp_path / "t-1").exists()
        assert {path: path.read_bytes() for path in (tmp_path / "t-0").iterdir()} == before
        broker.append("t", 0, b"b")
        assert [kept.value for kept in broker.records("t", 0)] == [b"a", b"b"]


def test_no_broker_starts_where_logs_are_open_after_one_was_killed(tmp_path):
    broker = Broker(tmp_path, topics={"t": 2})
    broker.start()
    broker.kill()
    with Log.open(tmp_path / "t-0"), Log.open(tmp_path / "t-1"):
        assert not FileLock(tmp_path / ".lock").try_lock()
        with pytest.raises(KafkaException, match="A Kafka instance in another process or thread is using this"):
            Broker(tmp_path).start()
    with Broker(tmp_path):
        pass


def test_no_broker_starts_where_logs_are_open_after_one_has_stopped(tmp_path):
    with Broker(tmp_path, topics={"t": 2}):
        pass
    assert not (tmp_path / ".lock").exists()
    with Log.open(tmp_path / "t-0"):
        with Log.open(tmp_path / "t-1"):
            assert not FileLock(tmp_path / ".lock").try_lock()
        with pytest.raises(KafkaException, match="A Kafka instance in another process or thread is using this"):
            Broker(tmp_path).start()
    assert not (tmp_path / ".lock").exists()
    with Broker(tmp_path):
        pass


def test_a_lock_on_a_file_that_was_deleted_meanwhile_is_none(tmp_path):
    first = FileLock(tmp_path / ".lock")
    late = FileLock(tmp_path / ".lock")
    assert first.try_lock() and not late.try_lock()
    first.destroy()
    assert not late.try_lock()
    assert FileLock(tmp_path / ".lock").try_lock()


@pytest.mark.parametrize("end", ["close", "close_handlers", "delete"])
def test_a_log_that_has_ended_lets_go_of_the_log_directory(tmp_path, end):
    (tmp_path / ".lock").touch()
    log = Log.open(tmp_path / "t-0")
    assert not FileLock(tmp_path / ".lock").try_lock()
    getattr(log, end)()
    assert FileLock(tmp_path / ".lock").try_lock()


@pytest.mark.parametrize("end", [Log.close, Log.close_handlers, Log.delete])
def test_no_task_of_a_log_that_is_let_go_of_comes_later(tmp_path, end):
    """It would write into the files of the log that has the directory next."""
    log, came = Log.open(tmp_path / "t-0"), threading.Event()
    log.scheduler.schedule_once("late", came.set, 20)
    end(log)
    assert not came.wait(0.1)
