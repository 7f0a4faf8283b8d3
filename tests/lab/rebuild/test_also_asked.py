"""What functions that only look are also asked."""

from typing import NamedTuple

from minikafka.lab.rebuild import also_asked


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
