"""The leader epochs of a log, alone and beside Kafka's own class."""

import random

import pytest

from minikafka.checkpoint.leader_epoch_checkpoint_file import EpochEntry, LeaderEpochCheckpointFile
from minikafka.common.errors import IllegalArgumentException
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.leader_epoch_file_cache import LeaderEpochFileCache


class Cache:
    """A cache on a file of its own, with a scheduler that waits to be told."""

    def __init__(self, directory):
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.scheduler = ManualScheduler(ManualTime())
        self.reopen()

    def reopen(self):
        self.checkpoint = LeaderEpochCheckpointFile(LeaderEpochCheckpointFile.new_file(self.directory))
        self.cache = LeaderEpochFileCache(TopicPartition("t", 0), self.checkpoint, self.scheduler)

    @property
    def file(self):
        return (self.directory / "leader-epoch-checkpoint").read_text()


@pytest.fixture
def opened(tmp_path):
    return Cache(tmp_path / "t-0")


def test_an_assigned_epoch_is_in_the_file_at_once(opened):
    opened.cache.assign(0, 0)
    opened.cache.assign(2, 10)
    assert opened.file == "0\n2\n0 0\n2 10\n"


def test_an_epoch_known_already_is_no_news(opened):
    opened.cache.assign(3, 10)
    opened.cache.assign(3, 15)
    assert opened.cache.epoch_entries == [EpochEntry(3, 10)]


def assign(opened, *entries):
    for epoch, start_offset in entries:
        opened.cache.assign(epoch, start_offset)


def test_entries_that_contradict_a_new_one_are_dropped(opened):
    assign(opened, (1, 0), (2, 5), (3, 9))
    opened.cache.assign(2, 7)
    assert opened.cache.epoch_entries == [EpochEntry(1, 0), EpochEntry(2, 7)]
    opened.cache.assign(4, 6)
    assert opened.cache.epoch_entries == [EpochEntry(1, 0), EpochEntry(4, 6)]


@pytest.mark.parametrize(("epoch", "offset"), [(-1, 0), (0, -1)])
def test_negative_values_are_refused(opened, epoch, offset):
    with pytest.raises(IllegalArgumentException, match="invalid partition leader epoch entry"):
        opened.cache.assign(epoch, offset)


def test_truncations_reach_the_file_in_the_background(opened):
    assign(opened, (1, 0), (2, 5), (3, 9))
    opened.cache.truncate_from_end_async_flush(9)
    assert opened.cache.latest_epoch == 2
    assert opened.file == "0\n3\n1 0\n2 5\n3 9\n"
    opened.scheduler.run_due_tasks()
    assert opened.file == "0\n2\n1 0\n2 5\n"

    opened.cache.truncate_from_start_async_flush(6)
    opened.scheduler.run_due_tasks()
    assert opened.file == "0\n1\n2 6\n"


@pytest.mark.parametrize(
    ("epoch", "answer"),
    [(-1, (-1, -1)), (0, (0, 3)), (2, (2, 8)), (3, (2, 8)), (4, (4, 20)), (5, (-1, -1))],
)
def test_where_an_epoch_ends(opened, epoch, answer):
    assign(opened, (2, 3), (4, 8))
    assert opened.cache.end_offset_for(epoch, 20) == answer


def test_a_cache_on_another_file_keeps_its_entries(opened, tmp_path):
    opened.cache.assign(1, 0)
    (tmp_path / "moved").mkdir()
    other = LeaderEpochCheckpointFile(tmp_path / "moved" / "leader-epoch-checkpoint")
    moved = opened.cache.with_checkpoint(other)
    moved.assign(2, 4)
    assert moved.epoch_entries == [EpochEntry(1, 0), EpochEntry(2, 4)]
    assert opened.cache.epoch_entries == [EpochEntry(1, 0)]


class KafkaCache:
    """Kafka's `LeaderEpochFileCache` with the methods that the test below uses."""

    def __init__(self, kafka, directory):
        from minikafka.witness.kafka.kafka_time import JavaScheduler

        self._kafka = kafka
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.scheduler = ManualScheduler(ManualTime())
        self._java_scheduler = JavaScheduler(kafka, self.scheduler)
        self.reopen()

    def reopen(self):
        internals = self._kafka.jvm.org.apache.kafka.storage.internals
        channel = internals.log.LogDirFailureChannel(10)
        file = self._kafka.file(self.directory / "leader-epoch-checkpoint")
        checkpoint = internals.checkpoint.LeaderEpochCheckpointFile(file, channel)
        partition = self._kafka.jvm.org.apache.kafka.common.TopicPartition("t", 0)
        self.cache = internals.epoch.LeaderEpochFileCache(partition, checkpoint, self._java_scheduler)

    @property
    def file(self):
        return (self.directory / "leader-epoch-checkpoint").read_text()


def entries_of(java_entries) -> list[EpochEntry]:
    return [EpochEntry(entry.epoch(), entry.startOffset()) for entry in java_entries]


def outcome(call, *arguments):
    """What a call returns, or the class and text of what it raises."""
    try:
        return call(*arguments)
    except IllegalArgumentException as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("seed", range(4))
def test_random_operations_leave_the_same_entries_and_files_as_in_kafka(kafka, tmp_path, seed):
    from minikafka.witness.kafka.kafka_errors import kafka_errors

    rng = random.Random(seed)
    ours, theirs = Cache(tmp_path / "ours" / "t-0"), KafkaCache(kafka, tmp_path / "kafka" / "t-0")

    def both(name, *arguments):
        def in_kafka(*arguments):
            with kafka_errors():
                getattr(theirs.cache, name)(*arguments)

        our_name = "".join("_" + c.lower() if c.isupper() else c for c in name)
        assert outcome(getattr(ours.cache, our_name), *arguments) == outcome(in_kafka, *arguments)

    epoch, offset = 0, 0
    for _ in range(150):
        epoch, offset = epoch + rng.choice([0, 0, 1, 3]), offset + rng.choice([0, 1, 5])
        match rng.randrange(12):
            case 0 | 1 | 2 | 3 | 4 | 5:
                both("assign", epoch + rng.choice([0, 0, 0, -1, -2]), offset + rng.choice([0, 0, 0, -1, -7]))
            case 6:
                both("truncateFromEndAsyncFlush", offset - rng.randrange(-2, 9))
            case 7:
                both("truncateFromStartAsyncFlush", offset - rng.randrange(-2, 30))
            case 8:
                both(rng.choice(["clear", "clearAndFlush"]))
            case 9:
                ours.reopen(), theirs.reopen()
            case _:
                ours.scheduler.run_due_tasks(), theirs.scheduler.run_due_tasks()
        assert ours.cache.epoch_entries == entries_of(theirs.cache.epochEntries())
        assert ours.file == theirs.file
        asked = epoch - rng.randrange(-2, 6)
        end = theirs.cache.endOffsetFor(asked, offset)
        assert ours.cache.end_offset_for(asked, offset) == (end.getKey(), end.getValue())
