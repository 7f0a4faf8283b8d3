"""Kafka's own log speaks with the names, the result types and the exceptions of minikafka's `Log`."""

import inspect

import pytest

from minikafka.common import errors
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.log.append_origin import AppendOrigin
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.witness.kafka.kafka_log import KafkaLog, KafkaSegment
from minikafka.witness.log.batch import Batch

NOW = 1_700_000_000_000
TOPIC_ID = "bWluaWthZmthLXRvcGljLQ"


class Opened:
    """A log of Kafka's with its clock and scheduler."""

    def __init__(self, kafka, directory, **config):
        self.time = ManualTime(NOW)
        self.scheduler = ManualScheduler(self.time)
        self.directory = directory
        settings = {"internal.segment.bytes": 500, "index.interval.bytes": 100, **config}
        self.log = KafkaLog.create(
            kafka, directory, settings, scheduler=self.scheduler, time=self.time, topic_id=TOPIC_ID
        )

    def append(self, text="[3x100]", **kwargs):
        return self.log.append_as_leader(Batch.parse(text).encode(NOW), 0, **kwargs)


@pytest.fixture
def opened(kafka, tmp_path):
    return Opened(kafka, tmp_path / "topic-0")


def test_an_append_tells_what_became_of_it(opened):
    opened.append()
    info = opened.append("[2x10 ts=now-5]")
    assert (info.first_offset, info.last_offset, info.last_leader_epoch) == (3, 4, None)
    assert (info.max_timestamp, info.log_append_time, info.log_start_offset) == (NOW - 5, -1, 0)
    assert info.num_messages == 2 and info.valid_bytes == len(Batch.parse("[2x10]").encode(NOW))


def test_the_state_is_seen_whole(opened):
    opened.append("[3x100 pid=7 epoch=1 seq=5]")
    opened.append("[3x100 pid=8 epoch=0 seq=0 txn]")
    size = len(Batch.parse("[3x100]").encode(NOW))
    start, recovery, hw, lso, end, segments, epochs, producers = opened.log.fetch_state_snapshot()
    assert (start, recovery, hw, lso, end) == (0, 0, 0, 0, 6)
    assert segments == ((0, size), (3, size))
    assert epochs == ((0, 0),)
    assert producers == ((7, 1, 7, 2, NOW, -1, -1), (8, 0, 2, 5, NOW, -1, 3))


def test_what_is_read_are_the_bytes_of_the_file(opened):
    opened.append()
    opened.log.update_high_watermark(opened.log.log_end_offset)
    data = opened.log.read(1, 10_000, FetchIsolation.HIGH_WATERMARK)
    assert data.fetch_offset_metadata == LogOffsetMetadata(0, 0, 0)
    assert bytes(data.records.buffer) == (opened.directory / f"{0:020}.log").read_bytes()
    assert data.aborted_transactions is None and not data.first_entry_incomplete
    assert opened.log.read(3, 10_000, FetchIsolation.LOG_END).records.size_in_bytes == 0


def test_aborted_transactions_come_with_the_read(opened):
    opened.append("[1x10 pid=8 epoch=0 seq=0 txn]")
    opened.append("[abort pid=8 epoch=0]", origin=AppendOrigin.COORDINATOR, transaction_version=1)
    opened.log.update_high_watermark(2)
    data = opened.log.read(0, 10_000, FetchIsolation.TXN_COMMITTED)
    assert data.aborted_transactions == [(8, 0)]


@pytest.mark.parametrize(
    "operation, error, message",
    [
        (
            lambda o: o.append("[1x10 pid=8 epoch=0 seq=5]"),
            errors.OutOfOrderSequenceException,
            "5 (incoming seq. number)",
        ),
        (lambda o: o.log.read(99, 1, FetchIsolation.LOG_END), errors.OffsetOutOfRangeException, "99"),
        (lambda o: o.log.read(0, -1, FetchIsolation.LOG_END), errors.IllegalArgumentException, "-1"),
        (lambda o: o.append("[1x10 damage=crc]"), errors.CorruptRecordException, "Record is corrupt"),
        (lambda o: o.append("[1x900]"), errors.RecordBatchTooLargeException, "maximum configured segment"),
        (lambda o: o.log.truncate_to(-1), errors.IllegalArgumentException, "-1"),
    ],
)
def test_exceptions_are_minikafkas(opened, operation, error, message):
    opened.append("[1x10 pid=8 epoch=0 seq=0]")
    with pytest.raises(error) as raised:
        operation(opened)
    assert type(raised.value) is error
    assert message in str(raised.value)


def test_exceptions_keep_what_they_carry(opened):
    opened.append()
    with pytest.raises(errors.UnexpectedAppendOffsetException) as unexpected:
        opened.log.append_as_follower(Batch.parse("[2x10]").encode(NOW, 1), 0)
    assert (unexpected.value.first_offset, unexpected.value.last_offset) == (1, 2)
    with pytest.raises(errors.RecordValidationException) as refused:
        opened.append("[2x10 ts=now+4000000]")
    assert type(refused.value.invalid_exception) is errors.InvalidTimestampException
    assert len(refused.value.record_errors) == 2
    assert "org.apache" not in str(refused.value)


def test_kafka_lives_by_the_clock_it_is_given(opened):
    for _ in range(3):
        opened.append()
    assert "flush-log" in opened.scheduler.pending
    assert opened.log.recovery_point == 0
    opened.scheduler.run_due_tasks()
    assert opened.log.recovery_point == 6
    opened.log.update_high_watermark(9)
    assert opened.log.maybe_increment_log_start_offset(4, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)
    assert opened.log.delete_old_segments() == 1
    assert (opened.directory / f"{0:020}.log.deleted").exists()
    opened.time.set_current_time_ms(NOW + 60_000)
    assert not (opened.directory / f"{0:020}.log.deleted").exists()


def test_a_cancelled_task_never_runs(opened):
    assert opened.scheduler.pending[-1] == "PeriodicProducerExpirationCheck"
    opened.log.close()
    assert "PeriodicProducerExpirationCheck" not in opened.scheduler.pending


def test_the_high_watermark_methods_answer_in_python(opened):
    for _ in range(3):
        opened.append("[1x10]")
    size = len(Batch.parse("[1x10]").encode(NOW))
    assert opened.log.maybe_increment_high_watermark(LogOffsetMetadata(2)) == LogOffsetMetadata(0, 0, 0)
    assert opened.log.maybe_increment_high_watermark(LogOffsetMetadata(1)) is None
    assert opened.log.maybe_update_high_watermark(2) is None
    assert opened.log.maybe_update_high_watermark(3) == 3
    assert opened.log.update_high_watermark(1) == 1
    assert opened.log.high_watermark == 1
    assert opened.log.fetch_offset_snapshot().high_watermark == LogOffsetMetadata(1, 0, size)


def test_segments_epochs_and_timestamps(opened):
    opened.append("[2x10 ts=now,now-9]")
    assert opened.log.roll() == KafkaSegment(2, 0)
    assert opened.log.roll(7) == KafkaSegment(7, 0)
    assert opened.log.fetch_offset_by_timestamp(NOW)[:2] == (NOW, 0)
    assert opened.log.fetch_offset_by_timestamp(NOW + 1) is None
    opened.log.assign_epoch_start_offset(4, 2)
    assert opened.log.end_offset_for_epoch(0) == (2, 0)
    assert opened.log.latest_epoch == 4
    assert opened.log.truncate_to(1) and opened.log.log_end_offset == 1
    opened.log.truncate_fully_and_start_at(40, 50)
    assert (opened.log.log_end_offset, opened.log.log_start_offset) == (40, 50)


def test_every_method_has_its_twin_in_minikafka(opened, tmp_path):
    own = {"producers", "epoch_entries", "active_index_entries"}
    log = Log.create(tmp_path / "ours-0", LogConfig({}), scheduler=opened.scheduler, time=opened.time)
    for name, member in inspect.getmembers(KafkaLog):
        if not name.startswith("_") and name not in own:
            assert hasattr(log, name), f"Log has no {name}"
            assert callable(getattr(log, name)) != isinstance(member, property), name
    log.close()
