"""The way of a fetch request through the replica manager: limits, errors, waiting, and what a leader learns by it."""

import pytest

from minikafka.common.error_codes import Errors
from minikafka.common.uuid import random_uuid
from tests.server.one_broker import CONSUMER_OF_VERSION_11

BATCH = 78  # bytes of a batch with one record of 10 bytes


def filled(broker, partitions=1, batches=2):
    broker.create("t", *[[0]] * partitions)
    for number in range(partitions):
        for _ in range(batches):
            broker.produce(f"t-{number}")
    return {f"t-{number}": 0 for number in range(partitions)}


def batches_of(answers, offsets):
    return [answers[name].records.size_in_bytes // BATCH for name in offsets]


@pytest.mark.parametrize(
    ("limits", "batches"),
    [
        ({"max_bytes": 0}, [1, 0, 0]),
        ({"max_bytes": 1}, [1, 0, 0]),
        ({"max_bytes": 2 * BATCH + 5}, [2, 0, 0]),
        ({"max_bytes": 3 * BATCH}, [2, 1, 0]),
        ({"max_bytes": 100 * BATCH}, [2, 2, 2]),
        ({"partition_max_bytes": 1}, [1, 0, 0]),
        ({"partition_max_bytes": BATCH}, [1, 1, 1]),
    ],
)
def test_limits_hold_after_the_first_batch_of_the_answer(broker, limits, batches):
    offsets = filled(broker, partitions=3)
    assert batches_of(broker.fetch(offsets, **limits), offsets) == batches


def test_the_first_batch_is_whole_also_when_partitions_before_it_are_empty(broker):
    filled(broker, partitions=2)
    offsets = {"t-0": 2, "t-1": 0}
    assert batches_of(broker.fetch(offsets, max_bytes=1), offsets) == [0, 1]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("t-0", Errors.NOT_LEADER_OR_FOLLOWER),
        ("t-1", Errors.NOT_LEADER_OR_FOLLOWER),
        ("t-2", Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ("u-0", Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_is_not_led_here_is_an_error_with_no_offset_at_all(broker, name, error):
    broker.create("t", [1, 0], [1, 2])
    answer = broker.fetch({name: 0})[name]
    assert (answer.error, answer.high_watermark, answer.log_start_offset) == (error, -1, -1)
    assert (answer.last_stable_offset, answer.records.size_in_bytes) == (None, 0)


def test_a_consumer_of_version_11_reads_from_a_follower_too(broker):
    broker.create("t", [1, 0])
    answer = broker.fetch({"t-0": 0}, client_metadata=CONSUMER_OF_VERSION_11)["t-0"]
    assert (answer.error, answer.high_watermark) == (Errors.NONE, 0)
    out_of_reach = broker.fetch({"t-0": 1}, client_metadata=CONSUMER_OF_VERSION_11)["t-0"]
    assert out_of_reach.error is Errors.OFFSET_OUT_OF_RANGE


def test_epochs_are_compared_before_leadership(broker):
    broker.create()
    assert broker.fetch({"t-0": 0}, epoch=1)["t-0"].error is Errors.UNKNOWN_LEADER_EPOCH
    broker.change(leader=1)
    assert broker.fetch({"t-0": 0}, epoch=0)["t-0"].error is Errors.FENCED_LEADER_EPOCH
    assert broker.fetch({"t-0": 0}, epoch=1)["t-0"].error is Errors.NOT_LEADER_OR_FOLLOWER


def test_a_topic_id_that_is_another_topics_is_refused(broker):
    filled(broker)
    assert broker.fetch({"t-0": 0}, topic_id=random_uuid())["t-0"].error is Errors.INCONSISTENT_TOPIC_ID


def test_an_offset_outside_the_log_is_refused_with_no_offset_at_all(broker):
    filled(broker)
    answer = broker.fetch({"t-0": 3})["t-0"]
    assert (answer.error, answer.high_watermark, answer.last_stable_offset) == (Errors.OFFSET_OUT_OF_RANGE, -1, None)


def test_consumers_see_up_to_the_high_watermark_and_followers_up_to_the_log_end(broker):
    broker.create()
    broker.produce("t-0")
    assert broker.fetch({"t-0": 0})["t-0"].records.size_in_bytes == 0
    assert broker.fetch({"t-0": 0}, replica=1)["t-0"].records.size_in_bytes == BATCH


def test_an_unassigned_replica_may_not_fetch(broker):
    broker.create("t", [0, 1])
    assert broker.fetch({"t-0": 0}, replica=2)["t-0"].error is Errors.NOT_LEADER_OR_FOLLOWER
    assert broker.fetch({"t-0": 0}, replica=2, epoch=0)["t-0"].error is Errors.UNKNOWN_LEADER_EPOCH


def test_the_high_watermark_comes_one_fetch_late(broker):
    broker.create("t", [0, 1])
    broker.produce("t-0")
    assert broker.fetch({"t-0": 0}, replica=1)["t-0"].high_watermark == 0
    raised_it = broker.fetch({"t-0": 1}, replica=1)["t-0"]
    assert (raised_it.high_watermark, broker.log().high_watermark) == (0, 1)
    assert broker.fetch({"t-0": 1}, replica=1)["t-0"].high_watermark == 1


def test_a_fetch_that_waited_is_read_again_and_carries_the_new_high_watermark(broker):
    broker.create("t", [0, 1])
    broker.produce("t-0")
    broker.fetch({"t-0": 0}, replica=1)
    waiting = broker.fetch({"t-0": 1}, replica=1, max_wait_ms=500)
    assert not waiting
    broker.time.sleep(501)
    assert waiting["t-0"].high_watermark == 1


def test_a_diverging_follower_is_answered_at_once_and_not_believed(broker):
    broker.create("t", [0, 1])
    broker.produce("t-0")
    broker.change(leader=0)  # epoch 1
    broker.produce("t-0")
    answer = broker.fetch({"t-0": 2}, replica=1, max_wait_ms=500, last_epoch=0)["t-0"]
    assert (answer.error, answer.diverging_epoch[:2], answer.records.size_in_bytes) == (Errors.NONE, (0, 1), 0)
    assert broker.partition().get_replica(1).state_snapshot.log_end_offset == -1


# Waiting


def test_a_fetch_that_finds_enough_is_answered_at_once(broker):
    offsets = filled(broker)
    assert broker.fetch(offsets, max_wait_ms=500, min_bytes=2 * BATCH)["t-0"].records.size_in_bytes == 2 * BATCH


def test_a_fetch_that_finds_too_little_waits_for_more(broker):
    offsets = filled(broker)
    waiting = broker.fetch(offsets, max_wait_ms=500, min_bytes=3 * BATCH)
    assert not waiting
    broker.produce("t-0")
    assert waiting["t-0"].records.size_in_bytes == 3 * BATCH


def test_a_fetch_that_waits_gets_what_there_is_when_its_time_is_over(broker):
    offsets = filled(broker)
    waiting = broker.fetch(offsets, max_wait_ms=500, min_bytes=3 * BATCH)
    broker.time.sleep(501)
    assert waiting["t-0"].records.size_in_bytes == 2 * BATCH


@pytest.mark.parametrize("min_bytes", [0, -1])
def test_a_fetch_that_asks_for_nothing_does_not_wait(broker, min_bytes):
    broker.create("t", [0])
    assert broker.fetch({"t-0": 0}, max_wait_ms=500, min_bytes=min_bytes)["t-0"].error is Errors.NONE


def test_a_fetch_of_no_partition_is_answered_at_once(broker):
    answers = broker.fetch({}, max_wait_ms=500)
    assert list(answers) == [[]]


def test_one_error_among_many_partitions_is_answered_at_once(broker):
    broker.create("t", [0], [1, 2])
    answers = broker.fetch({"t-0": 0, "t-1": 0}, max_wait_ms=500)
    assert answers.errors == {"t-0": Errors.NONE, "t-1": Errors.NOT_LEADER_OR_FOLLOWER}


def test_a_consumer_waits_for_the_high_watermark_and_a_follower_for_the_log_end(broker):
    broker.create("t", [0, 1])
    consumer = broker.fetch({"t-0": 0}, max_wait_ms=10_000)
    follower = broker.fetch({"t-0": 0}, replica=1, max_wait_ms=10_000)
    broker.produce("t-0")
    assert follower["t-0"].records.size_in_bytes == BATCH
    assert not consumer
    broker.fetch({"t-0": 1}, replica=1)
    assert consumer["t-0"].records.size_in_bytes == BATCH


def test_a_fetch_that_waits_is_answered_when_the_leader_steps_down(broker):
    broker.create()
    waiting = broker.fetch({"t-0": 0}, max_wait_ms=500)
    broker.change(leader=1)
    assert waiting["t-0"].error is Errors.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_that_waits_does_not_count_twice_for_its_follower(broker):
    broker.create("t", [0, 1])
    waiting = broker.fetch({"t-0": 0}, replica=1, max_wait_ms=500)
    broker.time.sleep(100)
    broker.produce("t-0")
    assert waiting
    assert broker.partition().get_replica(1).state_snapshot.last_fetch_time_ms == 1_000_000


def test_a_follower_that_is_being_added_is_known_as_such(broker):
    broker.create("t", [0, 1])
    broker.change(replicas=(0, 1, 2), adding_replicas=(2,))
    assert broker.fetch({"t-0": 0}, replica=2)["t-0"].is_reassignment_fetch
    assert not broker.fetch({"t-0": 0}, replica=1)["t-0"].is_reassignment_fetch
    assert not broker.fetch({"t-0": 0})["t-0"].is_reassignment_fetch


def test_open_transactions_end_what_is_read_when_only_committed_records_are_wanted(broker):
    broker.create("t", [0])
    broker.produce({"t-0": "[1x10]"})
    broker.produce({"t-0": "[1x10 pid=7 epoch=0 seq=0 txn]"})
    assert broker.fetch({"t-0": 0})["t-0"].records.size_in_bytes == 2 * BATCH
    committed = broker.fetch({"t-0": 0}, read_committed=True)["t-0"]
    assert (committed.records.size_in_bytes, committed.last_stable_offset) == (BATCH, 1)
    assert committed.aborted_transactions == []
