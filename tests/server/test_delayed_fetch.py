"""Fetch requests that wait for something to read."""

import pytest

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.cluster.fetch_params import FetchParams, FetchRequestPartitionData
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    FencedLeaderEpochException,
    KafkaStorageException,
    NotLeaderOrFollowerException,
    UnknownLeaderEpochException,
    UnknownTopicOrPartitionException,
)
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ONE_UUID
from minikafka.log.fetch_data_info import FetchDataInfo
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_offset_metadata import UNKNOWN_OFFSET_METADATA, LogOffsetMetadata
from minikafka.log.log_offset_snapshot import LogOffsetSnapshot
from minikafka.record.format.memory_records import MemoryRecords
from minikafka.server.delayed_fetch import DelayedFetch
from minikafka.server.delayed_operation_purgatory import DelayedOperationPurgatory
from minikafka.server.fetch_partition_status import FetchPartitionStatus
from minikafka.server.log_read_result import LogReadResult
from minikafka.server.timer import SystemTimer
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey

FOLLOWER = 1


class FetchedPartition:
    """A partition of records of 10 bytes each, one segment of it after the other."""

    def __init__(self):
        self.log_end = self.high_watermark = self.last_stable = LogOffsetMetadata(5, 0, 50)
        self.error = None
        self.epoch_end = EpochEndOffset(3, 100)
        self.asked = []

    def fetch_offset_snapshot(self, current_leader_epoch, fetch_only_from_leader):
        self.asked.append((current_leader_epoch, fetch_only_from_leader))
        if self.error is not None:
            raise self.error
        return LogOffsetSnapshot(0, self.log_end, self.high_watermark, self.last_stable)

    def last_offset_for_leader_epoch(self, current_leader_epoch, leader_epoch, fetch_only_from_leader):
        assert not fetch_only_from_leader
        return self.epoch_end


class FetchRequests:
    """A purgatory, two partitions, and what the reader was told."""

    def __init__(self):
        self.time = ManualTime(0)
        self.purgatory = DelayedOperationPurgatory("Fetch", SystemTimer("F", self.time, ManualScheduler(self.time)))
        self.partitions = {TopicPartition("t", number): FetchedPartition() for number in range(2)}
        self.reads = []
        self.answers = []

    def get_partition_or_exception(self, topic_partition):
        return self.partitions[topic_partition]

    def is_adding_replica(self, topic_partition, replica_id):
        assert replica_id == FOLLOWER
        return topic_partition.partition == 1

    def read_from_log(self, params, read_partition_info, read_from_purgatory):
        self.reads.append((read_partition_info, read_from_purgatory))
        nothing = FetchDataInfo(LogOffsetMetadata(5), MemoryRecords.EMPTY)
        return [(key, LogReadResult(nothing, None, 7, 0, 9, 0, 0, 7)) for key, _ in read_partition_info]

    def fetch(self, *partitions, min_bytes=30, isolation=FetchIsolation.LOG_END, replica_id=FOLLOWER, **fields):
        """Let a fetch from offset 5 of these partitions wait; `fields` replace what it asks."""
        params = FetchParams(replica_id, 1, 500, min_bytes, 1000, isolation)
        place = fields.pop("place", LogOffsetMetadata(5, 0, 50))
        asked = FetchRequestPartitionData(ONE_UUID, 5, 0, 1000, 2)._replace(**fields)
        statuses = {
            TopicIdPartition(ONE_UUID, TopicPartition("t", number)): FetchPartitionStatus(place, asked)
            for number in partitions
        }
        keys = [TopicPartitionOperationKey("t", number) for number in partitions]
        fetch = DelayedFetch(params, statuses, self, self.answers.append)
        return self.purgatory.try_complete_else_watch(fetch, keys)

    def check(self, partition=0):
        return self.purgatory.check_and_complete(TopicPartitionOperationKey("t", partition))

    def __getitem__(self, number):
        return self.partitions[TopicPartition("t", number)]


@pytest.fixture
def requests():
    return FetchRequests()


def test_a_fetch_is_answered_when_there_are_enough_bytes_in_all_partitions_together(requests):
    assert not requests.fetch(0, 1)
    requests[0].log_end = LogOffsetMetadata(7, 0, 70)
    assert requests.check() == 0 and requests.answers == []
    requests[1].log_end = LogOffsetMetadata(6, 0, 60)
    assert requests.check(1) == 1
    ((first, second),) = requests.answers
    assert (first[0].partition, second[0].partition) == (0, 1)
    assert first[1].high_watermark == 7 and not first[1].is_reassignment_fetch and second[1].is_reassignment_fetch


def test_the_answer_is_read_again_and_not_as_a_new_fetch_of_the_follower(requests):
    requests.fetch(0)
    requests.time.sleep(499)
    assert requests.reads == []
    requests.time.sleep(1)
    (((key, asked),), from_purgatory) = requests.reads[0]
    assert from_purgatory and key.partition == 0 and asked.fetch_offset == 5 and len(requests.answers) == 1


def test_more_bytes_than_a_partition_may_give_do_not_count(requests):
    requests.fetch(0, max_bytes=29)
    requests[0].log_end = LogOffsetMetadata(9, 0, 90)
    assert requests.check() == 0
    requests.fetch(0, max_bytes=30)
    assert len(requests.answers) == 1


@pytest.mark.parametrize("isolation", FetchIsolation)
def test_what_a_reader_may_not_see_does_not_count(requests, isolation):
    consumer = -1
    requests.fetch(0, isolation=isolation, replica_id=consumer)
    ends = {"log_end": FetchIsolation.LOG_END, "high_watermark": FetchIsolation.HIGH_WATERMARK}
    for name, found in {**ends, "last_stable": FetchIsolation.TXN_COMMITTED}.items():
        setattr(requests[0], name, LogOffsetMetadata(9, 0, 90))
        assert requests.check() == (isolation is found)


@pytest.mark.parametrize(
    "error",
    [
        NotLeaderOrFollowerException,
        UnknownTopicOrPartitionException,
        KafkaStorageException,
        FencedLeaderEpochException,
    ],
)
def test_a_partition_that_cannot_be_read_any_more_ends_the_wait(requests, error):
    requests.fetch(0, 1)
    requests[1].error = error("gone")
    assert requests.check(1) == 1 and len(requests.answers) == 1


def test_other_errors_are_left_to_the_caller(requests):
    requests.fetch(0)
    requests[0].error = UnknownLeaderEpochException("newer")
    with pytest.raises(UnknownLeaderEpochException):
        requests.check()


def test_a_log_that_was_cut_below_the_fetch_offset_ends_the_wait(requests):
    requests.fetch(0)
    requests[0].log_end = LogOffsetMetadata(4, 0, 40)
    assert requests.check() == 1


def test_a_newer_segment_with_something_to_read_ends_the_wait(requests):
    requests.fetch(0)
    requests[0].log_end = LogOffsetMetadata(6, 5, 10)
    assert requests.check() == 1


def test_a_new_segment_alone_ends_no_wait(requests):
    requests.fetch(0)
    requests[0].log_end = LogOffsetMetadata(5, 5, 0)
    assert requests.check() == 0
    requests[0].high_watermark = LogOffsetMetadata(6)
    consumer = -1
    assert not requests.fetch(0, isolation=FetchIsolation.HIGH_WATERMARK, replica_id=consumer)


def test_a_partition_whose_place_was_not_known_is_not_looked_at(requests):
    requests[0].error = NotLeaderOrFollowerException("gone")
    assert not requests.fetch(0, place=UNKNOWN_OFFSET_METADATA)
    assert requests[0].asked == []


def test_a_fetch_without_a_minimum_needs_no_data(requests):
    assert requests.fetch(0, min_bytes=0)


@pytest.mark.parametrize(
    "found",
    [
        EpochEndOffset(2, 100),  # the leader's largest epoch below is older
        EpochEndOffset(3, 4),  # the epoch ended before the follower's fetch offset
        EpochEndOffset(-1, 100),
        EpochEndOffset(3, -1),
        EpochEndOffset(3, 100, Errors.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_a_follower_whose_log_differs_is_told_at_once(requests, found):
    assert not requests.fetch(0, last_fetched_epoch=3)
    requests[0].epoch_end = found
    assert requests.check() == 1


def test_a_follower_whose_log_agrees_waits(requests):
    requests[0].epoch_end = EpochEndOffset(3, 5)
    assert not requests.fetch(0, last_fetched_epoch=3)


def test_the_partition_is_asked_with_the_readers_epoch_and_by_its_kind(requests):
    requests.fetch(0)
    assert set(requests[0].asked) == {(2, True)}
