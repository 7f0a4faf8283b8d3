"""Offsets that are asked for, and records that are deleted."""

import pytest

from minikafka.cluster.offset_result_holder import OffsetResultHolder
from minikafka.common.errors import (
    FencedLeaderEpochException,
    NotLeaderOrFollowerException,
    OffsetNotAvailableException,
    OffsetOutOfRangeException,
    PolicyViolationException,
)
from minikafka.common.isolation_level import IsolationLevel
from minikafka.record.files.file_records import TimestampAndOffset
from tests.cluster.stand import NOW

COMMITTED, UNCOMMITTED = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6


@pytest.fixture
def one(stand):
    """Leader of epoch 1 with offsets 0 to 3 (timestamps NOW to NOW + 3), a transaction open from 2 on, and HW 3."""
    one = stand()
    one.leader(replicas=(0, 1))
    for number, text in enumerate(["", "", "pid=7 epoch=0 seq=0 txn", ""]):
        one.produce(f"[1x10 ts={NOW + number} {text}]")
    one.follow(1, 3)
    return one


def ask(one, timestamp, level=UNCOMMITTED, epoch=None, only_leader=True):
    return one.partition.fetch_offset_for_timestamp(timestamp, level, epoch, only_leader)


@pytest.mark.parametrize("level, latest", [(COMMITTED, 2), (UNCOMMITTED, 3), (None, 4)])
def test_the_latest_offset_is_as_far_as_the_reader_may_see(one, level, latest):
    assert ask(one, LATEST, level) == OffsetResultHolder(TimestampAndOffset(-1, latest, 1))


def test_other_offsets_come_from_the_log_with_the_bound_to_compare(one):
    assert ask(one, EARLIEST) == OffsetResultHolder(TimestampAndOffset(-1, 0, 1))
    assert ask(one, EARLIEST_LOCAL) == OffsetResultHolder(TimestampAndOffset(-1, 0, 1))
    assert ask(one, MAX_TIMESTAMP) == OffsetResultHolder(TimestampAndOffset(NOW + 3, 3, 1), None, 3)
    assert ask(one, LATEST_TIERED) == OffsetResultHolder(TimestampAndOffset(-1, -1, -1), None, 3)
    assert ask(one, EARLIEST_PENDING) == OffsetResultHolder(TimestampAndOffset(-1, -1, -1), None, 3)
    assert ask(one, NOW + 1, COMMITTED) == OffsetResultHolder(TimestampAndOffset(NOW + 1, 1, 1), None, 2)
    assert ask(one, NOW + 3, None) == OffsetResultHolder(TimestampAndOffset(NOW + 3, 3, 1), None, 4)
    assert ask(one, NOW + 4) == OffsetResultHolder(None, None, 3)


def test_who_may_ask(one):
    with pytest.raises(FencedLeaderEpochException):
        ask(one, LATEST, epoch=0)
    one.follower()
    with pytest.raises(NotLeaderOrFollowerException):
        ask(one, LATEST)
    assert ask(one, LATEST, None, only_leader=False).timestamp_and_offset.offset == 4
    with pytest.raises(NotLeaderOrFollowerException):
        one.partition.fetch_offset_snapshot(None, True)
    assert one.partition.fetch_offset_snapshot(2, False).log_end_offset.message_offset == 4


def test_clients_of_a_new_leader_wait_until_the_high_watermark_has_caught_up(one):
    one.leader(replicas=(0, 1))
    with pytest.raises(OffsetNotAvailableException):
        ask(one, LATEST)
    assert ask(one, LATEST, None) == OffsetResultHolder(TimestampAndOffset(-1, 4, 2))
    assert ask(one, EARLIEST).maybe_offsets_error is None
    found = ask(one, NOW + 3)
    assert found.timestamp_and_offset.offset == 3 and found.last_fetchable_offset == 3
    assert isinstance(found.maybe_offsets_error, OffsetNotAvailableException)
    one.follow(1, 4)
    assert ask(one, LATEST) == OffsetResultHolder(TimestampAndOffset(-1, 4, 2))
    assert ask(one, NOW + 3).maybe_offsets_error is None


def test_deleting_raises_the_log_start_of_the_leader(one):
    assert one.partition.log_start_offset == 0
    assert one.partition.delete_records_on_leader(1) == (1, 0, None)
    assert one.partition.log_start_offset == 1
    assert one.partition.delete_records_on_leader(0) == (0, 0, None)  # as it was
    assert one.partition.delete_records_on_leader(-1) == (3, 0, None)  # the high watermark
    one.follow(1, 3, log_start=2)
    assert one.partition.low_watermark_if_leader == 2
    one.brokers.fenced.add(1)
    assert one.partition.low_watermark_if_leader == 3  # the dead do not count


@pytest.mark.parametrize("offset", [4, -2, 99])
def test_what_is_not_replicated_or_negative_is_not_deleted(one, offset):
    with pytest.raises(OffsetOutOfRangeException):
        one.partition.delete_records_on_leader(offset)
    assert one.partition.log_start_offset == 0


def test_only_the_leader_deletes(one):
    one.follower()
    with pytest.raises(NotLeaderOrFollowerException):
        one.partition.delete_records_on_leader(0)
    with pytest.raises(NotLeaderOrFollowerException):
        one.partition.low_watermark_if_leader  # noqa: B018
    assert one.partition.log_start_offset == -1


@pytest.mark.parametrize(
    "policy, refused", [("compact", True), ("compact,delete", False), ("delete", False), ("", False)]
)
def test_a_topic_that_is_compacted_only_keeps_its_records(stand, policy, refused):
    one = stand(cleanup__policy=policy)
    one.leader(isr=(0,))
    one.produce("[1x10 keys=1]")
    if refused:
        with pytest.raises(PolicyViolationException):
            one.partition.delete_records_on_leader(1)
    else:
        assert one.partition.delete_records_on_leader(1).requested_offset == 1
