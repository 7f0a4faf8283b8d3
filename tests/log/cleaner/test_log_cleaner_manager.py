"""States, checkpoints and choices of the manager, without a JVM; beside Kafka's in `test_manager_against_kafka`."""

import pytest

from minikafka.common.errors import (
    IllegalStateException,
    KafkaStorageException,
    LogCleaningAbortedException,
    LogCleaningException,
)
from minikafka.common.java.java_concurrent_hash_map import in_order_of_concurrent_hash_map
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.cleaner import log_cleaner_manager
from minikafka.log.cleaner.cleanable_offsets import cleanable_offsets, max_compaction_delay
from minikafka.log.cleaner.log_cleaner_manager import OFFSET_CHECKPOINT_FILE, LogCleanerManager
from minikafka.log.cleaner.log_cleaning_state import LogCleaningPaused, LogCleaningState
from minikafka.log.cleaner.log_to_clean import LogToClean
from minikafka.log.cleaner.pre_clean_stats import PreCleanStats
from minikafka.log.cleaner.segment_grouping import group_segments_by_size
from minikafka.log.log import Log
from minikafka.log.log_config import LogConfig
from minikafka.log.log_start_offset_increment_reason import LogStartOffsetIncrementReason
from minikafka.record.codecs.compression import Compression
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.record.format.record import SimpleRecord

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


class ManagedLogs:
    """Two log directories, `one` with the log a-0 and `two` with b-0."""

    def __init__(self, home):
        self.time = ManualTime(100_000)
        self.dirs = [home / "one", home / "two"]
        self.channel = LogDirFailureChannel(10)
        self.logs = {A: self.make("one", A, home), B: self.make("two", B, home)}
        self.manager = LogCleanerManager(self.dirs, self.logs, self.channel)

    def make(self, log_dir, partition, home):
        return Log.create(
            home / log_dir / str(partition),
            LogConfig({"cleanup.policy": "compact"}),
            scheduler=ManualScheduler(self.time),
            time=self.time,
        )

    def configure(self, partition, **settings):
        named = {name.replace("__", "."): value for name, value in settings.items()}
        self.logs[partition].update_config(LogConfig({"cleanup.policy": "compact", **named}))

    def fill(self, partition, segments, timestamp=None):
        """So many segments of two records; 78 bytes of overhead and more each."""
        log = self.logs[partition]
        for _ in range(segments):
            now = self.time.milliseconds() if timestamp is None else timestamp
            records = [SimpleRecord(now, b"k", b"v" * 10)] * 2
            log.append_as_leader(MemoryRecords.with_records(Compression.NONE, *records), 0)
            log.roll()
        log.update_high_watermark(log.log_end_offset)

    def text(self, number=0):
        return (self.dirs[number] / OFFSET_CHECKPOINT_FILE).read_text()

    def write(self, text, number=0):
        (self.dirs[number] / OFFSET_CHECKPOINT_FILE).write_text(text)

    def grab(self):
        self.stats = PreCleanStats()
        return self.manager.grab_filthiest_compacted_log(self.time, self.stats)


@pytest.fixture
def managed(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    return ManagedLogs(tmp_path)


def test_pauses_are_counted(managed):
    manager = managed.manager
    manager.abort_and_pause_cleaning(A)
    manager.abort_and_pause_cleaning(A)
    assert manager.cleaning_state(A) == LogCleaningPaused(2)
    manager.resume_cleaning([A])
    assert str(manager.cleaning_state(A)) == "LogCleaningPaused{pausedCount=1}"
    manager.resume_cleaning([A])
    assert manager.cleaning_state(A) is None
    with pytest.raises(IllegalStateException, match="a-0 cannot be resumed since it is not paused"):
        manager.resume_cleaning([A])
    manager.abort_cleaning(A)
    assert manager.cleaning_state(A) is None


def test_only_what_is_in_progress_can_end(managed):
    manager = managed.manager
    for call in (lambda: manager.done_cleaning(A, managed.dirs[0], 5), lambda: manager.done_deleting([A])):
        with pytest.raises(IllegalStateException, match="State for partition a-0 should exist"):
            call()
        manager.abort_and_pause_cleaning(A)
        with pytest.raises(IllegalStateException, match="In-progress partition a-0 cannot be in LogCleaningPaused"):
            call()
        manager.resume_cleaning([A])
    assert managed.text() == ""


def test_who_deletes_writes_no_checkpoint_and_who_cleans_does(managed):
    manager = managed.manager
    assert manager.deletable_logs() == managed.logs
    assert manager.deletable_logs() == {}
    assert manager.cleaning_state(B) is LogCleaningState.IN_PROGRESS
    with pytest.raises(IllegalStateException, match="cannot be resumed since it is in LogCleaningInProgress state"):
        manager.resume_cleaning([B])
    manager.done_deleting([A])
    manager.done_cleaning(B, managed.dirs[1], 7)
    assert (managed.text(0), managed.text(1)) == ("", "0\n1\nb 0 7\n")
    assert manager.cleaning_state(A) is None and manager.cleaning_state(B) is None


def test_an_aborted_partition_is_paused_at_its_end_and_not_noted(managed):
    manager = managed.manager
    manager.deletable_logs()
    manager._in_progress[A] = manager._in_progress[B] = LogCleaningState.ABORTED  # by another thread, which waits
    with pytest.raises(LogCleaningAbortedException):
        manager.check_cleaning_aborted(A)
    with pytest.raises(IllegalStateException, match="cannot be aborted and paused since it is in LogCleaningAborted"):
        manager.abort_and_pause_cleaning(A)
    manager.done_cleaning(A, managed.dirs[0], 5)
    manager.done_deleting([B])
    assert manager.cleaning_state(A) == manager.cleaning_state(B) == LogCleaningPaused(1)
    assert managed.text() == ""
    manager.check_cleaning_aborted(A)


def test_retention_pauses_what_is_free_and_not_compacted(managed):
    managed.configure(A, cleanup__policy="delete")
    assert managed.manager.pause_cleaning_for_non_compacted_partitions() == [(A, managed.logs[A])]
    assert managed.manager.pause_cleaning_for_non_compacted_partitions() == []
    assert list(managed.manager.deletable_logs()) == [B]


def test_checkpoints_are_added_removed_and_forgotten(managed):
    manager = managed.manager
    managed.write("0\n3\ngone 4 9\na 0 3\nb 0 4\n")
    manager.update_checkpoints(managed.dirs[0], (A, 8), None)
    assert managed.text() == "0\n2\na 0 8\nb 0 4\n"
    manager.update_checkpoints(managed.dirs[0], None, B)
    assert managed.text() == "0\n1\na 0 8\n"
    manager.update_checkpoints(managed.dirs[0] / "other", (A, 1), None)
    manager.maybe_truncate_checkpoint(managed.dirs[0], A, 8)
    assert managed.text() == "0\n1\na 0 8\n"
    manager.maybe_truncate_checkpoint(managed.dirs[0], A, 7)
    assert managed.text() == "0\n1\na 0 7\n" and manager.all_cleaner_checkpoints() == {A: 7}
    managed.configure(A, cleanup__policy="delete")
    manager.maybe_truncate_checkpoint(managed.dirs[0], A, 2)
    assert managed.text() == "0\n1\na 0 7\n"


def test_a_log_that_moves_takes_its_line_and_its_mark_along(managed):
    manager, (one, two) = managed.manager, managed.dirs
    manager.update_checkpoints(one, (A, 8), None)
    manager.mark_partition_uncleanable(one, A)
    manager.alter_checkpoint_dir(A, one, two)
    assert (managed.text(0), managed.text(1)) == ("0\n0\n", "0\n1\na 0 8\n")
    assert manager.uncleanable_partitions(one) == set() and manager.uncleanable_partitions(two) == {A}
    manager.alter_checkpoint_dir(B, one, two)
    assert managed.text(1) == "0\n1\na 0 8\n"


def test_a_partition_in_two_directories_is_an_error(managed):
    managed.write("0\n1\na 0 3\n", 0)
    managed.write("0\n1\na 0 4\n", 1)
    with pytest.raises(IllegalStateException, match="Duplicate key a-0"):
        managed.manager.all_cleaner_checkpoints()
    managed.manager.handle_log_dir_failure(managed.dirs[1])
    assert managed.manager.all_cleaner_checkpoints() == {A: 3}


def test_an_unreadable_checkpoint_counts_as_empty_and_is_reported(managed):
    managed.write("9\n0\n", 0)
    managed.write("0\n1\nb 0 4\n", 1)
    assert managed.manager.all_cleaner_checkpoints() == {B: 4}
    assert managed.channel.has_offline_log_dir(managed.dirs[0])
    managed.manager.update_checkpoints(managed.dirs[0], (A, 1), None)  # is logged
    with pytest.raises(KafkaStorageException):
        managed.manager.maybe_truncate_checkpoint(managed.dirs[0], A, 1)


def test_the_dirtiest_log_is_grabbed_once(managed):
    managed.fill(A, 4)
    managed.fill(B, 6)
    managed.manager.update_checkpoints(managed.dirs[0], (A, 2), None)
    managed.manager.update_checkpoints(managed.dirs[1], (B, 2), None)
    for expected, ratio in ((B, 5 / 6), (A, 3 / 4)):
        grabbed = managed.grab()
        assert grabbed.topic_partition == expected and grabbed.cleanable_ratio == ratio
        assert managed.manager.cleaning_state(expected) is LogCleaningState.IN_PROGRESS
    assert managed.stats.cleanable_partitions == 1
    assert managed.grab() is None


def test_what_is_not_dirty_enough_or_not_ours_is_left(managed):
    managed.fill(A, 4)
    managed.manager.update_checkpoints(managed.dirs[0], (A, 4), None)
    assert managed.grab() is None  # half of it is dirty, which is not more than 0.5
    managed.configure(A, min__cleanable__dirty__ratio=0.49)
    managed.manager.mark_partition_uncleanable(managed.dirs[0], A)
    assert managed.grab() is None
    managed.manager.maintain_uncleanable_partitions()
    assert managed.grab() is None
    log = managed.logs.pop(A)
    managed.manager.maintain_uncleanable_partitions()
    managed.logs[A] = log
    managed.manager.update_checkpoints(managed.dirs[0], (A, 4), None)
    managed.configure(A, cleanup__policy="delete")
    assert managed.grab() is None
    managed.configure(A, min__cleanable__dirty__ratio=0.49)
    assert managed.grab().topic_partition == A


def test_late_records_are_cleaned_however_few_they_are(managed):
    managed.fill(A, 4)
    managed.manager.update_checkpoints(managed.dirs[0], (A, 6), None)
    managed.configure(A, max__compaction__lag__ms=1000)
    managed.time.sleep(1000)
    assert managed.grab() is None and managed.stats.delayed_partitions == 0
    managed.time.sleep(1)
    assert managed.grab().need_compaction_now
    assert (managed.stats.max_compaction_delay_ms, managed.stats.delayed_partitions) == (1, 1)


def test_an_impossible_checkpoint_is_replaced_even_where_nothing_is_grabbed(managed):
    for text in ("0\n1\na 0 99\n", "0\n1\na 0 1\n"):
        managed.write(text)
        managed.logs[A].maybe_increment_high_watermark(managed.logs[A].log_end_offset_metadata)
        managed.fill(A, 1)
        managed.logs[A].maybe_increment_log_start_offset(2, LogStartOffsetIncrementReason.CLIENT_RECORD_DELETION)
        managed.configure(A, min__cleanable__dirty__ratio=1)
        assert managed.grab() is None
        assert managed.text() == "0\n1\na 0 2\n"


def test_a_log_that_cannot_be_looked_at_is_named(managed, monkeypatch):
    monkeypatch.setattr(type(managed.logs[A]), "last_stable_offset", property(lambda log: 1 // 0))
    with pytest.raises(LogCleaningException, match="Failed to calculate log cleaning stats for partition") as raised:
        managed.grab()
    assert raised.value.log in managed.logs.values()


def test_what_may_be_cleaned_ends_before_the_first_that_may_not(managed):
    managed.fill(A, 3, timestamp=1000)
    managed.fill(A, 2, timestamp=2000)
    log = managed.logs[A]
    assert cleanable_offsets(log, None, 9999) == (0, 10, False)
    assert cleanable_offsets(log, 4, 9999) == (4, 10, False)
    log.update_high_watermark(7)
    assert cleanable_offsets(log, 4, 9999) == (4, 7, False)
    assert cleanable_offsets(log, 9, 9999) == (9, 9, False)
    managed.configure(A, min__compaction__lag__ms=500)
    for now, end in ((2499, 6), (2500, 7), (1499, 0)):
        assert cleanable_offsets(log, None, now) == (0, end, False)
    managed.configure(A, max__compaction__lag__ms=500)
    assert [max_compaction_delay(log, dirty, 2600) for dirty in (0, 6, 10)] == [1100, 100, 0]


def test_a_segment_that_is_cut_counts_in_both_parts(managed):
    managed.fill(A, 4)
    size = managed.logs[A].size // 4
    todo = LogToClean(managed.logs[A], 3, 7)
    assert todo.first_uncleanable_offset == 6
    assert (todo.clean_bytes, todo.cleanable_bytes, todo.total_bytes) == (2 * size, 2 * size, 4 * size)
    assert not todo.need_compaction_now


class Sized:
    """A segment of which only sizes are asked."""

    def __init__(self, base_offset, size, offset_index=8, time_index=12):
        self.base_offset, self.size = base_offset, size
        self.offset_index, self.time_index = Index(offset_index), Index(time_index)


class Index:
    def __init__(self, size_in_bytes):
        self.size_in_bytes = size_in_bytes


def groups(segments, max_size=100, max_index_size=100, end=10**6):
    grouped = group_segments_by_size(segments, max_size, max_index_size, end)
    return [[segment.base_offset for segment in group] for group in grouped]


def test_segments_are_grouped_as_long_as_they_fit():
    assert groups([]) == []
    assert groups([Sized(n, size) for n, size in enumerate([50, 50, 1, 99, 200, 10])]) == [[0, 1], [2, 3], [4], [5]]
    assert groups([Sized(n, 1, offset_index=40) for n in range(5)]) == [[0, 1], [2, 3], [4]]
    assert groups([Sized(n, 1, time_index=50) for n in range(5)]) == [[0, 1], [2, 3], [4]]


def test_offsets_of_a_group_fit_32_bits():
    far = 2**31
    assert groups([Sized(0, 1), Sized(5, 1)], end=far) == [[0, 5]]
    assert groups([Sized(0, 1), Sized(5, 1)], end=far + 1) == [[0], [5]]
    assert groups([Sized(0, 1), Sized(5, 1), Sized(far, 1)], end=far + 9) == [[0, 5], [far]]
    assert groups([Sized(0, 1), Sized(5, 0), Sized(far + 7, 1)], end=far + 9) == [[0, 5], [far + 7]]


def test_another_thread_may_delete_a_log_while_one_is_chosen(managed, monkeypatch):
    def walk(logs):
        in_order = in_order_of_concurrent_hash_map(logs)
        managed.logs.pop(B, None)
        return in_order

    monkeypatch.setattr(log_cleaner_manager, "in_order_of_concurrent_hash_map", walk)
    managed.fill(A, 3)
    manager, deleted = managed.manager, managed.logs[B]
    for choose in (managed.grab, manager.deletable_logs, manager.pause_cleaning_for_non_compacted_partitions):
        managed.logs[B] = deleted
        choose()
        assert list(managed.logs) == [A]
