"""Logs are made, deleted, moved, truncated and given other settings as by Kafka's own manager."""

import pytest

from minikafka.common.topic_partition import TopicPartition
from minikafka.common.uuid import uuid_from_string
from minikafka.log.cleaner.cleaner_config import CleanerConfig

P = [TopicPartition("topic", number) for number in range(4)]
LONG = TopicPartition("long-" + "x" * 244, 7)
SEGMENTS = ["[4x100]"] * 7
IDS = ["PpIMd8oaSBmIYZ7G-q3OmQ", "QpIMd8oaSBmIYZ7G-q3OmQ"]
CLEANERS = [CleanerConfig(num_threads=0), CleanerConfig(enable_cleaner=False)]


def started(managers, *partitions, topic_config=None):
    for one in managers.both:
        one.topic_configs = {"topic": topic_config or {}}
    managers.start()
    for partition in partitions:
        managers.call("get_or_create_log", partition, is_new=True, topic_id=IDS[0])
        managers.append(partition, *SEGMENTS)
    return managers


def moving(managers, partition, batches=SEGMENTS, pause=True):
    """A future log of the partition in the other of two log directories."""
    target = "a" if "/b/" in managers.call("get_log", partition) else "b"
    if pause:
        managers.call("abort_and_pause_cleaning", partition)
    managers.call("maybe_update_preferred_log_dir", partition, f"DIR/{target}")
    managers.call("get_or_create_log", partition, is_future=True, topic_id=IDS[0])
    managers.append(partition, *batches, is_future=True)


def test_a_log_is_made_once(two_managers):
    managers = started(two_managers("a", "b"), P[0])
    managers.call("get_or_create_log", P[0])
    managers.call("get_or_create_log", P[0], is_new=True, topic_id=IDS[0])
    result = managers.call("get_or_create_log", P[0], topic_id=IDS[1])
    assert managers.fails(result) == "InconsistentTopicIdException"
    managers.call("get_or_create_log", P[1])
    managers.call("get_or_create_log", P[1], topic_id=IDS[1])
    managers.call("get_log", P[2])
    managers.call("get_log", P[0], is_future=True)


def test_a_log_is_made_with_its_topics_settings(two_live_managers):
    managers = started(two_live_managers(), P[0])
    for one in managers.both:
        one.topic_configs["other"] = {"internal.segment.bytes": 900, "preallocate": True}
    managers.stop()
    managers.start()
    other = TopicPartition("other", 0)
    managers.call("get_or_create_log", other, is_new=True)
    managers.append(other, *SEGMENTS)
    managers.tick(60_000)
    managers.stop()
    managers.start()
    managers.append(other, *SEGMENTS)
    managers.kill()
    managers.start()
    managers.stop()


def test_the_directory_of_a_log_that_cannot_be_made(two_managers):
    """A file in its place: the log directory is offline, and the log is made in the next one."""
    managers = started(two_managers("a", "b"), P[0])
    managers.change(lambda directory: (directory / "b" / "topic-1").write_text("a file"))
    managers.call("get_or_create_log", P[1], is_new=True)
    managers.change(lambda directory: [(directory / name / "topic-2").write_text("a file") for name in "ab"])
    assert managers.fails(managers.call("get_or_create_log", P[2], is_new=True)) == "KafkaStorageException"


@pytest.mark.slow
@pytest.mark.parametrize("cleaner_config", CLEANERS, ids=["cleaner", "no cleaner"])
@pytest.mark.parametrize("is_stray", [False, True])
def test_logs_are_deleted(two_managers, cleaner_config, is_stray):
    managers = started(two_managers("a", "b", cleaner_config=cleaner_config), *P, LONG)
    if cleaner_config.enable_cleaner:
        for partition in P:
            managers.note_cleaned(partition, 5)
    managers.tick(60_000)
    managers.call("async_delete", P[0], is_stray=is_stray)
    managers.call("async_delete", P[1], is_stray=is_stray, checkpoint=False)
    managers.call("async_delete", LONG, is_stray=is_stray)
    managers.call("async_delete", P[0], is_stray=is_stray)
    managers.call("get_or_create_log", P[0], topic_id=IDS[1])
    managers.append(P[0], *SEGMENTS)
    managers.tick(30_000)
    managers.stop()
    managers.start()
    managers.tick(100_000)
    managers.stop()


@pytest.mark.parametrize("is_stray", [False, True])
def test_many_logs_are_deleted_together(two_managers, is_stray):
    managers = started(two_managers("a", "b"), *P)
    for partition in P:
        managers.note_cleaned(partition, 5)
    moving(managers, P[1])
    failed = []
    managers.call(
        "async_delete_all", [P[0], P[1], P[3], LONG], lambda *failure: failed.append(failure), is_stray=is_stray
    )
    assert not failed
    managers.tick(200_000)
    managers.stop()


def test_a_future_log_is_made_where_it_is_wished(two_managers):
    managers = started(two_managers("a", "b"), P[0])
    result = managers.call("get_or_create_log", P[0], is_future=True)
    assert managers.fails(result) == "IllegalStateException"
    managers.call("maybe_update_preferred_log_dir", P[0], "DIR/a")
    result = managers.call("get_or_create_log", P[0], is_future=True)
    assert managers.fails(result) == "IllegalStateException"
    managers.call("maybe_update_preferred_log_dir", P[1], "DIR/a")
    result = managers.call("get_or_create_log", P[1], is_future=True)
    assert managers.fails(result) == "NoSuchElementException"
    managers.call("maybe_update_preferred_log_dir", P[0], "DIR/b")
    managers.call("get_or_create_log", P[0], is_future=True)
    managers.append(P[0], "[4x100]", is_future=True)
    managers.tick(60_000)
    managers.stop()
    managers.start()
    managers.append(P[0], "[4x100]", is_future=True)
    managers.stop()


@pytest.mark.parametrize("cleaner_config", CLEANERS, ids=["cleaner", "no cleaner"])
@pytest.mark.parametrize("note", [False, True])
def test_a_future_log_takes_the_place_of_the_current_one(two_managers, cleaner_config, note):
    managers = started(two_managers("a", "b", cleaner_config=cleaner_config), P[0], P[1])
    if note and cleaner_config.enable_cleaner:
        managers.note_cleaned(P[0], 5)
        managers.note_cleaned(P[1], 7)
    assert managers.fails(managers.call("replace_current_with_future_log", P[0])) == "KafkaStorageException"
    assert managers.fails(managers.call("replace_current_with_future_log", P[2])) == "KafkaStorageException"
    managers.tick(60_000)
    moving(managers, P[0])
    managers.tick(60_000)
    managers.call("replace_current_with_future_log", P[0])
    managers.append(P[0], "[4x100]")
    for _ in range(3):
        managers.tick(30_000)
    managers.stop()
    managers.start()
    managers.append(P[0], "[4x100]")
    managers.stop()


def test_a_future_log_whose_cleaning_was_not_paused(two_managers):
    managers = started(two_managers("a", "b"), P[0])
    moving(managers, P[0], pause=False)
    assert managers.fails(managers.call("replace_current_with_future_log", P[0])) == "IllegalStateException"
    managers.tick(60_000)
    managers.stop()


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("with_current", [True, False])
def test_moves_that_were_interrupted_are_ended(two_managers, known, with_current):
    managers = two_managers("a", "b")
    directory_ids = {name: uuid_from_string(name * 20 + "AA") for name in "ab"}

    def write_ids(directory):
        for name, directory_id in directory_ids.items():
            (directory / name).mkdir()
            text = f"version=1\ncluster.id=c\nnode.id=1\ndirectory.id={directory_id}\n"
            (directory / name / "meta.properties").write_text(text)

    managers.change(write_ids)
    started(managers, P[0], P[1])
    moving(managers, P[0])
    if not with_current:
        managers.call("async_delete", P[0])
    managers.stop()
    managers.start()
    managers.do(
        lambda one: one.manager.recover_abandoned_future_logs(
            lambda topic_id, partition: directory_ids["b" if known else "a"] if topic_id == IDS[0] else None
        )
    )
    managers.tick(60_000)
    managers.stop()


@pytest.mark.parametrize("cleaner_config", CLEANERS, ids=["cleaner", "no cleaner"])
@pytest.mark.parametrize("offset", [0, 3, 11, 24, 26, 28, 100])
def test_truncation(two_managers, offset, cleaner_config):
    managers = started(
        two_managers("a", "b", cleaner_config=cleaner_config), *P, topic_config={"cleanup.policy": "compact,delete"}
    )
    if cleaner_config.enable_cleaner:
        managers.note_cleaned(P[0], 20)
        managers.note_cleaned(P[1], 2)
    managers.tick(60_000)
    managers.call("truncate_to", {P[0]: offset, P[1]: offset // 2, LONG: 3})
    managers.call("truncate_to", {P[0]: -1})
    managers.append(P[0], "[4x100]")
    managers.tick(70_000)
    managers.stop()


@pytest.mark.parametrize("cleaner_config", CLEANERS, ids=["cleaner", "no cleaner"])
@pytest.mark.parametrize(("offset", "log_start"), [(0, None), (17, None), (17, 5), (99, 99)])
def test_full_truncation(two_managers, offset, log_start, cleaner_config):
    managers = started(
        two_managers("a", "b", cleaner_config=cleaner_config), P[0], P[1], topic_config={"cleanup.policy": "compact"}
    )
    if cleaner_config.enable_cleaner:
        managers.note_cleaned(P[0], 20)
    managers.tick(60_000)
    managers.call("truncate_fully_and_start_at", P[0], offset, log_start)
    managers.call("truncate_fully_and_start_at", P[2], offset, log_start)
    managers.append(P[0], "[4x100]")
    managers.tick(70_000)
    managers.stop()
    managers.start()
    managers.stop()


def test_future_logs_are_truncated(two_managers):
    managers = started(two_managers("a", "b"), P[0], P[1])
    moving(managers, P[0])
    managers.call("truncate_to", {P[0]: 9, P[1]: 3}, is_future=True)
    managers.call("truncate_fully_and_start_at", P[0], 9, is_future=True)
    managers.append(P[0], "[4x100]", is_future=True)
    managers.call("async_delete", P[0], is_future=True)
    managers.tick(70_000)
    managers.stop()


@pytest.mark.parametrize(
    "config",
    [
        {"internal.segment.bytes": 900},
        {"cleanup.policy": "compact"},
        {"segment.bytes": 1},
        {"no.such": 1},
        {"remote.storage.enable": True},
        {},
    ],
    ids=str,
)
def test_settings_are_updated(two_managers, config):
    managers = started(two_managers("a", "b"), P[0], topic_config={"cleanup.policy": "compact", "flush.messages": 1000})
    moving(managers, P[0])
    managers.call("update_topic_config", "topic", config)
    managers.append(P[0], *["[4x100]"] * 3)
    managers.append(P[0], *["[4x100 keys=3]"] * 3, is_future=True)
    managers.call("update_topic_config", "other", config)
    managers.tick(400_000)
    managers.stop()


def test_settings_that_change_while_a_log_is_made(two_live_managers):
    """A log being made when its topic's settings change gets the new ones as soon as it is there."""
    managers = started(two_live_managers(), P[0])
    for later in (False, True):
        managers.do(lambda one: one.manager.configs.initializing_log(P[later]))
        managers.call("get_or_create_log", P[later], is_new=True)
        for one in managers.both:
            one.topic_configs["topic"] = {"internal.segment.bytes": 300 + later}
        if later:
            managers.call("update_topic_config", "another", {})
        else:
            managers.do(lambda one: one.manager.configs.topic_config_updated("topic"))
        managers.do(lambda one: one.manager.configs.finished_initializing_log(P[later], one.manager.get_log(P[later])))
        managers.append(P[later], *["[2x100]"] * 5)
