"""How the metadata log gives the replicas of a broker their roles, and what moves with them."""

import re

import pytest

from minikafka.common.config_resource import ConfigResourceType
from minikafka.common.error_codes import Errors
from minikafka.common.errors import (
    FatalExitError,
    IllegalStateException,
    InconsistentTopicIdException,
    KafkaStorageException,
)
from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import random_uuid
from minikafka.messages.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from minikafka.metadata.broker_registration import BrokerRegistrationFencingChange
from minikafka.metadata.leader_and_isr import NO_LEADER
from minikafka.metadata.metadata_delta import MetadataDelta
from minikafka.server.hosted_partition import OfflinePartition, OnlinePartition
from tests.server.one_broker import OneBroker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_broker_leads_follows_or_has_nothing_of_a_partition(broker):
    broker.create("t", [0, 1], [1, 0], [1, 2])
    assert broker.partition("t-0").is_leader
    assert not broker.partition("t-1").is_leader
    assert broker.replicas.get_partition(TopicPartition("t", 2)) is None
    assert (broker.log_dirs[0] / "t-1").is_dir(), "a follower has a log too"
    assert set(broker.fetchers.states) == {T1}


def test_a_follower_starts_at_the_log_end_or_at_the_high_watermark_of_a_log_without_epochs(broker):
    broker.create("t", [1, 0])
    state = broker.fetchers.states[T0]
    assert (state.topic_id, state.current_leader_epoch, state.init_offset) == (broker.topic_ids["t"], 0, 0)
    assert state.leader == (1, "host1", 9092)
    broker.change(leader=0)
    assert T0 not in broker.fetchers.states
    broker.produce("t-0")
    broker.change(leader=2, isr=(1, 2))
    assert broker.log().high_watermark == 0
    state = broker.fetchers.states[T0]
    assert (state.leader.id, state.current_leader_epoch, state.init_offset) == (2, 2, 1)


def test_fetching_begins_anew_with_a_new_leader_epoch_only(broker):
    broker.create("t", [1, 0])
    broker.fetchers.calls.clear()
    broker.change(isr=(1,))
    assert ("add", {T0}) not in broker.fetchers.calls
    broker.change(leader=1)
    assert broker.fetchers.calls[-3:] == [("remove", {T0}), ("add", {T0}), ("idle", set())]


def test_partitions_are_fetched_in_the_order_of_kafkas_map(broker):
    broker.create("t", *[[1, 0]] * 4)
    assert [topic_partition.partition for topic_partition in broker.fetchers.states] == [3, 2, 1, 0]


def test_former_fetchers_are_gone_before_the_log_end_is_asked(broker):
    broker.create("t", [1, 0])
    broker.change(leader=2, replicas=(1, 0, 2))
    assert [name for name, _ in broker.fetchers.calls] == ["remove", "add", "idle"] * 2


def test_nobody_follows_a_leader_that_is_not_there(broker):
    broker.create("t", [0, 1])
    broker.change(leader=NO_LEADER)
    assert broker.partition().leader_replica_id == NO_LEADER
    assert not broker.fetchers.states
    assert broker.produce("t-0")["t-0"].error is Errors.NOT_LEADER_OR_FOLLOWER


def test_a_deleted_topic_goes_with_its_logs(broker):
    broker.create("t", [0], [1, 0])
    partition = broker.partition("t-0")
    broker.delete()
    assert broker.replicas.get_partition(T0) is None
    assert (partition.log, partition.is_leader) == (None, False)
    assert not (broker.log_dirs[0] / "t-0").exists()
    assert sorted(path.name.split(".")[0] for path in broker.log_dirs[0].glob("*-delete")) == ["t-0", "t-1"]
    assert ("remove", {T0, T1}) in broker.fetchers.calls
    assert broker.produce("t-0")["t-0"].error is Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_may_be_made_again_in_the_same_breath(broker):
    broker.create("t", [0])
    broker.produce("t-0")
    old, new = broker.topic_ids["t"], random_uuid()
    broker.publish(
        RemoveTopicRecord(topic_id=old),
        TopicRecord(name="t", topic_id=new),
        PartitionRecord(
            partition_id=0, topic_id=new, replicas=[0], isr=[0], leader=0, leader_epoch=0, partition_epoch=0
        ),
    )
    assert (broker.partition().topic_id, broker.log().log_end_offset) == (new, 0)


def test_a_partition_that_moves_away_is_no_longer_here_and_known_to_be_elsewhere(broker):
    broker.create("t", [0, 1])
    waiting = broker.fetch({"t-0": 0}, max_wait_ms=500)
    broker.change(replicas=(1, 2), isr=(1,), leader=1)
    assert broker.replicas.get_partition(T0) is None
    assert waiting["t-0"].error is Errors.NOT_LEADER_OR_FOLLOWER
    assert broker.produce("t-0")["t-0"].error is Errors.NOT_LEADER_OR_FOLLOWER


def test_another_topic_under_the_name_of_a_partition_that_is_here_is_an_error(broker):
    broker.create("t", [0])
    topic_id = random_uuid()
    records = [
        TopicRecord(name="t", topic_id=topic_id),
        PartitionRecord(
            partition_id=0, topic_id=topic_id, replicas=[0], isr=[0], leader=0, leader_epoch=0, partition_epoch=0
        ),
    ]
    delta = MetadataDelta(broker.cache.image).replay_all(records)
    with pytest.raises(IllegalStateException, match="exists, but its ID is"):
        broker.replicas.apply_delta(delta.topics_delta, delta.apply())


def test_in_controlled_shutdown_a_replica_that_is_of_no_use_is_stopped(broker):
    broker.create("t", [1, 0], [1, 0])
    broker.replicas.begin_controlled_shutdown()
    broker.change("t", 0, leader=2, isr=(1, 2), replicas=(1, 0, 2))
    broker.change("t", 1, leader=1, isr=(1, 0))
    assert set(broker.fetchers.states) == {T1}
    assert isinstance(broker.replicas.get_partition(T0), OnlinePartition), "its log stays"


@pytest.mark.parametrize(
    ("error", "offline"), [(KafkaStorageException("no disk"), True), (InconsistentTopicIdException("other"), False)]
)
def test_a_follower_without_a_log_is_given_up_and_the_others_go_on(broker, monkeypatch, error, offline):
    get_or_create_log = broker.logs.get_or_create_log

    def failing(topic_partition, **arguments):
        if topic_partition == T0:
            raise error
        return get_or_create_log(topic_partition, **arguments)

    monkeypatch.setattr(broker.logs, "get_or_create_log", failing)
    broker.create("t", [1, 0], [1, 0])
    assert broker.fetchers.failed == {T0}
    assert set(broker.fetchers.states) == {T1}
    assert isinstance(broker.replicas.get_partition(T0), OfflinePartition) == offline


def test_a_leader_without_a_log_is_offline_and_the_others_go_on(broker, monkeypatch):
    get_or_create_log = broker.logs.get_or_create_log

    def failing(topic_partition, **arguments):
        if topic_partition == T0:
            raise KafkaStorageException("no disk")
        return get_or_create_log(topic_partition, **arguments)

    monkeypatch.setattr(broker.logs, "get_or_create_log", failing)
    broker.create("t", [0], [0])
    assert broker.produce({"t-0": "[1x10]", "t-1": "[1x10]"}).errors == {
        "t-0": Errors.KAFKA_STORAGE_ERROR,
        "t-1": Errors.NONE,
    }


# Start and end


def test_high_watermarks_outlive_the_broker(tmp_path):
    one = OneBroker([tmp_path / "a", tmp_path / "b"])
    one.create("t", [0, 1], [0, 1], [1, 0])
    for name in ("t-0", "t-0", "t-1"):
        one.produce(name)
    one.follow(1, name="t-0")
    one.time.sleep(5000)
    # Kafka's map of new leaders begins with t-1, which so gets the first of two empty directories.
    assert sorted((tmp_path / "a" / "replication-offset-checkpoint").read_text().splitlines()[2:]) == ["t 1 0", "t 2 0"]
    one.follow(1, name="t-1")
    one.stop()
    assert (tmp_path / "b" / "replication-offset-checkpoint").read_text() == "0\n1\nt 0 2\n"
    again = OneBroker(one.log_dirs, one.time, one.records)
    assert [again.log(name).high_watermark for name in ("t-0", "t-1", "t-2")] == [2, 1, 0]
    again.crash()


def test_after_a_crash_the_checkpoint_of_five_seconds_ago_counts(tmp_path):
    one = OneBroker([tmp_path / "a"])
    one.create("t", [0, 1])
    one.produce("t-0")
    one.follow(1)
    one.time.sleep(5000)
    one.produce("t-0")
    one.follow(1)
    assert one.log().high_watermark == 2
    one.crash()
    again = OneBroker(one.log_dirs, one.time, one.records)
    assert (again.log().high_watermark, again.log().log_end_offset) == (1, 2)
    again.crash()


def test_the_first_image_loads_the_logs_and_puts_strange_ones_aside(tmp_path):
    one = OneBroker([tmp_path / "a"])
    one.create("t", [0])
    one.create("u", [0])
    one.stop()
    one.records.append(RemoveTopicRecord(topic_id=one.topic_ids["u"]))
    again = OneBroker(one.log_dirs, one.time, one.records)
    assert again.log("t-0").topic_id == one.topic_ids["t"]
    assert [path.name.split(".")[0] for path in (tmp_path / "a").glob("*-stray")] == ["u-0"]
    assert again.scheduler.pending.count("isr-expiration") == 1
    again.publish()
    assert again.scheduler.pending.count("isr-expiration") == 1
    again.crash()


def test_settings_of_topics_and_brokers_reach_open_logs(broker):
    broker.create("t", [0], min__insync__replicas=2)
    assert broker.log().config.min_in_sync_replicas == 2
    broker.publish(
        ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name="t", name="min.insync.replicas", value="3")
    )
    assert broker.log().config.min_in_sync_replicas == 3
    broker.publish(
        ConfigRecord(resource_type=ConfigResourceType.BROKER, resource_name="", name="log.retention.bytes", value="77")
    )
    broker.publish(
        ConfigRecord(resource_type=ConfigResourceType.BROKER, resource_name="1", name="log.retention.bytes", value="99")
    )
    assert (broker.log().config.retention_size, broker.log().config.min_in_sync_replicas) == (77, 3)
    broker.publish(
        ConfigRecord(resource_type=ConfigResourceType.BROKER, resource_name="0", name="log.retention.bytes", value="88")
    )
    assert broker.log().config.retention_size == 88
    broker.publish(
        ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name="t", name="min.insync.replicas", value=None)
    )
    assert broker.log().config.min_in_sync_replicas == 1


# The in-sync replicas


def test_a_follower_that_stands_still_leaves_after_one_to_one_and_a_half_times_its_limit(broker):
    broker.create("t", [0, 1, 2])
    broker.follow(1, 2)
    broker.produce("t-0")
    for _ in range(6):
        broker.time.sleep(5_000)
        broker.follow(1)
    assert not broker.proposals.items
    for _ in range(3):
        broker.time.sleep(5_000)
        broker.follow(1)
    ((_, proposal, _),) = broker.proposals.items
    assert proposal.isr == {0, 1}


# Disks that fail


def formatted(directory, *names):
    """Log directories with ids, by which a controller knows them."""
    for name in names:
        (directory / name).mkdir()
        properties = f"version=1\ncluster.id=c\nnode.id=0\ndirectory.id={random_uuid()}\n"
        (directory / name / "meta.properties").write_text(properties)
    return [directory / name for name in names]


def test_partitions_of_a_failed_log_directory_are_offline_and_the_others_go_on(tmp_path):
    one = OneBroker(formatted(tmp_path, "a", "b"))
    one.create("t", [0], [0])
    waiting = one.fetch({"t-0": 0}, max_wait_ms=500)
    failed = one.log("t-0").parent_dir
    directory_id = one.logs.log_dirs.directory_id(failed)
    one.channel.maybe_add_offline_log_dir(failed, "the disk is gone", OSError())
    one.time.sleep(0)
    assert one.failed_dirs == [directory_id]
    assert one.produce({"t-0": "[1x10]", "t-1": "[1x10]"}).errors == {
        "t-0": Errors.KAFKA_STORAGE_ERROR,
        "t-1": Errors.NONE,
    }
    assert one.fetch({"t-0": 0})["t-0"].error is Errors.KAFKA_STORAGE_ERROR
    assert ("remove", {T0}) in one.fetchers.calls
    one.time.sleep(5000)
    checkpoints = [tmp_path / name / "replication-offset-checkpoint" for name in "ab"]
    written = [path for path in checkpoints if "t 1 1" in path.read_text()]
    assert [path.parent for path in written] == [one.log("t-1").parent_dir]
    one.time.sleep(500)
    assert waiting["t-0"].error is Errors.KAFKA_STORAGE_ERROR
    one.change("t", 0, isr=(0,), leader=0)
    assert isinstance(one.replicas.get_partition(T0), OfflinePartition), "until the broker starts anew"
    one.crash()


def test_a_directory_that_had_failed_before_the_start_is_handled_at_the_start(tmp_path):
    one = OneBroker(formatted(tmp_path, "a", "b"))
    one.create("t", [0], [0])
    one.stop()
    (tmp_path / "b" / "t-0" / "leader-epoch-checkpoint").unlink()
    (tmp_path / "b" / "t-0" / "leader-epoch-checkpoint").mkdir()
    again = OneBroker(one.log_dirs, one.time, one.records)
    again.time.sleep(0)
    assert again.produce({"t-0": "[1x10]", "t-1": "[1x10]"}).errors == {
        "t-0": Errors.KAFKA_STORAGE_ERROR,
        "t-1": Errors.NONE,
    }
    again.crash()


@pytest.mark.parametrize("readable", [True, False])
def test_a_log_that_could_not_be_loaded_is_not_made_anew_in_another_directory(tmp_path, readable):
    one = OneBroker(formatted(tmp_path, "a", "b"))
    one.create("t", [0], [0], [0])
    one.stop()
    for log in list((tmp_path / "a").glob("t-*")):
        log.rename(tmp_path / "b" / log.name)
    epochs = tmp_path / "b" / "t-0" / "leader-epoch-checkpoint"
    epochs.unlink()
    epochs.mkdir()
    if not readable:
        topic_id = tmp_path / "b" / "t-0" / "partition.metadata"
        topic_id.unlink()
        topic_id.mkdir()
    again = OneBroker(one.log_dirs, one.time, one.records)
    assert [log.parent.name for log in tmp_path.glob("*/t-*")] == ["b"] * 3
    assert isinstance(again.replicas.get_partition(T0), OfflinePartition)
    again.time.sleep(0)
    assert again.produce({"t-0": "[1x10]"}).errors == {"t-0": Errors.KAFKA_STORAGE_ERROR}
    again.crash()


def test_a_broker_cannot_go_on_without_its_last_directory_or_one_that_nobody_knows_or_the_metadata_log(tmp_path):
    (tmp_path / "nameless").mkdir()
    for number, (names, failing, why) in enumerate(
        [
            (["a"], "a", "all log dirs in .*/a have failed"),
            (["b", "nameless"], "nameless", "the log dir .*/nameless has failed, and has no directory.id"),
            (["c", "d"], "c", "the metadata log dir .*/c has failed"),
        ]
    ):
        directory = tmp_path / str(number)
        directory.mkdir()
        log_dirs = formatted(directory, *(name for name in names if name != "nameless"))
        log_dirs += [directory / "nameless"] * ("nameless" in names)
        halted = []
        metadata_log_dir = directory / "c"
        one = OneBroker(log_dirs, halt=halted.append, metadata_log_dir=metadata_log_dir)
        one.channel.maybe_add_offline_log_dir(directory / failing, "the disk is gone", OSError())
        one.time.sleep(0)
        [fatal] = halted
        assert isinstance(fatal, FatalExitError) and re.search(why, str(fatal))
        assert one.failed_dirs == []
        one.crash()


def test_a_stop_before_a_failed_load_is_handled_calls_no_directory_clean(tmp_path):
    one = OneBroker(formatted(tmp_path, "a", "b"))
    one.create("t", [0], [0])
    one.stop()
    epochs = tmp_path / "b" / "t-0" / "leader-epoch-checkpoint"
    epochs.unlink()
    epochs.mkdir()
    before = (tmp_path / "b" / "recovery-point-offset-checkpoint").read_bytes()
    again = OneBroker(one.log_dirs, one.time, one.records)
    again.stop()
    assert (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    assert not (tmp_path / "b" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "b" / "recovery-point-offset-checkpoint").read_bytes() == before


def test_a_shutdown_writes_the_high_watermarks_and_answers_nobody(tmp_path):
    one = OneBroker([tmp_path / "a"])
    one.create("t", [0, 1])
    produce = one.produce("t-0", acks=-1)
    fetch = one.fetch({"t-0": 0}, max_wait_ms=500)
    one.replicas.shutdown()
    one.time.sleep(1000)
    assert not produce
    assert not fetch
    assert one.fetchers.calls[-1] == ("shutdown", set())
    one.crash()


def test_a_broker_that_comes_back_is_followed_again(broker):
    broker.create("t", [1, 0])
    broker.fence(1)
    broker.publish(
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=101, fenced=BrokerRegistrationFencingChange.UNFENCE)
    )
    assert set(broker.fetchers.states) == {T0}, "a fenced leader is still in the image"
