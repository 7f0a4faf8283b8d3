"""Checkpoint files, partition.metadata and the clean-shutdown marker, alone and beside Kafka's own classes."""

import errno

import pytest

from minikafka.checkpoint.clean_shutdown_file_handler import CleanShutdownFileHandler
from minikafka.checkpoint.lazy_offset_checkpoints import LazyOffsetCheckpoints
from minikafka.checkpoint.leader_epoch_checkpoint_file import EpochEntry, LeaderEpochCheckpointFile
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.checkpoint.partition_metadata_file import PartitionMetadata, PartitionMetadataFile
from minikafka.common import file_ops
from minikafka.common.errors import (
    IllegalArgumentException,
    InconsistentTopicIdException,
    KafkaStorageException,
    NullPointerException,
    NumberFormatException,
)
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel
from minikafka.common.topic_partition import TopicPartition
from minikafka.witness.kafka.kafka_errors import kafka_errors
from tests.kafka_answers import plain

TOPIC_ID = "eXW-IzKZRlOhENUCWRlvEQ"
OFFSETS = {TopicPartition("t", 0): 8, TopicPartition("a-b.c", 12): 2**63 - 1}


def test_opening_makes_an_empty_file_that_holds_nothing(tmp_path):
    checkpoint = OffsetCheckpointFile(tmp_path / "recovery-point-offset-checkpoint")
    assert checkpoint.file.read_bytes() == b""
    assert checkpoint.read() == {}


def test_offsets_written_and_read(tmp_path):
    checkpoint = OffsetCheckpointFile(tmp_path / "c")
    checkpoint.write(OFFSETS)
    assert checkpoint.file.read_bytes() == b"0\n2\nt 0 8\na-b.c 12 9223372036854775807\n"
    assert checkpoint.read() == OFFSETS


def test_an_empty_list_is_not_an_empty_file(tmp_path):
    checkpoint = LeaderEpochCheckpointFile(tmp_path / "c")
    checkpoint.write([])
    assert checkpoint.file.read_bytes() == b"0\n0\n"
    assert checkpoint.read() == []


def test_a_starting_broker_takes_damaged_offsets_for_none_but_not_those_that_the_machine_cannot_read(tmp_path):
    """An answer of the device says nothing of what is in the file: who took it for empty would recover too little."""
    checkpoint = OffsetCheckpointFile(tmp_path / "c")
    for damaged in (b"0\n2\nt 0 8\n", b"rubbish", b"0\n1\nt 0 x\n"):
        checkpoint.file.write_bytes(damaged)
        assert checkpoint.read_or_empty() == {}
    checkpoint.file.unlink()
    checkpoint.file.symlink_to(checkpoint.file)
    with pytest.raises(OSError) as told:
        checkpoint.read_or_empty()
    assert told.value.errno == errno.ELOOP


def test_a_file_is_replaced_in_four_steps(tmp_path):
    checkpoint = LeaderEpochCheckpointFile(tmp_path / "c")
    checkpoint.write([EpochEntry(1, 0)])
    seen = []
    with file_ops.observe(lambda operation, path: seen.append((operation, path.name, checkpoint.read()))):
        checkpoint.write([EpochEntry(1, 0), EpochEntry(4, 7)])
    old, new = [(1, 0)], [(1, 0), (4, 7)]
    assert seen == [
        ("create", "c.tmp", old),
        ("write", "c.tmp", old),
        ("fsync", "c.tmp", old),
        ("rename", "c", new),
        ("flush_dir", tmp_path.name, new),
    ]


def test_a_longer_temporary_file_left_by_a_crash_does_no_harm(tmp_path):
    (tmp_path / "c.tmp").write_bytes(b"x" * 100)
    checkpoint = LeaderEpochCheckpointFile(tmp_path / "c")
    checkpoint.write([EpochEntry(1, 0)])
    assert checkpoint.file.read_bytes() == b"0\n1\n1 0\n"
    assert not (tmp_path / "c.tmp").exists()


def test_a_directory_that_is_gone(tmp_path):
    directory = tmp_path / "logs" / "t-0"
    directory.mkdir(parents=True)
    channel = LogDirFailureChannel(1)
    checkpoint = LeaderEpochCheckpointFile(LeaderEpochCheckpointFile.new_file(directory), channel)
    directory.rename(tmp_path / "logs" / "t-0.x-delete")
    checkpoint.write_if_dir_exists([EpochEntry(0, 0)])
    assert not channel.has_offline_log_dir(tmp_path / "logs")
    with pytest.raises(KafkaStorageException, match="Error while writing to checkpoint file .*leader-epoch-checkpoint"):
        checkpoint.write([EpochEntry(0, 0)])
    assert channel.take_next_offline_log_dir() == tmp_path / "logs"


def test_a_topic_id_is_written_once_by_a_flush(tmp_path):
    metadata = PartitionMetadataFile(PartitionMetadataFile.new_file(tmp_path))
    metadata.maybe_flush()
    assert not metadata.exists()
    metadata.record(TOPIC_ID)
    with pytest.raises(InconsistentTopicIdException, match=f"but had already recorded {TOPIC_ID}"):
        metadata.record("AAAAAAAAAAAAAAAAAAAAAQ")
    metadata.maybe_flush()
    assert metadata.file.read_bytes() == f"version: 0\ntopic_id: {TOPIC_ID}".encode()
    assert metadata.read() == PartitionMetadata(0, TOPIC_ID)
    metadata.delete()
    metadata.maybe_flush()
    assert not metadata.exists()
    with pytest.raises(FileNotFoundError):
        metadata.delete()


def test_a_missing_line_of_partition_metadata_is_a_null_pointer_as_in_kafka(tmp_path):
    metadata = PartitionMetadataFile(tmp_path / "partition.metadata")
    for content in (b"", b"version: 0", b"version: 0\n"):
        metadata.file.write_bytes(content)
        with pytest.raises(NullPointerException):
            metadata.read()


def test_the_clean_shutdown_marker(tmp_path):
    marker = CleanShutdownFileHandler(tmp_path)
    assert (marker.exists(), marker.read()) == (False, None)
    marker.write(42)
    assert marker.clean_shutdown_file.read_bytes() == b'{"version":0,"brokerEpoch":42}'
    assert (marker.exists(), marker.read()) == (True, 42)
    marker.write()
    assert marker.read() == -1
    marker.write(7)
    assert marker.clean_shutdown_file.read_bytes() == b'{"version":0,"brokerEpoch":7}', (
        "nothing is left of a longer one"
    )
    for content in (b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"brokerEpoch":null}'):
        marker.clean_shutdown_file.write_bytes(content)
        assert (marker.exists(), marker.read()) == (True, None)
    marker.delete()
    marker.delete()
    assert not marker.exists()


# Beside Kafka

CHECKPOINTS = "org.apache.kafka.storage.internals.checkpoint."

OFFSET_FILES = [
    b"",
    b"0",
    b"0\n",
    b"0\n0\n",
    b"0\n0",
    b"0\n1\nt 0 8\n",
    b"0\n1\nt 0 8",
    b"0\r\n1\r\nt 0 8\r\n",
    b"0\r1\rt 0 8\r",
    b"0\n2\nt 0 8\nt 0 9\n",
    b"0\n1\nt  0\t8 \n",
    b"0\n1\n t 0 8\n",
    b"0\n1\nt 0 8\n\n",
    b"\n",
    b"1\n1\nt 0 8\n",
    b"-1\n0\n",
    b"+0\n+1\nt +0 +8\n",
    b"0 \n1\nt 0 8\n",
    b"0_0\n0\n",
    b"zero\n",
    b"0\nx\n",
    b"0\n2\nt 0 8\n",
    b"0\n0\nt 0 8\n",
    b"0\n1\nt 0\n",
    b"0\n1\nt 0 8 9\n",
    b"0\n1\nt x 8\n",
    b"0\n1\nt 0 x\n",
    b"0\n1\nt 2147483648 8\n",
    b"0\n1\nt 0 9223372036854775808\n",
    b"0\n1\nt 0 -9223372036854775808\n",
    b"0\n1\n\xff 0 8\n",
    b"0\n1\n\xc3\xa9 0 8\n",
    b"0\n1\nt\xc2\xa0 0 8\n",
    b"0\n1\nt \xd9\xa3 8\n",
    b"\x00\x00\x00\x00",
    b"99999999999\n",
    b"0\n99999999999\n",
    b"0\n-1\nt 0 8\n",
    b"0\n-2147483648\n",
]


@pytest.mark.parametrize("content", OFFSET_FILES)
def test_offset_checkpoints_read_as_kafka_reads_them(kafka_says, tmp_path, content):
    file = tmp_path / "recovery-point-offset-checkpoint"
    file.write_bytes(content)

    def theirs(kafka):
        read = checkpoint(kafka, "OffsetCheckpointFile", file).read()
        return {(e.getKey().topic(), e.getKey().partition()): e.getValue() for e in read.entrySet()}

    assert told(OffsetCheckpointFile(file).read, tmp_path) == kafka_says(asks(theirs, tmp_path), content)


@pytest.mark.parametrize(
    "content",
    [b"", b"0\n0\n", b"0\n2\n4 0\n7 100\n", b"0\n1\n4 0 1\n", b"0\n1\n4\n", b"0\n1\nx 0\n", b"0\n1\n2147483648 0\n"],
)
def test_leader_epochs_read_as_kafka_reads_them(kafka_says, tmp_path, content):
    file = LeaderEpochCheckpointFile.new_file(tmp_path)
    file.write_bytes(content)

    def theirs(kafka):
        read = checkpoint(kafka, "LeaderEpochCheckpointFile", file).read()
        return [(entry.epoch(), entry.startOffset()) for entry in read]

    assert told(LeaderEpochCheckpointFile(file).read, tmp_path) == kafka_says(asks(theirs, tmp_path), content)


@pytest.mark.parametrize(
    "content",
    [
        f"version: 0\ntopic_id: {TOPIC_ID}",
        f"version: 7\ntopic_id:   {TOPIC_ID}\nmore",
        f"version: -1\ntopic_id: {TOPIC_ID}",
        f"version: 0\ntopic_id:{TOPIC_ID}",
        f"version: x\ntopic_id: {TOPIC_ID}",
        f"version: 0 \ntopic_id: {TOPIC_ID}",
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        f"version: 0\ntopic_id: {TOPIC_ID}==",
        "version: 0\ntopic_id: eXW-IzKZRlOhENUCWRlvEX",
        "version: 0",
        "version: 0\n",
        "",
        "version 0",
        "\n",
    ],
)
def test_partition_metadata_reads_as_kafka_reads_it(kafka_says, tmp_path, content):
    file = PartitionMetadataFile.new_file(tmp_path)
    file.write_text(content)

    def theirs(kafka):
        read = checkpoint(kafka, "PartitionMetadataFile", file).read()
        return read.version(), read.topicId().toString()

    assert told(PartitionMetadataFile(file).read, tmp_path) == kafka_says(asks(theirs, tmp_path), content)


@pytest.mark.parametrize("topic_id", ["x", "x" * 25, "eXW-IzKZRlOhENUCWRlv", TOPIC_ID + "=", TOPIC_ID[:-1] + "/"])
def test_a_topic_id_that_is_none_is_refused_as_by_kafka(kafka_says, tmp_path, topic_id):
    file = PartitionMetadataFile.new_file(tmp_path)
    file.write_text(f"version: 0\ntopic_id: {topic_id}")
    theirs = kafka_says(asks(lambda kafka: checkpoint(kafka, "PartitionMetadataFile", file).read(), tmp_path), topic_id)
    assert told(PartitionMetadataFile(file).read, tmp_path)[0] == theirs[0] == "IllegalArgumentException"


def test_what_kafka_writes_is_what_we_write(kafka, tmp_path):
    channel = kafka.log_class("LogDirFailureChannel")(1)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    topic_partition = kafka.jvm.org.apache.kafka.common.TopicPartition
    offsets = kafka.jvm.java.util.LinkedHashMap()
    large_offsets = {TopicPartition("t", 0): 2**31, TopicPartition("a-b.c", 12): 2**63 - 1}
    for partition, offset in large_offsets.items():
        offsets.put(topic_partition(*partition), offset)
    kafka.find_class(CHECKPOINTS + "OffsetCheckpointFile")(kafka.file(theirs), channel).write(offsets)
    OffsetCheckpointFile(ours).write(large_offsets)
    assert ours.read_bytes() == theirs.read_bytes()

    uuid = kafka.jvm.org.apache.kafka.common.Uuid.fromString(TOPIC_ID)
    for metadata, topic_id in (
        (kafka.find_class(CHECKPOINTS + "PartitionMetadataFile")(kafka.file(theirs), channel), uuid),
        (PartitionMetadataFile(ours), TOPIC_ID),
    ):
        metadata.record(topic_id)
        (metadata.maybeFlush if topic_id is uuid else metadata.maybe_flush)()
    assert ours.read_bytes() == theirs.read_bytes()

    kafka.find_class(CHECKPOINTS + "CleanShutdownFileHandler")(str(tmp_path)).write(7)
    marker = CleanShutdownFileHandler(tmp_path)
    written = marker.clean_shutdown_file.read_bytes()
    assert marker.read() == 7
    marker.write(7)
    assert marker.clean_shutdown_file.read_bytes() == written


def test_a_link_in_the_place_of_the_draft_is_followed_as_by_kafka(kafka, tmp_path):
    """Who opens a directory of somebody else looks first, or deletes the draft: this is no place to differ."""
    channel = kafka.log_class("LogDirFailureChannel")(1)
    left = []
    for name in ("ours", "theirs"):
        file, foreign = tmp_path / name, tmp_path / f"foreign of {name}"
        foreign.write_bytes(b"of somebody else")
        file.with_name(f"{name}.tmp").symlink_to(foreign)
        if name == "ours":
            LeaderEpochCheckpointFile(file).write([])
        else:
            entries = kafka.jvm.java.util.ArrayList()
            kafka.find_class(CHECKPOINTS + "LeaderEpochCheckpointFile")(kafka.file(file), channel).write(entries)
        left.append((file.is_symlink(), file.with_name(f"{name}.tmp").is_symlink(), foreign.read_bytes()))
    assert left[0] == left[1] == (True, False, b"0\n0\n")


MARKERS = [
    b'{"version":0,"brokerEpoch":7}',
    b'{"brokerEpoch":7}',
    b'{"version":0}',
    b'{"version":2147483647,"brokerEpoch":7}',
    b'{"version":2147483648,"brokerEpoch":7}',
    b'{"version":-2147483648,"brokerEpoch":7}',
    b'{"version":-2147483649,"brokerEpoch":7}',
    b'{"version":0,"brokerEpoch":9223372036854775807}',
    b'{"version":0,"brokerEpoch":9223372036854775808}',
    b'{"version":0,"brokerEpoch":-9223372036854775808}',
    b'{"version":0,"brokerEpoch":-9223372036854775809}',
    b'{"version":0,"brokerEpoch":"7"}',
    b'{"version":0,"brokerEpoch":7.9}',
    b'{"version":0,"brokerEpoch":true}',
    b'{"version":0,"brokerEpoch":null}',
    b'{"version":null,"brokerEpoch":7}',
    b'{"version":false,"brokerEpoch":7}',
    b'{"version":"","brokerEpoch":7}',
    b'{"version":0,"brokerEpoch":7} and more',
    b' {"version":0, "brokerEpoch":7}',
    b"",
    b"[]",
]


@pytest.mark.parametrize("content", MARKERS, ids=str)
def test_the_clean_shutdown_marker_is_read_as_kafka_reads_it(kafka_says, tmp_path, content):
    marker = CleanShutdownFileHandler(tmp_path)
    marker.clean_shutdown_file.write_bytes(content)

    def theirs(kafka):
        read = kafka.find_class(CHECKPOINTS + "CleanShutdownFileHandler")(str(tmp_path)).read()
        return read.getAsLong() if read.isPresent() else None

    assert marker.read() == kafka_says(theirs, content)


def checkpoint(kafka, name, file):
    """Kafka's object for a checkpoint file."""
    return kafka.find_class(CHECKPOINTS + name)(kafka.file(file), kafka.log_class("LogDirFailureChannel")(1))


def asks(theirs, directory):
    """A question to Kafka: what `theirs(kafka)` gives, or what it raises."""
    return lambda kafka: told(lambda: theirs(kafka), directory)


def told(call, directory):
    """What the call gives, or the class and message of what it raises, with `directory` as DIR."""
    try:
        with kafka_errors():
            return plain(call())
    except Exception as error:
        message = str(error) if isinstance(error, KafkaStorageException) else ""
        return [type(error).__name__, message.replace(str(directory), "DIR")]


def test_a_lazy_checkpoint_is_read_once_when_it_is_first_needed(tmp_path):
    files = {tmp_path / name: OffsetCheckpointFile(tmp_path / name) for name in "ab"}
    lazy = LazyOffsetCheckpoints(files)
    (tmp_path / "b").write_text("0\n1\nt 0 eight\n")
    files[tmp_path / "a"].write({TopicPartition("t", 0): 8})
    assert lazy.fetch(tmp_path / "a", TopicPartition("t", 0)) == 8
    files[tmp_path / "a"].write({TopicPartition("t", 0): 9, TopicPartition("t", 1): 1})
    assert lazy.fetch(tmp_path / "a", TopicPartition("t", 0)) == 8
    assert lazy.fetch(tmp_path / "a", TopicPartition("t", 1)) is None
    with pytest.raises(NumberFormatException):
        lazy.fetch(tmp_path / "b", TopicPartition("t", 0))
    with pytest.raises(IllegalArgumentException):
        lazy.fetch(tmp_path / "c", TopicPartition("t", 0))
