"""What a producer's and a leader's records become on a partition."""

import pytest

from minikafka.cluster.partition import ActiveProducers, EnoughReplicas
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    InvalidProducerEpochException,
    NotEnoughReplicasException,
    NotLeaderOrFollowerException,
    UnexpectedAppendOffsetException,
)
from minikafka.log.log import ProducerState
from minikafka.log.log_append_info import LeaderHwChange
from minikafka.log.producer.verification_guard import VerificationGuard
from tests.cluster.stand import NOW


def test_only_the_leader_appends_for_producers(stand):
    one = stand()
    with pytest.raises(NotLeaderOrFollowerException):
        one.produce()
    one.follower()
    with pytest.raises(NotLeaderOrFollowerException):
        one.produce()
    assert one.log.log_end_offset == 0


def test_an_append_is_written_in_the_leader_epoch(stand):
    one = stand()
    one.leader()
    one.leader()
    info = one.produce("[3x10]")
    assert (info.first_offset, info.last_offset, info.leader_hw_change) == (0, 2, LeaderHwChange.SAME)
    (batch,) = one.follow(1, 0).fetched_data.records.batches()
    assert batch.partition_leader_epoch == 2


@pytest.mark.parametrize("acks, written", [(-1, False), (0, True), (1, True)])
def test_too_few_replicas_in_sync_refuse_acks_all_alone(stand, acks, written):
    one = stand(min__insync__replicas=2)
    one.leader(isr=(0,))
    if written:
        one.produce(acks=acks)
    else:
        with pytest.raises(NotEnoughReplicasException):
            one.produce(acks=acks)
    assert one.log.log_end_offset == written


def test_a_replica_that_may_not_join_does_not_help_to_reach_min_isr(stand):
    one = stand(min__insync__replicas=2)
    one.leader(isr=(0,))
    one.follow(1, 0)
    assert one.partition.partition_state.maximal_isr == {0, 1}
    with pytest.raises(NotEnoughReplicasException):
        one.produce(acks=-1)


def test_when_acks_all_are_there(stand):
    one = stand(min__insync__replicas=2)
    one.leader()
    one.produce()
    assert one.partition.check_enough_replicas_reach_offset(1) == EnoughReplicas(False, Errors.NONE)
    one.follow(1, 1)
    one.follow(2, 1)
    assert one.partition.check_enough_replicas_reach_offset(1) == EnoughReplicas(True, Errors.NONE)
    assert one.partition.check_enough_replicas_reach_offset(2) == EnoughReplicas(False, Errors.NONE)
    one.partition_epoch += 1
    one.leader(isr=(0,), bump=False)
    error = Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert one.partition.check_enough_replicas_reach_offset(1) == EnoughReplicas(True, error)
    one.follow(1, 1)  # it may be in the ISR again
    assert one.partition.check_enough_replicas_reach_offset(1) == EnoughReplicas(True, Errors.NONE)
    one.follower()
    assert one.partition.check_enough_replicas_reach_offset(1) == (False, Errors.NOT_LEADER_OR_FOLLOWER)


def test_a_follower_appends_what_it_fetched(stand):
    one = stand()
    with pytest.raises(NotLeaderOrFollowerException):
        one.append_fetched()
    one.follower()
    info = one.append_fetched("[3x10]", 4)
    assert (info.first_offset, info.last_offset, info.leader_hw_change) == (4, 6, LeaderHwChange.NONE)


def test_an_empty_follower_begins_with_the_batch_that_the_leaders_log_start_lies_in(stand):
    one = stand()
    one.follower()
    one.partition.truncate_fully_and_start_at(3)
    one.append_fetched("[5x10]", 0)
    one.append_fetched("[5x10]", 5)
    assert (one.log.log_start_offset, one.log.log_end_offset) == (0, 10)
    one.partition.truncate_to(5)
    assert one.log.log_end_offset == 5


@pytest.mark.parametrize("before, text, offset", [("[1x10]", "[5x10]", 2), (None, "[2x10]", 0), (None, "[1x10]", 2)])
def test_any_other_offset_below_the_log_end_is_refused(stand, before, text, offset):
    one = stand()
    one.follower()
    one.partition.truncate_fully_and_start_at(3)
    if before:
        one.append_fetched(before, 3)
    with pytest.raises(UnexpectedAppendOffsetException):
        one.append_fetched(text, offset)
    assert one.log.log_start_offset == 3


def test_a_log_may_be_emptied_below_its_new_log_start(stand):
    one = stand()
    one.follower()
    one.partition.truncate_fully_and_start_at(3, 5)
    assert (one.log.log_start_offset, one.log.log_end_offset) == (5, 3)


def test_transactions_are_known_to_the_leader(stand):
    one = stand()
    with pytest.raises(NotLeaderOrFollowerException):
        one.partition.maybe_start_transaction_verification(7, sequence=0, epoch=0, supports_epoch_bump=False)
    one.leader()
    guard = one.partition.maybe_start_transaction_verification(7, sequence=0, epoch=3, supports_epoch_bump=False)
    assert guard is not VerificationGuard.SENTINEL
    one.produce("[1x10 pid=7 epoch=3 seq=0 txn]")
    assert (
        one.partition.maybe_start_transaction_verification(7, sequence=1, epoch=3, supports_epoch_bump=False)
        == VerificationGuard.SENTINEL
    )
    with pytest.raises(InvalidProducerEpochException):
        one.partition.maybe_start_transaction_verification(7, sequence=1, epoch=2, supports_epoch_bump=False)
    assert not one.partition.has_late_transaction(NOW + 1_200_000)
    assert one.partition.has_late_transaction(NOW + 1_200_001)
    one.follower()
    assert not one.partition.has_late_transaction(NOW + 1_200_001)


def test_producers_are_shown_by_every_replica_that_has_a_log(stand):
    one = stand()
    assert one.partition.active_producer_state == ActiveProducers(Errors.NOT_LEADER_OR_FOLLOWER, ())
    one.leader()
    one.produce("[2x10 pid=7 epoch=3 seq=0]")
    one.follower()
    shown = one.partition.active_producer_state
    assert shown == (Errors.NONE, [ProducerState(7, 3, 1, NOW, -1, -1)])
