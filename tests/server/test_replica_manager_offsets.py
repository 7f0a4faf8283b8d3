"""Deleting records, and questions for offsets, leader epochs and producers."""

import pytest

from minikafka.common.error_codes import Errors
from minikafka.common.errors import OffsetNotAvailableException
from minikafka.common.isolation_level import IsolationLevel
from minikafka.common.topic_partition import TopicPartition
from minikafka.messages.apis import ListOffsetsRequest, OffsetForLeaderEpochRequest
from minikafka.server.list_offsets import is_list_offsets_timestamp_unsupported, list_offsets_error

T0 = TopicPartition("t", 0)


class Answers(list):
    def __call__(self, answer):
        self.append(answer)

    @property
    def of_t_0(self):
        (answer,) = self
        return answer[T0].error_code, answer[T0].low_watermark


def delete(broker, offset, timeout_ms=1000, partition=T0, **more):
    answers = Answers()
    broker.replicas.delete_records(timeout_ms, {partition: offset}, answers, **more)
    return answers


def written(broker, replicas, records=5):
    """A topic with some records below the high watermark."""
    broker.create("t", replicas)
    for _ in range(records):
        broker.produce("t-0")
    broker.follow(*replicas[1:])
    return broker


def test_a_lonely_leader_deletes_at_once(broker):
    written(broker, [0])
    assert delete(broker, 3).of_t_0 == (Errors.NONE, 3)
    assert broker.log().log_start_offset == 3
    assert delete(broker, -1).of_t_0 == (Errors.NONE, 5), "-1 stands for the high watermark"


@pytest.mark.parametrize("offset", [-2, 6])
def test_offsets_below_0_and_above_the_high_watermark_are_refused(broker, offset):
    written(broker, [0])
    assert delete(broker, offset).of_t_0 == (Errors.OFFSET_OUT_OF_RANGE, -1)


def test_a_deletion_waits_until_a_fetch_shows_that_the_follower_has_followed(broker):
    written(broker, [0, 1])
    answers = delete(broker, 3)
    brings = broker.fetch({"t-0": 5}, replica=1, log_start_offset=0)["t-0"]
    assert brings.log_start_offset == 3
    assert not answers
    broker.fetch({"t-0": 5}, replica=1, log_start_offset=3)
    assert answers.of_t_0 == (Errors.NONE, 3)


def test_a_dead_broker_does_not_keep_a_deletion_waiting(broker):
    written(broker, [0, 1])
    broker.fence(1)
    assert delete(broker, 3).of_t_0 == (Errors.NONE, 3)


def test_a_deletion_whose_time_is_over_tells_what_is_deleted_everywhere(broker):
    written(broker, [0, 1])
    answers = delete(broker, 3, timeout_ms=100)
    broker.time.sleep(101)
    assert answers.of_t_0 == (Errors.REQUEST_TIMED_OUT, 0)


def test_a_deletion_that_waits_is_answered_when_leadership_is_lost(broker):
    written(broker, [0, 1])
    answers = delete(broker, 3)
    broker.change(leader=1)
    broker.time.sleep(1001)
    assert answers.of_t_0 == (Errors.REQUEST_TIMED_OUT, 0), "nobody looks at it before its time is over"


@pytest.mark.parametrize(
    ("partition", "error"),
    [
        (TopicPartition("t", 1), Errors.NOT_LEADER_OR_FOLLOWER),
        (TopicPartition("t", 2), Errors.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("__consumer_offsets", 0), Errors.INVALID_TOPIC_EXCEPTION),
        (TopicPartition("compacted", 0), Errors.POLICY_VIOLATION),
    ],
)
def test_what_cannot_be_deleted(broker, partition, error):
    broker.create("t", [0], [1, 0])
    broker.create("compacted", [0], cleanup__policy="compact")
    broker.create("__consumer_offsets", [0])
    answers = delete(broker, 0, partition=partition)
    assert (answers[0][partition].error_code, answers[0][partition].low_watermark) == (error, -1)


def test_kafkas_own_topics_may_be_cut_by_those_who_are_allowed(broker):
    broker.create("__consumer_offsets", [0])
    partition = TopicPartition("__consumer_offsets", 0)
    answers = delete(broker, 0, partition=partition, allow_internal_topic_deletion=True)
    assert answers[0][partition].error_code == Errors.NONE


# Offsets by timestamp


def list_offset(broker, timestamp, version=11, replica_id=-1, epoch=-1, name="t-0", committed=False, duplicates=()):
    topic, partition = name.rsplit("-", 1)
    answers = Answers()
    make_topic = ListOffsetsRequest.ListOffsetsTopic
    question = make_topic.ListOffsetsPartition(
        partition_index=int(partition), timestamp=timestamp, current_leader_epoch=epoch
    )
    broker.replicas.fetch_offset(
        [make_topic(name=topic, partitions=[question])],
        set(duplicates),
        IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED,
        replica_id,
        version,
        answers,
    )
    ((response,),) = answers
    assert response.name == topic
    (found,) = response.partitions
    assert found.partition_index == int(partition)
    return Errors(found.error_code), found.timestamp, found.offset, found.leader_epoch


def test_offsets_are_found_by_timestamp(broker):
    broker.create("t", [0])
    for ts in (1000, 2000, 3000):
        broker.produce({"t-0": f"[1x10 ts={ts}]"})
    assert list_offset(broker, 1500) == (Errors.NONE, 2000, 1, 0)
    assert list_offset(broker, 3001) == (Errors.NONE, -1, -1, -1)
    assert list_offset(broker, -1) == (Errors.NONE, -1, 3, 0)
    assert list_offset(broker, -2) == (Errors.NONE, -1, 0, 0)
    assert list_offset(broker, -3) == (Errors.NONE, 3000, 2, 0)
    assert list_offset(broker, -1, version=3) == (Errors.NONE, -1, 3, -1), "leader epochs came with version 4"


def test_what_lies_above_the_bound_is_not_found(broker):
    broker.create("t", [0, 1])
    broker.produce({"t-0": "[1x10 ts=1000]"})
    assert list_offset(broker, 1000) == (Errors.NONE, -1, -1, -1)
    assert list_offset(broker, -1) == (Errors.NONE, -1, 0, 0)
    assert list_offset(broker, 1000, replica_id=1) == (Errors.NONE, 1000, 0, 0)
    assert list_offset(broker, -1, replica_id=-2) == (Errors.NONE, -1, 1, 0)
    broker.follow(1)
    assert list_offset(broker, 1000) == (Errors.NONE, 1000, 0, 0)


def test_a_new_leader_below_its_epoch_does_not_know_the_latest_offset(broker):
    broker.create("t", [0, 1])
    broker.produce({"t-0": "[1x10 ts=1000]"})
    broker.change(leader=0)  # the epoch starts at 1, the high watermark is 0
    assert list_offset(broker, -1)[0] is Errors.OFFSET_NOT_AVAILABLE
    assert list_offset(broker, -1, version=4)[0] is Errors.LEADER_NOT_AVAILABLE
    assert list_offset(broker, 1000)[0] is Errors.OFFSET_NOT_AVAILABLE
    assert list_offset(broker, 2000)[0] is Errors.OFFSET_NOT_AVAILABLE
    assert list_offset(broker, -2) == (Errors.NONE, -1, 0, 0)
    assert list_offset(broker, -1, replica_id=1) == (Errors.NONE, -1, 1, 1)


@pytest.mark.parametrize(
    ("name", "epoch", "error"),
    [
        ("t-0", 1, Errors.UNKNOWN_LEADER_EPOCH),
        ("t-1", -1, Errors.NOT_LEADER_OR_FOLLOWER),
        ("t-2", -1, Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_offsets_that_cannot_be_asked_for(broker, name, epoch, error):
    broker.create("t", [0], [1, 0])
    assert list_offset(broker, -1, name=name, epoch=epoch) == (error, -1, -1, -1)


def test_a_debugging_client_may_ask_a_follower(broker):
    broker.create("t", [1, 0])
    assert list_offset(broker, -1, replica_id=-2) == (Errors.NONE, -1, 0, 0)


def test_a_partition_that_is_asked_for_twice_is_refused(broker):
    broker.create("t", [0])
    assert list_offset(broker, -1, duplicates=[T0])[0] is Errors.INVALID_REQUEST


@pytest.mark.slow
def test_special_timestamps_are_known_from_the_versions_that_kafka_says(kafka):
    replica_manager = kafka.constant("kafka.server.ReplicaManager$", "MODULE$")
    for timestamp in (-7, -6, -5, -4, -3, -2, -1, 0, 1):
        for version in range(12):
            kafkas = replica_manager.isListOffsetsTimestampUnsupported(timestamp, version)
            assert is_list_offsets_timestamp_unsupported(timestamp, version) == kafkas, (timestamp, version)


def test_an_unknown_special_timestamp_is_refused(broker):
    broker.create("t", [0])
    assert list_offset(broker, -3, version=6)[0] is Errors.UNSUPPORTED_VERSION


# Leader epochs, producers


def test_where_leader_epochs_end(broker):
    broker.create("t", [0, 1], [1, 0])
    broker.produce("t-0")
    broker.change(leader=0)
    broker.produce("t-0")

    def ask(partition, current, requested):
        make_topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
        question = make_topic.OffsetForLeaderPartition(
            partition=partition, current_leader_epoch=current, leader_epoch=requested
        )
        (result,) = broker.replicas.last_offset_for_leader_epoch([make_topic(topic="t", partitions=[question])])
        (answer,) = result.partitions
        assert answer.partition == partition
        return Errors(answer.error_code), answer.leader_epoch, answer.end_offset

    assert ask(0, -1, 0) == (Errors.NONE, 0, 1)
    assert ask(0, 1, 1) == (Errors.NONE, 1, 2)
    assert ask(0, 1, 2) == (Errors.NONE, -1, -1)
    assert ask(0, 0, 0) == (Errors.FENCED_LEADER_EPOCH, -1, -1)
    assert ask(1, -1, 0) == (Errors.NOT_LEADER_OR_FOLLOWER, -1, -1)
    assert ask(2, -1, 0) == (Errors.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


def test_producers_of_a_partition(broker):
    broker.create("t", [0])
    broker.produce({"t-0": "[1x10 pid=7 epoch=0 seq=0]"})
    found = broker.replicas.active_producer_state(T0)
    assert (found.error, len(found.producers)) == (Errors.NONE, 1)
    assert broker.replicas.active_producer_state(TopicPartition("t", 9)).error is Errors.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("version", "error"),
    [(4, Errors.LEADER_NOT_AVAILABLE), (5, Errors.OFFSET_NOT_AVAILABLE), (6, Errors.OFFSET_NOT_AVAILABLE)],
)
def test_an_offset_that_is_not_known_yet_is_told_in_words_that_the_client_knows(version, error):
    assert list_offsets_error(OffsetNotAvailableException("not yet"), version) is error
