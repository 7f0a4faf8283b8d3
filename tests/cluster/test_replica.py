"""What a leader learns from one follower's fetches."""

import pytest

from minikafka.cluster.replica import Replica
from minikafka.cluster.replica_state import EMPTY_REPLICA_STATE, ReplicaState
from minikafka.common.errors import NotLeaderOrFollowerException
from minikafka.log.log_offset_metadata import UNKNOWN_OFFSET_METADATA, LogOffsetMetadata
from tests.cluster.stand import TP, Brokers


@pytest.fixture
def replica():
    return Replica(1, TP, Brokers())


def fetch(replica, offset, time_ms, leader_end, broker_epoch=101, log_start=0):
    replica.update_fetch_state_or_throw(
        LogOffsetMetadata(offset, 0, offset), log_start, time_ms, leader_end, broker_epoch
    )
    return replica.state_snapshot.last_caught_up_time_ms


def test_nothing_is_known_before_the_first_fetch(replica):
    assert replica.state_snapshot is EMPTY_REPLICA_STATE
    assert replica.state_snapshot == ReplicaState(-1, UNKNOWN_OFFSET_METADATA, 0, 0, 0, None)
    assert not replica.state_snapshot.is_caught_up(0, 30_001, 30_000)


def test_a_fetch_at_the_leaders_end_is_caught_up_now(replica):
    assert fetch(replica, 5, 1000, 5, log_start=2) == 1000
    assert replica.state_snapshot == ReplicaState(2, LogOffsetMetadata(5, 0, 5), 5, 1000, 1000, 101)
    assert fetch(replica, 7, 2000, 6) == 2000


def test_a_fetch_at_the_end_of_the_last_fetchs_time_was_caught_up_then(replica):
    fetch(replica, 5, 1000, 5)
    assert fetch(replica, 5, 2000, 9) == 1000  # what was the end at 1000
    assert fetch(replica, 8, 3000, 12) == 1000  # 9 was the end at 2000
    assert fetch(replica, 12, 4000, 20) == 3000
    assert fetch(replica, 20, 4500, 30) == 4000  # always behind, and yet never more than a fetch


def test_the_time_of_being_caught_up_never_falls(replica):
    fetch(replica, 5, 3000, 5)
    assert fetch(replica, 5, 1000, 5) == 3000
    assert replica.state_snapshot.last_fetch_time_ms == 1000
    fetch(replica, 3, 1500, 4)
    assert replica.state_snapshot.last_fetch_leader_log_end_offset == 5


def test_a_fetch_from_before_a_restart_changes_nothing(replica):
    fetch(replica, 5, 1000, 5)
    state = replica.state_snapshot
    with pytest.raises(NotLeaderOrFollowerException):
        fetch(replica, 6, 2000, 6, broker_epoch=100)
    assert replica.state_snapshot is state
    fetch(replica, 6, 2000, 6, broker_epoch=-1)  # says nothing of its epoch
    assert replica.state_snapshot.broker_epoch == -1
    fetch(replica, 6, 2000, 6, broker_epoch=999)  # the metadata are late
    replica._metadata_cache.fenced.add(1)
    fetch(replica, 7, 2000, 7, broker_epoch=1)  # no epoch is known of a broker that is not alive


@pytest.mark.parametrize(
    "end, caught_up, now, expected",
    [(5, 0, 99_999, True), (4, 1000, 31_000, True), (4, 1000, 31_001, False), (6, 1000, 31_001, False)],
)
def test_caught_up_is_the_leaders_end_or_a_short_time(end, caught_up, now, expected):
    state = ReplicaState(0, LogOffsetMetadata(end), 0, 0, caught_up, None)
    assert state.is_caught_up(5, now, 30_000) is expected
