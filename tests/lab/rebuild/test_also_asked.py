"""What functions that only look are also asked."""

from typing import NamedTuple

from minikafka.lab import records
from minikafka.lab.rebuild import also_asked
from minikafka.record.format.record_batch import RecordBatch
from minikafka.record.kernels.kernel import TOO_LONG, UNDERFLOW, read_varint


class Answer(NamedTuple):
    leader_epoch: int
    end_offset: int


class FollowersLog:
    log_end_offset = 7

    def end_offset_for_epoch(self, epoch):
        return epoch, 7


def test_a_follower_is_asked_for_its_cut_by_answers_that_never_come_and_at_offsets_that_exist():
    asked = also_asked.by_other_answers(FollowersLog(), Answer(3, 5), 0)
    assert [(*answer, offset) for _, answer, offset in asked] == [
        (3, -1, 0),
        (-1, 5, 0),
        (-1, 12, 0),
        (0, 12, 0),
        (3, 12, 0),
        (3, 1, 0),
        (3, 12, 0),
    ]
    assert [log.end_offset_for_epoch(2) for log, *_ in asked] == [(2, 7)] * 5 + [None] * 2
    assert also_asked.by_other_answers(FollowersLog(), Answer(3, 5), 9)[0][2] == 8


def test_a_varint_is_also_read_where_the_data_end_within_it_and_where_it_is_too_long_or_too_large():
    asked = also_asked.with_other_ends(b"\x00\x80\x01", 1, 3)
    assert [read_varint(*each) for each in asked] == [
        (0, UNDERFLOW),
        (0, UNDERFLOW),
        (64, 3),
        (0, TOO_LONG),
        (-(2**31), 5),
    ]


class RollParams(NamedTuple):
    now: int = 0
    max_timestamp_in_messages: int = 0
    max_segment_ms: int = 1000


class Segment:
    roll_jitter_ms = 0

    def time_waited_for_roll(self, now, max_timestamp_in_messages):
        return 700


def test_a_segment_is_also_asked_with_a_jitter_that_makes_it_just_old_enough():
    asked = also_asked.with_a_jitter(Segment(), RollParams())
    assert [segment.roll_jitter_ms for segment, _ in asked] == [300, 301]


def test_a_batch_with_another_header_is_taken_for_one():
    batch = next(records(2).batches())
    asked = [changed for _, _, changed in also_asked.of_other_batches(None, batch, batch)]
    assert all(isinstance(changed, RecordBatch) for changed in asked)
    assert [changed.magic for changed in asked] == [1, 2, 2, 2]
    assert [(changed.base_offset, changed.last_offset, changed.count) for changed in asked[1:3]] == [
        (0, -1, 0),
        (5, 6, 2),
    ]
    assert asked[3].is_control_batch and asked[3].base_sequence == 0
