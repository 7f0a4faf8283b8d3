"""How proposals for an ISR reach the controller: one for each partition, one request at a time."""

import pytest

from minikafka.common.error_codes import Errors
from minikafka.common.errors import FencedLeaderEpochException, OperationNotAttemptedException
from minikafka.common.scheduler import ManualScheduler
from minikafka.common.time import ManualTime
from minikafka.common.topic_id_partition import TopicIdPartition
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import random_uuid
from minikafka.messages.apis import AlterPartitionResponse
from minikafka.metadata.leader_and_isr import BrokerState, LeaderAndIsr
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from minikafka.server.default_alter_partition_manager import DefaultAlterPartitionManager

TOPIC_ID = random_uuid()
P0, P1, P2 = (TopicIdPartition(TOPIC_ID, TopicPartition("t", number)) for number in range(3))


class Channel:
    """A controller that answers when the test says so."""

    def __init__(self):
        self.sent = []

    def send_request(self, request, on_complete):
        self.sent.append((request, on_complete))

    def answer(self, *results, error=Errors.NONE):
        _, on_complete = self.sent.pop(0)
        topic = AlterPartitionResponse.TopicData(topic_id=TOPIC_ID, partitions=list(results))
        on_complete(AlterPartitionResponse(error_code=error, topics=[topic] if results else []))


def result(partition, error=Errors.NONE, isr=(0, 1)):
    return AlterPartitionResponse.TopicData.PartitionData(
        partition_index=partition.partition, error_code=error, leader_epoch=5, isr=list(isr), partition_epoch=8
    )


def proposal(*isr):
    return LeaderAndIsr(0, 5, LeaderRecoveryState.RECOVERED, tuple(BrokerState(id, 40 + id) for id in isr), 7)


@pytest.fixture
def time():
    return ManualTime()


@pytest.fixture
def channel():
    return Channel()


@pytest.fixture
def manager(channel, time):
    return DefaultAlterPartitionManager(channel, ManualScheduler(time), 0, lambda: 99)


def test_a_proposal_is_sent_at_once_and_its_future_gets_the_decision(manager, channel):
    future = manager.submit(P0, proposal(0, 1))
    request, _ = channel.sent[0]
    assert (request.broker_id, request.broker_epoch) == (0, 99)
    (topic,) = request.topics
    (sent,) = topic.partitions
    assert (topic.topic_id, sent.partition_index, sent.leader_epoch, sent.partition_epoch) == (TOPIC_ID, 0, 5, 7)
    assert [(each.broker_id, each.broker_epoch) for each in sent.new_isr_with_epochs] == [(0, 40), (1, 41)]
    assert not future.done()
    channel.answer(result(P0))
    assert (future.result(0).isr, future.result(0).partition_epoch) == ({0, 1}, 8)
    assert not manager.unsent_isr_updates


def test_a_partition_has_one_proposal_at_a_time(manager, channel):
    first = manager.submit(P0, proposal(0, 1))
    with pytest.raises(OperationNotAttemptedException):
        manager.submit(P0, proposal(0)).result(0)
    channel.answer(result(P0))
    assert first.done()
    assert not manager.submit(P0, proposal(0)).done(), "the next proposal is taken"


def test_one_request_is_on_its_way_and_the_next_takes_what_has_come_meanwhile(manager, channel):
    manager.submit(P0, proposal(0, 1))
    manager.submit(P1, proposal(0, 1))
    manager.submit(P2, proposal(0, 1))
    assert len(channel.sent) == 1
    channel.answer(result(P0))
    (request, _), *others = channel.sent
    assert [each.partition_index for topic in request.topics for each in topic.partitions] == [1, 2]
    assert not others


def test_an_error_of_a_partition_is_its_exception(manager, channel):
    future = manager.submit(P0, proposal(0, 1))
    channel.answer(result(P0, Errors.FENCED_LEADER_EPOCH))
    with pytest.raises(FencedLeaderEpochException):
        future.result(0)
    assert not manager.unsent_isr_updates


@pytest.mark.parametrize(
    "error", [Errors.STALE_BROKER_EPOCH, Errors.CLUSTER_AUTHORIZATION_FAILED, Errors.NOT_CONTROLLER]
)
def test_an_error_of_the_whole_request_is_tried_again_after_50_ms(manager, channel, time, error):
    future = manager.submit(P0, proposal(0, 1))
    channel.answer(error=error)
    time.sleep(49)
    assert not channel.sent
    time.sleep(1)
    channel.answer(result(P0))
    assert future.done()


def test_a_partition_that_the_response_leaves_out_is_sent_again(manager, channel):
    manager.submit(P0, proposal(0, 1))
    manager.submit(P1, proposal(0, 1))
    channel.answer(result(P0))
    channel.answer()
    (request, _) = channel.sent[0]
    assert [each.partition_index for topic in request.topics for each in topic.partitions] == [1]


def test_whoever_is_answered_may_propose_again_at_once(manager, channel):
    again = []
    future = manager.submit(P0, proposal(0, 1))
    future.add_done_callback(lambda _: again.append(manager.submit(P0, proposal(0))))
    channel.answer(result(P0))
    assert not again[0].done()
    assert len(channel.sent) == 1
