"""Who joins and leaves the ISR, and what becomes of the controller's answers."""

import pytest

from minikafka.cluster.committed_partition_state import CommittedPartitionState, PendingExpandIsr, PendingShrinkIsr
from minikafka.common.error_codes import Errors
from minikafka.common.errors import IllegalStateException, NotLeaderOrFollowerException
from minikafka.metadata.leader_and_isr import BrokerState
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState

NEWS_WILL_COME = [
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.UNKNOWN_TOPIC_ID,
    Errors.FENCED_LEADER_EPOCH,
    Errors.INVALID_UPDATE_VERSION,
    Errors.INVALID_REQUEST,
    Errors.NEW_LEADER_ELECTED,
]


def test_a_follower_that_has_caught_up_is_proposed(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.follow(2, 0)
    state = one.partition.partition_state
    assert isinstance(state, PendingExpandIsr) and state.is_inflight
    assert (state.isr, state.maximal_isr) == ({0, 1}, {0, 1, 2})
    assert str(state) == "PendingExpandIsr(isr=[0, 1], joins: 2)"
    sent, _ = one.controller.asked[0]
    assert (sent.leader, sent.leader_epoch, sent.partition_epoch) == (0, 1, 1)
    # Its own epoch, none of the member that has not fetched, and that of the fetch.
    assert sent.isr_with_broker_epoch == (BrokerState(0, 100), BrokerState(1, -1), BrokerState(2, 102))
    one.controller.agree()
    assert one.partition.partition_state == CommittedPartitionState(frozenset({0, 1, 2}), LeaderRecoveryState.RECOVERED)
    assert one.partition.partition_epoch == 2 and one.changes.story == ["expand"]
    assert str(one.partition.partition_state) == "CommittedPartitionState(isr=[0, 1, 2])"


def test_a_follower_must_have_reached_the_high_watermark(stand):
    one = stand()
    one.leader(isr=(0,))
    one.produce("[4x10]")
    one.follow(1, 3)
    assert not one.controller.asked
    one.follow(1, 4)
    assert len(one.controller.asked) == 1


def test_a_follower_must_have_reached_the_start_of_the_leader_epoch(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.produce("[4x10]")
    one.leader(isr=(0, 1))
    assert (one.hw, one.partition.leader_epoch_start_offset) == (0, 4)
    one.follow(2, 3)
    assert not one.controller.asked
    one.follow(2, 4)
    assert len(one.controller.asked) == 1


def test_a_broker_that_is_not_alive_or_about_to_stop_does_not_join(stand):
    one = stand()
    one.leader(isr=(0,))
    one.brokers.fenced.add(1)
    one.follow(1, 0)
    one.brokers.fenced.clear()
    one.brokers.shutting_down.add(1)
    one.follow(1, 0)
    one.brokers.shutting_down.clear()
    del one.brokers.epochs[1]
    one.follow(1, 0, broker_epoch=101)
    assert not one.controller.asked


def test_a_restarted_broker_joins_only_with_its_new_epoch(stand):
    one = stand()
    one.leader(isr=(0,))
    one.follow(1, 0, broker_epoch=900)  # the leader's metadata are late
    assert not one.controller.asked
    one.brokers.epochs[1] = 900
    with pytest.raises(NotLeaderOrFollowerException):
        one.follow(1, 0, broker_epoch=101)  # a fetch of its earlier incarnation
    assert one.state(1).broker_epoch == 900
    one.follow(1, 0, broker_epoch=900)
    assert len(one.controller.asked) == 1


def test_a_fetch_without_a_broker_epoch_is_not_checked(stand):
    one = stand()
    one.leader(isr=(0,))
    one.follow(1, 0, broker_epoch=-1)
    assert one.controller.asked[0][0].isr_with_broker_epoch[1] == BrokerState(1, -1)


def test_one_change_at_a_time(stand):
    one = stand()
    one.leader(isr=(0,))
    one.follow(1, 0)
    one.follow(2, 0)
    one.time.sleep(60_000)
    one.partition.maybe_shrink_isr()
    assert len(one.controller.asked) == 1 and one.partition.get_out_of_sync_replicas(0) == frozenset()
    one.controller.agree()
    one.follow(2, 0)
    one.controller.agree()
    assert one.partition.in_sync_replica_ids == {0, 1, 2}


def test_a_follower_leaves_after_the_lag_time_and_not_a_millisecond_earlier(stand):
    one = stand()
    one.leader()
    one.produce()
    one.follow(2, 1)
    one.time.sleep(30_000)
    one.partition.maybe_shrink_isr()
    assert not one.controller.asked
    one.time.sleep(1)
    assert one.partition.get_out_of_sync_replicas(30_000) == {1}  # the other one has everything
    one.partition.maybe_shrink_isr()
    state = one.partition.partition_state
    assert isinstance(state, PendingShrinkIsr) and state.is_inflight
    assert state.isr == state.maximal_isr == {0, 1, 2}
    assert str(state) == "PendingShrinkIsr(isr=[0, 1, 2], leave: [1])"
    assert one.controller.asked[0][0].isr == {0, 2}
    one.controller.agree()
    assert one.partition.in_sync_replica_ids == {0, 2} and one.changes.story == ["shrink"]


def test_a_follower_that_has_everything_never_leaves_however_silent(stand):
    one = stand()
    one.leader(replicas=(0, 1))
    one.produce()
    one.follow(1, 1)
    one.time.sleep(10_000_000)
    one.partition.maybe_shrink_isr()
    assert not one.controller.asked
    one.produce()
    one.partition.maybe_shrink_isr()
    assert one.controller.asked


def test_a_follower_never_proposes_anything(stand):
    one = stand()
    one.follower()
    one.time.sleep(60_000)
    one.partition.maybe_shrink_isr()
    assert not one.controller.asked


@pytest.mark.parametrize("error", [Errors.OPERATION_NOT_ATTEMPTED, Errors.INELIGIBLE_REPLICA])
def test_a_refusal_that_has_changed_nothing_leads_back(stand, error):
    one = stand()
    one.leader(isr=(0, 1))
    one.follow(2, 0)
    one.controller.refuse(error)
    assert one.partition.partition_state == CommittedPartitionState(frozenset({0, 1}), LeaderRecoveryState.RECOVERED)
    assert one.changes.story == ["failed"] and not one.controller.asked
    one.follow(2, 0)
    assert one.controller.asked  # it may be proposed again


@pytest.mark.parametrize("error", NEWS_WILL_COME)
def test_after_a_refusal_by_newer_knowledge_the_metadata_are_waited_for(stand, error):
    one = stand()
    one.leader(isr=(0, 1))
    one.follow(2, 0)
    one.controller.refuse(error)
    assert one.partition.partition_state.maximal_isr == {0, 1, 2} and not one.controller.asked
    one.leader(isr=(0, 1), bump=False)
    assert not one.partition.partition_state.is_inflight


@pytest.mark.slow
def test_any_other_refusal_is_tried_again(stand):
    settled = {*NEWS_WILL_COME, Errors.OPERATION_NOT_ATTEMPTED, Errors.INELIGIBLE_REPLICA}
    for error in set(Errors) - {Errors.NONE}:
        one = stand(error.name)
        one.leader(isr=(0, 1))
        one.follow(2, 0)
        sent = one.controller.asked[0][0]
        one.controller.refuse(error)
        asked = [proposal for proposal, _ in one.controller.asked]
        assert asked == ([] if error in settled else [sent]), error


def test_an_answer_counts_only_for_what_was_asked_for(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.follow(2, 0)
    one.leader(isr=(0, 1))
    one.controller.agree()
    assert one.partition.in_sync_replica_ids == {0, 1} and one.partition.partition_epoch == 2
    assert one.changes.story == []


def test_an_equal_proposal_takes_the_answer_to_the_first(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.follow(1, 0)
    one.follow(2, 0)
    one.leader(isr=(0, 1), bump=False)
    one.follow(2, 0)
    assert one.controller.submitted == 2
    one.controller.agree()
    assert one.partition.in_sync_replica_ids == {0, 1, 2}


@pytest.mark.parametrize("changes", [{"leader_epoch": 9}, {"partition_epoch": 0}])
def test_an_answer_of_another_epoch_is_ignored_and_the_change_stays_under_way(stand, changes):
    one = stand()
    one.leader(isr=(0, 1))
    one.follow(2, 0)
    one.controller.agree(**changes)
    assert one.partition.partition_state.is_inflight and one.partition.partition_epoch == 1
    assert one.changes.story == ["failed"]


def test_an_answer_with_the_same_partition_epoch_ends_the_change(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.follow(2, 0)
    one.controller.agree(partition_epoch=1)
    assert not one.partition.partition_state.is_inflight and one.partition.in_sync_replica_ids == {0, 1, 2}


def test_the_metadata_of_the_change_may_come_before_its_answer_or_after(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.follow(2, 0)
    one.leader(bump=False, partition_epoch=2)
    one.controller.agree()
    assert one.partition.partition_epoch == 2 and one.changes.story == []
    one.leader(bump=False, partition_epoch=3, isr=(0, 1))
    one.follow(2, 0)
    one.controller.agree()
    one.leader(bump=False, partition_epoch=4)
    assert one.partition.partition_epoch == 4 and one.partition.in_sync_replica_ids == {0, 1, 2}


def test_without_a_topic_id_the_controller_cannot_be_asked(stand):
    one = stand()
    one.partition._topic_id = None
    one.partition.make_leader(one.registration(0, isr=(0,)), True, one, None)
    with pytest.raises(IllegalStateException):
        one.follow(1, 0)
