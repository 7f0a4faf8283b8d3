"""The files beside the partitions, each byte of them damaged: minikafka reads what Kafka reads, or both refuse."""

import random

from minikafka.checkpoint.clean_shutdown_file_handler import CLEAN_SHUTDOWN_FILE_NAME, CleanShutdownFileHandler
from minikafka.checkpoint.meta_properties import MetaProperties
from minikafka.checkpoint.offset_checkpoint_file import OffsetCheckpointFile
from minikafka.witness.kafka.kafka_errors import kafka_errors
from tests.golden.places import GOLDEN

CHECKPOINTS = "org.apache.kafka.storage.internals.checkpoint."
OFFSETS = b"0\n4\nmixed 0 69\norders 0 9223372036854775807\norders 12 0\na.b-c_d 3 1024\n"


def damaged(content: bytes, seed: int, number: int):
    """The content with each byte flipped, cut, or replaced by what matters in texts; and so many drawn mixtures."""
    yield content
    for position in range(len(content)):
        for bits in (1, 16, 128):
            yield content[:position] + bytes([content[position] ^ bits]) + content[position + 1 :]
        yield content[:position]
        yield content[:position] + content[position + 1 :]
    rand = random.Random(seed)
    for _ in range(number):
        data = bytearray(content)
        for _ in range(rand.randint(1, 3)):
            position = rand.randrange(len(data) + 1)
            data[position : position + rand.randint(0, 2)] = rand.choice(INSERTED)
        yield bytes(data)


INSERTED = (
    b"",
    b"\n",
    b"\r",
    b" ",
    b"  ",
    b"\t",
    b"-",
    b"+",
    b"0",
    b"99999999999",
    b"\\",
    b"=",
    b":",
    b"{",
    b'"',
    b"e9",
)


def outcome(read) -> object:
    """What `read` returns, or the class of what it raises (minikafka has no RuntimeException)."""
    try:
        return read()
    except Exception as failure:
        return type(failure).__name__.replace("RuntimeException", "KafkaException")


def differences(contents, ours, theirs, file) -> list:
    found = []
    for content in dict.fromkeys(contents):
        file.write_bytes(content)
        one, other = outcome(ours), outcome(theirs)
        if one != other:
            found.append((content, one, other))
    return found


def test_offset_checkpoints(kafka, tmp_path):
    file = tmp_path / "recovery-point-offset-checkpoint"
    channel = kafka.log_class("LogDirFailureChannel")(1)

    def ours():
        return {str(partition): offset for partition, offset in OffsetCheckpointFile(file).read().items()}

    def theirs():
        with kafka_errors():
            read = kafka.find_class(CHECKPOINTS + "OffsetCheckpointFile")(kafka.file(file), channel).read()
        return {entry.getKey().toString(): entry.getValue() for entry in read.entrySet()}

    assert not differences(damaged(OFFSETS, 1, 300), ours, theirs, file)


def test_the_clean_shutdown_marker(kafka, tmp_path):
    file = tmp_path / CLEAN_SHUTDOWN_FILE_NAME
    java = kafka.find_class(CHECKPOINTS + "CleanShutdownFileHandler")(str(tmp_path))

    def theirs():
        epoch = java.read()
        return epoch.getAsLong() if epoch.isPresent() else None

    content = (GOLDEN / CLEAN_SHUTDOWN_FILE_NAME).read_bytes()
    assert not differences(damaged(content, 2, 300), CleanShutdownFileHandler(tmp_path).read, theirs, file)


def test_meta_properties(kafka, tmp_path):
    file = tmp_path / "meta.properties"
    utils = kafka.find_class("org.apache.kafka.common.utils.Utils")
    builder = kafka.find_class("org.apache.kafka.metadata.properties.MetaProperties$Builder")

    def ours():
        read = MetaProperties.read(file)
        return read.version, read.cluster_id, read.node_id, read.directory_id

    def theirs():
        with kafka_errors():
            read = builder(utils.loadProps(str(file))).build()
        node_id, directory_id = read.nodeId(), read.directoryId()
        return (
            read.version().number(),
            read.clusterId().orElse(None),
            node_id.getAsInt() if node_id.isPresent() else None,
            directory_id.get().toString() if directory_id.isPresent() else None,
        )

    content = (GOLDEN / "meta.properties").read_bytes()
    assert not differences(damaged(content, 3, 300), ours, theirs, file)
