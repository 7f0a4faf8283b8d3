"""What a log manager makes of entries that no broker made: names that are not UTF-8, and other things than files where
files belong.
"""

import os
import shutil

import pytest

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME
from minikafka.common.topic_partition import TopicPartition
from tests.golden.places import GOLDEN

P = TopicPartition("topic", 0)


def with_log(two_managers):
    managers = two_managers()
    managers.start()
    managers.call("get_or_create_log", P, is_new=True)
    managers.append(P, "[3x100]", "[5x80]")
    managers.stop()
    return managers


FILES = [b"\xff", b"\xff.log", b"\xff.index", b"\xff.txnindex", b"\xff.swap", b"\xff.log.swap", b"\xff.deleted"]
FILES += [b"\xff.cleaned", b"\xff.snapshot", "\u00e4".encode(), "\u00e4.log".encode(), "\u00e4.snapshot".encode()]


@pytest.mark.parametrize("name", FILES, ids=repr)
def test_a_file_of_a_partition_whose_name_is_not_utf_8(two_managers, name):
    managers = with_log(two_managers)

    def lay(directory):
        (directory / "a/topic-0" / os.fsdecode(name)).write_bytes(b"x")

    managers.change(lay)
    managers.start()
    managers.stop()


@pytest.mark.parametrize("name", [b"\xff", b"t\xff-0", b"topic-\xff", b"topic-1\xff-delete"], ids=repr)
def test_a_directory_whose_name_is_not_utf_8(two_managers, name):
    managers = with_log(two_managers)
    managers.change(lambda directory: shutil.copytree(GOLDEN / "mixed-0", directory / "a" / os.fsdecode(name)))
    managers.start()
    managers.stop()


def _full(path):
    path.mkdir()
    (path / "x").touch()


MARKERS = {
    "an empty directory": lambda path: path.mkdir(),
    "a link to a file": lambda path: path.symlink_to("topic-0/leader-epoch-checkpoint"),
    "a link to a directory": lambda path: path.symlink_to("topic-0"),
    "a link to nothing": lambda path: path.symlink_to("beside"),
    "a link to nothing anywhere": lambda path: path.symlink_to("nowhere/x"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a FIFO": os.mkfifo,
}


@pytest.mark.parametrize("marker", MARKERS)
def test_a_marker_that_is_no_file(two_managers, marker):
    managers = with_log(two_managers)

    def lay(directory):
        file = directory / "a" / CLEAN_SHUTDOWN_FILE_NAME
        file.unlink()
        MARKERS[marker](file)

    managers.change(lay)
    managers.start()
    managers.stop()


def _lay_full_marker(directory):
    (directory / "a" / CLEAN_SHUTDOWN_FILE_NAME).unlink()
    _full(directory / "a" / CLEAN_SHUTDOWN_FILE_NAME)


def test_a_marker_that_is_a_full_directory(two_managers):
    managers = with_log(two_managers)
    managers.change(_lay_full_marker)
    managers.start()


def test_a_stop_that_comes_at_once_keeps_checkpoints_that_kafka_empties(two_live_managers):
    """Of a directory whose marker cannot be deleted, and which is not offline yet, no log was loaded."""
    managers = with_log(two_live_managers)
    managers.change(_lay_full_marker)
    told = []
    for one in managers.both:
        one.start()
        one.stop()
        told.append((one.directory / "a" / "recovery-point-offset-checkpoint").read_text())
    assert told == ["0\n1\ntopic 0 8\n", "0\n0\n"]
