"""Log directories are made, checked and locked as by Kafka's own log manager."""

import os
import shutil
import subprocess
import sys

import pytest

from minikafka.common.errors import FatalExitError, KafkaException
from minikafka.common.file_lock import FileLock
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.topic_partition import TopicPartition
from minikafka.log.manager.log_dirs import LogDirs

P = [TopicPartition("topic", number) for number in range(8)]
IDS = {name: f"{name}aaaaaaaaaaaaaaaaaaaaA" for name in "abc"}


def log_dirs_of(*directories, offline=()):
    return LogDirs(directories, offline, LogDirFailureChannel(len(directories)))


def live_and_offline(one):
    log_dirs = one.manager.log_dirs
    online = [log_dirs.is_log_dir_online(path) for path in one.log_dirs]
    return one.manager.live_log_dirs, online, [log_dirs.directory_id(path) for path in one.log_dirs]


def write_ids(directory):
    for name, directory_id in IDS.items():
        (directory / name).mkdir(exist_ok=True)
        (directory / name / "meta.properties").write_text(
            f"version=1\ncluster.id=abc\nnode.id=1\ndirectory.id={directory_id}\n"
        )


def test_missing_directories_are_made(two_managers):
    managers = two_managers("a", "x/y/b")
    managers.start()
    managers.do(live_and_offline)
    managers.stop()


@pytest.mark.parametrize("trouble", ["a file", "below a file", "a link to nothing"])
def test_what_cannot_be_a_log_directory_is_offline(two_managers, trouble):
    managers = two_managers("a", "b/c" if trouble == "below a file" else "b")

    def spoil(directory):
        if trouble == "a link to nothing":
            (directory / "b").symlink_to(directory / "nothing")
        else:
            (directory / "b").write_text("a file")

    managers.change(spoil)
    managers.start()
    managers.do(live_and_offline)
    assert managers.fails(managers.call("get_or_create_log", P[0])) == "KafkaStorageException"
    managers.call("get_or_create_log", P[0], is_new=True)
    assert managers.fails(managers.call("async_delete", P[1])) == "KafkaStorageException"
    managers.tick(60_000)
    managers.stop()


@pytest.mark.parametrize("name", [".lock", "meta.properties"])
def test_a_file_that_cannot_be_read_takes_its_directory_offline_which_stays_live(two_managers, name):
    managers = two_managers("a", "b")
    managers.change(lambda directory: (directory / "b" / name).mkdir(parents=True))
    managers.start()
    managers.do(live_and_offline)
    for partition in P[:3]:
        managers.call("get_or_create_log", partition, is_new=True)
    managers.tick(60_000)
    managers.stop()


@pytest.mark.parametrize(
    "text",
    ["version=2\n", "version=x\n", "version=1\nnode.id=1\n", "version=1\ncluster.id=c\nnode.id=1\ndirectory.id=!\n"],
)
def test_meta_properties_that_make_no_sense_end_the_construction(two_live_managers, text):
    managers = two_live_managers("a")
    managers.change(lambda directory: (directory / "a").mkdir())
    managers.change(lambda directory: (directory / "a" / "meta.properties").write_text(text))
    for one in managers.both:
        with pytest.raises(RuntimeError):
            one.start()


def test_a_directory_named_twice_ends_the_construction(two_managers):
    managers = two_managers("a", "b", "a")
    assert managers.fails(managers.start()) == "KafkaException"


def test_a_link_to_another_log_directory_ends_the_construction(two_managers):
    managers = two_managers("a", "b")
    managers.change(lambda directory: (directory / "a").mkdir())
    managers.change(lambda directory: (directory / "b").symlink_to(directory / "a"))
    assert managers.fails(managers.start()) == "KafkaException"


def test_initial_offline_dirs_are_not_used(two_managers):
    managers = two_managers("a", "b")
    managers.do(lambda one: one.start(initial_offline_dirs=[one.log_dirs[0]]))
    managers.do(live_and_offline)
    managers.stop()


def test_without_any_log_directory_there_is_no_manager(tmp_path):
    """Where Kafka halts the process."""
    (tmp_path / "a").write_text("a file")
    with pytest.raises(FatalExitError, match="none of the specified log dirs"):
        log_dirs_of(tmp_path / "a")


def test_a_new_log_goes_to_the_directory_with_the_fewest(two_managers):
    managers = two_managers("a", "b", "c")
    managers.start()
    for partition in P[:5]:
        managers.call("get_or_create_log", partition, is_new=True)
    managers.call("async_delete", P[1])
    managers.call("async_delete", P[4])
    for partition in P[5:]:
        managers.call("get_or_create_log", partition, is_new=True)
    managers.do(lambda one: cordon(one, "a", "c"))
    managers.call("get_or_create_log", P[1], is_new=True)
    managers.do(lambda one: cordon(one, "a", "b", "c"))
    managers.call("get_or_create_log", P[4], is_new=True)


@pytest.mark.parametrize("count", [5, 8, 40])
def test_of_many_directories_the_one_in_the_order_of_scalas_map_is_taken(two_live_managers, count):
    managers = two_live_managers(*(f"disk-{number}" for number in range(count)))
    # The order follows from the directories' whole paths, so both must have the same ones.
    managers.kafka.log_dirs = managers.minikafka.log_dirs
    made = []
    for one in managers.both:
        one.start()
        one.manager.log_dirs.update_cordoned_log_dirs({one.log_dirs[1]})
        partitions = [TopicPartition("topic", number) for number in range(count + 3)]
        made.append([one.manager.get_or_create_log(partition, is_new=True).dir for partition in partitions])
        one.kill()
        for log_dir in one.log_dirs:
            shutil.rmtree(log_dir)
    assert made[0] == made[1]


def cordon(one, *names):
    one.manager.log_dirs.update_cordoned_log_dirs({one.directory / name for name in names})


@pytest.mark.parametrize("target", ["b", "c", "unknown", "unassigned", "lost", "migrating"])
def test_a_new_log_goes_where_the_controller_wishes(two_managers, target):
    known = {**IDS, "unknown": "x" * 21 + "A", "unassigned": "A" * 21 + "Q", "lost": "A" * 21 + "g"}
    managers = two_managers("a", "b", "c")
    managers.change(write_ids)
    managers.start()
    managers.call("get_or_create_log", P[0], is_new=True)
    managers.call("get_or_create_log", P[1], is_new=True, target_log_directory_id=known.get(target, "A" * 22))
    managers.call("maybe_update_preferred_log_dir", P[2], "DIR/c")
    managers.call("get_or_create_log", P[2], is_new=True, target_log_directory_id=known.get(target, "A" * 22))
    managers.call("get_or_create_log", P[2], is_new=True)


def test_a_preferred_directory_that_is_none_is_refused(two_managers):
    managers = two_managers("a", "b")
    managers.start()
    managers.call("maybe_update_preferred_log_dir", P[2], "DIR/x")
    assert managers.fails(managers.call("get_or_create_log", P[2], is_new=True)) == "LogDirNotFoundException"


def test_kafka_and_minikafka_keep_each_other_out(two_live_managers):
    """In one process each, and each against itself in its own."""
    managers = two_live_managers("a")
    managers.start()
    for one in managers.both:
        for held in managers.both:
            with pytest.raises(KafkaException, match="Failed to acquire lock on file .lock in"):
                one.make(held.log_dirs)
    managers.stop()
    managers.start()


@pytest.mark.slow
def test_another_process_is_kept_out(tmp_path):
    held = log_dirs_of(tmp_path)
    code = (
        "import sys; from pathlib import Path; from minikafka.log.manager.log_dirs import LogDirs\n"
        "from minikafka.common.log_dir_failure_channel import LogDirFailureChannel\n"
        "LogDirs([Path(sys.argv[1])], [], LogDirFailureChannel(1))"
    )

    def other_process():
        return subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)

    refused = other_process()
    assert refused.returncode == 1
    assert f"KafkaException: Failed to acquire lock on file .lock in {tmp_path}" in refused.stderr
    held.destroy_locks()
    assert not (tmp_path / ".lock").exists()
    assert other_process().returncode == 0


def test_a_failed_attempt_leaves_the_lock_as_it_is(tmp_path):
    """Also that of a directory before the one that is in use: this process goes on."""
    held = log_dirs_of(tmp_path / "b")
    for _ in range(3):
        with pytest.raises(KafkaException):
            log_dirs_of(tmp_path / "a", tmp_path / "b")
    assert log_dirs_of(tmp_path / "a").live_log_dirs == [tmp_path / "a"]
    held.let_go()
    assert (tmp_path / "b" / ".lock").exists()
    assert log_dirs_of(tmp_path / "b").live_log_dirs == [tmp_path / "b"]


def test_a_lock_is_taken_once(tmp_path):
    one = FileLock(tmp_path / "file")
    assert one.try_lock()
    descriptors = len(os.listdir("/proc/self/fd"))
    assert not any(FileLock(tmp_path / "file").try_lock() for _ in range(3))
    assert len(os.listdir("/proc/self/fd")) == descriptors
    one.unlock_and_close()
    assert FileLock(tmp_path / "file").try_lock()


def test_a_lock_that_is_given_up_is_free_though_a_child_has_the_file_open(tmp_path):
    """As a child has that is just being started, until it becomes another program."""
    lock = FileLock(tmp_path / "file")
    assert lock.try_lock()
    of_the_child = os.dup(lock._fd)
    lock.unlock_and_close()
    assert FileLock(tmp_path / "file").try_lock()
    os.close(of_the_child)


def test_shared_locks_exclude_only_others(tmp_path):
    (tmp_path / "file").touch()
    readers = [FileLock(tmp_path / "file", shared=True) for _ in range(2)]
    assert all(reader.try_lock() for reader in readers)
    assert not FileLock(tmp_path / "file").try_lock()
    for reader in readers:
        reader.unlock_and_close()
    writer = FileLock(tmp_path / "file")
    assert writer.try_lock()
    assert not FileLock(tmp_path / "file", shared=True).try_lock()
    writer.unlock_and_close()
    with pytest.raises(FileNotFoundError):
        FileLock(tmp_path / "missing", shared=True)
