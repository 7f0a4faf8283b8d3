"""How a partition becomes leader or follower, and what stays of it."""

import pytest

from minikafka.cluster.assignment_state import OngoingReassignmentState, SimpleAssignmentState
from minikafka.cluster.committed_partition_state import CommittedPartitionState
from minikafka.cluster.epoch_end_offset import EpochEndOffset
from minikafka.cluster.partition_listener import PartitionListener
from minikafka.common.errors import InconsistentTopicIdException, NotLeaderOrFollowerException
from minikafka.common.uuid import random_uuid
from minikafka.metadata.leader_recovery_state import LeaderRecoveryState
from tests.cluster.stand import NOW, SMALL, TOPIC_ID, TP


def test_without_a_role_there_is_no_log(stand):
    partition = stand().partition
    assert (partition.leader_epoch, partition.partition_epoch, partition.leader_replica_id) == (-1, 0, None)
    with pytest.raises(NotLeaderOrFollowerException):
        partition.local_log_or_exception  # noqa: B018
    with pytest.raises(NotLeaderOrFollowerException):
        partition.get_out_of_sync_replicas(30_000)


def test_a_leader_knows_the_other_replicas_and_a_follower_none(stand):
    one = stand()
    assert one.leader()
    assert [replica.broker_id for replica in one.partition.remote_replicas] == [1, 2]
    assert one.partition.in_sync_replica_ids == {0, 1, 2}
    assert one.follower(leader=1)
    assert not one.partition.remote_replicas and not one.partition.in_sync_replica_ids
    assert one.partition.leader_epoch_start_offset is None


def test_followers_are_walked_as_kafkas_map_is_walked(stand):
    one = stand()
    one.leader(replicas=(0, 33, 3, 2, 17), isr=(0,))
    assert [replica.broker_id for replica in one.partition.remote_replicas] == [33, 17, 2, 3]
    one.partition_epoch += 1
    one.leader(replicas=(0, 1, 17, 33), isr=(0,), bump=False)
    assert [replica.broker_id for replica in one.partition.remote_replicas] == [33, 17, 1], "who stays stands before"


def test_replicas_come_and_go_and_what_is_known_of_the_others_stays(stand):
    one = stand()
    one.leader(replicas=(0, 2))
    one.produce()
    one.follow(2, 1)
    known = one.partition.get_replica(2)
    one.partition_epoch += 1
    one.leader(replicas=(0, 2, 1), isr=(0, 2), bump=False, adding_replicas=(1,))
    assert [replica.broker_id for replica in one.partition.remote_replicas] == [1, 2]
    assert one.partition.get_replica(2) is known and one.state(2).log_end_offset == 1
    assert one.state(1) == (-1, (-1, -1, -1), 0, 0, 0, None)
    assert one.partition.is_adding_replica(1)
    assert one.partition.assignment_state == OngoingReassignmentState((1,), (), (0, 2, 1))
    assert one.partition.assignment_state.replication_factor == 2
    one.partition_epoch += 1
    one.leader(replicas=(0, 1), isr=(0, 1), bump=False)
    assert [replica.broker_id for replica in one.partition.remote_replicas] == [1]
    assert one.partition.assignment_state == SimpleAssignmentState((0, 1))


def test_a_new_leader_epoch_begins_at_the_log_end_and_is_noted_without_a_record(stand):
    one = stand()
    one.leader(isr=(0,))
    one.produce("[3x10]")
    one.leader(isr=(0,))
    one.leader(isr=(0,))
    assert one.partition.leader_epoch_start_offset == 3
    epochs = [(entry.epoch, entry.start_offset) for entry in one.log.leader_epoch_cache.epoch_entries]
    assert epochs == [(1, 0), (3, 3)]  # nothing was written in epoch 2
    assert one.partition.last_offset_for_leader_epoch(3, 2, True) == EpochEndOffset(1, 3)


def test_news_with_an_older_partition_epoch_is_ignored(stand):
    one = stand()
    one.partition_epoch = 5
    one.leader()
    assert not one.leader(bump=False, partition_epoch=5, leader_epoch=9, isr=(0,))
    assert not one.follower(bump=False, partition_epoch=5, leader_epoch=9)
    assert (one.partition.is_leader, one.partition.leader_epoch) == (True, 1)
    assert one.partition.in_sync_replica_ids == {0, 1, 2}


def test_the_same_partition_epoch_again_resolves_a_change_of_the_isr(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.follow(2, 0)
    assert one.partition.partition_state.is_inflight
    assert not one.leader(isr=(0, 1), bump=False)
    assert one.partition.partition_state == CommittedPartitionState(frozenset({0, 1}), LeaderRecoveryState.RECOVERED)
    assert one.partition.leader_epoch == 1


def test_a_leader_whose_isr_is_itself_has_everything_replicated(stand):
    one = stand()
    one.follower(leader=1)
    one.append_fetched("[4x10]")
    assert one.hw == 0
    assert one.leader(isr=(0,))
    assert one.hw == 4
    assert one.woken == ["fetch", "produce", "delete"]


def test_a_new_leader_forgets_its_followers_fetches_and_gives_the_isr_time(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.produce()
    one.follow(1, 1, log_start=0)
    one.follow(2, 0, log_start=0)
    one.follower(leader=1)
    one.time.sleep(100)
    one.leader(isr=(0, 1))
    assert one.state(1) == (-1, (-1, -1, -1), -1, 0, NOW + 100, None)
    assert one.state(2) == (-1, (-1, -1, -1), -1, 0, 0, None)


def test_a_leader_that_is_elected_again_keeps_how_far_its_followers_have_come(stand):
    one = stand()
    one.leader(isr=(0, 1))
    one.produce()
    one.follow(1, 1)
    one.follow(2, 0)
    ends = one.state(1).log_end_offset_metadata, one.state(2).log_end_offset_metadata
    one.time.sleep(100)
    assert not one.leader(isr=(0, 1))  # it led before
    assert one.state(1) == (0, ends[0], 1, NOW + 100, NOW + 100, 101)
    assert one.state(2) == (0, ends[1], 1, 0, 0, 102)


def test_a_follower_fetches_anew_in_each_leader_epoch_and_only_then(stand):
    one = stand()
    assert one.follower(leader=1)
    one.partition_epoch += 1
    assert not one.follower(leader=1, bump=False)
    assert one.follower(leader=1)
    assert one.follower(leader=-1)
    assert one.partition.leader_replica_id == -1 and not one.partition.is_leader


def test_becoming_a_follower_truncates_nothing(stand):
    one = stand()
    one.leader()
    one.produce("[5x10]")
    assert one.hw == 0
    one.follower(leader=1)
    assert (one.log.log_end_offset, one.hw) == (5, 0)


def test_a_log_that_is_opened_takes_its_high_watermark_from_the_checkpoint(stand):
    one = stand()
    one.leader(isr=(0,))
    one.produce("[5x10]")
    assert one.hw == 5
    for checkpointed, high_watermark in [(3, 3), (9, 5), (None, 0)]:
        one.close()
        one.checkpoints = {} if checkpointed is None else {one.directory / "a": checkpointed}
        one.open()
        one.follower(leader=1)
        assert one.hw == high_watermark


def test_the_topic_id_comes_from_the_log_if_it_was_not_given(stand):
    one = stand()
    one.partition._topic_id = None
    assert one.partition.topic_id is None
    one.leader()
    assert one.partition.topic_id == TOPIC_ID
    one.partition.delete()
    with pytest.raises(InconsistentTopicIdException):
        one.partition.make_leader(one.registration(0), False, one, random_uuid())


def test_the_topic_id_is_known_before_there_is_a_role_if_the_log_is_there(stand):
    one = stand()
    one.leader()
    one.produce()  # with the first record the id is on disk
    one.close()
    one.open()
    one.partition._topic_id = None
    assert one.log is None and one.partition.topic_id == TOPIC_ID


def test_a_log_without_a_topic_id_is_given_it(stand):
    one = stand()
    one.partition.make_leader(one.registration(0), True, one, None)
    assert one.log.topic_id is None
    one.partition.make_leader(one.registration(0), True, one, TOPIC_ID)
    assert one.log.topic_id == TOPIC_ID


def test_no_log_is_made_if_it_may_lie_in_a_directory_that_is_offline(stand):
    one = stand("a", "b")
    one.log_manager.handle_log_dir_failure(one.directory / "b")
    one.epoch = one.partition_epoch = 1
    with pytest.raises(NotLeaderOrFollowerException):
        one.partition.make_leader(one.registration(0), True, one, TOPIC_ID, random_uuid())
    assert one.log is None
    live = one.log_manager.log_dirs.directory_id(one.directory / "a")
    assert one.partition.make_leader(one.registration(0), True, one, TOPIC_ID, live)
    assert one.log.parent_dir == one.directory / "a"


class Note(PartitionListener):
    def __init__(self):
        self.story = []

    def on_high_watermark_updated(self, topic_partition, offset):
        self.story.append((topic_partition, offset))

    def on_failed(self, topic_partition):
        self.story.append("failed")

    def on_deleted(self, topic_partition):
        self.story.append("deleted")

    def on_becoming_follower(self, topic_partition):
        self.story.append("follower")


@pytest.mark.parametrize("end, word", [("delete", "deleted"), ("mark_offline", "failed")])
def test_listeners_are_told_until_the_partition_ends(stand, end, word):
    one = stand()
    note, other = Note(), Note()
    assert not one.partition.maybe_add_listener(note)
    one.leader(isr=(0,))
    assert one.partition.maybe_add_listener(note) and one.partition.maybe_add_listener(other)
    one.produce()
    one.partition.remove_listener(other)
    one.produce()
    one.partition.invoke_on_becoming_follower_listeners()
    log = one.log
    getattr(one.partition, end)()
    log.update_high_watermark(0)
    assert note.story == [(TP, 1), (TP, 2), "follower", word] and other.story == [(TP, 1)]
    assert (one.log, one.partition.leader_replica_id, len(one.partition.remote_replicas)) == (None, None, 0)


def test_the_settings_of_a_topic_count(stand):
    one = stand(min__insync__replicas=2)
    one.leader()
    assert one.log.config.min_in_sync_replicas == 2
    assert one.log.config.segment_size == SMALL["internal.segment.bytes"]


def test_settings_that_change_while_the_log_is_opened_count(stand, monkeypatch):
    one = stand(min__insync__replicas=2)
    opened = one.log_manager.get_or_create_log

    def changed_meanwhile(*arguments, **named):
        log = opened(*arguments, **named)
        one.topic_config["min.insync.replicas"] = 3
        one.log_manager.configs.topic_config_updated("topic")
        return log

    monkeypatch.setattr(one.log_manager, "get_or_create_log", changed_meanwhile)
    one.leader()
    assert one.log.config.min_in_sync_replicas == 3


def test_a_replica_is_added_only_by_a_reassignment():
    assert not SimpleAssignmentState((0, 1)).is_adding_replica(1)
    assert OngoingReassignmentState((1,), (), (0, 1)).is_adding_replica(1)
