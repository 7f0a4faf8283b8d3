"""What is said of a directory whose name is not a partition's, wherever its links lead, beside Apache Kafka."""

import errno
import os

import pytest
from py4j.protocol import Py4JJavaError

from minikafka.common.errors import KafkaException
from minikafka.log.log_dir_name import parse_topic_partition_name, partition_directories

LINKS = {
    "itself": "itself",
    "here": "there",
    "there": "here",
    "into-itself": "into-itself/x",
    "to_a_circle": "here",
    "dangling": "nothing",
    "deep_dangling": "nothing/below",
    "to_dangling": "dangling",
    "link": "real",
    "chain": "link",
    "real/inner": "../nothing/x",
}
PATHS = [
    *(name for name in LINKS if name != "into-itself"),
    *("into-itself", "link/new", "chain/z", "itself/x", "to_a_circle/x/y", "itself/../real", "link/../file"),
    *("file/x", "nothing/x", "deep_dangling/y", "to_dangling/x", "link/x/../y", "nothing/../link/m", "real/./m"),
    *("dangling/../file", "x" * 300, "link/" + "x" * 300, "real//z", "secret/x", ".."),
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A directory with links, and `secret`, which cannot be read."""
    directory = tmp_path_factory.mktemp("log_dir")
    (directory / "real").mkdir()
    (directory / "secret").mkdir(mode=0)
    (directory / "file").write_text("")
    for name, target in LINKS.items():
        (directory / name).symlink_to(target)
    return directory


@pytest.mark.parametrize("path", PATHS)
def test_what_is_told_of_it_is_told_by_kafka(path, directory, kafka_says):
    def refusal(kafka):
        jvm = kafka.gateway.jvm
        with pytest.raises(Py4JJavaError) as theirs:
            jvm.org.apache.kafka.storage.internals.log.LocalLog.parseTopicPartitionName(
                jvm.java.io.File(os.path.join(directory, path))
            )
        refused = theirs.value.java_exception
        return refused.getClass().getSimpleName(), without_place(refused.getMessage(), directory)

    kind, message = kafka_says(refusal, path)
    with pytest.raises(KafkaException if kind == "KafkaException" else OSError) as ours:
        parse_topic_partition_name(directory / path)
    assert message in without_place(str(ours.value), directory)


def without_place(message, directory):
    return message.replace(str(directory), "DIR").replace(str(directory.parent), "PARENT")


def test_a_circle_is_told_as_such(tmp_path):
    (tmp_path / "topic").symlink_to("topic")
    with pytest.raises(KafkaException, match=f"Found directory {tmp_path}/topic, 'topic' is not in the form of"):
        parse_topic_partition_name(tmp_path / "topic")


def test_a_directory_that_cannot_be_listed_is_empty_as_to_kafka_or_an_error(tmp_path, monkeypatch):
    def fails(path):
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr(os, "listdir", fails)
    assert partition_directories(tmp_path) == []
    with pytest.raises(OSError, match="Input/output error"):
        partition_directories(tmp_path, stop_at_os_errors=True)


def test_an_entry_that_cannot_be_looked_at_is_no_directory_as_to_kafka_or_an_error(tmp_path, monkeypatch):
    for partition in (0, 1):
        (tmp_path / f"topic-{partition}").mkdir()
    look = os.stat

    def fails(path, **options):
        if path == tmp_path / "topic-0":
            raise OSError(errno.EIO, "Input/output error", str(path))
        return look(path, **options)

    monkeypatch.setattr(os, "stat", fails)
    assert [directory.name for directory, _ in partition_directories(tmp_path)] == ["topic-1"]
    with pytest.raises(OSError, match="Input/output error"):
        partition_directories(tmp_path, stop_at_os_errors=True)
