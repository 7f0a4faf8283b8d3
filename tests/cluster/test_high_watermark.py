"""How far the leader's high watermark rises: to the least log end of the replicas that count."""

import pytest

from minikafka.log.log_append_info import LeaderHwChange
from minikafka.log.log_offset_metadata import LogOffsetMetadata


def test_it_is_the_least_end_of_the_isr_and_comes_one_fetch_late(stand):
    one = stand()
    one.leader()
    assert one.produce("[3x10]").leader_hw_change is LeaderHwChange.SAME
    one.produce("[1x10]")
    one.follow(1, 0)
    one.follow(2, 0)
    assert one.hw == 0  # both are sent everything, and have not said that they have it
    one.follow(1, 4)
    assert one.hw == 0
    one.follow(2, 3)
    assert one.hw == 3
    one.follow(2, 4)
    assert one.hw == 4


def test_an_offset_inside_a_batch_counts_as_the_batchs_first(stand):
    one = stand()
    one.leader(replicas=(0, 1))
    one.produce("[2x10]")
    one.produce("[4x10]")
    one.follow(1, 4)
    assert one.state(1).log_end_offset == one.hw == 2


def test_the_fetch_that_raises_it_is_answered_with_the_old_one(stand):
    one = stand()
    one.leader(replicas=(0, 1))
    one.produce()
    one.follow(1, 0)
    assert one.follow(1, 1).high_watermark == 0
    assert one.hw == 1
    assert one.follow(1, 1).high_watermark == 1
    assert one.consume(0).high_watermark == 1


def test_it_waits_for_a_member_that_has_never_fetched(stand):
    one = stand()
    one.leader()
    one.produce()
    one.follow(1, 1)
    assert one.state(2).log_end_offset == -1 and one.hw == 0


def test_alone_in_the_isr_it_rises_with_the_append(stand):
    one = stand()
    one.leader(isr=(0,))
    assert one.produce("[4x10]").leader_hw_change is LeaderHwChange.INCREASED
    assert one.hw == 4


def test_below_min_isr_it_stands_still_whatever_the_acks(stand):
    one = stand(min__insync__replicas=2)
    one.leader(isr=(0,))
    assert one.produce(acks=1).leader_hw_change is LeaderHwChange.SAME
    assert one.hw == 0 and one.partition.is_under_min_isr
    one.partition_epoch += 1
    one.leader(isr=(0, 1), bump=False)
    one.follow(1, 1)
    assert one.hw == 1 and not one.partition.is_under_min_isr


def test_min_isr_is_no_more_than_there_are_replicas(stand):
    one = stand(min__insync__replicas=3)
    one.leader(replicas=(0, 1))
    one.produce(acks=-1)
    one.follow(1, 1)
    assert one.hw == 1
    one.leader(replicas=(0,))
    one.produce(acks=-1)
    assert one.hw == 2


def test_a_live_follower_outside_the_isr_holds_it_back_for_the_lag_time(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.produce()
    one.follow(1, 1)
    one.follow(2, 1)  # asks to join, so it counts as a member
    one.controller.agree()
    one.partition_epoch = one.partition.partition_epoch + 1
    one.leader(isr=(0, 1), bump=False)  # and was taken out again
    one.produce()
    one.follow(1, 2)
    assert one.hw == 1
    one.time.sleep(30_000)
    one.produce()
    one.follow(1, 3)
    assert one.hw == 1
    one.time.sleep(1)
    one.produce()
    one.follow(1, 4)
    assert one.hw == 4


@pytest.mark.parametrize("trouble", ["fenced", "shutting_down"])
def test_a_follower_outside_the_isr_that_cannot_join_does_not_hold_it_back(stand, trouble):
    one = stand()
    one.leader(isr=(0, 1))
    getattr(one.brokers, trouble).add(2)
    one.produce()
    one.follow(2, 1)
    one.produce()
    one.follow(1, 2)
    assert one.hw == 2 and not one.controller.asked


def test_a_follower_that_is_about_to_join_counts_before_the_controller_agrees(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.follow(2, 0)
    assert one.partition.partition_state.maximal_isr == {0, 1, 2}
    one.produce()
    one.follow(1, 1)
    one.time.sleep(60_000)
    one.produce()
    one.follow(1, 2)
    assert one.hw == 0
    one.follow(2, 2)
    assert one.hw == 2


def test_a_fetch_that_repeats_its_offset_does_not_raise_it(stand):
    one = stand(min__insync__replicas=2)
    one.leader(isr=(0,))
    one.produce()
    one.follow(1, 1)
    one.partition.log.config.min_in_sync_replicas = 1
    one.follow(1, 1)
    assert one.hw == 0
    one.produce()
    one.follow(1, 2)
    assert one.hw == 2


def test_its_place_is_that_of_what_the_follower_asked_for(stand):
    one = stand()
    one.leader(replicas=(0, 1))
    one.produce("[1x10]")
    size = one.log.size
    one.produce("[1x10]")
    one.follow(1, 1)
    assert one.log.fetch_offset_snapshot().high_watermark == LogOffsetMetadata(1, 0, size)


def test_what_waits_is_woken_when_it_rises_and_only_then(stand):
    one = stand()
    one.leader(replicas=(0, 1))
    one.produce()
    one.follow(1, 0)
    assert one.woken == []
    one.follow(1, 1)
    assert one.woken == ["fetch", "produce", "delete"]
    one.follow(1, 1)
    assert len(one.woken) == 3


def test_what_waits_for_deletions_is_woken_when_the_low_watermark_rises(stand):
    one = stand()
    one.leader(replicas=(0, 1))
    one.produce("[4x10]")
    one.follow(1, 4)
    one.woken.clear()
    assert one.partition.delete_records_on_leader(3) == (3, 0, None)
    one.follow(1, 4, log_start=3)
    assert one.woken == []  # no deletion waits
    one.delete_records.num_delayed = 1
    one.partition.delete_records_on_leader(4)
    one.follow(1, 4, log_start=3)
    assert one.woken == []
    one.follow(1, 4, log_start=4)
    assert one.woken == ["fetch", "produce", "delete"] and one.partition.low_watermark_if_leader == 4


def test_a_member_that_leaves_lets_it_rise(stand):
    one = stand()
    one.leader(replicas=(0, 1))
    one.produce()
    one.time.sleep(30_001)
    one.partition.maybe_shrink_isr()
    assert one.hw == 0  # the controller may refuse
    one.controller.agree()
    assert one.hw == 1 and one.woken == ["fetch", "produce", "delete"]
