"""The topic id of a partition, kept in its directory."""

import re
import threading
from pathlib import Path
from typing import NamedTuple

from minikafka.common import file_ops
from minikafka.common.bounded_file import read_text_file
from minikafka.common.errors import (
    InconsistentTopicIdException,
    IOException,
    KafkaStorageException,
    NullPointerException,
    NumberFormatException,
)
from minikafka.common.java.java_numbers import parse_int
from minikafka.common.log_dir_failure_channel import LogDirFailureChannel, log_dir_failed
from minikafka.common.uuid import ZERO_UUID, uuid_from_string

PARTITION_METADATA_FILE_NAME = "partition.metadata"
CURRENT_VERSION = 0
_COLON = re.compile(r":\s+", re.ASCII)
_LINE_END = re.compile(r"\r\n|\r|\n")


class PartitionMetadata(NamedTuple):
    """What the file says. Kafka: `PartitionMetadata`."""

    version: int
    topic_id: str

    def encode(self) -> str:
        """The file's text: two lines, no line end after the second. Kafka: `PartitionMetadata.encode`."""
        return f"version: {self.version}\ntopic_id: {self.topic_id}"


class PartitionMetadataFile:
    """`partition.metadata`: version and topic id, written before the first append and never changed.

    `record` only remembers the id; `maybe_flush` writes it, by way of `partition.metadata.tmp`.

    Kafka: `PartitionMetadataFile`.
    """

    def __init__(self, file: Path, log_dir_failure_channel: LogDirFailureChannel | None = None):
        self.file = file
        self._log_dir_failure_channel = log_dir_failure_channel
        self._lock = threading.Lock()
        self._dirty_topic_id: str | None = None  # waits for `maybe_flush`

    @staticmethod
    def new_file(directory: Path) -> Path:
        """Where a partition's `directory` keeps its topic id. Kafka: `PartitionMetadataFile.newFile`."""
        return directory / PARTITION_METADATA_FILE_NAME

    def record(self, topic_id: str) -> None:
        """Remember the id for the next flush. Raises InconsistentTopicIdException when a different one is waiting.

        Kafka: `PartitionMetadataFile.record`.
        """
        if self._dirty_topic_id is not None and self._dirty_topic_id != topic_id:
            raise InconsistentTopicIdException(
                f"Tried to record topic ID {topic_id} to file but had already recorded {self._dirty_topic_id}"
            )
        self._dirty_topic_id = topic_id

    def maybe_flush(self) -> None:
        """Write the id that `record` left, if there is one. Raises KafkaStorageException.

        Kafka: `PartitionMetadataFile.maybeFlush`.
        """
        if self._dirty_topic_id is None:
            return
        with self._lock:
            if self._dirty_topic_id is None:
                return
            metadata = PartitionMetadata(CURRENT_VERSION, self._dirty_topic_id)
            try:
                file_ops.replace_file(self.file, metadata.encode().encode("utf-8"))
            except OSError as error:
                raise self._failed("Error while writing partition metadata file", error) from error
            self._dirty_topic_id = None

    def read(self) -> PartitionMetadata:
        """What the file says.

        Raises KafkaStorageException for a malformed or unreadable file or the zero id, NullPointerException for a
        missing line, IllegalArgumentException for an id that is no base64 of 16 bytes, OutOfMemoryError for an absurd
        size. Kafka: `PartitionMetadataFile.read`.
        """
        with self._lock:
            try:
                return self._decode(read_text_file(self.file))
            except OSError as error:
                raise self._failed("Error while reading partition metadata file", error) from error

    def exists(self) -> bool:
        """True when the file is there. Kafka: `PartitionMetadataFile.exists`."""
        return self.file.exists()

    def delete(self) -> None:
        """Delete the file. Raises FileNotFoundError when it is missing. Kafka: `PartitionMetadataFile.delete`."""
        if not file_ops.delete_if_exists(self.file):
            raise FileNotFoundError(str(self.file))

    def _decode(self, data: bytes) -> PartitionMetadata:
        try:
            lines = _LINE_END.split(data.decode("utf-8"))
            lines = lines if lines[-1] else lines[:-1]
        except UnicodeDecodeError:
            raise IOException(f"Malformed input in partition metadata file [{self.file.absolute()}]") from None
        version_text = self._value(lines, 0)
        try:
            version = parse_int(version_text)
        except NumberFormatException:
            raise self._malformed(lines[0]) from None
        if version < CURRENT_VERSION:
            raise IOException(f"Unrecognized version of partition metadata file ({self.file.absolute()}): {version}")
        topic_id = uuid_from_string(self._value(lines, 1))
        if topic_id == ZERO_UUID:
            raise IOException(f"Invalid topic ID in partition metadata file ({self.file.absolute()})")
        return PartitionMetadata(version, topic_id)

    def _value(self, lines: list[str], number: int) -> str:
        if number >= len(lines):
            raise NullPointerException(f"{self.file.absolute()} has no line {number + 1}")
        fields = _COLON.split(lines[number])
        while fields and not fields[-1]:
            fields.pop()
        if len(fields) != 2:
            raise self._malformed(lines[number])
        return fields[1]

    def _malformed(self, line: str) -> IOException:
        return IOException(f"Malformed line in partition metadata file [{self.file.absolute()}]: {line}")

    def _failed(self, what: str, error: OSError) -> KafkaStorageException:
        message = f"{what} {self.file.absolute()}"
        return log_dir_failed(self._log_dir_failure_channel, self.file.parent.parent, message, error)


def stored_topic_id(directory: Path) -> str | None:
    """The topic id in a partition's directory, None without the file. Raises what `PartitionMetadataFile.read` does."""
    file = PartitionMetadataFile(PartitionMetadataFile.new_file(directory))
    return file.read().topic_id if file.exists() else None
