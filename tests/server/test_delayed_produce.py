"""Produce requests that wait for replicas."""

import pytest

from minikafka.common.error_codes import Errors
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import ONE_UUID
from minikafka.server.delayed_operation_purgatory import DelayedOperationPurgatory
from minikafka.server.delayed_produce import DelayedProduce
from minikafka.server.produce_partition_status import PartitionResponse, ProducePartitionStatus
from minikafka.server.timer import SystemTimer
from minikafka.server.topic_partition_operation_key import TopicPartitionOperationKey


class ProduceRequests:
    """A purgatory, partitions with a high watermark each, and the answers that were given."""

    def __init__(self):
        self.time = ManualTime(0)
        self.purgatory = DelayedOperationPurgatory("Produce", SystemTimer("P", self.time, ManualScheduler(self.time)))
        self.high_watermarks = {}
        self.errors = {}
        self.asked = []
        self.answers = []

    def validate(self, topic_partition, required_offset):
        self.asked.append(topic_partition.partition)
        error = self.errors.get(topic_partition.partition, Errors.NONE)
        return self.high_watermarks.get(topic_partition.partition, 0) >= required_offset, error

    def produce(self, required, refused=()):
        """Let a request wait for `required` (partition → offset); the partitions of `refused` took nothing."""
        statuses = {}
        for partition, offset in required.items():
            error = Errors.RECORD_LIST_TOO_LARGE if partition in refused else Errors.NONE
            response = PartitionResponse(error, -1 if partition in refused else offset - 1)
            key = TopicIdPartition(ONE_UUID, TopicPartition("t", partition))
            statuses[key] = ProducePartitionStatus(offset, response)
        produce = DelayedProduce(500, statuses, self.validate, self.answer)
        keys = [TopicPartitionOperationKey.of(key.topic_partition) for key in statuses]
        return self.purgatory.try_complete_else_watch(produce, keys)

    def answer(self, responses):
        self.answers.append({key.partition: (found.error.name, found.base_offset) for key, found in responses.items()})

    def check(self, partition):
        return self.purgatory.check_and_complete(TopicPartitionOperationKey("t", partition))


@pytest.fixture
def requests():
    return ProduceRequests()


def test_a_request_whose_records_are_replicated_is_answered_at_once(requests):
    requests.high_watermarks = {0: 5}
    assert requests.produce({0: 5})
    assert requests.answers == [{0: ("NONE", 4)}]


def test_a_request_is_answered_when_the_high_watermark_reaches_the_required_offset(requests):
    requests.produce({0: 5})
    requests.high_watermarks[0] = 4
    assert requests.check(0) == 0 and requests.answers == []
    requests.high_watermarks[0] = 5
    assert requests.check(0) == 1 and requests.answers == [{0: ("NONE", 4)}]
    requests.time.sleep(1000)
    assert len(requests.answers) == 1


def test_all_partitions_are_answered_together_and_a_settled_one_is_not_asked_again(requests):
    requests.produce({0: 5, 1: 7})
    requests.high_watermarks[1] = 7
    assert requests.check(1) == 0 and requests.answers == []
    requests.asked.clear()
    assert requests.check(0) == 0 and requests.asked == [0]
    requests.high_watermarks[0] = 9
    assert requests.check(0) == 1
    assert requests.answers == [{0: ("NONE", 4), 1: ("NONE", 6)}]


def test_a_partition_that_took_nothing_is_not_waited_for_and_keeps_its_error(requests):
    requests.produce({0: 5, 1: 7}, refused={1})
    assert requests.asked == [0, 0]
    requests.high_watermarks[0] = 5
    requests.check(0)
    assert requests.answers == [{0: ("NONE", 4), 1: ("RECORD_LIST_TOO_LARGE", -1)}]


@pytest.mark.parametrize("error", [Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND])
def test_an_error_settles_a_partition_and_the_answer_keeps_its_base_offset(requests, error):
    requests.produce({0: 5})
    requests.errors[0] = error
    assert requests.check(0) == 1
    assert requests.answers == [{0: (error.name, 4)}]


def test_what_is_pending_when_the_time_is_over_is_answered_with_a_timeout(requests):
    requests.produce({0: 5, 1: 7, 2: 1}, refused={2})
    requests.high_watermarks[1] = 7
    requests.check(1)
    requests.time.sleep(499)
    assert requests.answers == []
    requests.time.sleep(1)
    assert requests.answers == [{0: ("REQUEST_TIMED_OUT", 4), 1: ("NONE", 6), 2: ("RECORD_LIST_TOO_LARGE", -1)}]
