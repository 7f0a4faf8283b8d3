"""Who may read from a partition, how far, and what a follower is told of its log."""

import pytest

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.cluster.fetch_params import ClientMetadata, FetchParams
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    FencedLeaderEpochException,
    NotLeaderOrFollowerException,
    OffsetOutOfRangeException,
    UnknownLeaderEpochException,
)
from minikafka.log.fetch_isolation import FetchIsolation
from minikafka.log.log_offset_metadata import LogOffsetMetadata
from tests.cluster.stand import offsets


@pytest.mark.parametrize(
    "replica_id, follower, future, consumer, only_leader, only_leader_from_11",
    [
        (0, True, False, False, True, True),
        (7, True, False, False, True, True),
        (-1, False, False, True, True, False),
        (-2, False, False, True, True, False),
        (-3, False, True, False, False, False),
    ],
)
def test_who_reads(replica_id, follower, future, consumer, only_leader, only_leader_from_11):
    old = FetchParams(replica_id, -1, 0, 0, 0, FetchIsolation.LOG_END)
    new = old._replace(client_metadata=ClientMetadata("", "", "", "", ""))
    assert (old.is_from_follower, old.is_from_future, old.is_from_consumer) == (follower, future, consumer)
    assert (old.fetch_only_leader, new.fetch_only_leader) == (only_leader, only_leader_from_11)


def test_a_consumer_reads_up_to_the_high_watermark_and_a_follower_to_the_end(stand):
    one = stand()
    one.leader(replicas=(0, 1))
    one.produce()
    one.produce()
    one.follow(1, 1)
    assert offsets(one.consume(0)) == [0] and offsets(one.follow(1, 1)) == [1]
    read = one.consume(0)
    assert (read.high_watermark, read.log_start_offset, read.log_end_offset, read.last_stable_offset) == (1, 0, 2, 1)
    assert read.diverging_epoch is None


def test_a_follower_serves_new_consumers_up_to_its_own_high_watermark(stand):
    one = stand()
    one.follower()
    one.append_fetched("[1x10]")
    one.append_fetched("[1x10]", 1)
    one.log.maybe_update_high_watermark(1)
    assert offsets(one.consume(0, version_11=True)) == [0]
    read = one.consume(1, version_11=True, last_fetched_epoch=1)
    assert read.diverging_epoch is None, "a consumer that says what it has read before is served as well"
    with pytest.raises(NotLeaderOrFollowerException):
        one.consume(0)
    with pytest.raises(NotLeaderOrFollowerException):
        one.follow(2, 0)


def test_the_epoch_is_looked_at_before_the_role(stand):
    one = stand()
    one.leader()
    one.leader()
    one.consume(0, epoch=2)
    with pytest.raises(FencedLeaderEpochException):
        one.consume(0, epoch=1)
    with pytest.raises(UnknownLeaderEpochException):
        one.consume(0, epoch=3)
    one.follower()
    with pytest.raises(FencedLeaderEpochException):  # to a leader that was deposed
        one.consume(0, epoch=2)
    with pytest.raises(NotLeaderOrFollowerException):
        one.consume(0, epoch=3)
    one.partition.delete()
    with pytest.raises(NotLeaderOrFollowerException):
        one.consume(0, version_11=True)


def test_a_broker_that_is_no_replica_gets_nothing(stand):
    one = stand()
    one.leader()
    with pytest.raises(UnknownLeaderEpochException):
        one.follow(3, 0)
    with pytest.raises(NotLeaderOrFollowerException):
        one.follow(3, 0, epoch=None)


def test_a_fetch_that_is_read_again_is_not_noted_again(stand):
    one = stand()
    one.leader()
    one.produce()
    one.follow(1, 0)
    one.follow(1, 1, update_fetch_state=False)
    assert one.state(1).log_end_offset == 0


def test_what_is_appended_during_a_fetch_does_not_make_the_follower_late(stand):
    one = stand()
    one.leader()
    one.produce()
    read = one.log.read

    def read_and_append(*arguments, **settings):
        found = read(*arguments, **settings)
        one.produce()
        return found

    one.log.read = read_and_append
    assert one.follow(1, 1).log_end_offset == 1
    assert one.state(1).last_fetch_leader_log_end_offset == 1
    assert one.state(1).last_caught_up_time_ms == one.time.milliseconds()


@pytest.fixture
def epochs(stand):
    """A leader with epochs that begin at 0 (epoch 1), 10 (2) and 12 (4), and end at 13; log start 0."""
    one = stand()
    one.leader()
    one.produce("[10x1]")
    one.leader()
    one.produce("[2x1]")
    one.leader()
    one.leader()
    one.produce("[1x1]")
    return one


@pytest.mark.parametrize(
    "asked, answer",
    [(0, (0, 0)), (1, (1, 10)), (2, (2, 12)), (3, (2, 12)), (4, (4, 13)), (5, (-1, -1)), (-1, (-1, -1))],
)
def test_where_an_epoch_ends(epochs, asked, answer):
    found = epochs.partition.last_offset_for_leader_epoch(None, asked, True)
    assert found == EpochEndOffset(*answer) and found.error is Errors.NONE


@pytest.mark.parametrize(
    "epoch, error", [(3, Errors.FENCED_LEADER_EPOCH), (5, Errors.UNKNOWN_LEADER_EPOCH), (4, Errors.NONE)]
)
def test_an_epoch_that_is_not_the_present_one_stands_in_the_answer(epochs, epoch, error):
    assert epochs.partition.last_offset_for_leader_epoch(epoch, 1, True).error is error
    epochs.follower()
    assert epochs.partition.last_offset_for_leader_epoch(None, 1, True).error is Errors.NOT_LEADER_OR_FOLLOWER
    assert epochs.partition.last_offset_for_leader_epoch(None, 1, False) == EpochEndOffset(1, 10)


@pytest.mark.parametrize("offset, last, end", [(11, 1, (1, 10)), (12, 3, (2, 12)), (14, 4, (4, 13)), (10, 3, (2, 12))])
def test_a_follower_whose_log_differs_is_told_where(epochs, offset, last, end):
    read = epochs.follow(1, offset, last_fetched_epoch=last)
    assert read.diverging_epoch == EpochEndOffset(*end)
    assert read.fetched_data.records.size_in_bytes == 0
    assert read.fetched_data.fetch_offset_metadata == LogOffsetMetadata(offset)
    assert epochs.state(1).log_end_offset == -1  # nothing is known of such a follower


@pytest.mark.parametrize("offset, last", [(10, 1), (12, 2), (13, 4), (5, 1), (5, 4)])
def test_a_follower_whose_log_agrees_is_not(epochs, offset, last):
    read = epochs.follow(1, offset, last_fetched_epoch=last)
    assert read.diverging_epoch is None
    assert offsets(read) == list(range({5: 0}.get(offset, offset), 13))


@pytest.mark.parametrize("offset, last", [(13, 5), (13, -1), (14, None), (-1, None)])
def test_an_unknown_epoch_or_offset_is_out_of_range(epochs, offset, last):
    with pytest.raises(OffsetOutOfRangeException):
        epochs.follow(1, offset, last_fetched_epoch=last)


def test_below_the_log_start_nothing_is_compared(epochs):
    epochs.log.update_high_watermark(13)
    epochs.partition.delete_records_on_leader(12)
    with pytest.raises(OffsetOutOfRangeException):
        epochs.follow(1, 11, last_fetched_epoch=2)
    with pytest.raises(OffsetOutOfRangeException):
        epochs.follow(1, 11, last_fetched_epoch=4)


def test_committed_data_end_at_the_first_open_transaction(stand):
    one = stand()
    one.leader(isr=(0,))
    one.produce()
    one.produce("[1x10 pid=7 epoch=0 seq=0 txn]")
    one.produce()
    assert offsets(one.consume(0)) == [0, 1, 2]
    assert offsets(one.consume(0, isolation=FetchIsolation.TXN_COMMITTED)) == [0]
