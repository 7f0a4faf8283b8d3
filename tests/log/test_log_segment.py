"""A segment and its indexes, alone and beside Kafka's own LogSegment: results, exceptions and bytes on disk."""

import os
import random

import pytest

from minikafka.checkpoint.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from minikafka.common import file_ops
from minikafka.common.errors import (
    CorruptIndexException,
    IllegalArgumentException,
    IOException,
    LogSegmentOffsetOverflowException,
)
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.leader_epoch_file_cache import LeaderEpochFileCache
from minikafka.log.log_config import LogConfig
from minikafka.log.log_file_utils import filename_prefix_from_offset
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from minikafka.log.log_segment import LogSegment, RollParams
from minikafka.log.producer.completed_txn import CompletedTxn
from minikafka.log.producer.producer_state_manager import ProducerStateManager
from minikafka.log.producer.producer_state_manager_config import ProducerStateManagerConfig
from minikafka.record.codecs.compression import Compression
from minikafka.record.files.file_records import FileRecords
from minikafka.record.format.control_record import ControlRecordType, EndTransactionMarker
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord
from minikafka.witness.kafka.kafka_errors import kafka_errors
from minikafka.witness.kafka.kafka_time import JavaScheduler, JavaTime

TOPIC_PARTITION = TopicPartition("t", 0)
MAX_INT = 2**31 - 1


def batch(base_offset, *timestamps, value=b"value", **fields):
    """One batch, a record for each timestamp."""
    records = [SimpleRecord(timestamp, b"key", value) for timestamp in timestamps]
    return MemoryRecords.with_records(Compression.NONE, *records, initial_offset=base_offset, **fields)


def together(*parts):
    return MemoryRecords.readable_records(b"".join(part.buffer for part in parts))


class Segments:
    """Opens segments in one directory."""

    def __init__(self, directory):
        self.directory = directory
        self.time = ManualTime(1000)
        self.opened = []

    def open(self, base_offset=0, settings=None, **options):
        config = LogConfig({"segment.index.bytes": 1000, "index.interval.bytes": 100} | (settings or {}))
        segment = LogSegment.open(self.directory, base_offset, config, self.time, **options)
        self.opened.append(segment)
        return segment

    def names(self):
        return sorted(file.name.lstrip("0") for file in self.directory.iterdir())


@pytest.fixture
def segments(tmp_path):
    opener = Segments(tmp_path)
    yield opener
    for segment in opener.opened:
        segment.close_handlers()


def state(directory, time):
    """What recovery takes along: producers and epochs."""
    checkpoint = LeaderEpochCheckpointFile(LeaderEpochCheckpointFile.new_file(directory))
    return (
        ProducerStateManager(
            TOPIC_PARTITION,
            directory,
            max_transaction_timeout_ms=900_000,
            producer_state_manager_config=ProducerStateManagerConfig(),
            time=time,
        ),
        LeaderEpochFileCache(TOPIC_PARTITION, checkpoint, ManualScheduler(time)),
    )


def test_index_files_are_made_by_their_first_use(segments):
    segment = segments.open()
    assert segments.names() == [".log"]
    segment.append(0, batch(0, 10))
    assert segments.names() == [".index", ".log", ".timeindex"]
    assert segment.offset_index_file.stat().st_size == 1000
    assert segment.time_index_file.stat().st_size == 996


def test_an_entry_is_added_per_batch_once_more_than_the_interval_lies_before_it(segments):
    segment = segments.open()
    five = [batch(n, 1000 + 10 * n) for n in range(5)]
    assert five[0].size_in_bytes == 76
    segment.append(4, together(*five))
    assert [segment.offset_index.entry(n) for n in range(segment.offset_index.entries)] == [(2, 152), (4, 304)]
    segment.close()
    assert segment.offset_index_file.read_bytes().hex() == "0000000200000098" + "0000000400000130"
    assert segment.time_index_file.read_bytes().hex() == "00000000000003fc00000002" + "000000000000041000000004"


def test_the_interval_must_be_exceeded(segments):
    segment = segments.open(settings={"index.interval.bytes": 76})
    for n in range(3):
        segment.append(n, batch(n, n))
    assert segment.offset_index.last_offset == 2


def test_the_count_of_bytes_is_forgotten_when_a_segment_is_opened_again(segments):
    segment = segments.open()
    segment.append(1, together(batch(0, 1), batch(1, 2)))
    segment.close()
    segment = segments.open(file_already_exists=True)
    segment.resize_indexes(1000)
    segment.append(2, batch(2, 3))
    assert segment.offset_index.entries == 0


def test_offsets_must_fit_32_bits(segments):
    segment = segments.open(base_offset=7)
    segment.append(7 + MAX_INT, batch(7 + MAX_INT, 1))
    for offset in (6, 8 + MAX_INT):
        with pytest.raises(
            LogSegmentOffsetOverflowException, match=f"at offset {offset} in segment LogSegment"
        ) as raised:
            segment.append(offset, batch(offset, 1))
        assert raised.value.segment is segment
    assert segment.size == 76


def test_appending_nothing_makes_no_files(segments):
    segments.open().append(0, MemoryRecords.EMPTY)
    assert segments.names() == [".log"]


def test_reading_begins_at_the_batch_that_holds_the_offset(segments):
    segment = segments.open(base_offset=10)
    segment.append(14, together(batch(10, 1, 2), batch(12, 3, 4, 5)))
    size = segment.size
    first_size = batch(10, 1, 2).size_in_bytes
    fetched = segment.read(13, 1000)
    assert fetched.fetch_offset_metadata == LogOffsetMetadata(12, 10, first_size)
    assert fetched.records.size_in_bytes == size - first_size and not fetched.first_entry_incomplete
    assert segment.read(10, 1000, max_position=first_size).records.size_in_bytes == first_size
    assert segment.read(15, 1000) is None
    assert segment.read(5, 1000).fetch_offset_metadata.message_offset == 10


def test_limits_of_a_read(segments):
    segment = segments.open()
    segment.append(2, together(batch(0, 1), batch(1, 2), batch(2, 3)))
    assert segment.read(0, 0).records.size_in_bytes == 0
    cut = segment.read(0, 10)
    assert (cut.records.size_in_bytes, cut.first_entry_incomplete) == (10, True)
    whole = segment.read(0, 10, min_one_message=True)
    assert (whole.records.size_in_bytes, whole.first_entry_incomplete) == (76, False)
    assert segment.read(0, 0, min_one_message=True).records.size_in_bytes == 76
    unavailable = segment.read(1, 100, None, min_one_message=True)
    assert (unavailable.records.size_in_bytes, unavailable.fetch_offset_metadata.message_offset) == (0, 1)
    with pytest.raises(IllegalArgumentException, match="Invalid max size -1 for log read from segment FileRecords"):
        segment.read(0, -1)


def test_what_is_read_does_not_grow_with_the_file(segments):
    segment = segments.open()
    segment.append(0, batch(0, 1))
    fetched = segment.read(0, 10_000)
    segment.append(1, batch(1, 1))
    assert fetched.records.size_in_bytes == 76


@pytest.mark.parametrize(
    ("change", "rolls"),
    [
        ({}, False),
        ({"messages_size": 924}, False),
        ({"messages_size": 925}, True),
        ({"max_timestamp_in_messages": 150}, False),
        ({"max_timestamp_in_messages": 151}, True),
        ({"now": 10**9}, False),
        ({"max_offset_in_messages": MAX_INT}, False),
        ({"max_offset_in_messages": MAX_INT + 1}, True),
    ],
)
def test_when_a_segment_is_full(segments, change, rolls):
    segment = segments.open()
    segment.append(0, batch(0, 50))
    params = RollParams(100, 1000, 60, 1, 76, 1000)
    assert segment.should_roll(params._replace(**change)) is rolls


def test_jitter_makes_a_segment_roll_earlier(segments):
    segment = segments.open()
    segment.append(0, batch(0, 50))
    segment.roll_jitter_ms = 40
    params = RollParams(100, 1000, 110, 1, 76, 1000)
    assert not segment.should_roll(params)
    assert segment.should_roll(params._replace(max_timestamp_in_messages=111))


def test_age_counts_from_the_making_when_there_is_no_timestamp(segments):
    segment = segments.open()
    assert not segment.should_roll(RollParams(100, 1000, 0, 1, 76, 10**9)), "an empty segment is never too old"
    segment.append(0, batch(0, -1))
    assert not segment.should_roll(RollParams(100, 1000, 10**6, 1, 76, 1100))
    assert segment.should_roll(RollParams(100, 1000, 0, 1, 76, 1101))
    assert segment.get_first_batch_timestamp() == 2**63 - 1


def test_a_full_index_ends_a_segment(segments):
    segment = segments.open(settings={"segment.index.bytes": 24, "index.interval.bytes": 0})
    params = RollParams(10**6, 10**6, 0, 1, 76, 0)
    segment.append(0, batch(0, 1))
    assert not segment.should_roll(params)
    segment.append(1, batch(1, 2))
    assert segment.time_index.is_full and segment.should_roll(params)


def test_the_largest_timestamp_and_where_it_is(segments):
    segment = segments.open()
    assert (segment.max_timestamp_so_far, segment.largest_record_timestamp) == (-1, None)
    os.utime(segment.log.file, ns=(0, 77_000_000))
    assert segment.largest_timestamp == 77
    segment.append(3, together(batch(0, 5, 9), batch(2, 9), batch(3, 7)))
    assert segment.read_max_timestamp_and_offset_so_far() == (9, 1)
    assert segment.largest_timestamp == segment.largest_record_timestamp == 9


def test_finding_a_timestamp(segments):
    segment = segments.open(base_offset=5)
    for n in range(20):
        segment.append(5 + n, batch(5 + n, 100 + 10 * n))
    assert segment.find_offset_by_timestamp(141, 0)[:2] == (150, 10)
    assert segment.find_offset_by_timestamp(0, 0)[:2] == (100, 5)
    assert segment.find_offset_by_timestamp(0, 9)[:2] == (140, 9)
    assert segment.find_offset_by_timestamp(291, 0) is None


def test_truncating_takes_whole_batches_and_forgets_what_they_brought(segments):
    segment = segments.open()
    for n in range(10):
        segment.append(2 * n + 1, batch(2 * n, 100 + n, 200 + n))
    size = batch(0, 100, 200).size_in_bytes
    assert segment.truncate_to(25) == 0
    assert segment.truncate_to(7) == 7 * size
    assert (segment.size, segment.read_next_offset(), segment.max_timestamp_so_far) == (3 * size, 6, 202)
    assert segment.offset_index.last_offset < 7
    assert segment.offset_index.length == 1000
    segment.append(6, batch(6, 150))
    assert segment.max_timestamp_so_far == 202


def test_truncating_everything_starts_the_age_anew(segments):
    segment = segments.open()
    segment.append(0, batch(0, 5))
    assert segment.time_waited_for_roll(0, 105) == 100
    segments.time.sleep(500)
    segment.truncate_to(0)
    assert segment.time_waited_for_roll(1600, 0) == 100


def test_suffixes(segments):
    segment = segments.open(base_offset=5, file_suffix=".cleaned")
    segment.append(5, batch(5, 1))
    assert segment.has_suffix(".cleaned")
    segment.change_file_suffixes(".cleaned", ".swap")
    assert segments.names() == ["5.index.swap", "5.log.swap", "5.timeindex.swap"]
    with pytest.raises(IllegalArgumentException, match="Expected string to end with '.cleaned'"):
        segment.change_file_suffixes(".cleaned", "")
    segment.change_file_suffixes(".swap", "")
    assert segments.names() == ["5.index", "5.log", "5.timeindex"]


def test_deleting_goes_on_after_an_error_and_reports_it(segments, monkeypatch):
    segment = segments.open()
    segment.append(0, batch(0, 1))
    segment.update_txn_index(CompletedTxn(1, 0, 0, is_aborted=True), 1)
    real = os.unlink

    def unlink(path, **options):
        if str(path).endswith(".log"):
            raise PermissionError("no")
        real(path, **options)

    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(IOException, match=r"Delete of log .*\.log failed"):
        segment.delete_if_exists()
    monkeypatch.undo()
    assert segments.names() == [".log"]
    segment.delete_if_exists()
    assert segment.deleted
    segment.delete_if_exists()


def test_a_deleted_file_is_looked_for_where_a_future_replica_went(tmp_path):
    future = tmp_path / "t-0.abc-future"
    future.mkdir()
    segments = Segments(future)
    segment = segments.open()
    segment.append(0, batch(0, 1))
    segment.change_file_suffixes("", ".deleted")
    future.rename(tmp_path / "t-0")
    segment.delete_if_exists()
    assert list((tmp_path / "t-0").iterdir()) == []


def test_deleting_files_that_a_segment_would_have(segments):
    segment = segments.open()
    segment.append(0, batch(0, 1))
    segment.close()
    LogSegment.delete_files_if_exist(segments.directory, 0)
    LogSegment.delete_files_if_exist(segments.directory, 0)
    assert segments.names() == []


def test_a_segment_without_offset_index_is_refused(segments):
    segment = segments.open()
    with pytest.raises(FileNotFoundError, match="Offset index file .* does not exist"):
        segment.sanity_check(time_index_file_newly_created=False)
    segment.append(0, batch(0, 1))
    segment.sanity_check(time_index_file_newly_created=True)
    assert segment.time_index_file.stat().st_size == 0
    segment.update_txn_index(CompletedTxn(1, -5, -1, is_aborted=True), 1)
    with pytest.raises(CorruptIndexException, match="is less than start offset 0"):
        segment.sanity_check(time_index_file_newly_created=False)


def test_dates_of_the_files(segments):
    segment = segments.open()
    with pytest.raises(FileNotFoundError):
        segment.set_last_modified(5)
    segment.append(0, batch(0, 1))
    segment.set_last_modified(1234)
    assert segment.last_modified == 1234
    assert {int(file.stat().st_mtime_ns) for file in segments.directory.iterdir()} == {1_234_000_000}


def test_a_preallocated_file_is_cut_when_the_segment_ends(segments):
    settings = {"preallocate": True, "internal.segment.bytes": 5000}
    segment = segments.open(settings=settings, preallocate=True)
    assert (segment.size, segment.log.file.stat().st_size) == (0, 5000)
    segment.append(0, batch(0, 1))
    segment.on_become_inactive_segment()
    assert (segment.log.file.stat().st_size, segment.offset_index.length, segment.time_index.length) == (76, 0, 12)


def test_recovery_cuts_at_the_first_bad_batch(segments):
    segment = segments.open()
    for n in range(10):
        segment.append(n, batch(n, 100 + n, partition_leader_epoch=n // 4))
    segment.close()
    data = bytearray(segment.log.file.read_bytes())
    data[76 * 6 + 70] ^= 1
    segment.log.file.write_bytes(data)
    segment.offset_index_file.write_bytes(b"garbage")
    producers, epochs = state(segments.directory, segments.time)
    segment = segments.open(file_already_exists=True)
    assert segment.recover(producers, epochs) == 4 * 76
    assert (segment.size, segment.max_timestamp_so_far, segment.read_next_offset()) == (6 * 76, 105, 6)
    assert epochs.epoch_entries == [(0, 0), (1, 4)]
    assert producers.map_end_offset == 6
    assert segment.offset_index_file.stat().st_size == 16


def test_copying_batches_from_a_file(segments, tmp_path):
    whole = FileRecords.open(tmp_path / "source")
    for n in range(5):
        whole.append(batch(n * 10**9, 1))
    big = together(*(batch(4 * 10**9 + n, 1, value=bytes(300_000)) for n in range(1, 6)))
    whole.append(big)
    segment = segments.open(base_offset=0)
    assert segment.append_from_file(whole, 0) == 3 * 76
    rest = segments.open(base_offset=3 * 10**9)
    assert rest.append_from_file(whole, 3 * 76) == 2 * 76 + big.size_in_bytes
    assert rest.read_next_offset() == 4 * 10**9 + 6
    copied = segment.log.file.read_bytes() + rest.log.file.read_bytes()
    assert copied == whole.file.read_bytes()
    whole.close_handlers()


def test_overflow_is_seen(segments):
    segment = segments.open(base_offset=1)
    segment.log.append(batch(1 + MAX_INT, 1))
    assert not segment.has_overflow()
    segment.log.append(batch(2 + MAX_INT, 1))
    assert segment.has_overflow()
    with pytest.raises(LogSegmentOffsetOverflowException):
        segment.recover(*state(segments.directory, segments.time))


def test_closing_writes_the_last_time_entry_only_if_the_largest_timestamp_is_known(segments):
    segment = segments.open()
    segment.append(0, batch(0, 50))
    segment.close()
    assert segment.time_index_file.stat().st_size == 12
    reopened = segments.open(file_already_exists=True)
    reopened.close()
    assert reopened.time_index_file.stat().st_size == 12


def test_the_order_of_effects_of_an_append(segments):
    segment = segments.open(settings={"index.interval.bytes": 0})
    segment.append(0, batch(0, 1))
    seen = []
    with file_ops.observe(lambda operation, path: seen.append((operation, path.suffix))):
        segment.append(1, batch(1, 2))
        segment.on_become_inactive_segment()
    assert seen == [
        ("write", ".log"),
        ("write", ".index"),
        ("write", ".timeindex"),  # the timestamp,
        ("write", ".timeindex"),  # and the offset
        ("truncate", ".index"),
        ("truncate", ".timeindex"),
    ]


def test_a_flush_reaches_every_file(segments):
    segment = segments.open()
    segment.append(0, batch(0, 1))
    segment.update_txn_index(CompletedTxn(1, 0, 0, is_aborted=True), 1)
    seen = []
    with file_ops.observe(lambda operation, path: seen.append((operation, path.suffix))):
        segment.flush()
    assert seen == [("fsync", suffix) for suffix in (".log", ".index", ".timeindex", ".txnindex")]


# Beside Kafka


class Pair:
    """A segment of ours and one of Kafka's, given the same calls."""

    def __init__(self, kafka, tmp_path, base_offset, settings):
        self.kafka, self.base_offset, self.settings = kafka, base_offset, settings
        self.directories = [tmp_path / "minikafka", tmp_path / "kafka"]
        for directory in self.directories:
            directory.mkdir()
        self.time = ManualTime(10_000)
        self.java_time = JavaTime(self.time)
        self.java_partition = kafka.jvm.org.apache.kafka.common.TopicPartition(*TOPIC_PARTITION)
        self.open(False)

    def open(self, file_already_exists):
        config = LogConfig(self.settings)
        self.ours = LogSegment.open(
            self.directories[0],
            self.base_offset,
            config,
            self.time,
            file_already_exists=file_already_exists,
            preallocate=config.preallocate,
        )
        self.theirs = self.kafka.log_class("LogSegment").open(
            self.kafka.file(self.directories[1]),
            self.base_offset,
            self.kafka.log_class("LogConfig")(self.kafka.properties(self.settings)),
            self.java_time,
            file_already_exists,
            config.init_file_size,
            config.preallocate,
            "",
        )

    def close_handlers(self):
        self.ours.close_handlers()
        segments = self.kafka.log_class("LogSegments")(self.java_partition)
        segments.add(self.theirs)
        segments.closeHandlers()

    def append(self, largest_offset, records):
        data = bytes(records.buffer)
        self.same(
            lambda: self.ours.append(largest_offset, MemoryRecords.readable_records(data)),
            lambda: self.theirs.append(largest_offset, self.kafka.records(data)),
        )

    def read(self, start_offset, max_size, max_position, min_one_message):
        def ours():
            fetched = self.ours.read(start_offset, max_size, max_position, min_one_message=min_one_message)
            return (
                None
                if fetched is None
                else (
                    str(fetched.fetch_offset_metadata),
                    fetched.records.size_in_bytes,
                    fetched.first_entry_incomplete,
                )
            )

        def theirs():
            position = self.kafka.optional_long(max_position)
            fetched = self.theirs.read(start_offset, max_size, position, min_one_message)
            if fetched is None:
                return None
            field = fetched.getClass().getField
            return (
                field("fetchOffsetMetadata").get(fetched).toString(),
                field("records").get(fetched).sizeInBytes(),
                field("firstEntryIncomplete").get(fetched),
            )

        self.same(ours, theirs)

    def recover(self):
        producers, epochs = state(self.directories[0], self.time)
        internals = "org.apache.kafka.storage.internals."
        directory = self.kafka.file(self.directories[1])
        config = self.kafka.log_class("ProducerStateManagerConfig")(86_400_000, False)
        java_producers = self.kafka.log_class("ProducerStateManager")(
            self.java_partition, directory, 900_000, config, self.java_time
        )
        checkpoint = self.kafka.find_class(internals + "checkpoint.LeaderEpochCheckpointFile")
        java_epochs = self.kafka.find_class(internals + "epoch.LeaderEpochFileCache")(
            self.java_partition,
            checkpoint(checkpoint.newFile(directory), self.kafka.log_class("LogDirFailureChannel")(1)),
            JavaScheduler(self.kafka, ManualScheduler(self.time)),
        )
        self.same(
            lambda: self.ours.recover(producers, epochs), lambda: self.theirs.recover(java_producers, java_epochs)
        )
        assert [tuple(e) for e in epochs.epoch_entries] == [
            (e.epoch(), e.startOffset()) for e in java_epochs.epochEntries()
        ]
        assert producers.map_end_offset == java_producers.mapEndOffset()

    def same(self, ours, theirs):
        assert outcome(ours) == outcome(theirs)

    def same_state(self):
        assert self.ours.size == self.theirs.size()
        assert self.ours.max_timestamp_so_far == self.theirs.maxTimestampSoFar()
        assert self.ours.get_first_batch_timestamp() == self.theirs.getFirstBatchTimestamp()
        self.same(self.ours.read_next_offset, self.theirs.readNextOffset)

    def same_bytes(self):
        one, other = ({f.name: f.read_bytes() for f in d.iterdir()} for d in self.directories)
        assert one.keys() == other.keys()
        for name in one:
            assert one[name] == other[name], name


def outcome(call):
    try:
        with kafka_errors():
            return call()
    except Exception as error:
        message = str(error).replace("/kafka/", "/minikafka/").partition("lastModifiedTime")[0]
        return type(error).__name__, message


class Workload:
    """Random operations on a pair."""

    def __init__(self, pair, rng):
        self.pair, self.rng = pair, rng
        self.next_offset = pair.base_offset
        self.timestamp = 1_000
        self.epoch = 0

    def append(self):
        rng, batches = self.rng, []
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            self.next_offset += rng.choice([0, 0, 0, 1, 30])
            self.epoch += rng.random() < 0.1
            self.timestamp += rng.choice([0, 1, 50, -20])
            timestamps = [rng.choice([self.timestamp, self.timestamp + 5, -1]) for _ in range(rng.randrange(1, 4))]
            batches.append(self._batch(timestamps))
            self.next_offset += len(timestamps)
        self.pair.append(self.next_offset - 1, together(*batches))

    def _batch(self, timestamps):
        rng = self.rng
        kind = rng.random()
        if kind < 0.08:
            return batch(self.next_offset, *timestamps, magic=rng.randrange(2))
        options = {"value": bytes(rng.choice([0, 10, 100])), "partition_leader_epoch": self.epoch}
        if kind < 0.2:
            timestamps[1:] = []
            marker = EndTransactionMarker(rng.choice([ControlRecordType.ABORT, ControlRecordType.COMMIT]), 0)
            return MemoryRecords.with_end_transaction_marker(
                self.timestamp, rng.randrange(2), 0, marker, self.next_offset, self.epoch
            )
        if kind < 0.5:
            options |= {
                "producer_id": rng.randrange(2),
                "producer_epoch": 0,
                "base_sequence": 0,
                "is_transactional": True,
            }
        return batch(self.next_offset, *timestamps, **options)

    def read(self):
        rng = self.rng
        position = rng.choice([None, MAX_INT, self.pair.ours.size])
        offset = rng.randrange(self.pair.base_offset - 1, self.next_offset + 3)
        self.pair.read(offset, rng.choice([0, 1, 80, 5000]), position, rng.random() < 0.5)

    def find(self):
        timestamp, offset = self.rng.randrange(900, self.timestamp + 20), self.rng.randrange(self.next_offset + 2)

        def theirs():
            found = self.pair.theirs.findOffsetByTimestamp(timestamp, offset).orElse(None)
            field = None if found is None else found.getClass().getField
            return None if found is None else (field("timestamp").get(found), field("offset").get(found))

        def ours():
            found = self.pair.ours.find_offset_by_timestamp(timestamp, offset)
            return None if found is None else (found.timestamp, found.offset)

        self.pair.same(ours, theirs)

    def truncate(self):
        offset = self.rng.randrange(max(self.pair.base_offset, self.next_offset - 12), self.next_offset + 2)
        self.pair.same(lambda: self.pair.ours.truncate_to(offset), lambda: self.pair.theirs.truncateTo(offset))
        self.next_offset = min(self.next_offset, offset)
        self.pair.same_bytes()

    def reopen(self):
        self.pair.ours.close()
        self.pair.theirs.close()
        self.pair.same_bytes()
        self.pair.open(True)
        self._resize()

    def become_inactive(self):
        self.pair.ours.on_become_inactive_segment()
        self.pair.theirs.onBecomeInactiveSegment()
        self.pair.same_bytes()
        self._resize()

    def crash(self):
        rng = self.rng
        self.pair.close_handlers()
        self.pair.same_bytes()
        damage, cut = rng.random(), rng.randrange(1, 200)
        for directory in self.pair.directories:
            file = directory / (filename_prefix_from_offset(self.pair.base_offset) + ".log")
            data = bytearray(file.read_bytes())
            if damage < 0.3:
                del data[len(data) - cut :]
            elif damage < 0.5 and len(data) > 300:
                data[len(data) - cut] ^= 0x10
            elif damage < 0.6:
                data += bytes(cut)
            file.write_bytes(data)
        self.pair.open(True)
        self.pair.recover()
        self.next_offset = self.pair.ours.read_next_offset()
        self.pair.same_bytes()
        self._resize()

    def should_roll(self):
        rng = self.rng
        params = (
            rng.choice([10, 100, 10**6]),
            rng.choice([self.pair.ours.size + 50, 10**6]),
            self.timestamp,
            rng.choice([self.next_offset, self.pair.base_offset + 2**31]),
            rng.choice([50, 51]),
            self.pair.time.milliseconds(),
        )
        java = self.pair.kafka.log_class("RollParams")(*params)
        self.pair.same(
            lambda: self.pair.ours.should_roll(RollParams(*params)), lambda: self.pair.theirs.shouldRoll(java)
        )

    def misfit(self):
        offset = self.pair.base_offset + self.rng.choice([-1, 2**31])
        if offset >= 0:
            self.pair.append(offset, batch(offset, 1))

    def abort(self):
        rng = self.rng
        last = rng.randrange(self.next_offset + 1)
        txn = (rng.randrange(3), max(last - 5, 0), last, rng.random() < 0.8)
        java = self.pair.kafka.log_class("CompletedTxn")(*txn)
        self.pair.same(
            lambda: self.pair.ours.update_txn_index(CompletedTxn(*txn), last + 1),
            lambda: self.pair.theirs.updateTxnIndex(java, last + 1),
        )
        low, high = sorted(rng.randrange(self.next_offset + 2) for _ in range(2))

        def theirs():
            found = self.pair.theirs.collectAbortedTxns(low, high)
            return [str(txn.toString()) for txn in found.abortedTransactions()], found.isComplete()

        def ours():
            found = self.pair.ours.collect_aborted_txns(low, high)
            return [str(txn) for txn in found.aborted_transactions], found.is_complete

        self.pair.same(ours, theirs)

    def _resize(self):
        size = LogConfig(self.pair.settings).max_index_size
        self.pair.same(lambda: self.pair.ours.resize_indexes(size), lambda: self.pair.theirs.resizeIndexes(size))


@pytest.mark.parametrize("seed", range(8))
def test_a_segment_goes_with_kafkas(kafka, tmp_path, seed):
    rng = random.Random(seed)
    settings = {"segment.index.bytes": rng.choice([5000, 30_000]), "index.interval.bytes": rng.choice([0, 1, 200, 500])}
    if seed % 4 == 3:
        settings |= {"preallocate": True, "internal.segment.bytes": 100_000}
    pair = Pair(kafka, tmp_path, rng.choice([0, 7, 2**35]), settings)
    workload = Workload(pair, rng)
    operations = [workload.append] * 12 + [workload.read] * 4 + [workload.find, workload.should_roll] * 2
    operations += [
        workload.truncate,
        workload.reopen,
        workload.become_inactive,
        workload.crash,
        workload.misfit,
        workload.abort,
    ]
    for _ in range(150):
        rng.choice(operations)()
        pair.time.sleep(rng.randrange(3))
        pair.same_state()
    pair.same_bytes()
    pair.close_handlers()


@pytest.mark.parametrize("waited", [59, 60, 61])
def test_jitter_goes_with_kafkas(kafka, tmp_path, waited):
    """The settings draw a jitter at random; here it is given."""
    pair = Pair(kafka, tmp_path, 0, {"index.interval.bytes": 100})
    pair.append(0, batch(0, 50))
    lazy_index = kafka.log_class("LazyIndex")
    theirs = kafka.log_class("LogSegment")(
        pair.theirs.log(),
        lazy_index.forOffset(kafka.file(tmp_path / "new.index"), 0, 1000),
        lazy_index.forTime(kafka.file(tmp_path / "new.timeindex"), 0, 1000),
        pair.theirs.txnIndex(),
        0,
        100,
        40,
        pair.java_time,
    )
    pair.ours.roll_jitter_ms = 40
    params = (100, 1000, 50 + waited, 1, 76, 1000)
    assert pair.ours.should_roll(RollParams(*params)) is theirs.shouldRoll(kafka.log_class("RollParams")(*params))
    pair.close_handlers()
