"""A follower copies what its leader has, and cuts what its leader does not have."""

import pytest

from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    CorruptRecordException,
    FencedLeaderEpochException,
    IllegalStateException,
    InvalidRecordException,
    KafkaStorageException,
    NotLeaderOrFollowerException,
    OutOfOrderSequenceException,
    UnknownLeaderEpochException,
)
from minikafka.common.uuid import ONE_UUID
from minikafka.server.fetch_partition_data import FetchPartitionData
from minikafka.server.initial_fetch_state import InitialFetchState
from minikafka.server.partition_fetch_state import PartitionFetchState, ReplicaFetchState
from tests.server.followers import BACKOFF_MS, T0, T1, Follower


@pytest.fixture
def follower(tmp_path):
    follower = Follower(tmp_path)
    follower.open_logs(T0)
    return follower


@pytest.fixture
def two(follower):
    """A follower with two partitions, both followed."""
    follower.open_logs(T1)
    follower.append(T0, 3)
    follower.append(T1, 3)
    follower.follow(T0)
    follower.follow(T1)
    return follower


def equal(follower, tp=T0):
    """Both logs have the same bytes and the same epochs."""
    log, leader_log = follower.logs[tp], follower.leader_logs[tp]
    return (
        follower.bytes_of(log) == follower.bytes_of(leader_log)
        and log.leader_epoch_cache.epoch_entries == leader_log.leader_epoch_cache.epoch_entries
    )


# Copying


def test_a_follower_copies_the_leaders_bytes(follower):
    follower.append(T0, 3, high_watermark=2)
    follower.follow(T0)
    follower.fetcher.do_work()
    assert equal(follower) and follower.logs[T0].log_end_offset == 3
    assert follower.state(T0) == PartitionFetchState(None, 3, 0, 0, ReplicaFetchState.FETCHING, 0)


def test_a_follower_has_the_leaders_high_watermark_as_far_as_its_log_reaches(follower):
    follower.append(T0, 3)
    follower.leader.max_bytes = 1  # one batch an answer
    follower.follow(T0)
    follower.fetcher.do_work()
    assert follower.logs[T0].high_watermark == follower.logs[T0].log_end_offset == 1
    assert follower.state(T0).lag == 2 and not follower.state(T0).is_replica_in_sync
    follower.fetcher.do_work()
    follower.fetcher.do_work()
    assert follower.logs[T0].high_watermark == 3 and follower.state(T0).is_replica_in_sync


def test_an_answer_without_records_still_brings_high_watermark_and_log_start(follower):
    follower.append(T0, 3, high_watermark=0)
    follower.follow(T0)
    follower.fetcher.do_work()
    follower.commit(T0, 3)
    follower.delete_records(T0, 2)
    state = follower.state(T0)
    follower.fetcher.do_work()
    assert follower.logs[T0].high_watermark == 3 and follower.logs[T0].log_start_offset == 2
    assert follower.state(T0) is state


def test_the_first_answer_sets_the_lag_even_without_records(follower):
    follower.follow(T0)
    follower.fetcher.do_work()
    assert follower.state(T0).lag == 0 and follower.state(T0).fetch_offset == 0


def test_who_waits_for_a_high_watermark_is_woken_after_the_round_that_moved_it(two):
    two.fetcher.do_work()
    assert sorted(two.woken) == [T0, T1]
    two.fetcher.do_work()
    assert len(two.woken) == 2


def test_batches_of_a_later_epoch_than_that_of_the_fetch_are_not_appended(follower):
    follower.append(T0, 2, epoch=0)
    follower.append(T0, 1, epoch=1)
    follower.follow(T0, epoch=0)
    follower.fetcher.do_work()
    assert follower.logs[T0].log_end_offset == 2


def test_whoever_got_records_lets_the_others_go_first(two):
    two.leader.max_bytes = 1
    for _ in range(7):
        two.fetcher.do_work()
    # The first answer moves both to the end, since both learn their lag; at the end one of them has everything.
    turns = [list(request) for request in two.leader.requests[1:5]]
    assert turns in ([[T0, T1], [T1, T0]] * 2, [[T1, T0], [T0, T1]] * 2)
    assert equal(two, T0) and equal(two, T1)


def test_a_partition_that_moved_on_while_the_fetch_was_underway_is_left_alone(follower):
    follower.append(T0, 1)
    follower.follow(T0)

    def taken_over():
        follower.leader.epoch = 1
        follower.follow(T0, epoch=1)

    follower.leader.meanwhile = taken_over
    follower.leader.errors[T0] = Errors.CORRUPT_MESSAGE
    follower.fetcher.do_work()
    assert follower.state(T0) == PartitionFetchState(None, 0, None, 1, ReplicaFetchState.TRUNCATING, None)
    follower.leader.errors.clear()
    follower.leader.meanwhile = None
    follower.fetcher.do_work()
    assert equal(follower)


def test_a_partition_that_was_removed_while_the_fetch_was_underway_is_not_taken_in(two):
    two.leader.meanwhile = lambda: two.fetcher.remove_partitions([T0])
    two.fetcher.do_work()
    assert two.logs[T0].log_end_offset == 0 and equal(two, T1)
    assert two.fetcher.partitions == [T1] and two.fetcher.partition_count == 1


def test_nothing_is_asked_while_no_partition_is_followed(follower):
    follower.fetcher.do_work()
    assert follower.leader.requests == []


# Errors


@pytest.mark.parametrize(
    "error",
    [
        Errors.UNKNOWN_LEADER_EPOCH,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.UNKNOWN_TOPIC_ID,
        Errors.INCONSISTENT_TOPIC_ID,
        Errors.KAFKA_STORAGE_ERROR,
        Errors.UNKNOWN_SERVER_ERROR,
    ],
)
def test_after_an_error_a_partition_is_left_alone_for_the_backoff(two, error):
    two.leader.errors[T0] = error
    two.fetcher.do_work()
    assert equal(two, T1) and two.logs[T0].log_end_offset == 0
    two.leader.errors.clear()
    two.time.sleep(BACKOFF_MS - 1)
    two.fetcher.do_work()
    assert list(two.leader.requests[-1]) == [T1]
    two.time.sleep(1)
    two.fetcher.do_work()
    assert equal(two, T0) and two.state(T0).due_ms is None
    assert len(two.failed) == 0


def test_a_leader_that_cannot_be_reached_delays_all_partitions(two):
    two.leader.failure = ConnectionError("gone")
    two.fetcher.do_work()
    two.fetcher.do_work()
    assert len(two.leader.requests) == 1
    two.leader.failure = None
    two.time.sleep(BACKOFF_MS)
    two.fetcher.do_work()
    assert equal(two, T0) and equal(two, T1)


def test_a_delayed_partition_is_not_delayed_further(two):
    two.leader.errors[T0] = Errors.NOT_LEADER_OR_FOLLOWER
    two.fetcher.do_work()
    due_ms = two.state(T0).due_ms
    two.time.sleep(BACKOFF_MS // 2)
    two.leader.failure = ConnectionError("gone")
    two.fetcher.do_work()
    assert two.state(T0).due_ms == due_ms and two.state(T1).due_ms == due_ms + BACKOFF_MS // 2


def test_an_older_epoch_than_the_leaders_gives_the_partition_up(two):
    two.leader.errors[T0] = Errors.FENCED_LEADER_EPOCH
    two.fetcher.do_work()
    assert two.state(T0) is None and two.failed.partitions() == {T0}
    assert equal(two, T1)
    two.leader.errors.clear()
    two.follow(T0)
    two.fetcher.do_work()
    assert equal(two, T0) and len(two.failed) == 0


@pytest.mark.parametrize("error", [CorruptRecordException("bad"), InvalidRecordException("bad")])
def test_damaged_records_are_fetched_again_after_the_backoff(two, error):
    two.partitions[T0].append_fails = error
    two.fetcher.do_work()
    assert len(two.failed) == 0 and two.state(T0).is_delayed(two.time.milliseconds())
    two.partitions[T0].append_fails = None
    two.time.sleep(BACKOFF_MS)
    two.fetcher.do_work()
    assert equal(two, T0)


@pytest.mark.parametrize("error", [KafkaStorageException("disk"), OutOfOrderSequenceException("seq"), OSError("disk")])
def test_a_log_that_cannot_be_written_gives_the_partition_up(two, error):
    two.partitions[T0].append_fails = error
    two.fetcher.do_work()
    assert two.failed.partitions() == {T0} and two.state(T0) is None
    assert equal(two, T1)


def test_records_that_do_not_fit_behind_the_log_give_the_partition_up(follower):
    follower.append(T0, 2)
    follower.follow(T0)
    follower.append(T0, 1, to=follower.logs[T0])
    with pytest.raises(IllegalStateException, match="fetched offset = 0, log end offset = 1"):
        answer = FetchPartitionData(Errors.NONE, 0, 0, follower.leader_logs[T0].read(0).records)
        follower.fetcher.process_partition_data(T0, 0, 0, answer)
    follower.leader.is_truncation_on_fetch_supported = False
    follower.fetcher._partition_states.update(T0, follower.state(T0)._replace(state=ReplicaFetchState.FETCHING))
    follower.fetcher.do_work()
    assert follower.failed.partitions() == {T0}


def test_a_fetcher_that_was_shut_down_delays_nothing(follower):
    follower.append(T0, 1)
    follower.follow(T0)
    follower.fetcher.do_work()
    follower.fetcher.shutdown()
    follower.fetcher.do_work()
    assert follower.leader.closed and follower.state(T0).due_ms is None


# Where the log is cut


def test_a_log_without_epochs_is_cut_to_where_it_is_fetched_from(follower):
    """That is its high watermark: `ReplicaManager` sets it so for a log that knows no epoch."""
    follower.append(T0, 3, to=follower.logs[T0], high_watermark=1)
    follower.logs[T0].leader_epoch_cache.clear_and_flush()
    assert follower.logs[T0].latest_epoch is None
    follower.append(T0, 5)
    follower.follow(T0, init_offset=1)
    assert follower.state(T0).state is ReplicaFetchState.TRUNCATING
    follower.fetcher.do_work()
    assert follower.partitions[T0].cuts == [1]
    assert follower.leader.requests == [{T0: (1, None)}]
    assert follower.logs[T0].log_end_offset == 5


def test_a_log_that_the_leader_has_too_is_not_cut(follower):
    follower.append(T0, 3)
    follower.follow(T0)
    follower.fetcher.do_work()
    follower.follow(T0, init_offset=3, epoch=1)
    follower.leader.epoch = 1
    follower.append(T0, 1, epoch=1)
    follower.fetcher.do_work()
    assert follower.partitions[T0].cuts == [0] and equal(follower)


def test_what_the_leader_does_not_have_is_cut_and_the_answer_is_not_used_otherwise(follower):
    """KIP-101: a record that was never committed stands where the new leader wrote another one."""
    for log in (follower.logs[T0], follower.leader_logs[T0]):
        follower.append(T0, 1, epoch=0, to=log)
    follower.append(T0, 1, epoch=0, to=follower.logs[T0], high_watermark=1)
    follower.append(T0, 2, epoch=1)
    follower.delete_records(T0, 1)
    follower.leader.epoch = 1
    follower.follow(T0, init_offset=2)
    assert follower.state(T0).state is ReplicaFetchState.FETCHING
    follower.fetcher.do_work()
    assert follower.partitions[T0].cuts == [1] and follower.logs[T0].log_end_offset == 1
    assert follower.logs[T0].high_watermark == 1 and follower.logs[T0].log_start_offset == 0
    assert follower.state(T0) == PartitionFetchState(None, 1, None, 1, ReplicaFetchState.FETCHING, 0)
    follower.fetcher.do_work()
    assert follower.logs[T0].log_end_offset == 3 and follower.logs[T0].log_start_offset == 1
    assert follower.bytes_of(follower.logs[T0]) == follower.bytes_of(follower.leader_logs[T0])


def test_an_epoch_that_the_follower_does_not_know_sends_it_back_to_the_one_below(follower):
    """KIP-279: after two quick changes of the leader both logs have an epoch that the other has not."""
    for log in (follower.logs[T0], follower.leader_logs[T0]):
        follower.append(T0, 10, epoch=0, to=log)
    follower.append(T0, 2, epoch=1)
    follower.append(T0, 1, epoch=2, to=follower.logs[T0], high_watermark=10)
    follower.leader.epoch = 3
    follower.append(T0, 1, epoch=3)
    follower.follow(T0, init_offset=11)
    follower.fetcher.do_work()
    assert follower.leader.requests[-1] == {T0: (11, 2)}
    assert follower.partitions[T0].cuts == [10] and follower.state(T0).last_fetched_epoch == 0
    assert follower.state(T0).state is ReplicaFetchState.FETCHING
    follower.fetcher.do_work()
    assert follower.leader.requests[-1] == {T0: (10, 0)} and equal(follower)


def test_a_follower_that_must_ask_before_it_fetches_asks_until_it_knows(follower):
    """As a log that is moved to another directory does: the answer to its fetch does not say where it diverges."""
    follower.leader.is_truncation_on_fetch_supported = False
    for log in (follower.logs[T0], follower.leader_logs[T0]):
        follower.append(T0, 10, epoch=0, to=log)
    follower.append(T0, 2, epoch=1)
    follower.append(T0, 1, epoch=2, to=follower.logs[T0], high_watermark=10)
    follower.leader.epoch = 3
    follower.append(T0, 1, epoch=3)
    follower.follow(T0, init_offset=11)
    assert follower.state(T0) == PartitionFetchState(None, 11, None, 3, ReplicaFetchState.TRUNCATING, None)
    follower.fetcher.do_work()
    assert follower.partitions[T0].cuts == [10] and follower.leader.requests == []
    assert follower.state(T0).state is ReplicaFetchState.TRUNCATING
    follower.fetcher.do_work()
    assert follower.partitions[T0].cuts == [10, 10] and follower.leader.requests == [{T0: (10, 0)}] and equal(follower)


def test_an_error_to_the_question_where_an_epoch_ends_delays_or_gives_up(follower):
    follower.leader.is_truncation_on_fetch_supported = False
    follower.append(T0, 1, to=follower.logs[T0])
    follower.follow(T0, init_offset=1)
    follower.leader.end_offsets = {T0: EpochEndOffset(error=Errors.NOT_LEADER_OR_FOLLOWER)}
    follower.fetcher.do_work()
    assert follower.state(T0).is_delayed(follower.time.milliseconds()) and follower.partitions[T0].cuts == []
    follower.time.sleep(BACKOFF_MS)
    follower.leader.end_offsets = {T0: EpochEndOffset(error=Errors.FENCED_LEADER_EPOCH)}
    follower.fetcher.do_work()
    assert follower.failed.partitions() == {T0}


def test_an_answer_about_an_older_epoch_of_the_follower_cuts_nothing(follower):
    follower.leader.is_truncation_on_fetch_supported = False
    follower.append(T0, 1, to=follower.logs[T0])
    follower.follow(T0, init_offset=1)

    def answer(partitions):
        follower.follow(T0, init_offset=1, epoch=1)
        return {T0: EpochEndOffset(0, 0)}

    follower.leader.fetch_epoch_end_offsets = answer
    follower.fetcher.do_work()
    assert follower.partitions[T0].cuts == [] and follower.state(T0).current_leader_epoch == 1


def test_an_answer_about_a_partition_that_was_not_asked_for_is_refused(follower):
    follower.leader.is_truncation_on_fetch_supported = False
    follower.append(T0, 1, to=follower.logs[T0])
    follower.follow(T0, init_offset=1)
    follower.leader.end_offsets = {T1: EpochEndOffset(0, 0)}
    with pytest.raises(IllegalStateException, match="t-1 not requested"):
        follower.fetcher.do_work()


def test_a_log_that_cannot_be_cut_gives_the_partition_up(follower):
    follower.append(T0, 2, epoch=0, to=follower.logs[T0])
    follower.append(T0, 1, epoch=0)
    follower.append(T0, 1, epoch=1)
    follower.leader.epoch = 1
    follower.follow(T0, init_offset=2)
    follower.partitions[T0].cut_fails = KafkaStorageException("disk")
    follower.fetcher.do_work()
    assert follower.failed.partitions() == {T0} and follower.state(T0) is None


def test_a_delay_that_is_over_begins_anew_when_the_log_is_cut(follower):
    follower.append(T0, 2, epoch=0, to=follower.logs[T0])
    follower.append(T0, 1, epoch=0)
    follower.append(T0, 1, epoch=1)
    follower.leader.epoch = 1
    follower.follow(T0, init_offset=2)
    follower.leader.failure = ConnectionError("gone")
    follower.fetcher.do_work()
    follower.leader.failure = None
    follower.time.sleep(BACKOFF_MS)
    follower.fetcher.do_work()
    assert follower.partitions[T0].cuts == [1]
    assert follower.state(T0).due_ms == follower.time.milliseconds() + BACKOFF_MS


def test_after_a_cut_the_partitions_of_a_topic_stand_together(follower, tmp_path):
    from minikafka.common.topic_partition import TopicPartition

    others = [TopicPartition(topic, number) for number in range(2) for topic in ("a", "b")]
    follower.open_logs(*others)
    for tp in others:
        follower.follow(tp)
    follower.fetcher.do_work()
    topics = [tp.topic for tp in follower.fetcher.partitions]
    assert topics in (["a", "a", "b", "b"], ["b", "b", "a", "a"])


# Out of range


def test_a_follower_whose_log_ends_before_the_leaders_begins_starts_anew_there(follower):
    """Kafka, asked: own end 1, leader 7 to 9: begins at 7 with lag 2, no epochs, high watermark 7."""
    follower.append(T0, 1, to=follower.logs[T0])
    follower.append(T0, 9)
    follower.delete_records(T0, 7)
    follower.follow(T0, init_offset=1)
    follower.fetcher.do_work()
    log = follower.logs[T0]
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.latest_epoch) == (7, 7, 7, None)
    assert follower.state(T0) == PartitionFetchState(None, 7, 2, 0, ReplicaFetchState.FETCHING, None)
    assert follower.leader.offset_requests == [("latest", 0), ("earliest", 0)]
    follower.fetcher.do_work()
    assert log.log_end_offset == 9


def test_a_follower_whose_log_ends_behind_the_leaders_is_cut_to_it(follower):
    follower.append(T0, 5, to=follower.logs[T0], high_watermark=2)
    follower.append(T0, 3)
    follower.follow(T0, init_offset=5)
    follower.leader.errors[T0] = Errors.OFFSET_OUT_OF_RANGE
    follower.fetcher.do_work()
    assert follower.partitions[T0].cuts == [3] and follower.leader.offset_requests == [("latest", 0)]
    assert follower.state(T0) == PartitionFetchState(None, 3, 0, 0, ReplicaFetchState.FETCHING, 0)


def test_a_follower_inside_the_leaders_range_goes_on_from_its_end(follower):
    follower.append(T0, 2, to=follower.logs[T0])
    follower.append(T0, 5)
    follower.follow(T0, init_offset=2)
    follower.leader.errors[T0] = Errors.OFFSET_OUT_OF_RANGE
    follower.fetcher.do_work()
    assert follower.partitions[T0].cuts == []
    assert follower.state(T0) == PartitionFetchState(None, 2, 3, 0, ReplicaFetchState.FETCHING, 0)


@pytest.mark.parametrize(
    "error", [UnknownLeaderEpochException("x"), NotLeaderOrFollowerException("x"), ConnectionError("x")]
)
def test_a_leader_that_cannot_say_where_its_log_is_delays_the_partition(follower, error):
    follower.follow(T0, init_offset=0)
    follower.leader.errors[T0] = Errors.OFFSET_OUT_OF_RANGE
    follower.fetcher.do_work()
    follower.leader.meanwhile = lambda: setattr(follower.leader, "_log", lambda tp: (_ for _ in ()).throw(error))
    follower.fetcher.do_work()
    assert follower.state(T0).is_delayed(follower.time.milliseconds()) and len(follower.failed) == 0


def test_a_leader_with_a_newer_epoch_gives_up_a_partition_that_is_out_of_range(follower):
    follower.follow(T0, init_offset=0)
    follower.leader.errors[T0] = Errors.OFFSET_OUT_OF_RANGE
    follower.leader._log = lambda tp: (_ for _ in ()).throw(FencedLeaderEpochException("x"))
    follower.fetcher.do_work()
    assert follower.failed.partitions() == {T0} and follower.state(T0) is None


# The partitions of a fetcher


def test_a_partition_that_is_followed_in_the_same_epoch_goes_on(follower):
    follower.append(T0, 3)
    follower.follow(T0)
    follower.fetcher.do_work()
    state = follower.state(T0)
    follower.follow(T0, init_offset=0)
    assert follower.state(T0) is state
    follower.follow(T0, init_offset=3, epoch=1)
    assert follower.state(T0) == PartitionFetchState(None, 3, None, 1, ReplicaFetchState.FETCHING, 0)


def test_a_negative_first_offset_asks_the_leader(follower):
    follower.append(T0, 5, to=follower.logs[T0])
    follower.append(T0, 3)
    follower.follow(T0, init_offset=-1)
    assert follower.partitions[T0].cuts == [3] and follower.state(T0).fetch_offset == 3


def test_topic_ids_are_noted_without_losing_the_place(two):
    two.fetcher.maybe_update_topic_ids([T0], {"t": ONE_UUID}.get)
    assert two.state(T0).topic_id == ONE_UUID and two.state(T1).topic_id is None
    assert two.fetcher.partitions == [T0, T1]


def test_removed_partitions_are_returned_with_their_states(two):
    two.fetcher.do_work()
    state = two.state(T0)
    assert two.fetcher.remove_partitions([T0]) == {T0: state}
    assert two.fetcher.remove_partitions([T0]) == {}
    assert list(two.fetcher.remove_all_partitions()) == [T1] and two.fetcher.partition_count == 0


def test_an_initial_state_names_leader_epoch_and_topic_id(follower):
    leader = follower.leader.broker_end_point
    follower.fetcher.add_partitions({T0: InitialFetchState(ONE_UUID, leader, 7, 0)})
    assert follower.state(T0).topic_id == ONE_UUID and follower.state(T0).current_leader_epoch == 7
