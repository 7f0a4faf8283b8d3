"""A log directory whose disk fails, while others go on: as in Kafka's own log manager."""

import time
from contextlib import nullcontext

import pytest

from minikafka.common.errors import FatalExitError, KafkaException
from minikafka.common.topic_partition import TopicPartition
from minikafka.tools.verify.findings import Finding
from minikafka.tools.verify.log_dir_verifier import partitions_of
from minikafka.witness.kafka.kafka_log_manager import KafkaLogManager

P = [TopicPartition("topic", number) for number in range(4)]
SEGMENTS = ["[4x100]"] * 7


def started(managers, *partitions):
    managers.start()
    for partition in partitions:
        managers.call("get_or_create_log", partition, is_new=True)
        managers.append(partition, *SEGMENTS)
    return managers


def in_place_of(name):
    """Put a directory where a file of this name is, or will be: the system refuses to write it."""

    def change(directory):
        for file in directory.glob(name) if "*" in name else [directory / name]:
            if file.is_file():
                file.rename(file.with_name(file.name + ".was"))
            file.mkdir()

    return change


def taken(one):
    """The next log directory that the failure handler hears of."""
    channel = one.manager.log_dir_failure_channel
    if isinstance(one.manager, KafkaLogManager):
        return channel.takeNextOfflineLogDir()
    return channel.take_next_offline_log_dir()


def test_a_checkpoint_that_cannot_be_written_takes_the_directory_offline(two_managers):
    managers = started(two_managers("a", "b", "c"), *P)
    managers.change(in_place_of("b/recovery-point-offset-checkpoint.tmp"))
    managers.tick(60_000)
    assert managers.do(taken) == "DIR/b"
    assert managers.fails(managers.append(P[1], "[4x100]")) == "KafkaStorageException"
    managers.call("handle_log_dir_failure", "DIR/b")
    managers.call("handle_log_dir_failure", "DIR/b")
    managers.append(P[0], "[4x100]")
    assert managers.fails(managers.call("get_or_create_log", P[1])) == "KafkaStorageException"
    managers.call("get_or_create_log", P[1], is_new=True)
    managers.tick(60_000)
    assert managers.fails(managers.stop()) == "ClosedChannelException"


def test_a_shutdown_before_the_failure_is_handled(two_managers):
    """Neither checkpoints nor a marker: the directory's next start is unclean."""
    managers = started(two_managers("a", "b"), *P)
    managers.change(in_place_of("b/recovery-point-offset-checkpoint.tmp"))
    managers.tick(60_000)
    managers.stop()
    managers.change(lambda directory: (directory / "b" / "recovery-point-offset-checkpoint.tmp").rmdir())
    managers.start()
    managers.tick(60_000)
    managers.stop()


@pytest.mark.parametrize(
    "name",
    [
        "b/log-start-offset-checkpoint.tmp",
        "b/cleaner-offset-checkpoint.tmp",
        "b/topic-1/leader-epoch-checkpoint.tmp",
        "b/topic-1/00000000000000000028.snapshot",
        "b/.kafka_cleanshutdown",
    ],
)
def test_a_file_that_cannot_be_written_at_the_end(two_managers, name):
    managers = started(two_managers("a", "b"), *P)
    managers.append(P[1], "[4x100 pid=7 epoch=0 seq=0]")
    managers.change(in_place_of(name))
    managers.stop()


def test_a_directory_of_no_partition_behind_a_sound_log_directory(two_live_managers):
    """The logs of the sound one are loaded, though the start fails."""
    managers = started(two_live_managers("a", "b"), *P)
    managers.stop()
    managers.change(lambda directory: (directory / "b" / "foo").mkdir())
    for one in managers.both:
        with pytest.raises(KafkaException, match="'foo' is not in the form of topic-partition"):
            one.start()
    time.sleep(0.5)  # Kafka's threads go on
    assert managers.minikafka.files() == managers.kafka.files()


@pytest.mark.parametrize(
    ("name", "starts"),
    [("foo", False), ("lost+found", False), ("topic-0.bak", False), ("x-99999999999", False), ("d-delete", False)]
    + [("remote-log-index-cache", True), ("new-0", True)],
)
def test_verify_knows_for_which_directories_a_broker_does_not_start(two_live_managers, name, starts):
    managers = started(two_live_managers("a"), *P)
    managers.stop()
    managers.change(lambda directory: (directory / "a" / name).mkdir())
    for one in managers.both:
        with nullcontext() if starts else pytest.raises(KafkaException, match="is not in the form of topic-partition"):
            one.start()
    found: list[Finding] = []
    partitions_of(managers.minikafka.log_dirs[0], found.append, pytest.fail)
    assert [finding.file.name for finding in found] == ([] if starts else [name])


def test_a_marker_that_cannot_be_deleted(two_managers):
    managers = started(two_managers("a", "b"), *P)
    managers.stop()

    def spoil(directory):
        (directory / "b" / ".kafka_cleanshutdown").unlink()
        (directory / "b" / ".kafka_cleanshutdown" / "x").mkdir(parents=True)

    managers.change(spoil)
    managers.start()
    managers.tick(60_000)
    assert managers.fails(managers.append(P[1], "[4x100]")) == "AttributeError"  # there is no such log
    assert managers.do(taken) == "DIR/b"
    managers.call("handle_log_dir_failure", "DIR/b")
    managers.tick(60_000)
    managers.fails(managers.stop())


def test_a_failing_directory_while_logs_are_deleted(two_managers):
    """What waits for its deletion stays in the queue."""
    managers = started(two_managers("a", "b"), *P)
    for partition in P[:3]:
        managers.call("async_delete", partition)
    managers.change(in_place_of("b/recovery-point-offset-checkpoint.tmp"))
    managers.tick(60_000)
    assert managers.do(taken) == "DIR/b"
    managers.call("handle_log_dir_failure", "DIR/b")
    for _ in range(3):
        managers.tick(60_000)
    managers.stop()


def test_a_log_whose_files_cannot_be_deleted(two_managers):
    """It is dropped from the queue, and its log directory goes offline."""
    managers = started(two_managers("a", "b"), *P)
    managers.call("async_delete", P[1])
    managers.change(in_place_of("b/topic-1.*-delete/00000000000000000004.log"))
    managers.change(
        lambda directory: [(d / "x").write_text("") for d in directory.glob("b/topic-1.*/*.log") if d.is_dir()]
    )
    for _ in range(3):
        managers.tick(60_000)
    managers.do(taken)
    managers.stop()


def test_a_directory_that_cannot_be_renamed(two_managers):
    managers = started(two_managers("a", "b"), *P)

    def remove(directory):
        (directory / "b" / "topic-1").rename(directory / "gone")

    managers.change(remove)
    assert managers.fails(managers.call("async_delete", P[1])) == "KafkaStorageException"
    managers.do(taken)
    managers.call("handle_log_dir_failure", "DIR/b")
    managers.tick(60_000)
    managers.stop()


def test_retention_meets_a_failing_directory(two_managers):
    managers = two_managers("a", "b", config={"retention.bytes": 1000})
    started(managers, P[0], P[1])
    managers.change(in_place_of("b/topic-1/00000000000000000000.log.deleted"))
    managers.change(lambda directory: (directory / "b/topic-1/00000000000000000000.log.deleted/x").write_text(""))
    managers.tick(300_000)
    managers.tick(300_000)
    managers.stop()


def test_the_last_log_directory_fails(two_managers):
    """Where Kafka halts the process."""
    managers = two_managers("a", "b")
    one = managers.minikafka
    one.start()
    one.manager.handle_log_dir_failure(one.log_dirs[0])
    with pytest.raises(FatalExitError, match="all log dirs in .* have failed"):
        one.manager.handle_log_dir_failure(one.log_dirs[1])


@pytest.mark.parametrize("epochs", [(7, 7), (7, 8), (-1, 8), (8, -1), (7, None)])
def test_the_broker_epoch_of_the_markers(two_managers, epochs):
    managers = started(two_managers("a", "b"), *P)
    managers.stop()

    def write(directory):
        for name, epoch in zip("ab", epochs, strict=True):
            marker = directory / name / ".kafka_cleanshutdown"
            marker.unlink()
            if epoch is not None:
                marker.write_text(f'{{"version":0,"brokerEpoch":{epoch}}}')

    managers.change(write)

    def ask(one):
        one.manager = one.make(one.log_dirs)
        return one.manager.read_broker_epoch_from_clean_shutdown_files()

    managers.do(ask)
