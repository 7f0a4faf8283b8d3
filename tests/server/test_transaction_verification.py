"""What a transactional append asks its coordinator before, and what its producer is told."""

import pytest

from minikafka.common.error_codes import Errors
from minikafka.common.errors import InvalidPidMappingException
from minikafka.common.topic_partition import TopicPartition
from minikafka.server.add_partitions_to_txn_manager import TransactionSupportedOperation
from tests.server.one_broker import OneBroker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TXN = "[1x10 pid=7 epoch=0 seq=0 txn]"
ADD = TransactionSupportedOperation.ADD_PARTITION
DEFAULT = TransactionSupportedOperation.DEFAULT_ERROR


class Coordinator:
    """Keeps the questions; `answer` answers the oldest."""

    def __init__(self):
        self.questions = []

    def __call__(self, transactional_id, producer_id, producer_epoch, partitions, callback, operation):
        self.questions.append((transactional_id, producer_id, producer_epoch, partitions, operation, callback))

    def answer(self, **errors):
        self.questions.pop(0)[-1]({TopicPartition("t", int(name[1:])): error for name, error in errors.items()})


@pytest.fixture
def broker(tmp_path):
    one = OneBroker([tmp_path / "a"], transaction__partition__verification__enable="true")
    one.coordinator = Coordinator()
    one.create("t", [0], [0])
    yield one
    one.crash()


def produce(broker, entries=None, transactional_id="id", operation=DEFAULT, acks=1):
    return broker.produce(
        entries or {"t-0": TXN}, acks, transactional_id=transactional_id, transaction_supported_operation=operation
    )


def test_without_transactions_nobody_is_asked(broker):
    assert produce(broker, {"t-0": "[1x10 pid=7 epoch=0 seq=0]"})["t-0"].error is Errors.NONE
    assert not broker.coordinator.questions


def test_the_first_batch_of_a_transaction_is_asked_for_and_later_ones_are_not(broker):
    answers = produce(broker)
    assert not answers
    assert broker.coordinator.questions[0][:-1] == ("id", 7, 0, [T0], DEFAULT)
    broker.coordinator.answer()
    assert answers["t-0"].base_offset == 0
    assert produce(broker, {"t-0": "[1x10 pid=7 epoch=0 seq=1 txn]"})["t-0"].base_offset == 1
    assert not broker.coordinator.questions


def test_a_refused_partition_is_answered_and_the_others_are_written(broker):
    answers = produce(broker, {"t-0": TXN, "t-1": TXN})
    broker.coordinator.answer(t1=Errors.INVALID_TXN_STATE)
    assert answers.errors == {"t-0": Errors.NONE, "t-1": Errors.INVALID_TXN_STATE}
    refused = answers["t-1"]
    assert (refused.base_offset, refused.log_start_offset) == (-1, -1)
    assert refused.error_message == "Partition was not added to the transaction"
    assert [broker.log(name).log_end_offset for name in ("t-0", "t-1")] == [1, 0]


@pytest.mark.parametrize(
    ("operation", "error", "told"),
    [
        (DEFAULT, Errors.NETWORK_EXCEPTION, Errors.NOT_ENOUGH_REPLICAS),
        (DEFAULT, Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NOT_ENOUGH_REPLICAS),
        (DEFAULT, Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_ENOUGH_REPLICAS),
        (DEFAULT, Errors.NOT_COORDINATOR, Errors.NOT_ENOUGH_REPLICAS),
        (DEFAULT, Errors.CONCURRENT_TRANSACTIONS, Errors.NOT_ENOUGH_REPLICAS),
        (DEFAULT, Errors.INVALID_PRODUCER_EPOCH, Errors.INVALID_PRODUCER_EPOCH),
        (ADD, Errors.NOT_COORDINATOR, Errors.NOT_ENOUGH_REPLICAS),
        (ADD, Errors.TRANSACTION_ABORTABLE, Errors.TRANSACTION_ABORTABLE),
    ],
)
def test_a_coordinator_that_is_away_is_told_as_an_error_that_old_clients_retry(broker, operation, error, told):
    answers = produce(broker, operation=operation)
    broker.coordinator.answer(t0=error)
    assert answers.errors == {"t-0": told}
    message = answers["t-0"].error_message
    assert message is None if told is error else error.name in message


def test_a_coordinator_that_is_busy_is_asked_again_if_the_request_adds_the_partition(broker):
    answers = produce(broker, operation=ADD)
    for _ in range(4):
        broker.coordinator.answer(t0=Errors.CONCURRENT_TRANSACTIONS)
        assert not broker.coordinator.questions
        broker.time.sleep(19)
        assert not broker.coordinator.questions
        broker.time.sleep(1)
    broker.coordinator.answer()
    assert answers.errors == {"t-0": Errors.NONE}


def test_a_coordinator_that_stays_busy_is_told_as_it_is(broker):
    answers = produce(broker, operation=ADD)
    for _ in range(5):
        broker.coordinator.answer(t0=Errors.CONCURRENT_TRANSACTIONS)
        broker.time.sleep(20)
    assert not answers
    broker.coordinator.answer(t0=Errors.CONCURRENT_TRANSACTIONS)
    assert answers.errors == {"t-0": Errors.CONCURRENT_TRANSACTIONS}
    assert answers["t-0"].error_message is None


def test_two_producers_in_one_request_are_an_error_of_the_whole(broker):
    with pytest.raises(InvalidPidMappingException):
        produce(broker, {"t-0": TXN, "t-1": "[1x10 pid=8 epoch=0 seq=0 txn]"})


def test_an_old_epoch_is_refused_before_the_coordinator_is_asked(broker):
    produce(broker, {"t-0": "[1x10 pid=7 epoch=3 seq=0 txn]"})
    broker.coordinator.answer()
    answers = produce(broker, {"t-0": "[1x10 pid=7 epoch=2 seq=0 txn]"})
    assert answers.errors == {"t-0": Errors.INVALID_PRODUCER_EPOCH}
    assert not broker.coordinator.questions


def test_a_partition_that_is_not_led_here_is_refused_without_asking(broker):
    broker.create("u", [1, 0])
    assert produce(broker, {"u-0": TXN}).errors == {"u-0": Errors.NOT_LEADER_OR_FOLLOWER}
    assert not broker.coordinator.questions


def test_a_transactional_batch_of_a_request_without_id_is_refused_by_the_log(broker):
    assert produce(broker, transactional_id=None).errors == {"t-0": Errors.INVALID_TXN_STATE}


def test_where_nobody_verifies_nobody_is_asked(tmp_path):
    one = OneBroker([tmp_path / "b"])
    one.create("t", [0])
    assert produce(one).errors == {"t-0": Errors.NONE}
    one.crash()


@pytest.mark.parametrize(
    ("version", "operation"), [(3, "DEFAULT_ERROR"), (10, "DEFAULT_ERROR"), (11, "GENERIC_ERROR_SUPPORTED")]
)
def test_old_requests_cannot_add_their_partitions(version, operation):
    assert TransactionSupportedOperation.of_produce_version(version).name == operation
    assert TransactionSupportedOperation.of_produce_version(12) is ADD
