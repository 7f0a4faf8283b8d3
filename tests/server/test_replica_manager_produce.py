"""The way of a produce request through the replica manager: acks, errors of single partitions, waiting."""

import pytest

from minikafka.common.error_codes import Errors
from minikafka.common.uuid import random_uuid


def test_acks_1_is_answered_when_the_leader_has_written(broker):
    broker.create()
    answer = broker.produce("t-0", acks=1)["t-0"]
    assert (answer.error, answer.base_offset, answer.log_append_time, answer.log_start_offset) == (
        Errors.NONE,
        0,
        -1,
        0,
    )
    assert broker.produce("t-0", acks=0)["t-0"].base_offset == 1
    assert broker.log().high_watermark == 0


def test_acks_all_is_answered_when_both_followers_have_asked_for_what_comes_next(broker):
    broker.create()
    answers = broker.produce("t-0", acks=-1)
    broker.follow(1)
    assert not answers
    broker.follow(2)
    assert answers["t-0"].error is Errors.NONE
    assert answers["t-0"].base_offset == 0
    assert broker.log().high_watermark == 1


@pytest.mark.parametrize("acks", [-2, 2, 7])
def test_other_acks_are_refused_for_every_partition_and_nothing_is_written(broker, acks):
    broker.create("t", [0], [0])
    answers = broker.produce({"t-0": "[1x10]", "u-0": "[1x10]"}, acks=acks)
    for name in ("t-0", "u-0"):
        answer = answers[name]
        assert answer.error is Errors.INVALID_REQUIRED_ACKS
        assert (answer.base_offset, answer.log_append_time, answer.log_start_offset) == (-1, -1, -1)
    assert broker.log().log_end_offset == 0
    assert broker.replicas.delayed_produce_purgatory.num_delayed == 0


def test_each_partition_is_appended_to_or_refused_on_its_own(broker):
    broker.create("t", [0, 1, 2], [1, 0, 2], [1, 2])
    answers = broker.produce({f"t-{number}": "[1x10]" for number in range(4)}, topic_ids={"t-3": broker.topic_ids["t"]})
    assert answers.errors == {
        "t-0": Errors.NONE,
        "t-1": Errors.NOT_LEADER_OR_FOLLOWER,
        "t-2": Errors.NOT_LEADER_OR_FOLLOWER,
        "t-3": Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [answers[f"t-{number}"].log_start_offset for number in range(4)] == [0, -1, -1, -1]


def test_a_topic_id_that_is_another_topics_is_refused(broker):
    broker.create()
    answers = broker.produce("t-0", topic_ids={"t-0": random_uuid()})
    assert answers.errors == {"t-0": Errors.UNKNOWN_TOPIC_ID}
    assert answers["t-0"].log_start_offset == -1


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "__share_group_state"])
def test_kafkas_own_topics_are_for_those_who_are_allowed(broker, topic):
    broker.create(topic, [0])
    refused = broker.produce(f"{topic}-0")[f"{topic}-0"]
    assert (refused.error, refused.log_start_offset, refused.error_message) == (
        Errors.INVALID_TOPIC_EXCEPTION,
        -1,
        None,
    )
    assert broker.produce(f"{topic}-0", internal=True)[f"{topic}-0"].error is Errors.NONE


def test_known_errors_tell_no_log_start_and_others_do(broker):
    broker.create("t", [0], max__message__bytes=200, min__insync__replicas=1)
    broker.produce("t-0")
    broker.replicas.delete_records(0, {broker.key("t-0").topic_partition: 1}, lambda results: None)
    too_large = broker.produce({"t-0": "[1x300]"})["t-0"]
    assert (too_large.error, too_large.log_start_offset) == (Errors.MESSAGE_TOO_LARGE, -1)
    corrupt = broker.produce({"t-0": "[1x10 damage=crc]"})["t-0"]
    assert (corrupt.error, corrupt.log_start_offset) == (Errors.CORRUPT_MESSAGE, -1)
    gap = broker.produce({"t-0": "[1x10 pid=7 epoch=0 seq=0]"})
    assert gap["t-0"].base_offset == 1
    gap = broker.produce({"t-0": "[1x10 pid=7 epoch=0 seq=5]"})["t-0"]
    assert (gap.error, gap.log_start_offset, gap.base_offset) == (Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, -1)


def test_a_refused_record_is_named_with_its_reason(broker):
    broker.create("t", [0], message__timestamp__after__max__ms=1000)
    answer = broker.produce({"t-0": "[3x10 ts=now,now+2000,now]"})["t-0"]
    assert (answer.error, answer.log_start_offset) == (Errors.INVALID_TIMESTAMP, 0)
    assert [error.batch_index for error in answer.record_errors] == [1]
    assert answer.error_message


def test_a_duplicate_gets_the_offsets_that_it_had_before(broker):
    broker.create("t", [0])
    batch = "[2x10 pid=7 epoch=0 seq=0 ts=5000]"
    assert broker.produce({"t-0": batch})["t-0"].base_offset == 0
    broker.produce("t-0")
    again = broker.produce({"t-0": batch})["t-0"]
    assert (again.error, again.base_offset, again.log_append_time) == (Errors.NONE, 0, 5000)
    assert broker.log().log_end_offset == 3


def test_too_few_replicas_refuse_acks_all_and_nobody_else(broker):
    broker.create("t", [0, 1, 2], min__insync__replicas=2)
    broker.shrink_isr(0)
    refused = broker.produce("t-0", acks=-1)["t-0"]
    assert (refused.error, refused.base_offset, refused.log_start_offset) == (Errors.NOT_ENOUGH_REPLICAS, -1, 0)
    assert broker.produce("t-0", acks=1)["t-0"].base_offset == 0


def test_an_append_of_no_bytes_succeeds_without_an_offset(broker):
    broker.create("t", [0])
    records = broker.encode()
    answer = broker.produce({"t-0": records})["t-0"]
    assert (answer.error, answer.base_offset) == (Errors.NONE, -1)


def test_a_lonely_leader_acknowledges_at_once(broker):
    broker.create("t", [0])
    assert broker.produce("t-0", acks=-1)["t-0"].error is Errors.NONE
    assert broker.log().high_watermark == 1


def test_when_all_partitions_fail_acks_all_is_answered_at_once(broker):
    broker.create("t", [1, 0])
    assert broker.produce({"t-0": "[1x10]", "u-0": "[1x10]"}, acks=-1).errors == {
        "t-0": Errors.NOT_LEADER_OR_FOLLOWER,
        "u-0": Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_with_one_success_the_failed_partitions_wait_too(broker):
    broker.create("t", [0, 1], [1, 0])
    answers = broker.produce({"t-0": "[1x10]", "t-1": "[1x10]"}, acks=-1)
    assert not answers
    broker.follow(1)
    assert answers.errors == {"t-0": Errors.NONE, "t-1": Errors.NOT_LEADER_OR_FOLLOWER}


def test_a_request_whose_time_is_over_is_answered_and_its_records_stay(broker):
    broker.create()
    answers = broker.produce("t-0", acks=-1, timeout_ms=500)
    broker.time.sleep(499)
    assert not answers
    broker.time.sleep(2)
    assert answers["t-0"].error is Errors.REQUEST_TIMED_OUT
    assert answers["t-0"].base_offset == 0
    broker.follow(1, 2)
    assert len(answers) == 1, "the answer is given once"
    assert broker.log().high_watermark == 1


def test_whoever_waits_for_a_leader_that_steps_down_is_told_so(broker):
    broker.create()
    answers = broker.produce("t-0", acks=-1)
    broker.change(leader=1)
    assert (answers["t-0"].error, answers["t-0"].base_offset) == (Errors.NOT_LEADER_OR_FOLLOWER, 0)


def test_whoever_waits_for_a_partition_that_is_deleted_is_told_so(broker):
    broker.create()
    answers = broker.produce("t-0", acks=-1)
    broker.delete()
    assert answers["t-0"].error is Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_an_append_wakes_a_follower_s_fetch_only_after_the_request(broker):
    broker.create()
    waiting = broker.fetch({"t-0": 0}, replica=1, max_wait_ms=500)
    broker.replicas.append_records_to_leader(1, False, *_one_record(broker))
    assert not waiting
    broker.replicas.try_complete_actions()
    assert waiting["t-0"].records.size_in_bytes == 78


def _one_record(broker):
    from minikafka.log.append_origin import AppendOrigin

    return AppendOrigin.CLIENT, {broker.key("t-0"): broker.encode("[1x10]")}
