"""Deletions of records that wait for followers."""

import pytest

from minikafka.common.error_codes import Errors
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_partition import TopicPartition
from minikafka.server.delayed_delete_records import (
    DelayedDeleteRecords,
    DeleteRecordsPartitionResult,
    DeleteRecordsPartitionStatus,
)
from minikafka.server.delayed_operation_purgatory import DelayedOperationPurgatory
from minikafka.server.timer import SystemTimer
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey


class DeleteRequests:
    """A purgatory, partitions with a low watermark each, and the answers that were given."""

    def __init__(self):
        self.time = ManualTime(0)
        timer = SystemTimer("D", self.time, ManualScheduler(self.time))
        self.purgatory = DelayedOperationPurgatory("DeleteRecords", timer, 1)
        self.low_watermarks = {}
        self.answers = []

    def settle(self, topic_partition, status):
        low_watermark = self.low_watermarks[topic_partition.partition]
        if low_watermark is None or low_watermark >= status.required_offset:
            status.acks_pending = False
            gone = low_watermark is None
            status.response_status.error_code = Errors.NOT_LEADER_OR_FOLLOWER if gone else Errors.NONE
            status.response_status.low_watermark = -1 if gone else low_watermark

    def delete(self, required, refused=()):
        """Delete below the offsets of `required` (partition → offset); those of `refused` are out of range."""
        statuses = {}
        for partition, offset in required.items():
            error = Errors.OFFSET_OUT_OF_RANGE if partition in refused else Errors.NONE
            low = -1 if partition in refused else self.low_watermarks[partition]
            result = DeleteRecordsPartitionResult(partition_index=partition, low_watermark=low, error_code=error)
            statuses[TopicPartition("t", partition)] = DeleteRecordsPartitionStatus(offset, result)
        operation = DelayedDeleteRecords(500, statuses, self.settle, self.answer)
        return self.purgatory.try_complete_else_watch(operation, [TopicPartitionOperationKey.of(tp) for tp in statuses])

    def answer(self, results):
        self.answers.append(
            {tp.partition: (found.error_code.name, found.low_watermark) for tp, found in results.items()}
        )

    def check(self, partition):
        return self.purgatory.check_and_complete(TopicPartitionOperationKey("t", partition))


@pytest.fixture
def requests():
    return DeleteRequests()


def test_a_deletion_that_all_replicas_have_made_is_answered_at_once(requests):
    requests.low_watermarks = {0: 5}
    assert requests.delete({0: 5}) and requests.answers == [{0: ("NONE", 5)}]


def test_a_deletion_is_answered_when_the_low_watermark_reaches_the_offset(requests):
    requests.low_watermarks = {0: 0, 1: 9}
    assert not requests.delete({0: 5, 1: 7})
    requests.low_watermarks[0] = 4
    assert requests.check(0) == 0 and requests.answers == []
    requests.low_watermarks[0] = 6
    assert requests.check(0) == 1 and requests.answers == [{0: ("NONE", 6), 1: ("NONE", 9)}]


def test_a_partition_that_deleted_nothing_is_not_waited_for(requests):
    requests.low_watermarks = {0: 0, 1: 0}
    requests.delete({0: 5, 1: 7}, refused={1})
    requests.low_watermarks[0] = 5
    requests.check(0)
    assert requests.answers == [{0: ("NONE", 5), 1: ("OFFSET_OUT_OF_RANGE", -1)}]


def test_a_lost_leadership_ends_the_wait(requests):
    requests.low_watermarks = {0: 0}
    requests.delete({0: 5})
    requests.low_watermarks[0] = None
    assert requests.check(0) == 1 and requests.answers == [{0: ("NOT_LEADER_OR_FOLLOWER", -1)}]


def test_what_is_pending_when_the_time_is_over_is_answered_with_a_timeout(requests):
    requests.low_watermarks = {0: 3, 1: 9}
    requests.delete({0: 5, 1: 7})
    requests.time.sleep(500)
    assert requests.answers == [{0: ("REQUEST_TIMED_OUT", 3), 1: ("NONE", 9)}]
